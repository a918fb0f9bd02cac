#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ext4 and fio verify on a VF's namespace, for as long as SECONDS_OF_WORK on the kernel's command line says; nothing may fail.
set -eu -o pipefail
fail() { echo "FAILED: $*"; dmesg | tail -n 20; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
seconds=$(sed 's/.*SECONDS_OF_WORK=\([0-9]*\).*/\1/' /proc/cmdline)
disk=/dev/nvme0n1
[ -b $disk ]
mkfs.ext4 -q -F -m 0 $disk
mount $disk /mnt
head -c 18M /dev/urandom >/mnt/a  # nearly all of it: wherever something is spoilt, it is found
sum=$(sha256sum </mnt/a)
echo "at work"
runs=0
while ((SECONDS < seconds || runs < 1)); do
  fio --name=v --directory=/mnt --size=2M --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k --randseed=$runs \
    --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal >/tmp/out 2>&1 || fail "$(</tmp/out)"
  runs=$((runs + 1))
done
umount /mnt
fsck.ext4 -f -n $disk >/tmp/out 2>&1 || fail "$(</tmp/out)"
mount $disk /mnt
[ "$(sha256sum </mnt/a)" = "$sum" ]
umount /mnt
if dmesg | grep -v 'ommand line:' | grep -E 'nvme.*(timeout|abort|reset|I/O error)|EXT4-fs error'; then exit 3; fi
echo "verified $runs"
