"""From Inductor's source to the shared library that a payload carries.

Equal sources give equal bytes: no path, no time and no random name gets into the library.
"""

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from aoti_backend.codegen import Source
from aoti_backend.devices import Isa
from aoti_backend.failed_checks import stop_at_failed_checks

COMPILER_VARIABLE = "CXX"
CACHE_VARIABLE = "EXECUTORCH_BACKENDS_CACHE"

# The end of what every wrapper starts with: the C interface, the same for all of them.
_INTERFACE_END = '} // extern "C"'

_HERE = Path(__file__).parent.absolute() / "include"

_HEADERS = ("convert_to_int8.h", "failed_check.h", "kernels.h", "program.h", "regex")

_COMMON = (
    "-std=c++20",
    "-fPIC",
    "-fno-gnu-unique",  # else the loader would merge statics of several programs
    "-fno-semantic-interposition",
    "-ffunction-sections",
    "-fdata-sections",
    "-w",
    # As eager: no fused multiply-add, signed zeros, NaN and infinities kept.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp",
    "-DNDEBUG",
    "-DTORCH_INDUCTOR_CPP_WRAPPER",
    "-DSTANDALONE_TORCH_HEADER",
    "-DC10_USING_CUSTOM_GENERATED_MACROS",
    "-DUSE_MMAP_EXTERNAL",  # constants come from a blob of the caller's
)
# What it does is to call the kernels, and optimising it is what takes long.
_WRAPPER = ("-O1",)
# Inductor has vectorised; gcc's own attempts at the rest cost time and gain nothing.
_KERNELS = ("-O3", "-fno-tree-loop-vectorize")

_LINK = (
    "-shared",
    "-s",
    "-fopenmp",
    "-Wl,--build-id=none",
    "-Wl,--gc-sections",
    "-Wl,--as-needed",
    "-Wl,-z,defs",
    "-Wl,-z,relro,-z,now",
    "-Wl,-O1",
)


class CompilationError(Exception):
    """The compiler or the linker failed, or there is none; the text is its own."""


class SourceError(CompilationError):
    """The compiler refuses what Inductor wrote."""


@functools.cache
def compiler() -> tuple[str, ...]:
    """The C++ compiler's command: `CXX`, else that of the Bazel toolchain that came along, else
    g++ or c++ on the path.
    """
    if given := shlex.split(os.environ.get(COMPILER_VARIABLE, "")):
        return tuple(given)
    if (named := Path(__file__).parent / "compiler.txt").exists():
        root = Path(__file__).absolute().parents[2]
        return (os.path.normpath(root / named.read_text().strip()),)
    for name in ("g++", "c++"):
        if found := shutil.which(name):
            return (found,)
    raise CompilationError(
        f"there is no C++ compiler: name one in {COMPILER_VARIABLE}, or install g++"
    )


def build(source: Source, isa: Isa, shims: Path, check: Callable[[Sequence[Path]], None]) -> bytes:
    """The program's library. It needs `shims`, by its SONAME, and shows the C interface alone.

    check: is called with the compiled objects before they are linked.
    """
    ready = _prepared(isa)
    with tempfile.TemporaryDirectory(prefix="aoti_") as folder:
        here = Path(folder)
        _compile_source(here, source, ready)
        objects = [here / "program.o", here / "kernels.o", ready.interface]
        check(objects)
        _run(
            here,
            *(*compiler(), *_LINK, "-o", "program.so"),
            *("program.o", "kernels.o", str(ready.interface)),
            *("-Wl,--version-script," + str(_HERE / "program.lds"),),
            *("-Wl,--no-as-needed", str(shims), "-Wl,--as-needed", "-lstdc++", "-lm"),
        )
        return (here / "program.so").read_bytes()


def try_out(source: Source, isa: Isa) -> None:
    """SourceError where the source does not compile."""
    with tempfile.TemporaryDirectory(prefix="aoti_") as folder:
        _compile_source(Path(folder), source, _prepared(isa))


def _compile_source(here: Path, source: Source, ready: "_Prepared") -> None:
    head, model = _split(source.wrapper)
    model += _size_of_constants(len(source.constants))
    (here / "program.cpp").write_text(model)
    (here / "kernels.cpp").write_text(stop_at_failed_checks(source.kernels))
    units = [("program", ready.wrapper_flags), ("kernels", ready.kernel_flags)]
    if not head.endswith(ready.interface_source):
        raise CompilationError("the wrapper does not start with AOTInductor's C interface")
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda unit: _compile(here, *unit), units))
    except CompilationError as error:
        raise SourceError(str(error)) from error


def _split(wrapper: str) -> tuple[str, str]:
    end = wrapper.index(_INTERFACE_END) + len(_INTERFACE_END)
    return wrapper[:end], wrapper[end:]


