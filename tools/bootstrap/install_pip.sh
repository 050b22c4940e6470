#!/usr/bin/env bash
# Prints a wheel of pip that Python can run from (`PYTHONPATH=<wheel> python3 -m pip`),
# for a machine whose Python has none: Debian packages pip as such a wheel.
set -euo pipefail
program=install_pip
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/debian.sh"

cache=$(cache_folder)
prefix=$cache/pip-$(cat "$here/debian.sh" "$here/install_pip.sh" | sha256sum | cut -c1-16)

install() {
  rm -rf "$prefix/root"
  fetch_packages "$prefix/apt" bookworm "ca-certificates" python3-pip-whl
  unpack_packages "$prefix/apt" "$prefix/unpacked"
  mkdir -p "$prefix"
  mv "$prefix"/unpacked/usr/share/python-wheels/pip-*.whl "$prefix/"
  rm -rf "$prefix/apt" "$prefix/unpacked"
  touch "$prefix/complete"
}

if [ ! -e "$prefix/complete" ]; then
  require_debian_12 "pip" "install pip for Python 3.11 (python3.11 -m pip --version must work)"
  exec 9>"$cache/pip.lock"
  flock 9
  if [ ! -e "$prefix/complete" ]; then install; fi
fi
printf '%s\n' "$prefix"/pip-*.whl
