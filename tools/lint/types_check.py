"""mypy --strict on our own packages, as pyproject.toml configures it."""

import os
import pathlib
import sys

from mypy import api

PACKAGES = (
    "aoti/aoti_backend",
    "common/backend_common",
    "openvino/openvino_backend",
    "qualcomm/qualcomm_backend",
    "tools/pte",
)


def main() -> int:
    configuration = pathlib.Path(sys.argv[1]).absolute()
    sources = [
        str(path)
        for package in PACKAGES
        for path in sorted(pathlib.Path(package).rglob("*.py"))
        if not path.name.endswith("_test.py") and path.name != "conftest.py"
    ]
    if not sources:
        print("types_check: no source was found below", ", ".join(PACKAGES))
        return 1
    # The same search path as at run time, so that imports between our packages are followed.
    os.environ["MYPYPATH"] = ":".join(
        sorted({str(pathlib.Path(package).parent.absolute()) for package in PACKAGES})
    )
    cache = os.environ.get("TEST_TMPDIR", "/dev/null")
    report, errors, code = api.run(
        [f"--config-file={configuration}", f"--cache-dir={cache}/mypy", *sources]
    )
    print(report, errors, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
