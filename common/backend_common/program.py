"""`load`: a program from a file or from bytes, run through ExecuTorch's own runtime.

The C library `libexecutorch_backends_program.so` (common/runtime) does the work; this module
loads it with the wheel's kernels and the delegates that a program asks for, and converts
tensors. A program owns its bytes, and its methods keep it alive.
"""

import ctypes
import functools
import importlib.util
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from backend_common import backend as registry
from backend_common import libraries
from backend_common.errors import ExecutionError

# Added to a mode, whose number is its place in MODES.
_RECORD = 0x100

MODES = ("mmap", "mmap-mlock", "mmap-mlock-ignore", "mmap-madvise", "file", "buffer")

_LIBRARY = "libexecutorch_backends_program.so"
_KERNELS = ("libexecutorch_kernels_optimized.so", "libexecutorch_kernels_quantized.so")

_NONE, _TENSOR, _INT, _DOUBLE, _BOOL, _OTHER = range(6)
_KIND_NAMES = ("None", "tensor", "int", "float", "bool", "other")

# ExecuTorch's ScalarType numbers (runtime/core/portable_type/scalar_type.h).
_DTYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
    27: torch.uint16,
    28: torch.uint32,
    29: torch.uint64,
}
_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}


class _Value(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("dim_order", ctypes.POINTER(ctypes.c_uint8)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
    )


class _Option(ctypes.Structure):
    _fields_ = (
        ("backend_id", ctypes.c_char_p),
        ("key", ctypes.c_char_p),
        ("value", ctypes.c_char_p),
    )


_Allocate = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Value)
)


def executorch_library(name: str) -> Path:
    """A library of the installed ExecuTorch; ExecutionError where it is not there."""
    spec = importlib.util.find_spec("executorch")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / "lib" / name
        if path.exists():
            return path
    raise ExecutionError(f"{name} is not in the executorch package; install executorch 1.5.1")


@functools.cache
def _runtime() -> ctypes.CDLL:
    """The C library, with the kernels loaded; local to it, so nothing else sees their symbols."""
    for name in ("libexecutorch.so", "libexecutorch_etdump.so", *_KERNELS):
        ctypes.CDLL(str(executorch_library(name)))
    try:
        library = ctypes.CDLL(str(libraries.find(_LIBRARY, __file__)))
    except OSError as error:
        raise ExecutionError(f"cannot load the runtime: {error}") from error
    prefix = "executorch_backends_"
    text = ctypes.c_char_p
    handle, size = ctypes.c_void_p, ctypes.c_size_t
    value = ctypes.POINTER(_Value)
    signatures: dict[str, tuple[Any, Sequence[Any]]] = {
        "last_error": (text, ()),
        "registered_kernels": (text, ()),
        "registered_backends": (text, ()),
        "program_load": (
            ctypes.c_int32,
            (text, text, size, text, ctypes.c_int32, ctypes.POINTER(handle)),
        ),
        "program_set_options": (ctypes.c_int32, (handle, ctypes.POINTER(_Option), size)),
        "program_etdump": (
            ctypes.c_int32,
            (handle, ctypes.POINTER(handle), ctypes.POINTER(size)),
        ),
        "program_free": (None, (handle,)),
        "program_method_count": (size, (handle,)),
        "program_method_name": (text, (handle, size)),
        "method_counts": (ctypes.c_int32, (handle, text, *[ctypes.POINTER(size)] * 3)),
        "method_input": (ctypes.c_int32, (handle, text, size, value)),
        "method_output": (ctypes.c_int32, (handle, text, size, value)),
        "method_backend": (ctypes.c_int32, (handle, text, size, ctypes.POINTER(text))),
        "method_load": (ctypes.c_int32, (handle, text)),
        "method_execute": (
            ctypes.c_int32,
            (handle, text, value, size, value, size, _Allocate, ctypes.c_void_p),
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, prefix + name)
        function.restype, function.argtypes = result, arguments
    return library


def _call(name: str) -> Callable[..., Any]:
    return getattr(_runtime(), "executorch_backends_" + name)  # type: ignore[no-any-return]


def _check(code: int) -> None:
    if code:
        raise ExecutionError(_call("last_error")().decode(errors="replace"))


def _text(content: bytes | None, what: str) -> str:
    """A name that a program holds; ExecutionError where it is none, as in a damaged file."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        shown = (content or b"").decode(errors="backslashreplace")
        raise ExecutionError(
            f"the program is damaged: {what} is '{shown}', which is no UTF-8; write it again"
        ) from error


def registered_kernels() -> frozenset[str]:
    """Names of the kernels that the runtime's libraries register, `aten::add.out`."""
    return frozenset(_call("registered_kernels")().decode().splitlines())


def registered_backends() -> frozenset[str]:
    """Ids of the delegates that are registered in this process."""
    return frozenset(_call("registered_backends")().decode().splitlines())


@dataclass(frozen=True)
class ValueInfo:
    """An input or output as the program declares it.

    kind: tensor, int, float, bool, None or other; the fields below are for tensors.
    shape: sizes, upper bounds where a dimension is dynamic.
    dim_order: dimensions from the outermost to the innermost in memory.
    """

    kind: str
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] = ()
    dim_order: tuple[int, ...] = ()
    bytes: int = 0


