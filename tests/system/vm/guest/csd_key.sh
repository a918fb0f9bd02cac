#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One of several guests: a key of its own in slot 1 of its VF, its namespace bound to it, data in and back. After a reset of its
# controller the namespace is locked until the key is there again. It tells its namespace and its key.
set -eu -o pipefail
drive=/dev/nvme0
disk=/dev/nvme0n1
[ -b $disk ]
nsid=$(cat /sys/block/nvme0n1/nsid)

head -c 64 /dev/urandom >/tmp/keys
load() { { cat /tmp/keys; head -c 16 /dev/zero; } >/tmp/data
  nvme admin-passthru $drive --opcode=0xc1 --cdw10=$((1 << 10 | 1 << 8 | 1)) --data-len=80 --input-file=/tmp/data --write \
    >/dev/null; rm /tmp/data; }
load
nvme admin-passthru $drive --opcode=0xc8 --namespace-id="$nsid" --cdw10=0x103 >/dev/null
for i in {1..20000}; do echo "namespace $nsid must not be found: $i"; done >/tmp/lines
head -c 256K /tmp/lines >/tmp/plain
back() { dd if=$disk bs=4k count=64 iflag=direct status=none | cmp - /tmp/plain; }
for _ in 1 2 3; do
  dd if=/tmp/plain of=$disk bs=4k oflag=direct status=none
  back
done
echo 1 >/sys/class/nvme/nvme0/reset_controller
if dd if=$disk of=/dev/null bs=512 count=1 iflag=direct status=none 2>/dev/null; then echo "it reads without a key"; exit 4; fi
load
back
# A slot that is another's is not there.
if nvme admin-passthru $drive --opcode=0xc8 --namespace-id="$nsid" --cdw10=0xf03 >/dev/null 2>&1; then echo "another's slot"; exit 5; fi
back
echo "$nsid $(od -An -v -tx1 /tmp/keys | tr -d ' \n')"
