"""The committed outcomes of a backend, and the table that its README shows of them.

    ./bazelw run //tests/conformance:update -- openvino [operator ...]

runs the operators (all of them without a name), and writes `openvino.json` and the README.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite import Variant, Verdict

# {operator: {dtype: {"delegated": samples, "left": {reason: samples}, ...}}}
Outcomes = dict[str, dict[str, dict[str, Any]]]

BEGIN = "<!-- conformance: begin -->"
END = "<!-- conformance: end -->"


def recorded(path: Path) -> Outcomes:
    return json.loads(path.read_text()) if path.exists() else {}  # type: ignore[no-any-return]


def outcomes_of(variants: Sequence[Variant], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What is recorded of one operator."""
    found: dict[str, dict[str, Any]] = {}
    for variant, verdict in zip(variants, verdicts, strict=True):
        of_dtype = found.setdefault(_short(variant), {})
        if verdict.status == "delegated":
            of_dtype["delegated"] = of_dtype.get("delegated", 0) + 1
            continue
        reasons = of_dtype.setdefault(verdict.status, {})
        key = "; ".join(map(_one_line, verdict.reasons))
        reasons[key] = reasons.get(key, 0) + 1
    return found


def _short(variant: Variant) -> str:
    dtype = str(variant.dtype).removeprefix("torch.")
    return dtype if variant.dynamic is None else f"{dtype}, dynamic"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def write(path: Path, outcomes: Outcomes) -> None:
    path.write_text(json.dumps(outcomes, indent=1, sort_keys=True) + "\n")


def markdown(outcomes: Outcomes) -> str:
    """One row for the operators that are alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, by_dtype in sorted(outcomes.items()):
        alike.setdefault((_delegated(by_dtype), _left(by_dtype)), []).append(f"`{name}`")
    rows = [
        f"| {', '.join(names)} | {delegated} | {left} |"
        for (delegated, left), names in sorted(alike.items(), key=lambda item: item[1])
    ]
    total = len(outcomes)
    return "\n".join(
        [
            f"{total} operators and composites, each with many arguments.",
            "",
            "| operators | delegated | left, or refused |",
            "|---|---|---|",
            *rows,
        ]
    )


def _delegated(by_dtype: Mapping[str, Mapping[str, Any]]) -> str:
    """Dtypes; a star where only some of the samples are."""
    found = []
    for dtype, outcome in by_dtype.items():
        if "delegated" in outcome:
            found.append(dtype if len(outcome) == 1 else f"{dtype}*")
    return ", ".join(found) or "none"


def _left(by_dtype: Mapping[str, Mapping[str, Any]]) -> str:
    """The reasons, without the operators' names and without what follows from the dtype alone."""
    reasons: dict[str, None] = {}
    for outcome in by_dtype.values():
        for status, texts in outcome.items():
            if status == "delegated":
                continue
            for text in texts:
                for part in text.split("; "):
                    reason = re.sub(r"^[\w.]+: ", "", part)
                    reasons[reason if status == "left" else f"{status}: {reason}"] = None
    return "; ".join(sorted(reasons))


def with_table(readme: str, outcomes: Outcomes) -> str:
    """The README's text with the table between its markers brought up to date."""
    before, _, rest = readme.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the README has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{markdown(outcomes)}\n{END}{after}"
