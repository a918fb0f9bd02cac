#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two ./fsx (fsx.c) at once on ext4, on xfs, and on ext4 over dm-crypt, while the controller is reset; then the file system
# is checked, and after a new mount each file is what fsx says that it has to be. Words of the kernel's command line:
# OPERATIONS of each, KEY of dm-crypt (64 bytes in hex), SPOIL=1, which changes a byte of a file on the way.
set -eu -o pipefail
disk=/dev/nvme0n1 sys=/sys/class/nvme/nvme0
operations=${OPERATIONS:-1500} spoil=${SPOIL:-}

step() { printf '[%6.1f s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() { step "FAILED: $*"; cat /tmp/*.out || true; dmesg | tail -n 30; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b $disk ]
export DM_DISABLE_UDEV=1
modprobe dm-crypt

exercise() {  # name, file system, device
  local resets=0 pids=() pid n
  step "$1: $2"
  mkfs."$2" -q -"${force[$2]}" "$3" >/tmp/mkfs.out 2>&1
  mount "$3" /mnt
  for n in 1 2; do
    ./fsx /mnt/file$n 2048 "$operations" $((n * 17)) /tmp/right$n >/tmp/fsx$n.out 2>&1 &
    pids+=($!)
  done
  while kill -0 "${pids[@]}" 2>/dev/null; do
    sleep 0.7
    echo 1 >$sys/reset_controller
    ((resets += 1))
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "fsx"; done
  ((resets > 1)) || fail "fsx was over before the second reset"
  [ -z "$spoil" ] || printf 'x' | dd of=/mnt/file2 bs=1 seek=5000 conv=notrunc status=none
  umount /mnt
  if [ "$2" = xfs ]; then xfs_repair -n "$3" >/tmp/fsck.out 2>&1; else e2fsck -f -n "$3" >/tmp/fsck.out 2>&1; fi
  mount "$3" /mnt
  for n in 1 2; do
    cmp /mnt/file$n /tmp/right$n || fail "file$n after the new mount"
    step "$(</tmp/fsx$n.out)"
  done
  umount /mnt
  step "$1: $resets resets"
}
declare -A force=([ext4]=F [xfs]=f)

exercise plain ext4 $disk
exercise plain xfs $disk
blkdiscard -f $disk 2>/dev/null
dmsetup create secret --table "0 $(blockdev --getsz $disk) crypt aes-xts-plain64 $KEY 0 $disk 0"
exercise dm-crypt ext4 /dev/mapper/secret
{ yes 'nobody reads this' || true; } | head -c 1M | dd of=/dev/mapper/secret bs=64k oflag=direct iflag=fullblock status=none
if head -c 1M $disk | grep -q 'nobody reads'; then fail "plain text on the drive"; fi
dmsetup remove secret
if dmesg | grep -v 'ommand line:' | grep -vE 'failed(: -4| \(-4\)| .*status=0xfffffffc.)$' |
  grep -E 'I/O error|EXT4-fs (error|warning)|XFS.*([Cc]orrupt|[Ee]rror)|nvme.*([Rr]emov|[Ff]ail)|blocked for|WARNING|BUG:|timeout'; then
  fail "dmesg complains"
fi
step fine
