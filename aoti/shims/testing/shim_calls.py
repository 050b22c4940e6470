"""Calls a shim library with torch's tensors, by the prototypes in torch's own headers."""

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

HEADERS = Path(torch.__file__).parent / "include/torch/csrc/inductor/aoti_torch"
SCALARS = {
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
    "const char*": ctypes.c_char_p,
}
DTYPES = dict(
    enumerate(
        [
            torch.uint8,
            torch.int8,
            torch.int16,
            torch.int32,
            torch.int64,
            torch.float16,
            torch.float32,
            torch.float64,
            torch.complex32,
            torch.complex64,
            torch.complex128,
            torch.bool,
            None,
            None,
            None,
            torch.bfloat16,
        ]
    )
) | {27: torch.uint16, 28: torch.uint32, 29: torch.uint64}
NUMBERS = {dtype: number for number, dtype in DTYPES.items() if dtype}


class ShimError(RuntimeError):
    """A shim returned a failure; the text is its sticky error."""


def prototypes() -> dict[str, list[tuple[str, str]]]:
    """The parameters, as (C type, name), of every shim that torch's headers declare."""
    found = {}
    for header in ["c/shim.h", "generated/c_shim_cpu.h", "generated/c_shim_aten.h"]:
        text = re.sub(r"//.*", "", (HEADERS / header).read_text())
        pattern = r"AOTI_TORCH_EXPORT\s+AOTITorchError\s+(aoti_torch_\w+)\(([^;]*)\);"
        for name, parameters in re.findall(pattern, text):
            found[name] = [
                (" ".join(kind.split()), parameter)
                for kind, parameter in re.findall(r"\s*(.+?[\s*])(\w+)\s*(?:,|$)", parameters)
            ]
    return found


