#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linux's driver with SGLs, and that it uses them: data that lies together needs no list then, with PRPs it does.
set -eu -o pipefail
fail() { echo "FAILED: $*"; dmesg | tail -n 20; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
disk=/dev/nvme0n1
threshold=/sys/module/nvme/parameters/sgl_threshold
trace=/sys/kernel/tracing
[ -b $disk ]
nvme id-ctrl /dev/nvme0 | grep -i '^sgls *: *0x50002'
[ -e $trace/kprobe_events ] || mount -t tracefs none $trace
echo 'p:list dma_pool_alloc' >$trace/kprobe_events
echo 8 >/proc/sys/vm/nr_hugepages
lists() {  # how many lists the driver makes for 64 reads of 128 KiB that lie together
  echo >$trace/trace
  echo 1 >$trace/events/kprobes/list/enable
  fio --name=l --filename=$disk --direct=1 --ioengine=libaio --iodepth=4 --rw=read --bs=128k --size=8M --iomem=mmaphuge \
    --minimal >/tmp/out 2>&1 || fail "$(</tmp/out)"
  echo 0 >$trace/events/kprobes/list/enable
  grep -c 'list:' $trace/trace || true
}
work() {
  fio --name=v --filename=$disk --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --size=16M --randseed=$2 \
    --bsrange=512-256k --blockalign=512 --verify=crc32c --verify_fatal=1 --do_verify=1 "${@:3}" --minimal >/tmp/out 2>&1 ||
    fail "$1: $(</tmp/out)"
}
echo 0 >$threshold
with_prps=$(lists)
echo 1 >$threshold
with_sgls=$(lists)
echo "lists: $with_prps with PRPs, $with_sgls with SGLs"
((with_prps >= 64 && with_sgls < 8))
work scattered 1
work together 2 --iomem=mmaphuge
work offset 3 --iomem_align=512
mkfs.ext4 -q -F -m 0 $disk
mount $disk /mnt
head -c 12M /dev/urandom >/tmp/a
cp /tmp/a /mnt/a
umount /mnt
mount $disk /mnt
cmp /tmp/a /mnt/a
umount /mnt
fsck.ext4 -f -n $disk >/tmp/out 2>&1 || fail "$(</tmp/out)"
if dmesg | grep -v 'ommand line:' | grep -E 'nvme.*(timeout|abort|reset|I/O error)|EXT4-fs error'; then exit 3; fi
echo "fine"
