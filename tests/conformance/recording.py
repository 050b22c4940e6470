"""What is recorded of an operator on a backend, and what counts as a failure."""

from collections.abc import Sequence
from typing import Any

from faults import fault_of
from suite import Variant, Verdict, dynamic_variants_of, examine, variants_of

GOOD = ("delegated", "left")


def outcome_of(name: str, backend: str) -> tuple[dict[str, Any], list[str]]:
    """{dtype: {"delegated": samples, "left": {reason: samples}, ...}}, and the failures.

    What fails on the portable kernels too, or is refused there too, is no failure of the
    backend, unless the backend computes all of it.
    """
    outcomes: dict[str, Any] = {}
    failures: list[str] = []
    for variants in (variants_of(name), dynamic_variants_of(name)):
        verdicts = examine(name, variants, backend)
        bad = [at for at, verdict in enumerate(verdicts) if verdict.status not in GOOD]
        control = [] if backend == "portable" else examine(name, _some(variants, bad), "portable")
        for at, also in zip(bad, control or [verdicts[at] for at in bad], strict=True):
            verdicts[at], failure = _judged(name, variants[at], verdicts[at], also)
            failures += [failure] if failure else []
        for variant, verdict in zip(variants, verdicts, strict=True):
            _add(outcomes.setdefault(_column(variant), {}), verdict)
    return outcomes, failures


def _some(variants: Sequence[Variant], indices: Sequence[int]) -> list[Variant]:
    return [variants[at] for at in indices]


def _judged(
    name: str, variant: Variant, verdict: Verdict, control: Verdict
) -> tuple[Verdict, str | None]:
    """The verdict to record, and the failure, if it is one."""
    told = f"{_column(variant)}, {variant.label}: {verdict.status}: {' | '.join(verdict.reasons)}"
    if verdict.status == "refused":
        return verdict, None if control.status == "refused" else told
    fault = fault_of(name, variant.label, str(variant.dtype).removeprefix("torch."))
    if control.status in GOOD or fault is None:
        return verdict, told
    return Verdict("control", (fault,)), None


def _column(variant: Variant) -> str:
    dtype = str(variant.dtype).removeprefix("torch.")
    return dtype if variant.dynamic is None else f"{dtype}, dynamic"


def _add(of_dtype: dict[str, Any], verdict: Verdict) -> None:
    if verdict.status == "delegated":
        of_dtype["delegated"] = of_dtype.get("delegated", 0) + 1
        return
    reasons = of_dtype.setdefault(verdict.status, {})
    for reason in verdict.reasons[:1] if verdict.status == "control" else verdict.reasons:
        text = " ".join(reason.split())
        reasons[text] = reasons.get(text, 0) + 1
