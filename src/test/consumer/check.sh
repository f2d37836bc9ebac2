#!/usr/bin/env bash
# Uses the installed artifacts as a user would: a project outside the tree with one dependency, on the class
# path and on the module path, and the doctor. Run after `metrale package`. Prints a line a check.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
root=$(cd "$here/../../.." && pwd)
readonly root
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT

ok() {
  printf 'consumer: ok: %s\n' "$*"
}

fail() {
  printf 'consumer: FAILED: %s\n' "$*" >&2
  exit 1
}

maven() {
  "$root/mvnw" -q -B -f "$work/pom.xml" "$@"
}

# jars FOLDER OPTION...: the project's dependencies in a folder.
jars() {
  local folder=$1
  shift
  maven org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$folder" "$@"
}

expect() {
  grep -q "$2" "$1" || { cat "$1" >&2; fail "$3"; }
}

main() {
  cp -R "$here/pom.xml" "$here/src" "$work/"
  maven compile
  ok "compiles with one dependency"

  jars "$work/lib"
  if compgen -G "$work/lib/cuda-*-linux-*" >/dev/null; then
    fail "natives of org.bytedeco:cuda came along"
  fi
  compgen -G "$work/lib/metrale-gpu-*-linux-x86_64-cuda.jar" >/dev/null || fail "no binaries for x86_64"
  compgen -G "$work/lib/metrale-gpu-*-linux-arm64-cuda.jar" >/dev/null || fail "no binaries for arm64"
  compgen -G "$work/lib/javacpp-*-linux-arm64.jar" >/dev/null || fail "no binaries of javacpp for arm64"
  ok "brings the binaries of both platforms, and none of org.bytedeco:cuda"

  jars "$work/arm64" -Djavacpp.platform=linux-arm64
  if compgen -G "$work/arm64/*linux-x86_64*" >/dev/null; then
    fail "-Djavacpp.platform=linux-arm64 brings x86_64 too"
  fi
  compgen -G "$work/arm64/metrale-gpu-*-linux-arm64-cuda.jar" >/dev/null || fail "nothing for arm64"
  ok "-Djavacpp.platform selects one platform"

  java -Dorg.metrale.nccl.path=/nowhere -cp "$work/target/classes:$work/lib/*" consumer.Main >"$work/out"
  expect "$work/out" "magic cafebeef" "class path: the structure is not initialised"
  expect "$work/out" "unavailable nccl ncclGetVersion" "class path: no exception"
  ok "runs on the class path"

  mkdir "$work/module"
  cp "$here/module-info.java.in" "$work/module/module-info.java"
  javac --release 17 -p "$work/lib" -d "$work/mods" "$work/module/module-info.java" \
    "$work/src/main/java/consumer/Main.java"
  java -Dorg.metrale.nccl.path=/nowhere -p "$work/lib:$work/mods" \
    --add-modules "org.metrale.gpu.linux.${1}.cuda,org.bytedeco.javacpp.linux.${1}" \
    -m consumer/consumer.Main >"$work/out"
  expect "$work/out" "magic cafebeef" "module path: the structure is not initialised"
  expect "$work/out" "unavailable nccl ncclGetVersion" "module path: no exception"
  ok "runs on the module path"

  java -cp "$work/lib/*" org.metrale.gpu.tool.Doctor >"$work/out"
  expect "$work/out" "^system" "the doctor does not run from the jars"
  expect "$work/out" "metrale-gpu: 0.1.0" "the doctor does not know its version"
  ok "runs the doctor from the jars"
}

case $(uname -m) in
  aarch64) main arm64 ;;
  *) main x86_64 ;;
esac
