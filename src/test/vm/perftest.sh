#!/usr/bin/env bash
# Compares perftest, a loop in C over the shim and the checked layer in Java in the machine with real RDMA,
# by alternating runs; writes the medians to reports/soft-roce-perftest.md. Wants an idle host.
#
#   perftest.sh [ROUNDS]     5 if not given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly here
readonly folder="$here/target/perftest"
readonly report="$here/reports/soft-roce-perftest.md"

build_loop() {
  mkdir -p "$folder"
  "${CC:-cc}" -O2 -std=gnu11 -Wall -Wextra -Werror -pthread \
    -I "$here/src/main/resources/org/metrale/include" -isystem "$here/cppbuild/include" \
    -o "$folder/loop" "$here/src/test/c/verbs/loop.c" "$here"/src/main/c/metrale_ibv_*.c -l:libibverbs.so.1
}

# row WHAT BYTES PERFTEST C JAVA: a line of the table; latencies may be longer, bandwidths smaller.
row() {
  awk -v what="$1" -v bytes="$2" -v perftest="$3" -v c="$4" -v java="$5" 'BEGIN {
    striped = what ~ /^striped/
    latency = what ~ /_lat$/
    bound = striped || !latency ? 0.97 : 1.15
    ratio = java / perftest
    met = latency ? ratio <= bound : ratio >= bound
    printf "| %s | %d | %s | %s | %s | %.3f | %s %.2f | %s | %.3f |\n", what, bytes,
      striped ? "-" : perftest, c, java, ratio, latency ? "at most" : "at least", bound,
      met ? "yes" : "no", java / c
  }'
}

# table MEDIANS
table() {
  echo '| what | bytes | perftest | C over the shim | Java | Java to perftest | bound | met | Java to C |'
  echo '| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: |'
  while read -r what bytes rest; do
    # shellcheck disable=SC2086 # three numbers
    row "$what" "$bytes" $rest
  done <"$1"
}

# measure KIND ROUNDS: leaves the medians and what is to be known of the machine in a folder of that name.
measure() {
  METRALE_VM_TSC=yes METRALE_VM_SECONDS=${METRALE_VM_SECONDS:-1800} METRALE_VM_RESULTS="$folder/$1" "$here/src/test/vm/vm.sh" run \
    "set -o pipefail; uname -r >\$JOB/results/kernel;" \
    "$here/src/test/vm/compare.sh" "'$class_path'" "'$folder/loop'" "$2" "| tee \$JOB/results/medians"
}

write_report() {
  cat <<END
# Soft-RoCE beside perftest

Written by \`src/test/vm/perftest.sh\` on $(date -u +%Y-%m-%d). Level: Soft-RoCE of Linux $(cat "$folder/clock/kernel"),
between two devices of one machine, on **an emulated processor** (qemu $(qemu-system-x86_64 --version | head -n 1 | cut -d ' ' -f 4),
no KVM). Bandwidths in MiB/s, latencies in us; medians of $1 alternating runs.

These numbers say nothing about an adapter: a request to Soft-RoCE is a system call, in which the kernel copies
and checks every byte itself, and an emulated processor does all of that many times slower than a real one.
They compare three ways to the same device.

- perftest: two processes; \`ib_write_bw\` asks for one completion in a hundred, \`ib_write_lat\` sends its 64
  bytes inside the request.
- C over the shim: \`src/test/c/verbs/loop.c\` does what the Java program does, with the same functions of
  \`metrale_ibv.h\`, in one process. What Java adds is the last column.
- \`striped\`: transfers of 32 MiB by \`ConnectedRails\` over two rails, in pieces of 1 MiB, each of which is
  followed by a small request on Soft-RoCE. The ratio and its bound are to the sum that plain requests of 1 MiB in C
  reach over both rails at the same time.

## By instructions

One emulated processor, and time is the number of its instructions: the load of the host is not in it, nor
are caches, and waiting in a loop takes from what is waited for. So whoever waits, perftest as well, reads
messages of 1 MiB at one of two rates, 53 or 82, by the chance of the scheduler; a ratio of those is chance.
Writes that answer each other need two processors and are left out.

$(table "$folder/count/medians")

## By the clock

Two emulated processors on $(nproc) of the host, whose load was $load before and $(cut -d ' ' -f 1 /proc/loadavg) after:
**with other work on the host these numbers are chance**, which the column of C beside that of perftest shows.

$(table "$folder/clock/medians")
END
}

main() {
  local rounds=${1:-5}
  cd "$here"
  rm -rf "$folder"
  "$here/src/test/vm/vm.sh" build
  build_loop
  class_path=$("$here/src/test/vm/pack.sh" "$folder/classes")
  METRALE_VM_COUNTING=yes measure count "$rounds"
  load=$(cut -d ' ' -f 1 /proc/loadavg)
  measure clock "$rounds"
  write_report "$rounds" >"$report"
  echo "written: $report"
}

main "$@"
