#!/bin/sh
# Checks the shim's two lists against what was compiled: the libibverbs functions it imports and
# the functions it offers. Anything else undefined must be the C library's.
#   check_symbols.sh NM ARCHIVE LIBC IMPORTS EXPORTS
set -eu
LC_ALL=C
export LC_ALL
nm=$1 archive=$2 libc=$3 imports=$4 exports=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$nm" -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
"$nm" -D --defined-only "$libc" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u \
    >"$work/libc"
"$nm" -u "$archive" | awk '$1 == "U" { print $2 }' | sort -u | comm -23 - "$work/defined" \
    | comm -23 - "$work/libc" >"$work/imported"

diff "$exports" "$work/defined" || { echo "functions offered differ from $exports" >&2; exit 1; }
diff "$imports" "$work/imported" || { echo "functions imported differ from $imports" >&2; exit 1; }
echo "$(wc -l <"$work/imported") imported, $(wc -l <"$work/defined") offered"
