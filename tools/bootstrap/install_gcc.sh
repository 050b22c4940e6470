#!/usr/bin/env bash
# Installs gcc 12 with a sysroot of its own (Debian 12's glibc 2.36 headers and
# libraries) into the cache folder and prints its path. Nothing of the host's
# compiler, headers or libraries is read when it compiles or links.
#
#   install_gcc.sh             install, or do nothing when it is there
#   install_gcc.sh --relock    also rewrite gcc.lock beside this file
set -euo pipefail
program=install_gcc
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/debian.sh"

cache=$(cache_folder)
key=$(cat "$here/debian.sh" "$here/install_gcc.sh" | sha256sum | cut -c1-16)
prefix=$cache/gcc-$key
root=$prefix/root
triple=x86_64-linux-gnu

# wrapper NAME PROGRAM [OPTION...]: the programs find their shared libraries beside
# them, and are moved and uploaded with them, so no path is written into any. The
# wrappers stand beside root/: gcc makes a path with `..` in it absolute.
wrapper() {
  local name=$1 target=$2
  shift 2
  cat >"$prefix/$name" <<SH
#!/bin/sh
here=\${0%/*}
LD_LIBRARY_PATH="\$here/lib" exec "\$here/root/usr/bin/$triple-$target" $* "\$@"
SH
  chmod +x "$prefix/$name"
}

# compiler_wrapper NAME PROGRAM: Debian's gcc prints resolved paths of system headers; a
# dependency file must name them as Bazel does, relative to where the action runs.
compiler_wrapper() {
  cat >"$prefix/$1" <<SH
#!/bin/sh
here=\${0%/*}
LD_LIBRARY_PATH="\$here/lib" "\$here/root/usr/bin/$triple-$2" \\
  --sysroot="\$here/root" -B"\$here/" "\$@" || exit
previous=
for argument; do
  if [ "\$previous" = -MF ]; then
    resolved=\$(cd -P "\$here/root" && pwd -P)
    sed -i "s#\$resolved/#\$here/root/#g" "\$argument"
  fi
  previous=\$argument
done
SH
  chmod +x "$prefix/$1"
}

install() {
  local state=$prefix/apt library tool
  rm -rf "$root" "$prefix/lib"
  # cpp and binutils come as dependencies, with the sanitizers' runtimes.
  fetch_packages "$state" bookworm "install-info perl debconf" gcc-12 g++-12
  check_lock "$state" "$here/gcc.lock" gcc-12 '12.*'
  unpack_packages "$state" "$root"
  mkdir -p "$prefix/lib"
  for library in isl mpc mpfr gmp zstd ctf ctf-nobfd opcodes bfd sframe jansson z stdc++ gcc_s; do
    for tool in "$root/usr/lib/$triple/lib$library"[.-]*so*; do
      if [ -e "$tool" ]; then cp -a "$tool" "$prefix/lib/"; fi
    done
  done
  # Absolute links would point to the host's files.
  find "$root" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /*) ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$target")" "$link" ;; esac
  done
  compiler_wrapper gcc gcc-12
  compiler_wrapper g++ g++-12
  for tool in ar as ld nm objcopy objdump strip ranlib; do wrapper "$tool" "$tool"; done
  wrapper cpp cpp-12 '--sysroot="$here/root"'
  wrapper gcov gcov-12
  # What compiling and linking never reads: every file left is an input of every action.
  rm -rf "$root"/usr/{sbin,share,games} "$root"/{etc,var} "$root/usr/lib/$triple/gconv"
  rm -rf "$root"/usr/include/{rdma,rpcsvc,tirpc,sound,drm,scsi,video,misc,mtd,xen,"linux/netfilter"*,linux/tc_act,linux/raid,linux/dvb}
  find "$root/usr/include/c++" -type d \( -name pb_ds -o -name parallel \) -prune -exec rm -rf {} +
  find "$root" -name '*[[:space:]]*' -delete
  printf 'int main() { return 0; }\n' >"$prefix/probe.cc"
  "$prefix/g++" -o "$prefix/probe" "$prefix/probe.cc" && "$prefix/probe" ||
    die "the pinned gcc does not run on this system (it needs glibc 2.36 or newer); build with --config=host_cc"
  rm -f "$prefix/probe" "$prefix/probe.cc"
  if [ "${relock:-}" ]; then write_lock "$state" "$here/gcc.lock"; fi
  rm -rf "$state"
  touch "$prefix/complete"
}

if [ "${1:-}" = --relock ]; then relock=1; rm -f "$prefix/complete"; fi
if [ ! -e "$prefix/complete" ]; then
  require_debian_12 "The pinned gcc" "build with --config=host_cc to use the host's compiler"
  exec 9>"$cache/gcc.lock"
  flock 9
  if [ ! -e "$prefix/complete" ]; then install; fi
fi
printf '%s\n' "$prefix"
