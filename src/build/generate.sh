#!/usr/bin/env bash
# Writes the generated sources from the staged headers and the recipes: src/gen/java and the function
# lists under src/gen/include. Needs no network once cppbuild.sh has staged the headers.
#
#   generate.sh CLASSPATH TARGET [PARSE] [INCLUDE]
#
# CLASSPATH holds javacpp, bytedeco's cuda and the compiled recipes; TARGET receives java/ and include/;
# PARSE holds headers without comments for the parser, INCLUDE the whole ones for the compiler.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly here
readonly classpath=$1
readonly target=$2
readonly parse=${3:-$here/cppbuild/parse}
readonly include=${4:-$here/cppbuild/include}
readonly ours="$here/src/main/resources/org/metrale/include"

# How the recipes see the headers.
readonly defines=(-DNVML_NO_UNVERSIONED_FUNC_DEFS -DNCCL_OS_LINUX)

preprocess() {
  "$here/cppbuild/bin/cc-linux-x86_64" -E -x c -std=gnu11 "${defines[@]}" -I"$include" -
}

# list LIBRARY: the function names on standard input become the table's include file, and a second one
# where handwritten headers want to know what the vendor's declares.
list() {
  cat >"$target/include/$1.functions"
  if ! [ -s "$target/include/$1.functions" ]; then
    printf 'generate: no function of %s was found in its header\n' "$1" >&2
    exit 1
  fi
  python3 "$here/src/build/headers.py" table "$1" "$target/include/$1.functions" \
    >"$target/include/metrale_$1_functions.h"
  if grep -q "metrale_$1_declares.h" "$ours"/*.h; then
    python3 "$here/src/build/headers.py" declares "$1" "$target/include/$1.functions" \
      >"$target/include/metrale_$1_declares.h"
  fi
  rm "$target/include/$1.functions"
}

header_functions() {
  printf '#include <%s>\n' "$2" | preprocess |
    python3 "$here/src/build/headers.py" functions "$1" "$2"
}

# The driver's functions are those that the recipe chose; macros of the header give their real names.
cuda_functions() {
  local names=()
  mapfile -t names < <(sed -nE 's/^public static native .* (cu[A-Z][A-Za-z0-9]*)\(.*/\1/p' \
    "$target/java/org/metrale/global/cuda.java" | sort -u)
  {
    printf '#include <cuda.h>\n'
    printf 'METRALE_NAME %s\n' "${names[@]}"
  } | preprocess | sed -n 's/^METRALE_NAME //p' | sort -u
}

main() {
  local recipe
  rm -rf "$target/java" "$target/include"
  mkdir -p "$target/java" "$target/include"
  for recipe in nccl nvml cufile cuda nvtx verbs; do
    if [ -e "$here/src/main/java/org/metrale/presets/$recipe.java" ]; then
      # Short runs: what the better compiler would gain it costs first.
      java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$classpath" org.bytedeco.javacpp.tools.Builder -classpath "$classpath" -nogenerate \
        "-Dplatform.includepath=$parse:$ours" -d "$target/java" "org.metrale.presets.$recipe"
    fi
  done
  header_functions nccl nccl.h | list nccl
  header_functions nvml nvml.h | list nvml
  header_functions cuFile cufile.h | list cufile
  cuda_functions | list cuda
  if [ -e "$here/src/main/c/ibverbs.functions" ]; then
    list verbs <"$here/src/main/c/ibverbs.functions"
  fi
}

main
