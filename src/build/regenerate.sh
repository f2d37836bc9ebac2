#!/usr/bin/env bash
# Makes src/gen again from headers and recipes, and says what changed.
#
#   regenerate.sh CLASSPATH [--nccl PATH] [--nvml PATH] [--cufile PATH] [--cuda PATH] [--nvtx PATH] [--check]
#
# PATH is a header or the folder that holds it; a header that is not named is the staged one. For --nccl it
# may be RCCL's rccl.h, which is an experiment. --check changes nothing. CLASSPATH holds javacpp, bytedeco's
# cuda and the compiled recipes. Needs no network once cppbuild.sh has staged headers and compilers.
#
# Ends with 0: src/gen is as the headers say; 1: --check found a difference; 2: wrong usage, or a header
# that cannot be used; 3: a declaration that the recipes cannot map; 4: something that is needed is not
# there. src/gen is written only when everything succeeded, and then as a whole.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly here
readonly compilers="$here/cppbuild/bin"
readonly ours="$here/src/main/resources/org/metrale/include"
readonly gen="$here/src/gen"

work=
class_path=
check=no
# Library to the path that was given for it, in the order of the command line.
libraries=()
paths=()

fail() {
  local status=$1
  shift
  printf 'regenerate: %s\n' "$*" >&2
  if [ "$status" -ne 1 ]; then
    printf 'regenerate: src/gen is untouched\n' >&2
  fi
  exit "$status"
}

header_of() {
  case $1 in
    nvtx) printf 'nvtx3/nvToolsExt.h\n' ;;
    *) printf '%s.h\n' "$1" ;;
  esac
}

arguments() {
  [ $# -gt 0 ] || fail 2 "a class path is needed"
  class_path=$1
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --check) check=yes ;;
      --nccl | --nvml | --cufile | --cuda | --nvtx)
        if [ -z "${2:-}" ]; then
          fail 2 "$1 needs the path of a header or of its folder"
        fi
        libraries+=("${1#--}")
        paths+=("$2")
        shift
        ;;
      *) fail 2 "unknown option $1: known are --nccl, --nvml, --cufile, --cuda, --nvtx and --check" ;;
    esac
    shift
  done
}

# Puts src/gen back if something stopped us between its two renames.
finish() {
  local part
  if [ -n "$work" ] && [ -d "$work" ]; then
    for part in java include; do
      if [ -d "$work/old/$part" ] && ! [ -d "$gen/$part" ]; then
        mv "$work/old/$part" "$gen/$part"
      fi
    done
    rm -rf "$work"
  fi
}

# The staged headers by links, so that a new one beside them is found first by every include.
stage() {
  [ -e "$here/cppbuild/include/.stamp" ] || fail 4 "no headers are staged: run ./cppbuild.sh headers"
  mkdir -p "$here/target"
  work=$(mktemp -d "$here/target/regenerate.XXXXXX")
  trap finish EXIT
  trap 'exit 4' INT TERM
  mkdir -p "$work/include" "$work/parse/nvtx3" "$work/new" "$work/old" "$work/classes" "$work/recipes/org/metrale/gpu"
  local entry library header
  for entry in "$here"/cppbuild/include/*; do
    ln -s "$entry" "$work/include/$(basename "$entry")"
  done
  # RCCL's header may take the place of NCCL's: what it includes of HIP stands here, in CUDA's names.
  ln -s "$here/src/build/hip" "$work/include/hip"
  local index
  for index in "${!libraries[@]}"; do
    library=${libraries[index]}
    # Names the file in every later message.
    paths[index]=$(python3 "$here/src/build/headers.py" stage "$(header_of "$library")" "${paths[index]}" \
      "$work/include" 2>"$work/log") || fail 2 "$(cat "$work/log")"
    compiles "$library" "${paths[index]}"
  done
  for library in nccl nvml cufile cuda nvtx; do
    header=$(header_of "$library")
    python3 "$here/src/build/headers.py" strip "$work/include/$header" "$work/parse/$header"
  done
  # NCCL 2.30.4 gives the structure the name that later versions give the pointer to it, which is the same
  # type for the compiler, but not for the recipe.
  local name=ncclParamHandle
  if grep -q "^typedef struct $name ${name}_t;" "$work/parse/nccl.h"; then
    sed -i -E "s/${name}_t\*/${name}_t/g; s/^(typedef struct $name) (${name}_t;)/\1* \2/" "$work/parse/nccl.h"
  fi
}

