"""The examples do what their page says: each command on it runs here, in order."""

import json
import os
import runpy
import sys
from collections import namedtuple
from pathlib import Path

import act_policy
import minilm
import pte
import pytest
import torch
from pte import command

EXAMPLES = Path(__file__).parent

Example = namedtuple("Example", "module folder program report expected output")


def commands(text):
    """The arguments after `--` of each command in a text, with the target before them."""
    lines = (line.strip() for line in text.splitlines())
    return [
        line.removeprefix("./bazelw run ").split(" -- ")
        for line in lines
        if line.startswith("./bazelw run ")
    ]


def run(folder, target, arguments):
    """Exit code of a command, run in this process for a user who stands in the folder."""
    before, argv = Path.cwd(), sys.argv
    os.chdir(folder)
    try:
        if target == "//tools/pte":
            return command.main(arguments.split())
        assert target == "//tools:python"
        sys.argv = arguments.split()
        runpy.run_path(sys.argv[0], run_name="__main__")
        return 0
    finally:
        os.chdir(before)
        sys.argv = argv


@pytest.fixture(scope="module", params=[minilm, act_policy], ids=["minilm", "act_policy"])
def example(request, tmp_path_factory):
    """An example, lowered by the first command of its page in a folder that has `examples/`."""
    module = request.param
    folder = tmp_path_factory.mktemp(module.__name__)
    (folder / "examples").symlink_to(EXAMPLES)
    target, arguments = commands(module.__doc__)[0]
    assert run(folder, target, arguments + " --report report.json") == 0
    program = folder / arguments.split()[-1]
    eager, inputs = module.make()
    with torch.no_grad():
        expected = eager(*inputs)
    with pte.load(program) as loaded:
        (output,) = loaded.forward(*inputs)
    report = json.loads((folder / "report.json").read_text())
    return Example(module, folder, program, report, expected, output)


def test_the_program_equals_eager(example):
    assert example.output.shape == example.expected.shape
    assert example.output.dtype == example.expected.dtype
    assert (example.output - example.expected).abs().max() < 1e-4


def test_the_commands_after_the_first_run(example, capsys):
    for target, arguments in commands(example.module.__doc__)[1:]:
        assert run(example.folder, target, arguments) == 0, arguments
    out = capsys.readouterr().out
    assert "equal" in out
    if example.module is minilm:
        ranking = [line.split("  ")[-1] for line in out.splitlines() if line.startswith("   ")]
        assert ranking[0] == minilm.SENTENCES[1] and len(ranking) == 4


def test_the_page_has_the_commands_of_the_file():
    page = commands((EXAMPLES / "README.md").read_text())
    assert page == commands(minilm.__doc__) + commands(act_policy.__doc__)


def test_openvino_runs_what_the_page_says(example):
    left = [row for row in example.report if not row["delegated"]]
    assert all(row["reason"] for row in left)
    with pte.load(example.program) as program:
        delegates = len(program.method("forward").delegates)
    count = len(example.report)
    says = "all" if not left else f"{count - len(left)} of {count}"
    says += f", in {delegates} delegate" + "s" * (delegates > 1)
    (line,) = (
        line
        for line in (EXAMPLES / "README.md").read_text().splitlines()
        if line.startswith(f"| `{example.module.__name__}.py`")
    )
    assert line.endswith(f"| {says} |"), [(row["operator"], row["reason"]) for row in left]


@pytest.mark.parametrize("example", [minilm], ids=["minilm"], indirect=True, scope="module")
def test_minilm_ranks_sentences_by_meaning(example):
    nearest = [minilm.rank(example.output, query=query)[0][1] for query in range(4)]
    assert nearest == [1, 0, 3, 2], "the two about arms are neighbours, and the two about banks"


def test_the_policy_takes_the_same_images_to_the_same_actions():
    first, inputs = act_policy.make()
    second, again = act_policy.make()
    with torch.no_grad():
        assert torch.equal(first(*inputs), second(*again))
