"""The CPU: x86-64 with AVX2, or with AVX-512 where a program asks for it."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import torch

from aoti_backend.devices import Device, Isa


@contextlib.contextmanager
def _plain_operators() -> Iterator[None]:
    """Without oneDNN, whose packed weights and fused operators have no C interface here."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


AVX2 = Isa("avx2", 256, ("-march=x86-64-v3", "-DCPU_CAPABILITY_AVX2"))
AVX512 = Isa("avx512", 512, ("-march=x86-64-v4", "-DCPU_CAPABILITY_AVX512"))

# Linux's names of what gcc may make use of by -march=native.
_OF_COMPILERS = re.compile(r"avx\w*|fma4?|f16c|bmi[12]|abm|movbe|sse\w*|ssse3|aes|sha_ni|vaes|gfni")


def native() -> Isa:
    """All that this machine's CPU has."""
    info = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags
    base = AVX512 if wide else AVX2
    used = sorted(flag for flag in flags if _OF_COMPILERS.fullmatch(flag))
    return Isa("native:" + ",".join(used), base.vectors, ("-march=native", base.flags[1]))


CPU = Device(
    name="cpu",
    backend_id="AotiCpuBackend",
    shims="libexecutorch_backends_aoti_shims_cpu.so",
    kernels="cpu_kernels.json",
    delegate="libexecutorch_backend_aoti_cpu.so",
    isas={"avx2": lambda: AVX2, "avx512": lambda: AVX512, "native": native},
    inductor={
        # As many threads as there are where the program runs, not where it was lowered.
        "cpp.dynamic_threads": True,
        "cpp.enable_kernel_profile": False,
        "cpp.weight_prepack": False,
    },
    numerics=_plain_operators,
)
