"""What a model of the corpus is, and the register of them all."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from backend_common.methods import Method
from torch import nn

Inputs = tuple[Any, ...]
# The method's name and what it is called with.
Call = tuple[str, Inputs]

CONVOLUTIONS = (
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model, as backend_common.harness reads a case.

    make: a module in eval mode and its example inputs, the same on every call.
    also: further inputs for the one loaded program, after the example inputs.
    methods: in place of `make`, the methods of a program with several; they share one module.
    calls: for `methods`, what is called, in order.
    strict: exported with the strict tracer, which finds buffers behind plain Python objects.
    quick: part of the short form.
    why: what this architecture has that others lack.
    """

    why: str
    make: Callable[[], tuple[nn.Module, Inputs]]
    dynamic_shapes: Any = None
    also: tuple[Inputs, ...] = ()
    methods: Callable[[], Mapping[str, Method]] | None = None
    calls: tuple[Call, ...] = ()
    strict: bool = False
    quick: bool = False
    refusable: frozenset[str] = frozenset()

    def every_call(self) -> tuple[Call, ...]:
        if self.methods is not None:
            return self.calls
        return tuple(("forward", inputs) for inputs in (self.make()[1], *self.also))


MODELS: dict[str, Model] = {}

Maker = Callable[[], tuple[nn.Module, Inputs]]


def model(
    why: str, *, dtype: torch.dtype = torch.float32, **fields: Any
) -> Callable[[Maker], Maker]:
    """Registers a function that makes a module and its inputs under the function's name.

    The module is put in eval mode, its weights are spread (see `spread`) and cast to `dtype`,
    with the floating-point inputs.
    """

    def register(make: Maker) -> Maker:
        @functools.wraps(make)
        def made() -> tuple[nn.Module, Inputs]:
            torch.manual_seed(0)
            module, inputs = make()
            # Rounding grows with the values; in half precision it would fill the tolerance.
            size = 1.0 if dtype == torch.float32 else 0.5
            return spread(module, size).to(dtype).eval(), cast(inputs, dtype)

        also = tuple(cast(inputs, dtype) for inputs in fields.pop("also", ()))
        MODELS[make.__name__] = Model(why, made, also=also, **fields)
        return made

    return register


def methods(
    why: str, calls: tuple[Call, ...], **fields: Any
) -> Callable[[Callable[[], Mapping[str, Method]]], Callable[[], Mapping[str, Method]]]:
    """Registers a function that makes the methods of one program."""

    def register(make: Callable[[], Mapping[str, Method]]) -> Callable[[], Mapping[str, Method]]:
        @functools.wraps(make)
        def made() -> Mapping[str, Method]:
            torch.manual_seed(0)
            result = make()
            for method in result.values():
                method.module.eval()
            return result

        def first() -> tuple[nn.Module, Inputs]:
            method = next(iter(made().values()))
            return method.module, method.inputs

        MODELS[make.__name__] = Model(why, first, methods=made, calls=calls, **fields)
        return made

    return register


def cast(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    return tuple(
        value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in inputs
    )


@torch.no_grad()
def spread(module: nn.Module, size: float = 1.0) -> nn.Module:
    """Gives random weights a size at which every layer shows in the output.

    Why: most architectures start near the identity (weights of 0.02, LayerScale of 1e-5, zero
    biases), and then a wrong layer differs from a right one by less than the tolerance.
    """
    torch.manual_seed(1)
    dense = set()
    for part in module.modules():
        if isinstance(part, (nn.Linear, *CONVOLUTIONS)):
            dense.add(part.weight)
            part.weight.normal_(std=size * part.weight[0].numel() ** -0.5)
        elif isinstance(part, nn.Embedding):
            dense.add(part.weight)
            part.weight.normal_(std=0.5)
        elif getattr(part, "running_mean", None) is not None:
            part.running_mean.normal_(std=0.1)
            part.running_var.uniform_(0.5, 1.5)
    for parameter in module.parameters():
        if parameter in dense or not parameter.is_floating_point():
            continue
        if parameter.dim() < 2:
            parameter.add_(0.1 * torch.randn_like(parameter))
        elif parameter.abs().max() < 0.2:  # positions, learned queries, fused experts
            parameter.normal_(std=0.5 if parameter.dim() == 2 else parameter.shape[-1] ** -0.5)
    return module


class Called(nn.Module):
    """A model of a library, called with its inputs under their names.

    inputs: names of the arguments, in order. outputs: names of the results that it returns.
    fixed: further arguments, the same on every call.
    """

    def __init__(self, model: nn.Module, inputs: str, outputs: str, **fixed: Any) -> None:
        super().__init__()
        self.model = model
        self.inputs, self.outputs, self.fixed = inputs.split(), outputs.split(), fixed

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        named = dict(zip(self.inputs, inputs, strict=True))
        result = self.model(**named, **self.fixed)
        return tuple(getattr(result, name) for name in self.outputs)


def tokens(*shape: int, high: int = 100, seed: int = 0) -> torch.Tensor:
    """Token numbers in 0..high, int64."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers, float32."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
