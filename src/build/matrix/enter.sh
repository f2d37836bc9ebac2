#!/usr/bin/env bash
# Runs a program in the root folder of another system, which sees this machine's /proc, /dev and the
# folders that the variable METRALE_SEEN lists, colon-separated, at their own places.
#
#   enter.sh ROOT PROGRAM [ARGUMENT...]
#
# Without root's rights where the kernel lets everybody have name spaces. Programs for another processor
# run in qemu, which `cppbuild.sh arm64` stages.
set -euo pipefail

inside() {
  local root=$1 path seen
  shift
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  IFS=: read -r -a seen <<<"${METRALE_SEEN:-}"
  for path in "${seen[@]}"; do
    mkdir -p "$root$path"
    mount --rbind "$path" "$root$path"
  done
  # With the C library of the system that is entered, never with this machine's.
  unset LD_LIBRARY_PATH LD_PRELOAD
  exec chroot "$root" "$@"
}

main() {
  local root=$1
  shift
  if [ "${METRALE_INSIDE:-}" = yes ]; then
    unset METRALE_INSIDE
    inside "$root" "$@"
  fi
  if [ -n "${METRALE_QEMU:-}" ]; then
    install -D "$METRALE_QEMU" "$root/usr/bin/qemu-user"
    set -- /usr/bin/qemu-user "$@"
  fi
  METRALE_INSIDE=yes exec unshare --map-root-user --mount --pid --fork "$0" "$root" "$@"
}

main "$@"
