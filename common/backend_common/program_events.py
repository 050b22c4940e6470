"""The events of a recorded program, without ExecuTorch's Inspector and the packages it needs.

program = load("model.pte", etdump=True)
program.forward(x)
for event in events(program.etdump()):
    print(f"{event.name:40} {event.microseconds:9.1f} us  {event.metadata}")
"""

import importlib.util
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executorch.exir._serialize._flatbuffer import _flatc_decompile

_SCHEMAS = ("etdump_schema_flatcc.fbs", "scalar_type.fbs")


@dataclass(frozen=True)
class Event:
    """block: the run that it belongs to. name: an operator, `Method::execute`, or what a
    delegate calls its event. metadata: a delegate's text. Times are the runtime's clock, which
    counts nanoseconds."""

    block: str
    name: str
    is_delegates: bool
    start: int
    end: int
    metadata: str = ""

    @property
    def microseconds(self) -> float:
        return (self.end - self.start) / 1000


def events(etdump: bytes) -> list[Event]:
    """Profiling events in the order in which they ended; none of no bytes."""
    if not etdump:
        return []
    return [
        _event(block["name"], event["profile_event"])
        for block in _decoded(etdump)["run_data"]
        for event in block["events"]
        if "profile_event" in event
    ]


def _event(block: str, event: dict[str, Any]) -> Event:
    delegates = event.get("delegate_debug_id_str")
    metadata = bytes(event.get("delegate_debug_metadata", ())).decode(errors="replace")
    name = delegates or event.get("name", "")
    return Event(
        block, name, delegates is not None, event["start_time"], event["end_time"], metadata
    )


def _decoded(etdump: bytes) -> dict[str, Any]:
    # Not by executorch.devtools, whose import needs pandas and more.
    spec = importlib.util.find_spec("executorch")
    assert spec is not None and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0], "devtools", "etdump")
    with tempfile.TemporaryDirectory() as folder:
        for schema in _SCHEMAS:
            Path(folder, schema).write_bytes((package / schema).read_bytes())
        Path(folder, "dump.etdp").write_bytes(etdump)
        _flatc_decompile(
            folder, f"{folder}/{_SCHEMAS[0]}", f"{folder}/dump.etdp", ["--size-prefixed"]
        )
        decoded: dict[str, Any] = json.loads(Path(folder, "dump.json").read_text())
        return decoded
