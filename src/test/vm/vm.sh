#!/usr/bin/env bash
# A machine with real RDMA on a machine without: a small emulated computer whose root is this one's file
# system and that has two rails of Soft-RoCE, the kernel's RDMA over Ethernet.
#
#   vm.sh build          kernel and initial RAM disk, into the cache folder; later runs need no network
#   vm.sh run COMMAND    boots (about five seconds), runs the command as root in this folder, ends with its
#                        exit code; 125 if the machine gave no result, and then its console is printed
#
# In the machine: devices rxe_r0a and rxe_r0b are the ends of the first rail, rxe_r1a and rxe_r1b of the
# second. GID 0 is link-local, GID 1 IPv4 (10.77.RAIL.1 and .2). What is written is gone afterwards, but
# for the folder named by the variable JOB.
#
# METRALE_VM_KERNEL (a kernel's package, with a METRALE_CACHE of its own; if not given, the one that
# linux-image-amd64 stands for), METRALE_VM_MEMORY (MiB, 6144), METRALE_VM_CPUS (2), METRALE_VM_SECONDS
# (300), METRALE_VM_RESULTS (a folder into which the files of JOB/results are copied), METRALE_VM_COUNTING
# (if not empty, one processor, and time there is the number of its instructions, one a nanosecond: what is
# measured does not depend on the host), METRALE_VM_TSC (if not empty, the clock is the TSC, else the emulated
# HPET, at a system call and a microsecond a look).
#
# KVM is not used: a device node may be there, open, and still not boot a stock kernel.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly vm="${METRALE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/metrale-gpu}/vm"

# rdma-core itself is not among them: it would bring udev and a newer systemd.
readonly packages=(qemu-system-x86 ibverbs-utils ibverbs-providers perftest libibverbs1 busybox-static
  iproute2 xz-utils zstd)

# Modules by the order in which they are asked for; what they depend on comes before them.
# crc32_generic is asked for through the crypto interface, so no dependency names it.
readonly modules=(virtio_pci 9pnet_virtio 9p overlay virtio_rng crc32_generic crc32c_generic veth sch_netem
  ib_core ib_uverbs udp_tunnel ip6_udp_tunnel rdma_rxe)

fail() {
  printf 'vm: %s\n' "$*" >&2
  exit 125
}

is_installed() {
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

install_packages() {
  local wanted=() package
  for package in "${packages[@]}"; do
    is_installed "$package" || wanted+=("$package")
  done
  [ ${#wanted[@]} -gt 0 ] || return 0
  [ "$(id -u)" -eq 0 ] || fail "as root: apt-get install --no-install-recommends ${wanted[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
    --no-install-recommends "${wanted[@]}" >/dev/null
}

# The uncompressed kernel: booting that skips seconds of emulated decompression in every run.
unpack_kernel() {
  local name=${METRALE_VM_KERNEL:-}
  [ -n "$name" ] || name=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  [ -n "$name" ] || fail "apt knows no kernel; run apt-get update"
  (cd "$vm" && apt-get -o APT::Sandbox::User=root download -qq "$name" && dpkg -x "$name"_*.deb kernel && rm -f "$name"_*.deb)
  python3 "$here/kernel.py" "$vm/kernel" "$vm/vmlinux"
}

build() {
  install_packages
  mkdir -p "$vm"
  [ -s "$vm/vmlinux" ] || unpack_kernel
  if [ "$vm/initrd.gz" -ot "$here/init" ] || [ "$vm/initrd.gz" -ot "$here/kernel.py" ] ||
    [ "$vm/initrd.gz" -ot "${BASH_SOURCE[0]}" ]; then
    python3 "$here/kernel.py" "$vm/kernel" "$vm/initrd.gz" "$here/init" "${modules[@]}"
  fi
}

# no_timer_check: on a busy host the kernel's test of its timer fails, and it panics. Without erms the kernel
# and the C library copy by wide moves; the byte moves that they take for fast else are emulated one by one.
boot() {
  local job=$1 processors=(-accel "tcg,thread=multi,tb-size=1024" -smp "${METRALE_VM_CPUS:-2}")
  if [ -n "${METRALE_VM_COUNTING:-}" ]; then
    processors=(-accel "tcg,thread=single,tb-size=1024" -smp 1 -icount "shift=0,sleep=off")
  fi
  timeout --kill-after=5 "${METRALE_VM_SECONDS:-300}" qemu-system-x86_64 \
    "${processors[@]}" -cpu max,-erms -m "${METRALE_VM_MEMORY:-6144}" \
    -nodefaults -no-user-config -no-reboot -display none \
    -serial "file:$job/console" -kernel "$vm/vmlinux" -initrd "$vm/initrd.gz" \
    -append "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off nokaslr ${METRALE_VM_TSC:+tsc=reliable} job=$job" \
    -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev "local,id=job,path=$job,security_model=none" -device virtio-9p-pci,fsdev=job,mount_tag=job \
    -device virtio-rng-pci </dev/null >"$job/qemu" 2>&1
}

run() {
  build
  local job status=125 ended=0
  job=$(mktemp -d "$vm/job.XXXXXX")
  mkdir "$job/results"
  printf '%s\n' "$*" >"$job/command"
  pwd >"$job/folder"
  cp "$here/guest" "$job/guest"
  boot "$job" || ended=$?
  cat "$job/stdout" 2>/dev/null || true
  cat "$job/stderr" >&2 2>/dev/null || true
  if [ -s "$job/status" ]; then
    status=$(cat "$job/status")
  else
    printf 'vm: no result, the machine ended with %s; its console:\n' "$ended" >&2
    tail -n 30 "$job/console" "$job/qemu" >&2 || true
  fi
  if [ -n "${METRALE_VM_RESULTS:-}" ]; then
    mkdir -p "$METRALE_VM_RESULTS"
    cp -R "$job/results/." "$METRALE_VM_RESULTS/"
  fi
  rm -rf "$job"
  exit "$status"
}

main() {
  local command=${1:-}
  [ $# -eq 0 ] || shift
  case $command in
    build) build ;;
    run) run "$@" ;;
    *) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
  esac
}

main "$@"
