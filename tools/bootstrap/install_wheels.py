"""Install one hash-checked lock of wheels into the shared cache and print what came out.

    python3.11 install_wheels.py --cache FOLDER --lock NAME=FILE [--lock NAME=FILE ...]
        [--choose auto|NAME] [--pip WHEEL]

Prints `NAME FOLDER`: the lock that was taken, and its site-packages. The folder's key is
the lock's content and the interpreter, so checkouts share it. It is made beside its final
place and renamed into it, under a lock: an interrupted install leaves nothing half done,
and of two at once the second waits and then finds the work done.

`auto` takes the first lock whose torch pip can be offered: `torch==2.13.0+cpu` exists only
where pip is configured to find torch's CPU build.
"""

import argparse
import compileall
import fcntl
import hashlib
import os
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys

LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+) --hash=sha256:[0-9a-f]{64}$")


class InstallError(Exception):
    """What stopped the install, for the user."""


def locked_packages(lock: pathlib.Path) -> dict[str, str]:
    packages = {}
    for line in lock.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        match = LOCKED.match(line)
        if not match:
            raise InstallError(f"{lock}: '{line}' is not 'name==version --hash=sha256:…'")
        packages[match["name"]] = match["version"]
    return packages


class Pip:
    def __init__(self, wheel: str | None) -> None:
        self.environment = dict(os.environ)
        if wheel:
            self.environment["PYTHONPATH"] = wheel

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        return subprocess.run(
            [*command, *arguments],
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def offers_torch_of(self, lock: pathlib.Path) -> bool:
        wanted = f"torch==={locked_packages(lock)['torch']}"
        options = ["--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:"]
        return self.run("install", *options, wanted).returncode == 0

    def install(self, lock: pathlib.Path, target: pathlib.Path) -> None:
        result = self.run(
            *("install", "--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:"),
            *("--root-user-action=ignore", "--target", str(target), "-r", str(lock)),
        )
        if result.returncode:
            raise InstallError(f"pip could not install {lock.name}:\n{result.stderr.strip()}")


def check(lock: pathlib.Path, site: pathlib.Path) -> None:
    """Raise unless every locked package's metadata is in `site` with the locked version."""
    found = {}
    for metadata in site.glob("*.dist-info/METADATA"):
        fields = dict(
            line.split(": ", 1)
            for line in metadata.read_text(errors="replace").split("\n\n", 1)[0].splitlines()
            if line.startswith(("Name: ", "Version: "))
        )
        found[re.sub(r"[-_.]+", "-", fields["Name"]).lower()] = fields["Version"]
    for name, version in locked_packages(lock).items():
        installed = found.get(re.sub(r"[-_.]+", "-", name).lower())
        if installed != version:
            raise InstallError(f"{site} has {name} {installed}, and {lock.name} says {version}")


def install(lock: pathlib.Path, cache: pathlib.Path, pip: Pip) -> pathlib.Path:
    key = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache / "wheels" / key
    site = folder / "site-packages"
    if site.is_dir():
        return site
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if site.is_dir():
            return site
        unfinished = folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        pip.install(lock, unfinished)
        check(lock, unfinished)
        # Bazel would read a package's own BUILD file as a package boundary.
        for build_file in (*unfinished.rglob("BUILD"), *unfinished.rglob("BUILD.bazel")):
            if build_file.is_file():
                build_file.unlink()
        # Once here, or every test would compile what it imports.
        compileall.compile_dir(
            str(unfinished),
            quiet=2,
            workers=0,
            stripdir=str(unfinished),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        unfinished.rename(site)
    return site


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--lock", action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--choose", default="auto")
    parser.add_argument("--pip", help="a wheel of pip, for a Python without one")
    arguments = parser.parse_args()
    locks = {
        name: pathlib.Path(path)
        for name, _, path in (item.partition("=") for item in arguments.lock)
    }
    pip = Pip(arguments.pip)
    try:
        choice = arguments.choose
        if choice == "auto":
            *preferred, last = locks
            choice = next((name for name in preferred if pip.offers_torch_of(locks[name])), last)
        if choice not in locks:
            raise InstallError(f"'{choice}' is not one of {', '.join(['auto', *locks])}")
        print(choice, install(locks[choice], arguments.cache, pip))
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
