#!/usr/bin/env bash
# Runs the tests tagged rdma in the machine with real RDMA, from the classes that a build has left.
#
#   tests.sh [CLASS...]     all of them, or those of given classes
#   tests.sh --soak         the soak at full length: 10,000 connections and an hour of faults
#
# Tests that break the machine (tagged last) get one of their own. Reports are left in target/rdma.
# RDMA_OPTIONS are options for the JVM, which is about ten times slower there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here

# junit SECONDS ARGUMENT...: one machine, one JVM.
junit() {
  local seconds=$1 class_path
  shift
  class_path="$here/target/test-classes:${RDMA_CLASS_PATH:-$("$here/metrale" classpath linux-x86_64)}"
  local options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.bytedeco.javacpp.maxPhysicalBytes=0
    -Dorg.metrale.leaks=trace -Dmetrale.basedir=$here -Dmetrale.native=$here/target/native
    -Dmetrale.platform=linux-x86_64 -Dmetrale.require=rdma ${RDMA_OPTIONS:-}"
  METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-$seconds} METRALE_VM_RESULTS="$here/target/rdma/$seconds" \
    "$here/src/test/vm/vm.sh" run "java ${options//$'\n'/ } -cp '$class_path'" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
    --details=testfeed "--reports-dir=\$JOB/results" --include-tag rdma "$@"
}

main() {
  local selection=() status=0 class
  cd "$here"
  rm -rf "$here/target/rdma"
  if [ "${1:-}" = --soak ]; then
    RDMA_OPTIONS="-Dmetrale.soak.cycles=10000 -Dmetrale.soak.transfers=100000 -Dmetrale.soak.faults=3000"
    junit 14400 --select-class org.metrale.gpu.rail.RdmaSoakTest \
      --select-method 'org.metrale.gpu.rail.RdmaFaultTest#connectingAndClosingLeavesNothing()'
    return
  fi
  if [ $# -gt 0 ]; then
    for class in "$@"; do
      selection+=(--select-class "$class")
    done
    junit 900 "${selection[@]}"
    return
  fi
  junit 1500 --scan-class-path "$here/target/test-classes" --exclude-tag last || status=1
  junit 300 --select-class org.metrale.gpu.rail.RdmaDeviceLossTest || status=1
  return $status
}

main "$@"
