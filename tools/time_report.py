"""Compare how long each area's tests took with its share of CI's 90 minutes.

    ./bazelw run //tools:time_report

Reads the reports of the last `bazel test`, on the machine that ran it. The shares are
budgets for two cores, cold, for everything that the repository will ever hold; a report,
not a verdict: timings decide no test.
"""

import os
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

# Minutes. Installing (12) and slack (11) make up the rest of the 90.
BUDGET = {
    "common": 7.5,
    "openvino": 7.5,
    "aoti": 20.0,
    "qualcomm": 12.0,
    "users": 20.0,
}
USERS = ("examples", "tests", "third_party", "tools")


def seconds_by_target(logs: pathlib.Path) -> dict[str, float]:
    """Sum over the shards and cases of each target, as Bazel's XML reports have them."""
    seconds: dict[str, float] = {}
    for report in sorted(logs.rglob("test.xml")):
        target = report.parent.relative_to(logs)
        if target.name.startswith("shard_"):
            target = target.parent
        root = ElementTree.parse(report).getroot()
        suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
        for suite in suites:
            seconds[str(target)] = seconds.get(str(target), 0.0) + float(suite.get("time") or 0)
    return seconds


def main() -> int:
    workspace = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    logs = workspace / "bazel-testlogs"
    if not logs.exists():
        print(f"time_report: {logs} is not there; run `./bazelw test //...` first", file=sys.stderr)
        return 1
    seconds = seconds_by_target(logs.resolve())
    spent = dict.fromkeys(BUDGET, 0.0)
    for target, duration in seconds.items():
        area = target.partition("/")[0]
        if not (workspace / target).parent.is_dir():
            continue  # logs of a target that is gone
        spent["users" if area in USERS else area] += duration
    print(f"{'area':10} {'minutes':>8} {'budget':>8}")
    for area, budget in BUDGET.items():
        minutes = spent[area] / 60
        print(f"{area:10} {minutes:8.1f} {budget:8.1f}{'   over' if minutes > budget else ''}")
    print("slowest:")
    for target in sorted(seconds, key=seconds.__getitem__, reverse=True)[:10]:
        print(f"  {seconds[target]:7.1f} s  //{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
