"""The committed outcomes of a backend, and the table that its README shows of them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# {operator: {dtype: {"delegated": samples, "left": {reason: samples}, ...}}}
Outcomes = dict[str, dict[str, dict[str, Any]]]

BEGIN = "<!-- conformance: begin -->"
END = "<!-- conformance: end -->"

# Said of every operator, and so of none in the table.
_NOTHING = "there is nothing to compute: a tensor has no elements"


def read(path: Path) -> Outcomes:
    return json.loads(path.read_text()) if path.exists() else {}  # type: ignore[no-any-return]


def write(path: Path, outcomes: Outcomes) -> None:
    """A line for each operator and dtype."""
    lines = []
    for name in sorted(outcomes):
        rows = [
            f"  {json.dumps(dtype)}: {json.dumps(outcome, sort_keys=True)}"
            for dtype, outcome in outcomes[name].items()
        ]
        lines.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def markdown(outcomes: Outcomes) -> str:
    """One row for the operators that are alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, by_dtype in sorted(outcomes.items()):
        alike.setdefault((_delegated(by_dtype), _reasons(by_dtype)), []).append(f"`{name}`")
    rows = [
        f"| {', '.join(names)} | {delegated} | {reasons} |"
        for (delegated, reasons), names in sorted(alike.items(), key=lambda item: item[1])
    ]
    head = ["| operators | delegated | left or refused because |", "|---|---|---|"]
    return "\n".join([f"{len(outcomes)} operators and composites.", "", *head, *rows])


def _delegated(by_dtype: Mapping[str, Mapping[str, Any]]) -> str:
    """Dtypes; a star where not every sample is."""
    found = []
    for dtype, outcome in by_dtype.items():
        if "delegated" in outcome and not dtype.endswith("dynamic"):
            found.append(dtype + ("" if _only_empty_left(outcome) else "\\*"))
    return ", ".join(found) or "none"


def _only_empty_left(outcome: Mapping[str, Any]) -> bool:
    return set(outcome) <= {"delegated", "left"} and all(
        reason.endswith(_NOTHING) for reason in outcome.get("left", ())
    )


def _reasons(by_dtype: Mapping[str, Mapping[str, Any]]) -> str:
    found: dict[str, None] = {}
    for dtype, outcome in by_dtype.items():
        if dtype == "float64":
            continue  # never delegated, for one reason, which the page gives
        for status, reasons in outcome.items():
            for reason in reasons if status != "delegated" else ():
                if reason.endswith(_NOTHING):
                    continue
                text = re.sub(r"^[\w.]+: ", "", reason).replace("|", "\\|")
                text = re.sub(r"\b(u?int\d+|float\d+|bfloat16|bool)\b", "…", text)
                found[text if status == "left" else f"{status}: {text}"] = None
    return "; ".join(sorted(found))


def with_table(readme: str, outcomes: Outcomes) -> str:
    """The README's text with the table between its markers brought up to date."""
    before, _, rest = readme.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the README has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{markdown(outcomes)}\n{END}{after}"
