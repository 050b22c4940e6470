"""The named data of programs and of `.ptd` files, by key."""

import mmap
from pathlib import Path

from backend_common.payload import PayloadError


def in_program(program: mmap.mmap) -> dict[str, memoryview]:
    """What a `.pte` holds beside its instructions, as views of it."""
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program
    from executorch.exir._serialize._program import _get_extended_header

    header = _get_extended_header(program[:64])
    if header is None or not header.is_valid():
        return {}
    try:
        table = _flatbuffer_to_program(program[: header.program_size])
    except Exception as error:  # what a parser of unchecked bytes raises is of any type
        raise PayloadError(f"the program's tables cannot be read: {error}") from error
    view = memoryview(program)
    found = {}
    for entry in table.named_data or ():
        if entry.segment_index >= len(table.segments):
            raise PayloadError(
                f"named data '{entry.key}' is in segment {entry.segment_index}; "
                f"the program has {len(table.segments)}"
            )
        segment = table.segments[entry.segment_index]
        start = header.segment_base_offset + segment.offset
        found[entry.key] = view[start : start + segment.size]
    return found


def in_data_file(path: Path) -> dict[str, memoryview]:
    """What a `.ptd` holds."""
    from executorch.exir._serialize._cord import Cord
    from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer

    try:
        content = FlatTensorSerializer().deserialize(Cord(path.read_bytes()))
    except Exception as error:  # likewise
        raise PayloadError(f"{path} is no intact .ptd: {error}") from error
    return {
        key: memoryview(bytes(content.buffers[entry.buffer_index]))
        for key, entry in content.named_data.items()
    }