class Method:
    """A method of a program; call it with the inputs of the module's forward."""

    def __init__(self, program: "Program", name: str) -> None:
        self._program = program
        self.name = name
        counts = [ctypes.c_size_t() for _ in range(3)]
        _check(
            _call("method_counts")(program._pointer(), name.encode(), *map(ctypes.byref, counts))
        )
        inputs, outputs, backends = (count.value for count in counts)
        self.inputs = tuple(self._info("method_input", index) for index in range(inputs))
        self.outputs = tuple(self._info("method_output", index) for index in range(outputs))
        self.delegates = tuple(self._delegate(index) for index in range(backends))

    def _info(self, function: str, index: int) -> ValueInfo:
        value = _Value()
        _check(
            _call(function)(
                self._program._pointer(), self.name.encode(), index, ctypes.byref(value)
            )
        )
        if value.kind != _TENSOR:
            return ValueInfo(_KIND_NAMES[value.kind])
        return ValueInfo(
            "tensor",
            _DTYPES.get(value.dtype),
            tuple(value.sizes[: value.rank]),
            tuple(value.dim_order[: value.rank]),
            value.bytes,
        )

    def _delegate(self, index: int) -> str:
        name = ctypes.c_char_p()
        _check(
            _call("method_backend")(
                self._program._pointer(), self.name.encode(), index, ctypes.byref(name)
            )
        )
        return _text(name.value, f"the id of delegate {index} of '{self.name}'")

    def load(self) -> None:
        """Initialise the method and its delegates now rather than at the first call."""
        self._program._prepare(self)
        with self._program._turn:
            _check(_call("method_load")(self._program._pointer(), self.name.encode()))

    def __call__(self, *inputs: Any, **kwargs: Any) -> list[Any]:
        """Run on inputs in the module's own structure; returns the flat list of outputs.

        Tensors come back as new CPU tensors; ints, floats, bools and None as they are.
        Raises ExecutionError before anything runs when a count, kind, dtype or shape is not
        the program's, and with the delegate's text when the run fails.
        """
        self._program._prepare(self)
        if len(kwargs) > 1:
            # Bound by order they could be swapped without a word.
            raise ExecutionError(
                f"method '{self.name}' got the keywords {', '.join(kwargs)}, and a program keeps "
                "no names: pass these inputs by position, in the order of lowering's kwargs"
            )
        leaves = pytree.tree_leaves((inputs, kwargs))
        if len(leaves) != len(self.inputs):
            raise ExecutionError(
                f"method '{self.name}' takes {len(self.inputs)} inputs, and got {len(leaves)}"
            )
        values = (_Value * len(leaves))()
        alive = [
            _fill(value, index, leaf, info)
            for index, (value, leaf, info) in enumerate(
                zip(values, leaves, self.inputs, strict=True)
            )
        ]
        results = (_Value * len(self.outputs))()
        tensors: dict[int, torch.Tensor] = {}

        def allocate(_context: object, index: int, description: Any) -> int | None:
            try:
                tensors[index] = _empty(description.contents)
            except (RuntimeError, KeyError, TypeError):
                return None  # the C side reports the output that has no memory
            return tensors[index].data_ptr() or None

        with self._program._turn:
            code = _call("method_execute")(
                *(self._program._pointer(), self.name.encode()),
                *(values, len(values), results, len(results), _Allocate(allocate), None),
            )
        del alive
        _check(code)
        return [
            tensors[index] if result.kind == _TENSOR else _scalar(result)
            for index, result in enumerate(results)
        ]


