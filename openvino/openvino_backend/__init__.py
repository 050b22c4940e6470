"""The OpenVINO backend. Importing it imports neither OpenVINO nor anything else that is heavy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend_common.diagnostics import Diagnostics


class OpenvinoEntry:
    """What the entry point `openvino` of the group `executorch_backends` resolves to."""

    name = "openvino"
    backend_id = "OpenvinoBackend"

    def parse_options(self, options: Mapping[str, object]) -> Mapping[str, object]:
        from openvino_backend import options as known

        return vars(known.parse(options))

    def partitioners(
        self,
        options: Mapping[str, object],
        *,
        keep: frozenset[str],
        method: str,
        diagnostics: "Diagnostics",
    ) -> list[Any]:
        from openvino_backend import options as known
        from openvino_backend.partitioner import OpenvinoPartitioner

        chosen = known.parse(options)
        return [
            OpenvinoPartitioner(
                chosen, keep=keep, withdrawn=diagnostics.withdrawn, reject=diagnostics.reject
            )
        ]

    def edge_compile_config(self, options: Mapping[str, object]) -> Any | None:
        return None

    def passes(self, options: Mapping[str, object]) -> Sequence[Any]:
        from openvino_backend.check_written_places import CheckWrittenPlaces

        return (CheckWrittenPlaces(),)

    def try_delegates(
        self,
        options: Mapping[str, object],
        programs: Mapping[str, Any],
        example_inputs: Mapping[str, Any],
    ) -> None:
        pass  # Each partition was converted and compiled by the partitioner.

    def delegate_libraries(self) -> Sequence[Path]:
        from openvino_backend import runtime

        runtime.name_openvino_library()
        return (runtime.delegate_library(),)


BACKEND = OpenvinoEntry()