# compiles LIBRARY PATH: by the compiler for C and, since the glue includes it, for C++.
compiles() {
  local header language standard compiler prefix
  header=$(header_of "$1")
  printf '#include <%s>\n' "$header" >"$work/try"
  for language in c c++; do
    compiler=cc standard=gnu11
    [ "$language" = c ] || compiler=c++ standard=c++17
    if ! "$compilers/$compiler-linux-x86_64" -w -x "$language" "-std=$standard" -c -o "$work/try.o" \
      -DNVML_NO_UNVERSIONED_FUNC_DEFS -DNCCL_OS_LINUX -I"$work/include" "$work/try" >"$work/log" 2>&1; then
      fail 2 "$2 is not a header that can be compiled: $(first_error "$header" "$2")"
    fi
  done
  case $1 in
    nccl) prefix=nccl ;;
    nvml) prefix=nvml ;;
    cufile) prefix=cuFile ;;
    cuda) prefix=cu ;;
    nvtx) prefix=nvtx ;;
  esac
  printf '#include <%s>\n' "$header" | "$compilers/cc-linux-x86_64" -E -x c -std=gnu11 \
    -DNVML_NO_UNVERSIONED_FUNC_DEFS -DNCCL_OS_LINUX -I"$work/include" - 2>/dev/null |
    python3 "$here/src/build/headers.py" functions "$prefix" "$(basename "$header")" >"$work/functions"
  if ! [ -s "$work/functions" ] && [ "$1" != nvtx ]; then
    fail 2 "$2 is not a header of $1: it declares no function that starts with $prefix"
  fi
}

# first_error HEADER PATH: where the compiler stopped, in the file that the person gave.
first_error() {
  local line
  line=$(grep -m 1 -E ': (fatal )?error: ' "$work/log" || head -n 1 "$work/log")
  line=${line//"$work/include/$1"/$2}
  line=${line//"$work/include/"/}
  # Where the text ends too early the compiler can only name the file that includes it.
  line=${line//"$work/try"/"$2, at its end"}
  case $line in
    *unterminated* | *expected*)
      line+=" (the file has $(wc -l <"$2") lines: is it whole?)"
      ;;
  esac
  printf '%s\n' "$line"
}

# Of what was compiled before only the recipes and what generated code needs, lest a class of an older
# header stands in for one that is gone.
isolate() {
  local entry entries kept=() recipes=
  IFS=: read -r -a entries <<<"$class_path"
  for entry in "${entries[@]}"; do
    if [ -d "$entry/org/metrale/presets" ]; then
      recipes=$entry
    elif ! [ -d "$entry/org/metrale" ]; then
      kept+=("$entry")
    fi
  done
  if [ -z "$recipes" ]; then
    fail 4 "the recipes are not compiled: run ./mvnw generate-sources"
  fi
  cp -R "$recipes/org/metrale/presets" "$work/recipes/org/metrale/"
  cp "$recipes"/org/metrale/gpu/*.class "$work/recipes/org/metrale/gpu/"
  class_path="$work/recipes"
  for entry in "${kept[@]}"; do
    class_path+=":$entry"
  done
}

parse() {
  if ! "$here/src/build/generate.sh" "$class_path" "$work/new" "$work/parse" "$work/include" >"$work/log" 2>&1; then
    fail 3 "a header cannot be parsed: $(grep -m 1 -E 'ParserException|^generate: |rror' "$work/log" ||
      tail -n 3 "$work/log"); if it is one declaration, add an Info to its recipe in src/main/java/org/metrale/presets"
  fi
}

# What was parsed must be Java, and every function must have become a method.
mapped() {
  find "$work/new/java" -name '*.java' | sort >"$work/sources"
  if ! javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -nowarn -Xlint:none -proc:none -implicit:none -Xmaxerrs 1000 -cp "$class_path" -d "$work/classes" \
    "@$work/sources" >"$work/log" 2>&1; then
    python3 "$here/src/build/compare.py" explain "$work/new" src/main/java/org/metrale/presets \
      <"$work/log" >"$work/unmapped"
    [ -s "$work/unmapped" ] || cp "$work/log" "$work/unmapped"
    cat "$work/unmapped" >&2
    fail 3 "the generated Java does not compile"
  fi
  python3 "$here/src/build/compare.py" unmapped "$work/new" >"$work/unmapped"
  if [ -s "$work/unmapped" ]; then
    while read -r library name; do
      printf '%s: %s cannot be mapped: the parser left it out: add an Info to %s\n' "$(header_of "$library")" \
        "$name" "src/main/java/org/metrale/presets/$library.java" >&2
    done <"$work/unmapped"
    fail 3 "not every function became a Java method"
  fi
}

# The handwritten part of the glue of one library, compiled over the new header: what it still wants.
wanted() {
  local library=$1 header jdk
  jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
  {
    printf '#include <%s>\n' "$(header_of "$library")"
    # The rest are parts of the second, or stand on it.
    for header in "$ours/metrale_${library}_table.h" "$ours/metrale_$library.h" "$ours/metrale_${library}_"*.h; do
      [ ! -e "$header" ] || printf '#include "%s"\n' "${header##*/}"
    done
  } >"$work/try"
  "$compilers/c++-linux-x86_64" -w -x c++ -std=c++17 -c -o "$work/try.o" -ferror-limit=0 -DNVML_NO_UNVERSIONED_FUNC_DEFS \
    -DNCCL_OS_LINUX -I"$work/include" -I"$ours" -I"$work/new/include" -I"$jdk/include" -I"$jdk/include/linux" \
    "$work/try" >"$work/log" 2>&1 || true
  grep -E ': (fatal )?error: ' "$work/log" | sed -E "s|^$here/||; s|^$work/include/||; s|^([^:]*:[0-9]+):[0-9]+: (fatal )?error: |\1: |" || true
}

