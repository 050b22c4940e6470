"""Resolve requirements.in into third_party/locks, one hash-checked lock per torch build.

    ./bazelw run //third_party:lock -- cpu cuda13

pip's own configuration decides where packages come from; a lock names versions and
SHA-256 only. The `cpu` lock can be made only where pip is offered torch's CPU build
(a local version, `2.13.0+cpu`).
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

PLATFORM = "linux_x86_64_cp311"
TORCH = re.compile(r"^torch==([0-9.]+)$", re.MULTILINE)
# What to ask pip for: `===` compares the text, so that no local version is taken for PyPI's build.
TORCH_BUILDS = {"cpu": r"torch===\1+cpu", "cuda13": r"torch===\1"}


def split_requirements(text: str) -> tuple[list[str], list[str]]:
    """Return (requirements resolved with their dependencies, requirements taken alone)."""
    resolved, alone = [], []
    for line in text.splitlines():
        requirement, _, comment = line.partition("#")
        if requirement.strip():
            (alone if "no-deps" in comment else resolved).append(requirement.strip())
    return resolved, alone


def resolve(requirements: Sequence[str], *options: str) -> dict[str, tuple[str, str]]:
    """Return {name: (version, sha256)} as pip would install them into an empty folder."""
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as wanted:
        wanted.write("\n".join(requirements))
        wanted.flush()
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command = [*pip, "--only-binary=:all:", "--report=-", "-r", wanted.name, *options]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    packages = {}
    for item in json.loads(run.stdout)["install"]:
        metadata = item["metadata"]
        sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
        packages[metadata["name"]] = (metadata["version"], sha256)
    return packages


def lock(requirements: str, build: str) -> str:
    resolved, alone = split_requirements(TORCH.sub(TORCH_BUILDS[build], requirements))
    packages = resolve(resolved) | resolve(alone, "--no-deps")
    lines = [
        f"# Made by `./bazelw run //third_party:lock -- {build}`: linux x86_64, CPython 3.11.",
        *(
            f"{name}=={version} --hash=sha256:{sha256}"
            for name, (version, sha256) in sorted(packages.items(), key=lambda p: p[0].lower())
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs="+", choices=sorted(TORCH_BUILDS))
    here = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", ".")) / "third_party"
    for build in parser.parse_args().builds:
        path = here / "locks" / f"{PLATFORM}_{build}.txt"
        path.write_text(lock((here / "requirements.in").read_text(), build))
        print(f"{path.name}: {len(path.read_text().splitlines()) - 1} packages")


if __name__ == "__main__":
    main()
