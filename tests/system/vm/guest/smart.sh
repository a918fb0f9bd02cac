#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What nvme-cli says of a drive whose media wear: `smart NAME VALUE`, and the words of log page EBh: `media VALUE ...`. Before
# and after 12 MiB of writes and 3 MiB of reads in blocks of 16 KiB.
set -eu -o pipefail
say() {
  nvme smart-log /dev/nvme0 -o json | tr -d ' ",\t' | tr ':' ' ' | sed -n 's/^\([a-z_]* [0-9]*\)$/smart \1/p'
  nvme get-log /dev/nvme0 --log-id=0xeb --log-len=64 --raw-binary | od -An -v -t u4 | tr '\n' ' ' | sed 's/^/media /'
  echo
}
[ -b /dev/nvme0n1 ]
say
echo between
fio --name=w --filename=/dev/nvme0n1 --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bs=16k --size=12M \
  --minimal >/tmp/fio.out
fio --name=r --filename=/dev/nvme0n1 --direct=1 --ioengine=libaio --iodepth=8 --rw=randread --bs=16k --size=3M \
  --minimal >/tmp/fio.out
nvme flush /dev/nvme0n1 >/dev/null
say
