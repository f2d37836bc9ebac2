#!/usr/bin/env bash
# What perftest.sh runs in the machine: compare.sh CLASS_PATH ROUNDS
set -euo pipefail

# theirs read|write bw|lat BYTES ITERATIONS: average bandwidth in MiB/s, or the typical latency in us.
theirs() {
  "ib_$1_$2" -d rxe_r0b -x 1 -s "$3" -n "$4" -F >/dev/null 2>&1 &
  sleep 1
  "ib_$1_$2" -d rxe_r0a -x 1 -s "$3" -n "$4" -F 10.77.0.2 2>/dev/null |
    awk -v bytes="$3" -v kind="$2" '$1 == bytes { print (kind == "bw" ? $4 : $5) }'
  wait
}

ours() {
  java -XX:+UseSerialGC -Dorg.bytedeco.javacpp.maxPhysicalBytes=0 -cp "$class_path" \
    org.metrale.gpu.verbs.PerftestProbe "$@" | cut -d ' ' -f 1
}

median() {
  sort -g "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

compare() {
  local them us round
  : >/tmp/theirs
  : >/tmp/ours
  for ((round = 0; round < rounds; round++)); do
    theirs "$@" >>/tmp/theirs
    ours "$@" >>/tmp/ours
  done
  them=$(median /tmp/theirs)
  us=$(median /tmp/ours)
  printf '%-6s %-4s %8s %12s %12s %7.3f\n' "$1" "$2" "$3" "$them" "$us" \
    "$(awk "BEGIN { print $us / $them }")"
}

main() {
  class_path=$1
  rounds=$2
  printf '%-6s %-4s %8s %12s %12s %7s\n' what kind bytes perftest ours ratio
  compare read bw 65536 1000
  compare write bw 65536 1000
  compare read bw 1048576 100
  compare write bw 1048576 100
  compare read lat 64 2000
  compare write lat 64 2000
}

main "$@"
