"""MODEL on the command line: `file.py:function`, or a `.pt2`."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True)
class Model:
    """What `pte.lower` takes, from a MODEL.

    program: a module, an ExportedProgram, or {name: Method}.
    inputs, dynamic_shapes: for a module; inputs of an ExportedProgram for running it.
    """

    program: Any
    inputs: tuple[Any, ...] | None = None
    dynamic_shapes: Any = None

    def eager(self, method: str) -> tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]:
        """The callable that is right by definition, and example inputs for it."""
        from backend_common import Method
        from torch.export import ExportedProgram

        chosen = self.program[method] if isinstance(self.program, Mapping) else self.program
        if isinstance(chosen, Method):
            return chosen.module, chosen.inputs, chosen.kwargs or {}
        if isinstance(chosen, ExportedProgram):
            inputs, kwargs = chosen.example_inputs or ((), {})
            return chosen.module(), self.inputs or inputs, kwargs
        return chosen, self.inputs or (), {}


def require_file(path: Path) -> None:
    if not path.is_file():
        raise click.UsageError(f"there is no file '{path}' in {Path.cwd()}")


def check_model(text: str) -> None:
    """Raises click.UsageError for what can be seen to be no MODEL before torch is imported."""
    if text.endswith(".pt2"):
        require_file(Path(text))
        return
    file_name, colon, _ = text.rpartition(":")
    if not colon or not file_name.endswith(".py"):
        raise click.UsageError(f"MODEL is '{text}'; it can be file.py:function or a .pt2 file")
    require_file(Path(file_name))


def read_model(text: str) -> Model:
    """Raises click.UsageError, in one sentence, for everything that is no MODEL."""
    check_model(text)
    if text.endswith(".pt2"):
        return _read_pt2(Path(text))
    file_name, _, function = text.rpartition(":")
    return _model_of(text, _function_of(Path(file_name), function))


def _read_pt2(path: Path) -> Model:
    import torch

    try:
        program = torch.export.load(path)
    except Exception as error:
        raise click.UsageError(
            f"'{path}' is not a .pt2 that torch.export can load: {error}"
        ) from error
    inputs, _ = program.example_inputs or ((), {})
    return Model(program, tuple(inputs))


def _function_of(path: Path, name: str) -> Callable[[], Any]:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # so that the model's file can import its neighbours
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"'{path}' cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise click.UsageError(
            f"importing '{path}' raised {type(error).__name__}: {error}"
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        there = sorted(
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == path.stem
        )
        raise click.UsageError(
            f"'{path}' has no function '{name}'; it has: {', '.join(there) or 'none'}"
        )
    return function  # type: ignore[no-any-return]


def _model_of(text: str, function: Callable[[], Any]) -> Model:
    import torch
    from backend_common import Method
    from torch.export import ExportedProgram

    try:
        made = function()
    except Exception as error:
        raise click.UsageError(f"{text} raised {type(error).__name__}: {error}") from error
    if isinstance(made, ExportedProgram):
        return Model(made, tuple((made.example_inputs or ((), {}))[0]))
    if isinstance(made, Mapping) and made:
        wrong = [k for k, v in made.items() if not isinstance(v, (Method, ExportedProgram))]
        if not wrong:
            return Model(dict(made))
    if isinstance(made, tuple) and len(made) in (2, 3) and isinstance(made[0], torch.nn.Module):
        module, inputs, *shapes = made
        if isinstance(inputs, (tuple, list)):
            return Model(module, tuple(inputs), shapes[0] if shapes else None)
    raise click.UsageError(
        f"{text} returned {_shape_of(made)}; it can return (module, example_inputs), "
        "(module, example_inputs, dynamic_shapes), or {name: pte.Method}"
    )


def _shape_of(made: object) -> str:
    if isinstance(made, tuple):
        return f"a tuple of {', '.join(type(item).__name__ for item in made) or 'nothing'}"
    return f"a {type(made).__name__}"