def _size_of_constants(size: int) -> str:
    """What the runtime header takes for the constants: their size, where they are a blob."""
    numbers = ", ".join(str(byte) for byte in size.to_bytes(8, "little"))
    return f"\nalignas(8) uint8_t _binary_constants_bin_start[8] = {{{numbers}}};\n"


@dataclass(frozen=True)
class _Prepared:
    """What all programs of an ISA share, compiled."""

    wrapper_flags: tuple[str, ...]
    kernel_flags: tuple[str, ...]
    interface: Path
    interface_source: str


@functools.cache
def _prepared(isa: Isa) -> _Prepared:
    wrapper, kernels = _flags(isa)
    source = _interface_source()
    key = _key(isa, source)
    folder = Path(__file__).parent.absolute() / "precompiled" / key  # a build tree
    if not folder.is_dir():
        folder = precompile(_cache(), isa)
    return _Prepared(
        (*wrapper, "-include", str(folder / "program.h")),
        (*kernels, "-include", str(folder / "kernels.h")),
        folder / "interface.o",
        source,
    )


def precompile(parent: Path, isa: Isa) -> Path:
    """Compiles what all programs share into a folder of `parent`, unless it is there."""
    source = _interface_source()
    folder = parent / _key(isa, source)
    if folder.is_dir():
        return folder
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new_", dir=parent) as temporary:
        new = Path(temporary, "new")
        _prepare(new, *_flags(isa), source)
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    return folder


def _flags(isa: Isa) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the wrapper and of the kernels."""
    headers = (_HERE, _torch_headers())
    common = (*_COMMON, *isa.flags, *(f"-I{folder}" for folder in headers))
    # No path gets into the texts of the headers' checks.
    common += tuple(f"-ffile-prefix-map={folder}=" for folder in headers)
    return (*common, *_WRAPPER), (*common, *_KERNELS)


def _prepare(new: Path, wrapper: Sequence[str], kernels: Sequence[str], source: str) -> None:
    new.mkdir()
    (new / "interface.cpp").write_text(source)

    def header(name: str, flags: Sequence[str]) -> None:
        shutil.copyfile(_HERE / name, new / name)
        _run(new, *compiler(), *flags, "-x", "c++-header", name, "-o", f"{name}.gch")

    def program() -> None:
        header("program.h", wrapper)
        _compile(new, "interface", (*wrapper, "-include", "program.h"))

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(program), pool.submit(header, "kernels.h", kernels)]:
            done.result()


def _compile(folder: Path, name: str, flags: Sequence[str]) -> None:
    _run(folder, *compiler(), *flags, "-c", f"{name}.cpp", "-o", f"{name}.o")


def _run(folder: Path, *command: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompilationError(f"cannot run {command[0]}: {error}") from error
    if done.returncode:
        raise CompilationError(_first_errors(done.stderr) or f"{command[0]} failed")


def _first_errors(text: str) -> str:
    lines = text.splitlines()
    errors = [line for line in lines if "error:" in line or "undefined reference" in line]
    return "\n".join((errors or lines)[:5])


def _interface_source() -> str:
    """What every wrapper starts with, which Inductor copies from this file of its own."""
    from torch._inductor.codegen import cpp_wrapper_cpu

    path = Path(cpp_wrapper_cpu.__file__).parent / "aoti_runtime" / "interface.cpp"
    text = path.read_text()
    end = text.index(_INTERFACE_END) + len(_INTERFACE_END)
    return text[:end]


@functools.cache
def _torch_headers() -> Path:
    return Path(torch.__file__).parent.absolute() / "include"


def _cache() -> Path:
    """Where precompiled headers are kept: 290 MB for each compiler and ISA."""
    if named := os.environ.get(CACHE_VARIABLE):
        folder = Path(named) / "aoti"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folder = Path(home).expanduser() / "executorch_backends" / "aoti"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"executorch_backends_{os.getuid()}" / "aoti"
    return folder


def _key(isa: Isa, interface: str) -> str:
    parts = [torch.__version__, *_identity(), *_COMMON, *_WRAPPER, *_KERNELS, *isa.flags, interface]
    parts += [(_HERE / name).read_text() for name in _HEADERS]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _identity() -> tuple[str, ...]:
    """What distinguishes one compiler from another."""
    try:
        said = subprocess.run(
            [*compiler(), "-v", "-E", "-x", "c++", os.devnull, "-o", os.devnull],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        remedy = f"name a C++ compiler in {COMPILER_VARIABLE}"
        what = f"cannot run the compiler {compiler()[0]}"
        raise CompilationError(f"{what}: {error}; {remedy}") from error
    return tuple(line for line in said.stderr.splitlines() if "version" in line)
