#!/usr/bin/env bash
# Runs the tests tagged rdma in the machine with real RDMA, from the classes that a build has left.
#
#   tests.sh [CLASS...]     all of them, or those of given classes; RDMA_OPTIONS are options for the JVM
#   tests.sh --soak         the tests tagged soak, at full length
#
# Reports are left in target/rdma. The JVM is about ten times slower there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here

main() {
  local selection=() tag=rdma seconds=900 class
  if [ "${1:-}" = --soak ]; then
    tag=soak seconds=7200
    shift
  fi
  for class in "$@"; do
    selection+=(--select-class "$class")
  done
  [ ${#selection[@]} -gt 0 ] || selection=(--scan-class-path "$here/target/test-classes")
  local class_path
  class_path="$here/target/test-classes:${RDMA_CLASS_PATH:-$("$here/metrale" classpath linux-x86_64)}"
  rm -rf "$here/target/rdma"
  local options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.bytedeco.javacpp.maxPhysicalBytes=0
    -Dorg.metrale.leaks=trace -Dmetrale.basedir=$here -Dmetrale.native=$here/target/native
    -Dmetrale.platform=linux-x86_64 -Dmetrale.require=rdma ${RDMA_OPTIONS:-}"
  cd "$here"
  METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-$seconds} METRALE_VM_RESULTS="$here/target/rdma" \
    "$here/src/test/vm/vm.sh" run "java ${options//$'\n'/ } -cp '$class_path'" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
    --details=testfeed "--reports-dir=\$JOB/results" --include-tag "$tag" "${selection[@]}"
}

main "$@"