class Shims:
    """One loaded library. Tensors are borrowed: an out argument is written in place."""

    def __init__(self, path: str | None = None):
        self.library = ctypes.CDLL(path or os.environ["SHIMS"])
        self.library.executorch_backends_aoti_last_error.restype = ctypes.c_char_p
        self.library.executorch_backends_aoti_random_state.restype = ctypes.c_uint64
        self.prototypes = prototypes()

    def has(self, name: str) -> bool:
        return hasattr(self.library, name)

    def seed(self, state: int) -> None:
        self.library.executorch_backends_aoti_seed(ctypes.c_uint64(state))

    def call(self, name: str, *arguments: Any) -> list[Any]:
        """The shim's results; arguments as in its prototype, a list for pointer and length.

        Raises:
            ShimError: it failed.
        """
        handles: list[ctypes.c_void_p] = []
        keep: list[Any] = []  # what pointers point to

        def borrow(tensor: torch.Tensor) -> ctypes.c_void_p:
            handle = ctypes.c_void_p()
            storage = tensor.untyped_storage()
            size = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            stride = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            self._check(
                self.library.executorch_backends_aoti_borrow(
                    ctypes.c_void_p(storage.data_ptr()),
                    ctypes.c_size_t(storage.nbytes()),
                    ctypes.c_int64(tensor.dim()),
                    size,
                    stride,
                    ctypes.c_int64(tensor.storage_offset()),
                    ctypes.c_int32(NUMBERS[tensor.dtype]),
                    ctypes.byref(handle),
                )
            )
            handles.append(handle)
            return handle

        def pointer(value: Any) -> Any:
            keep.append(value)
            return ctypes.pointer(value)

        def convert(kind: str, value: Any) -> Any:
            if kind in SCALARS:
                if isinstance(value, torch.dtype):
                    value = NUMBERS[value]
                return SCALARS[kind](value.encode() if isinstance(value, str) else value)
            if kind in ("AtenTensorHandle", "const AtenTensorHandle"):
                return borrow(value)
            if value is None:
                return None
            if kind == "AtenTensorHandle*":
                return pointer(borrow(value))
            return pointer(convert(kind.removesuffix("*").strip(), value))

        def array(kind: str, values: Sequence[Any] | None) -> Any:
            if values is None:
                return None
            element = kind.removeprefix("const ").removesuffix("*")
            if element == "AtenTensorHandle*":
                element, items = (
                    "pointer",
                    [
                        None if v is None else ctypes.cast(pointer(borrow(v)), ctypes.c_void_p)
                        for v in values
                    ],
                )
                items = [i.value if i else None for i in items]
            elif element == "AtenTensorHandle":
                items = [borrow(v).value for v in values]
            elif element.endswith("*"):  # an optional list
                return pointer(array(element, values))
            else:
                items = list(values)
            result = (SCALARS.get(element, ctypes.c_void_p) * len(items))(*items)
            keep.append(result)
            return result

        parameters = self.prototypes[name]
        given = iter(arguments)
        passed: list[Any] = []
        results: list[tuple[str, Any]] = []
        at = 0
        while at < len(parameters):
            kind, parameter = parameters[at]
            following = parameters[at + 1][1] if at + 1 < len(parameters) else ""
            if re.fullmatch(r"ret\d*", parameter) or parameter.startswith("ret_"):
                value = ctypes.c_void_p() if "Handle" in kind else SCALARS[kind[:-1]]()
                results.append((kind, value))
                passed.append(ctypes.byref(value))
            elif following in (parameter + "_len_", "num_" + parameter):
                values = next(given)
                passed.append(array(kind, values))
                length = SCALARS[parameters[at + 1][0].removeprefix("const ")]
                passed.append(length(len(values) if values is not None else 0))
                at += 1
            elif kind == "AtenGeneratorHandle*" or parameter in ("layout", "device", "pin_memory"):
                passed.append(None)
            elif parameter == "device_index_":
                passed.append(ctypes.c_int32(0))
            else:
                passed.append(convert(kind, next(given)))
            at += 1
        assert not list(given), f"{name} takes fewer arguments"
        try:
            self._check(getattr(self.library, name)(*passed))
            return [
                self._read(value) if "Handle" in kind else value.value for kind, value in results
            ]
        finally:
            for kind, value in results:
                if "Handle" in kind:
                    self.library.aoti_torch_delete_tensor_object(value)
            for handle in handles:
                self.library.aoti_torch_delete_tensor_object(handle)

    def _check(self, code: int) -> None:
        text = self.library.executorch_backends_aoti_last_error().decode()
        self.library.executorch_backends_aoti_clear_error()
        if code:
            assert text, "a failure without a text"
            raise ShimError(text)
        assert not text, f"success with an error: {text}"

    def _read(self, handle: ctypes.c_void_p) -> torch.Tensor | None:
        if not handle:
            return None
        rank, offset, size = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
        dtype, data = ctypes.c_int32(), ctypes.c_void_p()
        sizes, strides = ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_int64)()
        for property_, value in [
            ("dim", rank),
            ("storage_offset", offset),
            ("storage_size", size),
            ("dtype", dtype),
            ("data_ptr", data),
            ("sizes", sizes),
            ("strides", strides),
        ]:
            get = getattr(self.library, f"aoti_torch_get_{property_}")
            self._check(get(handle, ctypes.byref(value)))
        torch_dtype = DTYPES[dtype.value]
        storage = (data.value or 0) - offset.value * torch_dtype.itemsize
        content = ctypes.string_at(storage, size.value) if size.value else b""
        flat = torch.frombuffer(bytearray(content or bytes(16)), dtype=torch_dtype)
        return flat.as_strided(sizes[: rank.value], strides[: rank.value], offset.value)


