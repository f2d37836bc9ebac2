#!/usr/bin/env bash
# What perftest.sh runs in the machine: compare.sh CLASS_PATH LOOP ROUNDS
#
# Prints a line for each thing that was measured: what, bytes, the medians of perftest (of LOOP over two
# rails for the striped ones), of LOOP and of Java. Writes that answer each other need two processors.
set -euo pipefail

readonly port=18515
# One processor that counts its instructions for time lets hours pass while it waits for a file.
seconds=120
[ "$(nproc)" -gt 1 ] || seconds=1000000
readonly seconds

listens() {
  grep -q "$(printf ':%04X 0*:0000 0A' "$port")" /proc/net/tcp /proc/net/tcp6
}

# theirs read|write bw|lat BYTES ITERATIONS: average bandwidth in MiB/s, or the typical latency in us.
theirs() {
  local tries
  timeout "$seconds" "ib_$1_$2" -p "$port" -d rxe_r0b -x 1 -s "$3" -n "$4" -F >/dev/null 2>&1 &
  for ((tries = 0; tries < 300; tries++)); do
    listens && break
    sleep 0.1
  done
  timeout "$seconds" "ib_$1_$2" -p "$port" -d rxe_r0a -x 1 -s "$3" -n "$4" -F 10.77.0.2 2>/dev/null |
    awk -v bytes="$3" -v kind="$2" '$1 == bytes { print (kind == "bw" ? $4 : $5) }'
  wait
}

in_c() {
  timeout "$seconds" "$loop" "$@" rxe_r0a rxe_r0b | cut -d ' ' -f 1
}

in_java() {
  # The second compiler emits pauses, at each of which the emulated processor leaves its compiled code.
  timeout "$seconds" java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.bytedeco.javacpp.maxPhysicalBytes=0 -cp "$class_path" \
    "$@" | cut -d ' ' -f 1
}

ours() {
  in_java org.metrale.gpu.verbs.PerftestProbe "$@"
}

# 32 MiB in pieces of 1 MiB over both rails, again and again, plain and by ConnectedRails.
plain_sum() {
  timeout "$seconds" "$loop" "$1" bw "$3x16" "$4" rxe_r0a rxe_r0b rxe_r1a rxe_r1b | cut -d ' ' -f 1
}

striped() {
  in_java org.metrale.gpu.rail.StripedProbe "$1" "$((32 * $3))" "$((2 * $4 / 32))"
}

median() {
  sort -g "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# compare NAME FIRST SECOND THIRD ARGUMENT...: the three by turns.
compare() {
  local name=$1 first=$2 second=$3 third=$4 round
  shift 4
  : >/tmp/first
  : >/tmp/second
  : >/tmp/third
  for ((round = 0; round < rounds; round++)); do
    "$first" "$@" >>/tmp/first
    "$second" "$@" >>/tmp/second
    "$third" "$@" >>/tmp/third
  done
  echo "$name $3 $(median /tmp/first) $(median /tmp/second) $(median /tmp/third)"
}

main() {
  class_path=$1
  loop=$2
  rounds=$3
  compare ib_read_bw theirs in_c ours read bw 65536 1000
  compare ib_write_bw theirs in_c ours write bw 65536 1000
  compare ib_read_bw theirs in_c ours read bw 1048576 100
  compare ib_write_bw theirs in_c ours write bw 1048576 100
  compare ib_read_lat theirs in_c ours read lat 64 2000
  if [ "$(nproc)" -gt 1 ]; then
    compare ib_write_lat theirs in_c ours write lat 64 2000
  fi
  compare striped_read plain_sum plain_sum striped read bw 1048576 96
  compare striped_write plain_sum plain_sum striped write bw 1048576 96
}

main "$@"
