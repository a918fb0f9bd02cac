#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a user does with a drive, in a guest: looks at it, partitions it, works on a file system, resets it under load,
# discards, verifies, formats. Ends with status 0 only if every step succeeded and the kernel had nothing to complain.
set -eu -o pipefail
drive=/dev/nvme0n1 ctrl=/dev/nvme0
tree_mib=${TREE_MIB:-48} job_size=${JOB_SIZE:-8M} reset_io=${RESET_IO:-12M}

step() { printf '[%6.1f s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() { step "FAILED: $*"; dmesg | tail -n 30; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

[ -b $drive ] || fail "no $drive"

step look
nvme list | grep -q $drive
nvme id-ctrl -H $ctrl | grep -E '^(mn|fr|mdts|sqes|oncs) '
nvme id-ns $drive -n 1 | grep -E '^(nsze|lbaf)'
nvme smart-log $ctrl | grep -E 'critical_warning +: 0$|^Data Units'
nvme error-log $ctrl >/dev/null
nvme fw-log $ctrl >/dev/null
nvme get-feature $ctrl >/tmp/features || true    # all that nvme-cli knows; ends with the status of the last one
for feature in 1 2 4 5 7 8 9 0xa 0xb; do         # those that every controller with I/O queues and MSI-X has
  nvme get-feature $ctrl -f $feature >/dev/null || [[ $feature == 5 && -n ${STOCK:-} ]] || fail "get-feature $feature"
done
for feature in {1..31} {128..133}; do            # any other may be unsupported, which has its own status
  nvme get-feature $ctrl -f $feature >/dev/null 2>/tmp/why || grep -qE 'Invalid (Field|Namespace)' /tmp/why ||
    fail "get-feature $feature: $(</tmp/why)"
done

step partition
printf 'label: gpt\nsize=%sM\nsize=+\n' $((tree_mib * 2 + 32)) | sfdisk -q $drive
udev_less_wait() { for _ in {1..50}; do [ -b ${drive}p2 ] && return; sleep 0.1; done; fail "no partitions"; }
udev_less_wait
lsblk -o NAME,SIZE,TYPE $drive

step "mkfs, mount, copy a tree of $tree_mib MiB"
mkfs.ext4 -q -F ${drive}p1
mount ${drive}p1 /mnt
mkdir -p /tmp/tree
head -c 8M /dev/urandom >/tmp/noise
left=$((tree_mib * 1024)) n=0
while ((left > 0)); do    # files of 1 KiB to 2 MiB
  kib=$((1 << (n % 12)))
  ((kib <= left)) || kib=$left
  mkdir -p /tmp/tree/d$((n % 7))/e$((n % 3))
  dd if=/tmp/noise of=/tmp/tree/d$((n % 7))/e$((n % 3))/f$n bs=256K iflag=skip_bytes,count_bytes \
      skip=$((n * 37777)) count=${kib}K status=none
  ((left -= kib, n += 1)) || true
done
cp -a /tmp/tree /mnt/
umount /mnt

step "reset_controller under running fio"
fio --name=load --filename=${drive}p2 --direct=1 --ioengine=libaio --iodepth=16 --rw=randrw --bs=4k --io_size=$reset_io \
    --size=32M --verify=crc32c --verify_fatal=1 --minimal >/tmp/load.out &
load=$! resets=0
while kill -0 $load 2>/dev/null; do
  sleep 0.3
  kill -0 $load 2>/dev/null || break
  echo 1 >/sys/class/nvme/nvme0/reset_controller
  ((resets += 1))
  ((resets < 5)) || break
done
wait $load || fail "fio under reset"
((resets > 0)) || fail "fio was over before the first reset"
step "fio survived $resets resets"

step "remount, compare"
mount ${drive}p1 /mnt
(cd /tmp/tree && find . -type f -exec md5sum {} + | sort -k2) >/tmp/want
(cd /mnt/tree && find . -type f -exec md5sum {} + | sort -k2) >/tmp/have
cmp /tmp/want /tmp/have
step "$(wc -l </tmp/want) files are the same"
umount /mnt
e2fsck -f -n ${drive}p1 >/dev/null

step blkdiscard
blkdiscard -f $drive
[ -z "$(head -c 1M $drive | tr -d '\0')" ] || step "(discarded blocks do not read as zeroes; they need not)"

step "fio --verify: 4 jobs, QD 32, 512 B to 256 KiB"
[ -b $drive ] || fail "no $drive"
fio --name=v --filename=$drive --direct=1 --ioengine=libaio --iodepth=32 --numjobs=4 --size=$job_size \
    --offset_increment=$job_size --rw=randwrite --bsrange=512-256k --verify=crc32c --verify_fatal=1 --do_verify=1 \
    --group_reporting | grep -E 'err=|READ:|WRITE:'

step format
[ "$(blockdev --getss $drive)" = 512 ]
nvme format $drive --block-size=4096 --force >/dev/null
[ "$(blockdev --getss $drive)" = 4096 ] || fail "no 4096-byte blocks after format"
head -c 1M /tmp/noise >/tmp/piece
dd if=/tmp/piece of=$drive bs=64k oflag=direct status=none
cmp -n 1M /tmp/piece $drive
nvme format $drive --block-size=512 --force >/dev/null
[ "$(blockdev --getss $drive)" = 512 ]

step "kernel's opinion"
if dmesg | grep -v "ommand line:" | grep -iE 'nvme|ext4|jbd2|i/o|blk|pcieport|aer' | grep -iE 'error|timeout|abort'; then fail "dmesg complains"; fi
if dmesg | grep -v "ommand line:" | grep -iE 'error|timeout|abort'; then fail "dmesg complains"; fi
step done
