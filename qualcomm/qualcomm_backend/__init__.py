"""The Qualcomm backend. Importing it imports neither QNN nor anything else that is heavy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend_common.diagnostics import Diagnostics


class QualcommEntry:
    """What the entry point `qualcomm` of the group `executorch_backends` resolves to."""

    name = "qualcomm"
    backend_id = "QnnBackend"

    def parse_options(self, options: Mapping[str, object]) -> Mapping[str, object]:
        from qualcomm_backend import options as known

        return vars(known.parse(options))

    def partitioners(
        self,
        options: Mapping[str, object],
        *,
        keep: frozenset[str],
        method: str,
        diagnostics: "Diagnostics",
    ) -> list[Any]:
        from qualcomm_backend import options as known
        from qualcomm_backend.partitioner import QualcommPartitioner

        chosen = known.parse(options)
        return [
            QualcommPartitioner(
                chosen, keep=keep, withdrawn=diagnostics.withdrawn, reject=diagnostics.reject
            )
        ]

    def edge_compile_config(self, options: Mapping[str, object]) -> Any | None:
        return None

    def passes(self, options: Mapping[str, object]) -> Sequence[Any]:
        from qualcomm_backend import emulator
        from qualcomm_backend.autocast import resolve_autocast
        from qualcomm_backend.passes import run_aten_passes
        from qualcomm_backend.quantization import Quantize

        def write_regions_out(program: Any) -> Any:
            return resolve_autocast(program)[0]

        if options["trial_run"]:
            emulator.start()  # while the program is lowered
        passes: list[Any] = [write_regions_out, run_aten_passes]
        if (precision := str(options["precision"])) != "fp16":
            passes.append(Quantize(precision))
        return passes

    def try_delegates(
        self,
        options: Mapping[str, object],
        programs: Mapping[str, Any],
        example_inputs: Mapping[str, Any],
    ) -> None:
        from qualcomm_backend.trial_run import give_back_what_differs

        if options["trial_run"]:
            give_back_what_differs(programs, example_inputs)

    def delegate_libraries(self) -> Sequence[Path]:
        from qualcomm_backend import runtime

        return runtime.delegate_libraries()


BACKEND = QualcommEntry()
