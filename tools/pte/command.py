"""The command: `pte lower`, `pte run`, `pte inspect`.

Exit codes: 0 done; 1 refused or different, with the reason; 2 wrong usage; 3 an error of ours.
"""

import contextlib
import importlib.metadata
import json
import logging
import os
import statistics
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pte.models import check_model, read_model, require_file

if TYPE_CHECKING:
    from backend_common import Lowered, Program, Row
    from backend_common.program import Method

REFUSED, WRONG_USAGE, INTERNAL = 1, 2, 3

# The modes of backend_common.program, which imports torch.
MODES = ("mmap", "mmap-mlock", "mmap-mlock-ignore", "mmap-madvise", "file", "buffer")


class DifferentError(Exception):
    """The program's outputs are not eager's."""


class Progress:
    """Stages, on stderr: a spinner on a terminal, a plain line each elsewhere."""

    def __init__(self) -> None:
        self._status: Any = None

    def __call__(self, stage: str) -> None:
        if not sys.stderr.isatty():
            click.echo(f"pte: {stage}", err=True)
            return
        from rich.console import Console

        if self._status is None:
            self._status = Console(stderr=True).status(stage)
            self._status.start()
        self._status.update(stage)

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    progress = Progress()
    try:
        yield progress
    finally:
        progress.stop()


def _print_rows(rows: Sequence["Row"]) -> None:
    """Operators with their source, reason and remedy; a table as wide as the terminal."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo(f"  {row.sentence()}")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for header in ("operator", "source", "reason", "remedy"):
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(row.operator or row.node, row.source, row.reason, row.remedy)
    Console().print(table)


def _options(pairs: Sequence[str]) -> dict[str, object]:
    options: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--option is '{pair}'; it is key=value")
        options[key] = _value(value)
    return options


def _value(text: str) -> object:
    """`true` and `false` are truth values, and digits a number."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text


def _program_file(text: str) -> Path:
    path = Path(text)
    require_file(path)
    with path.open("rb") as file:
        # ExecuTorch's flatbuffer identifier: ET and the schema's version, at byte 4.
        identifier = file.read(8)[4:6]
    if identifier != b"ET":
        raise click.UsageError(f"'{path}' is no .pte: bytes 4 and 5 are {identifier!r}, not b'ET'")
    return path


def _writable(text: str) -> Path:
    path = Path(text)
    if not path.parent.is_dir():
        raise click.UsageError(f"cannot write '{path}': there is no folder '{path.parent}'")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise click.UsageError(f"cannot write '{path}'")
    return path


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--traceback", is_flag=True, help="Show where an error came from.")
@click.pass_context
def cli(context: click.Context, traceback: bool) -> None:
    """Lower PyTorch programs to ExecuTorch backends, run them, and compare with eager."""
    context.obj = {"traceback": traceback}


@cli.command()
@click.argument("model")
@click.option("--backend", required=True, help="openvino, portable, ...")
@click.option("-o", "--output", required=True, help="The .pte to write.")
@click.option("--option", "pairs", multiple=True, help="An option of the backend, key=value.")
@click.option("--keep", multiple=True, help="An operator that is not to be delegated.")
@click.option("--strict", is_flag=True, help="torch.export's strict mode.")
@click.option("--report", help="A JSON file to write with a row for each operator.")
def lower(
    model: str,
    backend: str,
    output: str,
    pairs: Sequence[str],
    keep: Sequence[str],
    strict: bool,
    report: str | None,
) -> None:
    """Lower MODEL: file.py:function, or a .pt2.

    The function returns (module, example_inputs), (module, example_inputs, dynamic_shapes), or
    a dict of pte.Method.
    """
    options = _options(pairs)
    path = _writable(output)
    report_path = _writable(report) if report else None
    check_model(model)
    _require_backend(backend, options)
    from backend_common import lower as lower_model

    with _progress() as progress:
        progress(f"read {model}")
        read = read_model(model)
        lowered = lower_model(
            read.program,
            read.inputs,
            backend=backend,
            dynamic_shapes=read.dynamic_shapes,
            options=options,
            keep=keep,
            strict=strict,
            progress=progress,
        )
        progress(f"write {path}")
        lowered.save(path)
    if report_path:
        report_path.write_text(json.dumps([row.as_dict() for row in lowered.report], indent=1))
    _summarise(path, lowered, backend)


def _require_backend(name: str, options: dict[str, object]) -> None:
    """A name that no backend has, or an option that it has not, is wrong usage."""
    # As backend_common.backend.names(), which imports torch.
    there = sorted(importlib.metadata.entry_points(group="executorch_backends").names)
    if name not in there:
        raise click.UsageError(
            f"no backend is called '{name}'; there are: {', '.join(there) or 'none'}"
        )
    from backend_common import backend as registry
    from backend_common.errors import LoweringError
    from backend_common.lowering import EXTERNAL_WEIGHTS

    own = {key: value for key, value in options.items() if key != EXTERNAL_WEIGHTS}
    try:
        registry.find(name).parse_options(own)
    except LoweringError as error:
        raise click.UsageError("; ".join(row.reason for row in error.rows)) from error


