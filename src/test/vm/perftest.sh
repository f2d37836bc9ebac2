#!/usr/bin/env bash
# Compares the checked layer with perftest in the machine with real RDMA, by alternating runs; prints the
# medians and their ratio. Wants an idle host.
#
#   perftest.sh [ROUNDS]     5 if not given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here

main() {
  local class_path
  class_path="$here/target/test-classes:${RDMA_CLASS_PATH:-$("$here/metrale" classpath linux-x86_64)}"
  cd "$here"
  METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-1200} "$here/src/test/vm/vm.sh" run \
    "$here/src/test/vm/compare.sh" "'$class_path'" "${1:-5}"
}

main "$@"
