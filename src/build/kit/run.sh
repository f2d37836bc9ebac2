#!/bin/sh
# Tries metrale-gpu on this machine and leaves report.json and report.txt. Needs nothing but a C library
# (glibc 2.28 or later): Java, tests and everything else are in this folder.
#
#   run.sh [--emulator] [OUTPUT]    --emulator tries the software GPU host instead of this machine's GPUs
#
# Ends with 0 if tests ran and passed, 1 if one failed or none passed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
emulated=no
output=
while [ $# -gt 0 ]; do
  case $1 in
    --emulator) emulated=yes ;;
    -*)
      sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//' >&2
      exit 2
      ;;
    *) output=$1 ;;
  esac
  shift
done
[ -n "$output" ] || output=$PWD/metrale-report
mkdir -p "$output/tests" "$output/cache"
output=$(cd "$output" && pwd)
rm -f "$output"/tests/* "$output"/*.json "$output"/*.txt "$output"/benchmarks.*

# METRALE_RUNNER runs the kit's Java where the processor is another one.
# shellcheck disable=SC2086 # a runner may have arguments
java() {
  ${METRALE_RUNNER:-} "$here/java/bin/java" --enable-native-access=ALL-UNNAMED -Xmx1g \
    -Dorg.bytedeco.javacpp.maxPhysicalBytes=0 -Dorg.bytedeco.javacpp.cachedir="$output/cache" \
    -Djava.io.tmpdir="$output/cache" -Dmetrale.basedir="$here" -Dmetrale.platform="$platform" "$@"
}

platform=$(cat "$here/platform")
tags=gpu
if [ "$emulated" = yes ]; then
  tags=
  export METRALE_LIBRARY_PATH="$here/cppbuild/$platform/emulator"
  export METRALE_EMULATOR_GPUS="${METRALE_EMULATOR_GPUS:-8}"
fi

echo "asking the doctor"
java -cp "$here/lib/*" org.metrale.gpu.tool.Doctor >"$output/doctor.txt" 2>&1 || true
java -cp "$here/lib/*" org.metrale.gpu.tool.Doctor --json >"$output/doctor.json" 2>/dev/null || true

echo "running tests"
java -Dmetrale.tags="$tags" -cp "$here/tests:$here/lib/*" org.junit.platform.console.ConsoleLauncher \
  execute --disable-banner --disable-ansi-colors --details=tree --reports-dir "$output/tests" \
  --scan-class-path "$here/tests" --include-classname '.*[.](Hardware|.*Gpu)Test' --include-tag gpu >"$output/tests.log" 2>&1 || true

echo "measuring"
measured="$output/cache/file"
head -c 67108864 /dev/urandom >"$measured"
for probe in DeviceProbe EmulatorProbe NvmlProbe ReadsProbe; do
  java -cp "$here/lib/*" "org.metrale.benchmarks.$probe" "$measured" >>"$output/benchmarks.rows" 2>"$output/cache/problem" ||
    printf 'FAILED\t%s\t%s\n' "$probe" "$(head -n 1 "$output/cache/problem")" >>"$output/benchmarks.rows"
  cat "$output/cache/problem" >>"$output/benchmarks.log"
done

status=0
java -cp "$here/tests:$here/lib/*" org.metrale.gpu.hardware.HardwareReport "$output" || status=$?
rm -rf "$output/cache"
echo "the report is $output/report.json and $output/report.txt"
exit $status
