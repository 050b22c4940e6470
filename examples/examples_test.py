"""The examples do what their pages say: lowered with OpenVINO, saved, run from the file."""

import act_policy
import minilm
import pte
import pytest
import torch


@pytest.fixture(scope="module", params=[minilm, act_policy], ids=["minilm", "act_policy"])
def example(request, tmp_path_factory):
    """(example's file, its lowered program, the program's path, eager's output, the program's)."""
    module, inputs = request.param.make()
    lowered = pte.lower(module, inputs, backend="openvino")
    path = tmp_path_factory.mktemp("examples") / "program.pte"
    lowered.save(path)
    with torch.no_grad():
        expected = module(*inputs)
    with pte.load(path) as program:
        (output,) = program.forward(*inputs)
    return request.param, lowered, path, expected, output


def test_the_program_equals_eager(example):
    _, _, _, expected, output = example
    assert output.shape == expected.shape and output.dtype == expected.dtype
    assert (output - expected).abs().max() < 1e-4


def test_openvino_runs_nearly_everything_in_few_delegates(example):
    _, lowered, path, _, _ = example
    left = [row for row in lowered.report if not row.delegated]
    assert len(left) <= 4, [(row.operator, row.reason) for row in left]
    assert all(row.reason for row in left)
    with pte.load(path) as program:
        assert len(program.method("forward").delegates) <= 2


def test_minilm_ranks_sentences_by_meaning(example):
    module, _, _, _, output = example
    if module is not minilm:
        assert output.shape == (1, act_policy.CHUNK, act_policy.JOINTS)
        return
    ranking = [index for _, index in minilm.rank(output, query=0)]
    assert ranking[0] == 1, "the sentence about the arm is nearest to the one about the manipulator"
    ranking = [index for _, index in minilm.rank(output, query=2)]
    assert ranking[0] == 3, "interest rates are nearest to monetary policy"


def test_the_policy_takes_the_same_images_to_the_same_actions():
    first, inputs = act_policy.make()
    second, again = act_policy.make()
    with torch.no_grad():
        assert torch.equal(first(*inputs), second(*again))