def _summarise(path: Path, lowered: "Lowered", backend: str) -> None:
    rest = [row for row in lowered.report if not row.delegated]
    count = len(lowered.report)
    click.echo(f"{path}: {len(lowered.buffer):,} bytes, {count - len(rest)} of {count} operators")
    if backend == "portable" or not rest:
        return
    click.echo(f"{len(rest)} operators run on the portable kernels:")
    _print_rows(rest)


@cli.command()
@click.argument("program")
@click.option("--compare", metavar="MODEL", help="Compare with this model in eager PyTorch.")
@click.option("--inputs", help="A .pt file with the tuple of inputs.")
@click.option("--method", default="forward", show_default=True)
@click.option("--data", help="The .ptd with weights that the program leaves outside.")
@click.option("--load-mode", type=click.Choice(MODES), default="mmap", show_default=True)
@click.option("--option", "pairs", multiple=True, help="A runtime option, key=value.")
@click.option("--repeat", type=click.IntRange(1), default=1, help="Run so often, and time it.")
def run(
    program: str,
    compare: str | None,
    inputs: str | None,
    method: str,
    data: str | None,
    load_mode: str,
    pairs: Sequence[str],
    repeat: int,
) -> None:
    """Run PROGRAM on the inputs of --compare, on those of --inputs, or on random ones."""
    path = _program_file(program)
    options = _options(pairs)
    for text in (inputs, data):
        if text is not None:
            require_file(Path(text))
    if compare is not None:
        check_model(compare)
    from backend_common import load

    from pte.inspection import payloads

    model = read_model(compare) if compare else None
    with _progress() as progress:
        progress(f"check and load {path}")
        # Every hash in full, before anything uses a byte of them.
        payloads(path, Path(data) if data else None)
        with load(path, data=data, mode=load_mode, options=options) as loaded:
            chosen = _method(loaded, method)
            eager, arguments, kwargs = model.eager(method) if model else (None, (), {})
            if inputs is not None:
                arguments, kwargs = _read_inputs(inputs), {}
            elif model is None:
                arguments = _random_inputs(chosen)
            progress("run")
            expected = _run_eager(eager, arguments, kwargs) if eager is not None else None
            outputs, seconds = _run(chosen, arguments, kwargs, repeat)
    if repeat > 1:
        click.echo(f"{repeat} runs, median {statistics.median(seconds) * 1e3:.3f} ms")
    if expected is None:
        for index, output in enumerate(outputs):
            click.echo(f"output {index}: {_brief(output)}")
        return
    _compare(expected, outputs, _tolerance(model, method))


def _method(loaded: "Program", name: str) -> "Method":
    if name not in loaded.methods:
        raise click.UsageError(
            f"the program has no method '{name}'; it has: {', '.join(loaded.methods)}"
        )
    return loaded.method(name)


def _read_inputs(text: str) -> tuple[Any, ...]:
    import torch

    try:
        read = torch.load(text, weights_only=True)
    except Exception as error:
        raise click.UsageError(f"'{text}' is not a file of tensors: {error}") from error
    return tuple(read) if isinstance(read, (tuple, list)) else (read,)


def _random_inputs(method: "Method") -> tuple[Any, ...]:
    """The same on every call: normal floats, small integers, at the declared upper bounds."""
    import torch

    generator = torch.Generator().manual_seed(0)
    values: list[Any] = []
    for info in method.inputs:
        if info.kind != "tensor":
            values.append({"int": 1, "float": 1.0, "bool": True}.get(info.kind))
        elif info.dtype is not None and info.dtype.is_floating_point:
            values.append(torch.randn(info.shape, generator=generator).to(info.dtype))
        else:
            values.append(torch.randint(0, 2, info.shape, generator=generator).to(info.dtype))
    return tuple(values)


def _run_eager(eager: Any, arguments: tuple[Any, ...], kwargs: Any) -> list[Any]:
    import torch
    from torch.utils import _pytree as pytree

    with torch.no_grad():
        leaves: list[Any] = pytree.tree_leaves(eager(*_copies(arguments), **kwargs))
    return leaves


def _copies(arguments: tuple[Any, ...]) -> Any:
    """So that a module that writes to its inputs does not change the program's."""
    import torch
    from torch.utils import _pytree as pytree

    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.clone(), arguments)


def _run(
    method: "Method", arguments: tuple[Any, ...], kwargs: Any, repeat: int
) -> tuple[list[Any], list[float]]:
    """The outputs of the first run, and the seconds of each."""
    first: list[Any] = []
    seconds = []
    method.load()
    for index in range(repeat):
        start = time.perf_counter()
        outputs = method(*arguments, *kwargs.values())  # a program keeps no names
        seconds.append(time.perf_counter() - start)
        if index == 0:
            first = outputs
    return first, seconds


def _tolerance(model: Any, method: str) -> float:
    from backend_common.harness import HALF, HALF_TOLERANCE, TOLERANCE

    eager, arguments, _ = model.eager(method)
    tensors = [*arguments, *getattr(eager, "state_dict", dict)().values()]
    half = any(getattr(tensor, "dtype", None) in HALF for tensor in tensors)
    return HALF_TOLERANCE if half else TOLERANCE