def promised(operator: Callable[..., Any], *arguments: Any, **keywords: Any) -> list[torch.Tensor]:
    """What the operator's meta kernel says about its results, in an exported program's terms."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:

        def fake(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return mode.from_tensor(value)
            return [fake(v) for v in value] if isinstance(value, list) else value

        results = operator(*[fake(a) for a in arguments], **keywords)
    return list(results) if isinstance(results, (tuple, list)) else [results]


def compare(actual: torch.Tensor, expected: torch.Tensor, tolerance: float | None = None) -> None:
    """Asserts equal dtype, sizes and values; tolerance is relative and absolute, for floats."""
    default = {
        torch.float16: 5e-3,
        torch.bfloat16: 2e-2,
        torch.float64: 1e-8,
        torch.complex128: 1e-8,
    }
    if expected.dtype.is_floating_point or expected.dtype.is_complex:
        tolerance = tolerance if tolerance is not None else default.get(expected.dtype, 1e-5)
    else:
        tolerance = 0
    torch.testing.assert_close(
        actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False
    )


def same_layout(actual: torch.Tensor, promise: torch.Tensor) -> None:
    """Asserts the strides that the meta kernel promised, where they mean anything."""
    assert actual.shape == promise.shape, (actual.shape, promise.shape)
    if actual.numel() == 0:
        return
    for size, ours, theirs in zip(actual.shape, actual.stride(), promise.stride(), strict=True):
        assert size == 1 or ours == theirs, (
            f"sizes {tuple(actual.shape)}: strides {actual.stride()}, promised {promise.stride()}"
        )


def check(
    shims: Shims,
    name: str,
    operator: Callable[..., Any],
    arguments: Sequence[Any],
    tolerance: float | None = None,
    *,
    shim_arguments: Sequence[Any] | None = None,
    in_float: bool = False,
) -> None:
    """Asserts that `aoti_torch_cpu_<name>` returns what ATen's operator does, in the layout that
    its meta kernel promises; `in_float` compares 16-bit types with what ATen computes in 32."""
    small = {a.dtype for a in arguments if isinstance(a, torch.Tensor)} & {
        torch.float16,
        torch.bfloat16,
    }
    if in_float and small:
        (dtype,) = small
        wide = [a.float() if isinstance(a, torch.Tensor) else a for a in arguments]
        expected = tree_map(
            lambda r: r.to(dtype) if isinstance(r, torch.Tensor) else r, operator(*wide)
        )
    else:
        expected = operator(*arguments)
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    actual = shims.call(
        f"aoti_torch_cpu_{name}", *(arguments if shim_arguments is None else shim_arguments)
    )
    promises = promised(operator, *arguments)
    for ours, theirs, promise in zip(actual, expected, promises, strict=True):
        if isinstance(theirs, torch.Tensor):
            compare(ours, theirs, tolerance)
            same_layout(ours, promise)
        else:
            assert ours == theirs


def layouts(shape: Sequence[int], dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    """Tensors of one shape in several layouts: contiguous, permuted, sliced with an offset, and
    expanded where the first size allows it. Values as `values` makes them."""
    rank = len(shape)
    result = [values(shape, dtype, seed)]
    if rank > 1:
        order = list(range(rank))[::-1]
        result.append(values([shape[d] for d in order], dtype, seed).permute(order))
    if rank > 0:
        wide = values([*shape[:-1], 2 * shape[-1] + 1], dtype, seed)
        result.append(wide[..., 1::2])
        result.append(values([1, *shape[1:]], dtype, seed).expand(*shape))
    return result


def values(shape: Sequence[int], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Small numbers of both signs with repetitions; exact in every dtype for integers."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, tuple(shape), generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        low = -5 if dtype.is_signed else 0
        return torch.randint(low, 6, tuple(shape), generator=generator).to(dtype)
    if dtype.is_complex:
        return torch.randn(tuple(shape), dtype=torch.complex128, generator=generator).to(dtype)
    return torch.randn(tuple(shape), generator=generator).to(dtype)


FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
COMPLEX = [torch.complex64, torch.complex128]
REALS = FLOATS + INTEGERS
EVERYTHING = REALS + COMPLEX + [torch.bool]
