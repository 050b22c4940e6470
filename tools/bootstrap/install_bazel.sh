#!/usr/bin/env bash
# Installs Bazel 7.7 from Debian's packages into the cache folder and prints its path.
#
#   install_bazel.sh             install, or do nothing when it is there
#   install_bazel.sh --relock    also rewrite bazel.lock beside this file
#
# Debian's package expects to live in /usr. Elsewhere it needs: its own libc for its
# programs and for the JVM, absolute jar paths rewritten (those in jar manifests too),
# a version label, and libblake3-0, which it links but does not depend on.
set -euo pipefail
program=install_bazel
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/debian.sh"

packages="bazel-bootstrap bazel-rules-shell libblake3-0 openjdk-21-jre-headless googletest patchelf"
# Dependencies that Bazel's server and client do not use, or that the host has.
unneeded="build-essential g++ gcc python3 perl default-jdk-headless default-jre-headless ca-certificates-java
  java-common ca-certificates zlib1g-dev unzip libjs-jquery debconf util-linux liblcms2-2 libjpeg62-turbo libnss3
  libpcsclite1 libharfbuzz0b libfontconfig1 libfreetype6 tzdata libjaxb-api-java-doc"

cache=$(cache_folder)
key=$(cat "$here/debian.sh" "$here/install_bazel.sh" "$here/rule_sets.sh" | sha256sum | cut -c1-16)
prefix=$cache/bazel-$key
root=$prefix/root

relocate_programs() {
  local lib=$root/usr/lib/x86_64-linux-gnu jre=$1 program_file
  local loader=$lib/ld-linux-x86-64.so.2
  patch() {
    "$loader" --library-path "$lib" "$root/usr/bin/patchelf" \
      --set-interpreter "$loader" --force-rpath --set-rpath "$2" "$1"
  }
  for program_file in "$root/usr/bin/bazel" "$root"/usr/libexec/x86_64-linux-gnu/bazel/*; do
    if file_is_dynamic_program "$program_file"; then patch "$program_file" "$lib"; fi
  done
  for program_file in "$jre"/bin/* "$jre/lib/jspawnhelper" "$jre/lib/jexec"; do
    if file_is_dynamic_program "$program_file"; then patch "$program_file" "$jre/lib:$jre/lib/server:$lib"; fi
  done
}

file_is_dynamic_program() {
  [ -f "$1" ] && [ ! -L "$1" ] && [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]
}

# The JRE's configuration is in /etc/java-21-openjdk: absolute links, dangling here.
relocate_links() {
  local link target
  find "$1" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /etc/*) if [ -e "$root$target" ]; then ln -sfn "$root$target" "$link"; fi ;; esac
  done
}

relocate_jars() {
  python3 - "$root" "$1" <<'PY'
import pathlib
import sys
import zipfile

root, listing = sys.argv[1], pathlib.Path(sys.argv[2])
waiting = [line.strip() for line in listing.read_text().splitlines() if line.strip()]
jars = []
while waiting:
    jar = waiting.pop(0)
    jar = jar if jar.startswith(root) else root + jar
    if jar.endswith("bazel-label") or jar in jars or not pathlib.Path(jar).exists():
        continue
    jars.append(jar)
    manifest = zipfile.ZipFile(jar).read("META-INF/MANIFEST.MF").decode("utf8", "replace")
    for line in manifest.replace("\r\n", "\n").replace("\n ", "").splitlines():
        if line.startswith("Class-Path:"):
            for entry in line.partition(":")[2].split():
                entry = entry.removeprefix("file:")
                waiting.append(entry if entry.startswith("/") else str((pathlib.Path(jar).parent / entry).resolve()))
listing.write_text("".join(f"{jar}\n" for jar in [*jars, f"{root}/usr/share/bazel-label"]))
PY
}

install() {
  local state=$prefix/apt jre base=$root/usr/share/bazel
  rm -rf "$root"
  # shellcheck disable=SC2086
  fetch_packages "$state" testing "$unneeded" $packages
  check_lock "$state" "$here/bazel.lock" bazel-bootstrap '7.7.*'
  unpack_packages "$state" "$root"
  jre=$(echo "$root"/usr/lib/jvm/java-21-openjdk-amd64)
  relocate_programs "$jre"
  relocate_links "$jre"
  relocate_jars "$base/bazel_classpath_debian_depends.txt"
  # Debian's jar has no build-data.properties, so `bazel version` would be empty.
  mkdir -p "$root/usr/share/bazel-label"
  printf 'build.label=%s\n' "$(cat "$base/build-label.txt")" >"$root/usr/share/bazel-label/build-data.properties"
  mkdir -p "$prefix/bin"
  cat >"$prefix/bin/bazel" <<SH
#!/bin/sh
exec "$root/usr/bin/bazel" --nosystem_rc --install_base="$base" --trust_install_base --server_javabase="$jre" "\$@"
SH
  chmod +x "$prefix/bin/bazel"
  . "$here/rule_sets.sh"
  write_rule_sets "$root" "$prefix"
  if [ "${relock:-}" ]; then write_lock "$state" "$here/bazel.lock"; fi
  rm -rf "$state"
  touch "$prefix/complete"
}

if [ "${1:-}" = --relock ]; then relock=1; rm -f "$prefix/complete"; fi
if [ ! -e "$prefix/complete" ]; then
  require_debian_12 "Bazel" "install Bazel 7.7 or Bazelisk, put it on PATH or name it in BAZEL, and run this again"
  exec 9>"$cache/bazel.lock"
  flock 9
  if [ ! -e "$prefix/complete" ]; then
    printf 'bazelw: installing Bazel privately in %s (about 30 s, once)\n' "$prefix" >&2
    install
  fi
fi
printf '%s\n' "$prefix"