report() {
  local library status=0 messages
  python3 "$here/src/build/compare.py" differences "$gen" "$work/new" \
    --include "$here/cppbuild/include" "$work/include" --compiler "$(host_compiler)" \
    --checked "$here/src/main/java/org/metrale/gpu" \
    --ledger "$here/src/test/resources/org/metrale/gpu/coverage.txt" >"$work/report" || status=$?
  [ "$status" -le 1 ] || fail 4 "the comparison failed"
  cat "$work/report"
  for library in "${libraries[@]}"; do
    messages=$(wanted "$library")
    if [ -n "$messages" ]; then
      printf 'handwritten glue over the new %s does not compile:\n' "$(header_of "$library")"
      printf '%s\n' "$messages" | sed 's/^/  /'
      printf '  what this header lacks can be declared in %s, beside what older headers lack;\n' \
        "src/main/resources/org/metrale/include/metrale_${library}_older.h"
      printf '  until then ./mvnw compiles no glue of %s from it\n' "$library"
    fi
  done
  return "$status"
}

# Programs that say where fields lie run here.
host_compiler() {
  case $(uname -m) in
    aarch64) printf '%s\n' "$compilers/cc-linux-arm64" ;;
    *) printf '%s\n' "$compilers/cc-linux-x86_64" ;;
  esac
}

# Both folders are complete on the same file system before the first rename; finish puts back.
write() {
  local part
  mkdir -p "$gen"
  for part in java include; do
    [ ! -d "$gen/$part" ] || mv "$gen/$part" "$work/old/$part"
    mv "$work/new/$part" "$gen/$part"
  done
  rm -rf "$work/old"
}

main() {
  local different=0
  arguments "$@"
  stage
  isolate
  parse
  mapped
  report || different=1
  if [ "$different" -eq 0 ]; then
    return
  fi
  if [ "$check" = yes ]; then
    fail 1 "src/gen is not what the headers and the recipes say; run ./metrale regenerate with the same options"
  fi
  write
  printf 'src/gen is written\n'
}

main "$@"
