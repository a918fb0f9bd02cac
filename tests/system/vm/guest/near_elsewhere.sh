#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run as root in the guest: from a file on one namespace the drive writes another one, with blocks of another size: a file of
# its ext4, and the block device itself.
set -eu -o pipefail
control=/dev/nvme0
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"; dmesg | tail -n 20; exit 1' ERR
disk() {
  local f
  for f in /sys/block/nvme0n*/nsid; do if [[ $(<"$f") == "$1" ]]; then f=${f%/nsid}; echo "/dev/${f##*/}"; fi; done
}
nvme delete-ns $control --namespace-id=0xffffffff
for nsid in 1 2; do
  nvme create-ns $control --nsze=$((nsid == 1 ? 65536 : 8192)) --ncap=$((nsid == 1 ? 65536 : 8192)) --flbas=$((nsid - 1)) >/dev/null
  nvme attach-ns $control --namespace-id=$nsid --controllers=0
  for _ in {1..200}; do [[ -b $(disk $nsid) ]] && break; sleep 0.05; done
done
one=$(disk 1) two=$(disk 2)
[[ "$(blockdev --getss "$one") $(blockdev --getss "$two")" == "512 4096" ]]

mkfs.ext4 -q -F "$one"
mkfs.ext4 -q -F "$two"
mkdir -p /tmp/one /tmp/two
mount "$one" /tmp/one
mount "$two" /tmp/two
head -c 48 /dev/urandom >/tmp/counter  # a key of 256 bits, and an IV
(head -c 32 /tmp/counter; head -c 32 /dev/zero; tail -c +33 /tmp/counter) >/tmp/words
nvme admin-passthru $control --opcode=0xc1 --cdw10=$((2 | 1 << 8 | 1 << 9)) --data-len=80 --input-file=/tmp/words --write
head -c 1000001 /dev/urandom >/tmp/one/plain
head -c 1300000 /dev/urandom >/tmp/old
cp /tmp/old /tmp/two/target
sync
(dbcrypt -e --cpu --mode ctr --key /tmp/counter /tmp/one/plain; tail -c +1000002 /tmp/old) >/tmp/want
cat /tmp/two/target >/dev/null
dbcrypt -e --drive --mode ctr --slot 2 --to /tmp/two/target /tmp/one/plain
cmp /tmp/two/target /tmp/want
echo 3 >/proc/sys/vm/drop_caches
cmp /tmp/two/target /tmp/want
dbcrypt -d --drive --mode ctr --slot 2 --to /tmp/one/plain /tmp/two/target 2>/tmp/line && exit 1
[[ $(</tmp/line) == "dbcrypt: /tmp/two/target: not to /tmp/one/plain: it is smaller than the source" ]]
cp /tmp/old /tmp/one/back
sync
dbcrypt -d --drive --mode ctr --slot 2 --to /tmp/one/back /tmp/two/target
echo 3 >/proc/sys/vm/drop_caches
head -c 1000001 /tmp/one/back | cmp - /tmp/one/plain
umount /tmp/two
e2fsck -fn "$two" >/dev/null 2>&1
echo "files: fine"

dbcrypt -e --drive --mode ctr --slot 2 --to "$two" /tmp/one/plain
head -c 1000001 "$two" | cmp - <(head -c 1000001 /tmp/want)
umount /tmp/one
e2fsck -fn "$one" >/dev/null 2>&1
echo fine
