#!/usr/bin/env bash
# Runs the tests tagged rdma (classes Rdma*Test) in the machine with real RDMA, from the classes that a
# build has left.
#
#   tests.sh [CLASS...]     all of them, or those of given classes of the module
#   tests.sh --tools        those of the tools alone, the rail commands and the demo
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

# The same with the tools' classes and tests, as their own build leaves them over this module's.
pack_tools() {
  local module modules="$here/target/rdma-tools-classpath"
  module=$("$here/metrale" classpath linux-x86_64)
  "$here/metrale" package >&2
  "$here/mvnw" -q -DskipTests -f "$here/tools/pom.xml" test-compile \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
    -Dmdep.outputFile="$modules" -DincludeScope=test >&2
  class_path=$(RDMA_CLASS_PATH="$here/tools/target/test-classes:$here/tools/target/classes:$module:$(<"$modules")" \
    "$here/src/test/vm/pack.sh" "$folder/classes")
  java "-XX:ArchiveClassesAtExit=$folder/classes/archive" -Xlog:cds=off -Xlog:cds+dynamic=off \
    -XX:+UseSerialGC -cp "$class_path" org.metrale.tools.Main rail serve --arena=1M --json --for=1 \
    "--emulator-folder=$here/cppbuild/linux-x86_64/emulator" >"$folder/classes/log" 2>&1 ||
    { cat "$folder/classes/log"; return 1; }
}

# Options of every JVM there. The JVM's own checksum uses carry-less multiplication, which is
# emulated bit by bit.
everywhere() {
  printf '%s\n' "-XX:SharedArchiveFile=$folder/classes/archive" -XX:+UnlockDiagnosticVMOptions \
    -XX:-UseCRC32Intrinsics
}

# The rail commands and the demo. Those tests look at all that a command says, so its JVM's options do not
# come from a variable, which the JVM would mention.
tools() {
  local options
  pack_tools
  options=$(everywhere && printf '%s\n' -XX:+UseSerialGC -XX:TieredStopAtLevel=1)
  RDMA_OPTIONS="$(everywhere) -Dmetrale.tool.options='$options'" in_machine 900 900-tools '' \
    --select-class org.metrale.tools.RdmaRailTest
}

# junit SECONDS ARGUMENT...: one machine, one JVM.
junit() {
  local all
  all=$(everywhere)
  in_machine "$1" "$1" "JDK_JAVA_OPTIONS='${all//$'\n'/ }'" "${@:2}"
}

# in_machine SECONDS NAME VARIABLE ARGUMENT...
in_machine() {
  local seconds=$1 name=$2 variable=$3
  shift 3
  local options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.bytedeco.javacpp.maxPhysicalBytes=0
    -Dorg.metrale.leaks=trace -Dmetrale.basedir=$here -Dmetrale.native=$here/target/native
    -Dmetrale.platform=linux-x86_64 -Dmetrale.require=rdma ${RDMA_OPTIONS:-}"
  METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-$seconds} METRALE_VM_RESULTS="$folder/$name" \
    "$here/src/test/vm/vm.sh" run "$variable" \
    "java ${options//$'\n'/ } -cp '$class_path'" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors \
    --details=testfeed "--reports-dir=\$JOB/results" --fail-if-no-tests --include-tag rdma "$@"
}

# soak: at the given length, with a report of what ran.
soak() {
  local status=0 began=$SECONDS
  RDMA_OPTIONS="-Dmetrale.soak.cycles=${RDMA_CYCLES:-10000} -Dmetrale.soak.faults=${RDMA_FAULTS:-3000}
    -Dmetrale.soak.transfers=${RDMA_TRANSFERS:-20000}"
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
  if [ "${1:-}" = --tools ]; then
    tools
    return
  fi
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
  tools || status=1
  return $status
}

main "$@"
