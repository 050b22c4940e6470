# Debian packages into a private prefix: the system's own packages, database and
# libraries stay as they are, and no privilege is needed. Sourced, not run.
#
# The mirror is the one that this machine's apt already uses, and apt checks its
# release signature; a lock beside the caller records what was tested.

die() {
  printf '%s: %s\n' "${program:-$(basename "$0")}" "$1" >&2
  exit 1
}

# cache_folder: where everything private lives; shared by checkouts and by users of one home.
cache_folder() {
  local folder=${EXECUTORCH_BACKENDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/executorch_backends}
  case $folder in
    /tmp/*) die "the cache folder '$folder' is below /tmp, which Bazel's sandbox hides; set EXECUTORCH_BACKENDS_CACHE to a folder elsewhere" ;;
    /.cache/*) die "HOME is not set; set it, or EXECUTORCH_BACKENDS_CACHE, to a folder that you can write" ;;
  esac
  mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] ||
    die "cannot write the cache folder '$folder'; set EXECUTORCH_BACKENDS_CACHE to a folder that you can write"
  (cd "$folder" && pwd)
}

# require_debian_12 WHAT REMEDY: stops with one sentence on any other system.
require_debian_12() {
  local system="an unknown system" id="" version=""
  if [ -r /etc/os-release ]; then
    system=$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-unknown}")
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  fi
  [ "$id $version $(uname -m)" = "debian 12 x86_64" ] ||
    die "$1 can be installed privately on Debian 12 x86_64 only, and this is $system $(uname -m); $2"
  local tool
  for tool in apt-get dpkg-deb python3 flock; do
    command -v "$tool" >/dev/null || die "$1 needs '$tool', which is not installed; $2"
  done
}

# debian_mirror: the address that apt uses for this system's main archive.
debian_mirror() {
  local codename mirror
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v release="$codename" '$1 == release && $2 == "main" { print $3; exit }')
  [ -n "$mirror" ] || die "apt has no source for Debian's '$codename main'; add it to /etc/apt/sources.list"
  printf '%s' "$mirror"
}

# A mirror may be a snapshot, whose signed package list is past its date: the signature
# still counts, and check_lock limits which versions are taken.
#
# fetch_packages STATE SUITE "TAKEN-FROM-THE-HOST" PACKAGE...: downloads the packages
# and what they depend on into STATE/archives. Safe to repeat: apt resumes.
fetch_packages() {
  local state=$1 suite=$2 host_packages=$3 package
  shift 3
  mkdir -p "$state"/lists/partial "$state"/archives/partial "$state"/sources "$state"/empty
  for package in $host_packages; do
    printf 'Package: %s\nStatus: install ok installed\nVersion: 999:999\nArchitecture: all\nMulti-Arch: foreign\nMaintainer: host <host@localhost>\nDescription: taken from the host, or not needed\n\n' "$package"
  done >"$state/status"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$(debian_mirror)" "$suite" >"$state/sources/debian.sources"
  cat >"$state/apt.conf" <<CONF
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Cache::archives "$state/archives";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$state/sources";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "$state/empty";
Dir::Log "$state";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
APT::Keep-Downloaded-Packages "true";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::Check-Valid-Until "false";
Debug::NoLocking "1";
CONF
  APT_CONFIG=$state/apt.conf apt-get -qq update >&2 || die "apt could not read the package list of Debian '$suite'"
  APT_CONFIG=$state/apt.conf apt-get -qq -y --download-only install "$@" >&2 ||
    die "apt could not download $*; run the same command again to resume"
}

# check_lock STATE LOCK PACKAGE ACCEPTED: stops unless PACKAGE's version matches the glob
# ACCEPTED, and when any package has a tested version but other bytes. Says in one line
# how many packages are other versions than LOCK's (lines of: name version sha256).
check_lock() {
  local state=$1 lock=$2 wanted=$3 accepted=$4 deb name version locked drift=0 found=""
  for deb in "$state"/archives/*.deb; do
    name=$(dpkg-deb -f "$deb" Package) version=$(dpkg-deb -f "$deb" Version)
    locked=$(awk -v name="$name" '$1 == name { print $2, $3 }' "$lock")
    if [ "$name" = "$wanted" ]; then
      found=$version
      # shellcheck disable=SC2254
      case $version in
        $accepted) ;;
        *) die "Debian offers $name $version; tested is ${locked% *}, and only $accepted is accepted" ;;
      esac
    fi
    if [ "${locked% *}" != "$version" ]; then
      drift=$((drift + 1))
    elif [ "${locked#* }" != "$(sha256sum "$deb" | cut -d' ' -f1)" ]; then
      die "$name $version has not the SHA-256 that $(basename "$lock") records, ${locked#* }"
    fi
  done
  [ "$found" ] || die "apt brought no package '$wanted'"
  if [ "$drift" != 0 ]; then
    printf '%s: %s %s; %s packages have other versions than those tested\n' "$program" "$wanted" "$found" "$drift" >&2
  fi
}

# unpack_packages STATE ROOT: every fetched package into ROOT, in the merged-/usr layout.
unpack_packages() {
  local state=$1 root=$2 deb folder
  mkdir -p "$root/usr"/{bin,sbin,lib,lib64}
  for folder in bin sbin lib lib64; do ln -sfn "usr/$folder" "$root/$folder"; done
  # tar, not `dpkg-deb -x`: it keeps the links above when a package ships /lib as a folder.
  for deb in "$state"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
  done
  rm -rf "$root"/usr/share/{doc,man,info,locale,lintian,bug}
}

# write_lock STATE LOCK: records what STATE holds, for a maintainer who moves to newer packages.
write_lock() {
  local deb
  for deb in "$1"/archives/*.deb; do
    printf '%s %s %s\n' "$(dpkg-deb -f "$deb" Package)" "$(dpkg-deb -f "$deb" Version)" "$(sha256sum "$deb" | cut -d' ' -f1)"
  done | sort >"$2"
}
