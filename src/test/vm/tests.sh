#!/usr/bin/env bash
# Runs the tests tagged rdma (classes Rdma*Test) in the machine with real RDMA, from the classes that a
# build has left.
#
#   tests.sh [CLASS...]     all of them, or those of given classes
#   tests.sh --soak         the soak at full length, 10,000 connections and an hour of faults, into
#                           reports/soft-roce-soak.md; RDMA_CYCLES, RDMA_FAULTS and RDMA_TRANSFERS shorten it
#
# Tests that break the machine (tagged last) get one of their own. Reports are left in target/rdma.
# RDMA_OPTIONS are options for the JVM, which is about ten times slower there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here
readonly folder="$here/target/rdma"

# Packs the classes, and leaves an archive of them as a JVM has them once they are loaded: a JVM in the
# machine starts in half the time with it.
pack() {
  class_path=$("$here/src/test/vm/pack.sh" "$folder/classes")
  # The same classes at work on the software GPU host.
  java "-XX:ArchiveClassesAtExit=$folder/classes/archive" -Xlog:cds=off -Xlog:cds+dynamic=off \
    -XX:+UseSerialGC "-Dmetrale.basedir=$here" -Dmetrale.platform=linux-x86_64 -cp "$class_path" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=none \
    --select-class org.metrale.gpu.rail.RailTransferTest \
    --select-class org.metrale.gpu.verbs.VerbsTransferTest >"$folder/classes/log" 2>&1 ||
    { cat "$folder/classes/log"; return 1; }
}

# junit SECONDS ARGUMENT...: one machine, one JVM.
junit() {
  local seconds=$1
  shift
  # The JVM's own checksum uses carry-less multiplication, which is emulated bit by bit.
  local all="-XX:SharedArchiveFile=$folder/classes/archive -XX:+UnlockDiagnosticVMOptions
    -XX:-UseCRC32Intrinsics"
  local options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.bytedeco.javacpp.maxPhysicalBytes=0
    -Dorg.metrale.leaks=trace -Dmetrale.basedir=$here -Dmetrale.native=$here/target/native
    -Dmetrale.platform=linux-x86_64 -Dmetrale.require=rdma ${RDMA_OPTIONS:-}"
  METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-$seconds} METRALE_VM_RESULTS="$folder/$seconds" \
    "$here/src/test/vm/vm.sh" run "JDK_JAVA_OPTIONS='${all//$'\n'/ }'" \
    "java ${options//$'\n'/ } -cp '$class_path'" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
    --details=testfeed "--reports-dir=\$JOB/results" --fail-if-no-tests --include-tag rdma "$@"
}

# soak: at the given length, with a report of what ran.
soak() {
  local status=0 began=$SECONDS
  RDMA_OPTIONS="-Dmetrale.soak.cycles=${RDMA_CYCLES:-10000} -Dmetrale.soak.faults=${RDMA_FAULTS:-3000}
    -Dmetrale.soak.transfers=${RDMA_TRANSFERS:-100000}"
  junit 14400 --select-class org.metrale.gpu.rail.RdmaSoakTest --select-method \
    "'org.metrale.gpu.rail.RdmaFaultTest#connectingAndClosingLeavesNothing(org.junit.jupiter.api.TestReporter)'" ||
    status=1
  {
    echo '# Soak of rails on Soft-RoCE'
    echo
    echo "Written by \`src/test/vm/tests.sh --soak\` on $(date -u +%Y-%m-%d), after $(((SECONDS - began) / 60)) minutes."
    echo "Level: Soft-RoCE in a machine whose processor is emulated. A short one is part of every CI run."
    echo
    python3 "$here/src/test/vm/soak.py" "$folder/14400"
  } >"$here/reports/soft-roce-soak.md"
  return $status
}

main() {
  local selection=() status=0 class
  cd "$here"
  rm -rf "$folder"
  pack
  if [ "${1:-}" = --soak ]; then
    soak
    return
  fi
  if [ $# -gt 0 ]; then
    for class in "$@"; do
      selection+=(--select-class "$class")
    done
    junit 900 "${selection[@]}"
    return
  fi
  junit 1500 --scan-class-path "$folder/classes/0.jar" --include-classname "'.*[.]Rdma[A-Za-z]*Test'" \
    --exclude-tag last || status=1
  junit 300 --select-class org.metrale.gpu.rail.RdmaDeviceLossTest || status=1
  return $status
}

main "$@"