class Program:
    """A loaded program; its methods, its bytes and its delegates live as long as it does."""

    def __init__(self, handle: int, name: str, options: Mapping[str, Any]) -> None:
        self._handle: int | None = handle
        self._name = name
        self._options = options
        self._prepared: set[str] = set()
        self._lock = threading.Lock()
        # Held while the program loads or runs, so that close waits; calls take turns anyway.
        self._turn = threading.Lock()
        count = _call("program_method_count")(handle)
        self.methods: tuple[str, ...] = tuple(
            _text(_call("program_method_name")(handle, index), f"the name of method {index}")
            for index in range(count)
        )
        self._methods: dict[str, Method] = {}

    def method(self, name: str) -> Method:
        """The method of this name; ExecutionError lists the ones there are."""
        if name not in self.methods:
            raise ExecutionError(
                f"{self._name} has no method '{name}'; it has: {', '.join(self.methods)}"
            )
        with self._lock:
            if name not in self._methods:
                self._methods[name] = Method(self, name)
            return self._methods[name]

    def forward(self, *inputs: Any, **kwargs: Any) -> list[Any]:
        return self.method("forward")(*inputs, **kwargs)

    def etdump(self) -> bytes:
        """What happened since the program was loaded, or since the last call of this, in the
        format of ExecuTorch's ETDump: events of methods, their operators, and delegates. Empty
        when nothing did. Raises ExecutionError unless it was loaded with `etdump=True`."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._turn:
            _check(_call("program_etdump")(self._pointer(), ctypes.byref(data), ctypes.byref(size)))
            return ctypes.string_at(data, size.value) if size.value else b""

    def close(self) -> None:
        """Free the program now; its methods raise ExecutionError from then on."""
        with self._turn, self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            _call("program_free")(handle)

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def _pointer(self) -> int:
        if self._handle is None:
            raise ExecutionError(f"{self._name} is closed")
        return self._handle

    def _prepare(self, method: Method) -> None:
        """Load the delegates that the method names, and hand them the options."""
        with self._lock:
            for delegate in method.delegates:
                if delegate in self._prepared:
                    continue
                _load_delegate(delegate)
                self._set_options(delegate)
                self._prepared.add(delegate)

    def _set_options(self, delegate: str) -> None:
        backend = registry.find_by_id(delegate)
        own = _options_of(self._options, delegate, backend.name if backend else "")
        if not own:
            return
        options = (_Option * len(own))(
            *(
                _Option(delegate.encode(), key.encode(), _option_text(value).encode())
                for key, value in own.items()
            )
        )
        _check(_call("program_set_options")(self._pointer(), options, len(options)))


def load(
    source: str | Path | bytes | bytearray | memoryview,
    *,
    data: str | Path | None = None,
    mode: str = "mmap",
    options: Mapping[str, Any] | None = None,
    etdump: bool = False,
) -> Program:
    """Load a program.

    source: a path, or the bytes of a `.pte`, which are copied.
    data: the `.ptd` with the weights that the `.pte` leaves outside.
    mode: how a path is read: `mmap`; `mmap-mlock`, locked in memory or an error;
        `mmap-mlock-ignore`, locked if the user's limit allows; `mmap-madvise`, read ahead;
        `file`, segments when they are needed; `buffer`, everything first.
    options: the delegates' runtime options, `{"device": "CPU"}` for every delegate of the
        program or `{"openvino": {"device": "CPU"}}` for one.
    etdump: record what runs, for `Program.etdump`.

    Raises ExecutionError when the source is no program, is truncated, or cannot be read.
    """
    if mode not in MODES:
        raise ExecutionError(f"load mode '{mode}' is none of {', '.join(MODES)}")
    if not isinstance(options or {}, Mapping):
        raise TypeError(f"load: options is a {type(options).__name__}; pass a dict, by name")
    if data is not None and not isinstance(data, (str, Path)):
        raise TypeError(f"load: data is a {type(data).__name__}; it can be a path")
    _refuse_strange_texts(options or {})
    _refuse_unknown_backends(options or {})
    handle = ctypes.c_void_p()
    data_path = str(data).encode() if data is not None else None
    if isinstance(source, (str, Path)):
        path, content, name = str(source).encode(), b"", f"'{source}'"
    elif isinstance(source, (bytes, bytearray, memoryview)):
        path, content, name = None, bytes(source), "the program's bytes"
    else:
        raise TypeError(f"load: source is a {type(source).__name__}; it can be a path or bytes")
    _check(
        _call("program_load")(
            *(path, content, len(content), data_path),
            *(MODES.index(mode) + (_RECORD if etdump else 0), ctypes.byref(handle)),
        )
    )
    assert handle.value is not None
    return Program(handle.value, name, dict(options or {}))


_delegates: dict[str, list[ctypes.CDLL]] = {}
_delegates_lock = threading.Lock()


def _load_delegate(backend_id: str) -> None:
    """Load the libraries of the backend with this id, once for the process."""
    with _delegates_lock:
        if backend_id in _delegates or backend_id in registered_backends():
            return
        backend = registry.find_by_id(backend_id)
        if backend is None:
            there = ", ".join(registry.names()) or "none"
            raise ExecutionError(
                f"the program needs the delegate '{backend_id}', which no installed backend has "
                f"(installed: {there}); add the package, or the Bazel target, that brings it"
            )
        try:
            _delegates[backend_id] = [
                ctypes.CDLL(str(path)) for path in backend.delegate_libraries()
            ]
        except OSError as error:
            raise ExecutionError(f"cannot load the delegate '{backend_id}': {error}") from error
        if backend_id not in registered_backends():
            del _delegates[backend_id]
            raise ExecutionError(f"the library of '{backend_id}' was loaded and did not register")


def _refuse_strange_texts(options: Mapping[Any, Any]) -> None:
    """TypeError for an option that is named by a number, say; ExecutionError for a NUL in a text,
    where the delegate would take its end to be."""
    for name, value in options.items():
        if not isinstance(name, str):
            raise TypeError(f"load: an option is called {name!r}; names are texts")
        if isinstance(value, Mapping):
            _refuse_strange_texts(value)
        elif "\0" in name or "\0" in _option_text(value):
            raise ExecutionError(f"load: option {name!r} is {value!r}, a text with a NUL in it")


def _refuse_unknown_backends(options: Mapping[str, Any]) -> None:
    """ExecutionError where options are under a name that is no backend's, nor its id."""
    for name, value in options.items():
        if not isinstance(value, Mapping):
            continue
        if name not in registry.names() and registry.find_by_id(name) is None:
            there = ", ".join(registry.names())
            raise ExecutionError(f"options are given for '{name}', and the backends are: {there}")


