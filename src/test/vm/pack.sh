#!/usr/bin/env bash
# Packs the folders of the tests' class path into jars and prints the class path of those: what runs in the
# machine for minutes must not change while something is built, and only jars can be archived for JVMs to
# share.
#
#   pack.sh FOLDER     made anew
#
# RDMA_CLASS_PATH is the class path but for the tests themselves, if not that of the last build.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here

main() {
  local folder=$1 entries entry packed=()
  IFS=: read -ra entries <<<"$here/target/test-classes:${RDMA_CLASS_PATH:-$("$here/metrale" classpath linux-x86_64)}"
  rm -rf "$folder"
  mkdir -p "$folder"
  for entry in "${entries[@]}"; do
    if [ -d "$entry" ]; then
      jar --create --no-compress --file "$folder/${#packed[@]}.jar" -C "$entry" .
      entry="$folder/${#packed[@]}.jar"
    fi
    packed+=("$entry")
  done
  (IFS=: && echo "${packed[*]}")
}

main "$@"
