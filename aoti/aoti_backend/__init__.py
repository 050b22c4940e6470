"""The AOTI backend. Importing it imports neither torch nor anything else that is heavy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend_common.diagnostics import Diagnostics

    from aoti_backend.devices import Device


class AotiEntry:
    """What an entry point `aoti-cpu` of the group `executorch_backends` resolves to."""

    def __init__(self, device: str, backend_id: str) -> None:
        self.name = f"aoti-{device}"
        self.backend_id = backend_id
        self._device_name = device

    def _device(self) -> "Device":
        from aoti_backend.devices import named

        return named(self._device_name)

    def parse_options(self, options: Mapping[str, object]) -> Mapping[str, object]:
        from aoti_backend import options as known

        return vars(known.parse(self.name, self._device().isas, options))

    def partitioners(
        self,
        options: Mapping[str, object],
        *,
        keep: frozenset[str],
        method: str,
        diagnostics: "Diagnostics",
    ) -> list[Any]:
        from aoti_backend import options as known
        from aoti_backend.partitioner import AotiPartitioner

        device = self._device()
        return [
            AotiPartitioner(
                device,
                known.parse(self.name, device.isas, options),
                keep=keep,
                withdrawn=diagnostics.withdrawn,
                reject=diagnostics.reject,
            )
        ]

    def edge_compile_config(self, options: Mapping[str, object]) -> Any | None:
        return None

    def passes(self, options: Mapping[str, object]) -> Sequence[Any]:
        return ()

    def try_delegates(
        self,
        options: Mapping[str, object],
        programs: Mapping[str, Any],
        example_inputs: Mapping[str, Any],
    ) -> None:
        pass  # The audit of the compiled code has had the last word.

    def delegate_libraries(self) -> Sequence[Path]:
        from aoti_backend import runtime

        device = self._device()
        return (runtime.shim_library(device), runtime.delegate_library(device))


CPU = AotiEntry("cpu", "AotiCpuBackend")