def _options_of(options: Mapping[str, Any], backend_id: str, name: str) -> dict[str, Any]:
    """Flat options, and those under the backend's name or id, which win."""
    own = {key: value for key, value in options.items() if not isinstance(value, Mapping)}
    for key in (name, backend_id):
        nested = options.get(key)
        if isinstance(nested, Mapping):
            own |= nested
    return own


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fill(value: _Value, index: int, leaf: object, info: ValueInfo) -> object:
    """Describe one input to the C side; returns what must stay alive during the call."""
    if leaf is None:
        value.kind = _NONE
    elif isinstance(leaf, bool):
        value.kind, value.integer = (_BOOL if info.kind == "bool" else _INT), int(leaf)
    elif isinstance(leaf, int):
        if not -(2**63) <= leaf < 2**63:
            raise ExecutionError(f"input {index} is {leaf}, which does not fit int64")
        value.kind, value.integer, value.real = _INT, leaf, float(leaf)
        if info.kind == "float":
            value.kind = _DOUBLE
    elif isinstance(leaf, float):
        value.kind, value.real = _DOUBLE, leaf
    elif isinstance(leaf, torch.Tensor):
        return _fill_tensor(value, index, leaf, info)
    else:
        raise ExecutionError(
            f"input {index} is a {type(leaf).__name__}; it can be a tensor, a number or None"
        )
    return None


def _fill_tensor(value: _Value, index: int, tensor: torch.Tensor, info: ValueInfo) -> object:
    if tensor.dtype not in _NUMBERS:
        raise ExecutionError(f"input {index} has dtype {tensor.dtype}, which programs cannot take")
    if tensor.device.type != "cpu":
        raise ExecutionError(f"input {index} is on {tensor.device}; pass a CPU tensor")
    if tensor.layout != torch.strided:
        raise ExecutionError(f"input {index} has layout {tensor.layout}; pass a dense tensor")
    order = info.dim_order if len(info.dim_order) == tensor.dim() else range(tensor.dim())
    # Laid out as the program declares it: without this, memory in another dim order, a view
    # or a stride of 0 would be read as something else.
    packed = tensor.detach().resolve_neg().permute(list(order)).contiguous()
    sizes = (ctypes.c_int32 * tensor.dim())(*tensor.shape)
    dim_order = (ctypes.c_uint8 * tensor.dim())(*order)
    value.kind = _TENSOR
    value.dtype = _NUMBERS[tensor.dtype]
    value.rank = tensor.dim()
    value.sizes = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int32))
    value.dim_order = ctypes.cast(dim_order, ctypes.POINTER(ctypes.c_uint8))
    value.bytes = packed.numel() * packed.element_size()
    value.data = packed.data_ptr() or None
    return packed, sizes, dim_order


def _empty(description: _Value) -> torch.Tensor:
    """A new tensor of the described shape, packed in the described dim order."""
    shape = description.sizes[: description.rank]
    order = description.dim_order[: description.rank]
    packed = torch.empty([shape[d] for d in order], dtype=_DTYPES[description.dtype])
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return packed.permute(inverse)


def _scalar(result: _Value) -> object:
    if result.kind == _INT:
        return result.integer
    if result.kind == _BOOL:
        return bool(result.integer)
    return result.real if result.kind == _DOUBLE else None
