"""Options are checked by one rule: an unknown name is refused with the names there are."""

from collections.abc import Mapping

from backend_common.errors import LoweringError
from backend_common.report import Row

# Every backend has it: `lower` itself obeys it.
EXTERNAL_WEIGHTS = "external_weights"


def option_error(backend: str, option: str, reason: str, remedy: str = "") -> LoweringError:
    """The refusal of one option; `reason` names the value and what is accepted."""
    row = Row("", "", f"option {option}", "", False, backend, reason, remedy)
    return LoweringError(f"an option of {backend} is refused:", [row])


def check_options(
    backend: str, options: Mapping[str, object], accepted: Mapping[str, object]
) -> dict[str, object]:
    """The options with `accepted`'s defaults. LoweringError names the first that is none."""
    for option in options:
        if option not in accepted:
            there = ", ".join(sorted({*accepted, EXTERNAL_WEIGHTS}))
            raise option_error(
                backend, option, f"{backend} has no option '{option}'; its options are: {there}"
            )
    return {**accepted, **options}
