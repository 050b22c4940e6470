"""The options of `backend="qualcomm"`, checked before anything is lowered."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from backend_common.options import check_options, option_error
from executorch.backends.qualcomm.serialization.qc_schema import QcomChipset, _soc_info_table
from executorch.exir.backend.compile_spec_schema import CompileSpec

from qualcomm_backend import quantization

SOCS = tuple(sorted(soc.name for soc in QcomChipset if soc in _soc_info_table))
PRECISIONS = ("fp16", *quantization.PRECISIONS)

# The first HTP that computes in 16-bit floats.
_FIRST_WITH_FLOATS = 69


@dataclass(frozen=True)
class Options:
    """soc: the chip that the program is compiled for, by ExecuTorch's name of it.
    precision: `fp16`, in which float32 programs compute on the HTP, or the bits of activations
        and of weights, as `16a8w`: programs are quantized first.
    trial_run: whether each delegate is run once on the emulator, and given back if it differs.
    """

    soc: str = "SM8650"
    precision: str = "fp16"
    trial_run: bool = True

    def compile_specs(self) -> list[CompileSpec]:
        """One, which the delegate reads when it loads."""
        from qualcomm_backend import stock

        return [stock.compile_spec(self.soc, floats=self.precision == "fp16")]


_DEFAULTS = asdict(Options())
_ACCEPTED = {"soc": SOCS, "precision": PRECISIONS, "trial_run": (False, True)}


def parse(options: Mapping[str, object]) -> Options:
    """LoweringError names the option that is wrong and what it accepts."""
    checked = check_options("qualcomm", options, _DEFAULTS)
    for name, value in checked.items():
        if value not in _ACCEPTED[name]:
            accepted = ", ".join(map(str, _ACCEPTED[name]))
            raise option_error(
                "qualcomm",
                name,
                f"qualcomm's option '{name}' is {value!r}; it can be {accepted}",
            )
    chosen = Options(**checked)  # type: ignore[arg-type]  # checked above
    architecture = _soc_info_table[QcomChipset[chosen.soc]].htp_info.htp_arch
    if chosen.precision == "fp16" and architecture < _FIRST_WITH_FLOATS:
        raise option_error(
            "qualcomm",
            "precision",
            f"the HTP of {chosen.soc} (v{architecture:d}) has no 16-bit floats",
            f"choose a chip with HTP v{_FIRST_WITH_FLOATS} or later",
        )
    return chosen