def _compare(expected: Sequence[Any], outputs: Sequence[Any], tolerance: float) -> None:
    import torch
    from backend_common.harness import difference

    if len(expected) != len(outputs):
        raise DifferentError(difference(expected, outputs, tolerance))
    different = []
    for index, (wanted, got) in enumerate(zip(expected, outputs, strict=True)):
        text = difference([wanted], [got], tolerance).removeprefix("output 0: ")
        error = ""
        both = isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor)
        if both and wanted.shape == got.shape and wanted.numel():
            error = f", max abs error {(wanted.double() - got.double()).abs().max().item():.3g}"
        click.echo(
            f"output {index}: {_brief(got)}{error}, tolerance {tolerance:g}: "
            + (f"DIFFERENT: {text}" if text else "equal")
        )
        if text:
            different.append(index)
    if different:
        raise DifferentError(f"{len(different)} of {len(outputs)} outputs differ from eager")


def _brief(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return f"{type(value).__name__} {value}"


@cli.command()
@click.argument("program")
@click.option("--data", metavar="FILE.ptd", help="The weights outside of PROGRAM.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(program: str, data: str | None, as_json: bool) -> None:
    """Show PROGRAM's methods, inputs, outputs, delegates and payloads; check every hash."""
    path = _program_file(program)
    from pte.inspection import describe

    if data is not None:
        require_file(Path(data))
    described = describe(path, Path(data) if data else None)
    if as_json:
        click.echo(json.dumps(described, indent=1))
        return
    click.echo(f"{path}: {described['bytes']:,} bytes")
    for method in described["methods"]:
        click.echo(f"method {method['name']}")
        for kind in ("inputs", "outputs"):
            for index, value in enumerate(method[kind]):
                click.echo(f"  {kind[:-1]} {index}: {_declared(value)}")
        click.echo(f"  delegates: {', '.join(method['delegates']) or 'none'}")
        calls = [f"{name} ×{count}" for name, count in method["operators"].items()]
        click.echo(f"  outside of delegates: {', '.join(calls) or 'nothing'}")
    for info in described["payloads"]:
        target = ", ".join(f"{key} {value}" for key, value in info["target"].items())
        click.echo(f"payload at byte {info['offset']:,}: envelope version {info['version']}")
        click.echo(f"  {target}")
        for kind in ("inputs", "outputs"):
            for index, value in enumerate(info[kind]):
                sizes = ", ".join(_bounds(*pair) for pair in value["bounds"])
                click.echo(f"  {kind[:-1]} {index}: {value['dtype']} [{sizes}]{_peculiar(value)}")
        for name, size in info["sections"].items():
            click.echo(f"  section {name}: {size:,} bytes, SHA-256 right")
        for kind in ("weights", "code"):
            if stored := info[kind]:
                click.echo(f"  {kind}: {stored['size']:,} bytes, SHA-256 right, '{stored['key']}'")
        if blob := info["blob"]:
            click.echo(f"  compiled: {blob['size']:,} bytes of the weights, at {blob['offset']:,}")


def _declared(value: dict[str, Any]) -> str:
    if value["kind"] != "tensor":
        return str(value["kind"])
    order = value["dim_order"]
    plain = order == sorted(order)
    return f"{value['dtype']} {value['shape']}" + ("" if plain else f", dim order {order}")


def _peculiar(value: dict[str, Any]) -> str:
    order = value["dim_order"]
    text = "" if order == sorted(order) else f", dim order {order}"
    if "is_input" in value:
        text += f", input {value['is_input']} as it came"
    if "equals_output" in value:
        text += f", equals output {value['equals_output']}"
    return text


def _bounds(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}..{'' if high < 0 else high}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    # Under `bazel run`, paths are relative to where the user stands.
    if folder := os.environ.get("BUILD_WORKING_DIRECTORY"):
        os.chdir(folder)
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # Notes of libraries about themselves: optional parts of torchao, deprecations inside torch.
    for library in ("torchao", "torch.utils._pytree"):
        logging.getLogger(library).setLevel(logging.ERROR)
    from backend_common.errors import ExecutionError, LoweringError
    from backend_common.payload import PayloadError

    try:
        result = cli.main(arguments, prog_name="pte", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG_USAGE
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except click.Abort:
        click.echo("pte: interrupted", err=True)
        return REFUSED
    except LoweringError as error:
        click.echo(f"pte: refused: {error.summary}", err=True)
        _print_rows(error.rows)
        if "--traceback" in arguments:
            traceback.print_exc()
        return REFUSED
    except (ExecutionError, PayloadError, DifferentError) as error:
        click.echo(f"pte: {error}", err=True)
        if "--traceback" in arguments:
            traceback.print_exc()
        return REFUSED
    except Exception as error:
        click.echo(f"pte: internal error: {type(error).__name__}: {error}", err=True)
        if "--traceback" in arguments:
            traceback.print_exc()
        else:
            click.echo("  `pte --traceback …` shows where; please report it", err=True)
        return INTERNAL
