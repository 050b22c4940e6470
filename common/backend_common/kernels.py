"""The kernels that the runtime's libraries register."""

import functools

from backend_common import program


@functools.cache
def registered_kernels() -> frozenset[str]:
    """Names as programs spell them, `aten::add.out`; asked of the loaded libraries."""
    return program.registered_kernels()
