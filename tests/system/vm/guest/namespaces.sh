#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Namespaces by nvme-cli: delete, create, attach, detach, lists and capacities, write protection; a file system on one under
# load while another is deleted. Linux has to notice each change by itself: nothing here asks it to scan.
set -eu -o pipefail
drive=/dev/nvme0
fail() { echo "FAILED: $*"; dmesg | tail -n 20; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b /dev/nvme0n1 ]

id() { nvme id-ctrl $drive | sed -n "s/^$1 *: //p"; }
disk() {  # the block device of a namespace, nothing if there is none
  local f
  for f in /sys/block/nvme0n*/nsid; do
    if [ "$(cat "$f" 2>/dev/null)" = "$1" ]; then f=${f%/nsid}; echo "/dev/${f##*/}"; fi
  done
}
comes() { for _ in {1..200}; do [ -b "$(disk "$1")" ] && return; sleep 0.05; done; fail "namespace $1 does not come"; }
goes() { for _ in {1..200}; do [ -z "$(disk "$1")" ] && return; sleep 0.05; done; fail "namespace $1 does not go"; }
list() { nvme list-ns $drive "$@" | sed 's/.*://' | tr -d ' \n'; }
created() { sed -n 's/.*created nsid: *//p'; }

total=$(id tnvmcap)
((($(id oacs) & 8) && ($(id oaes) & 0x100)))
[ "$(id nn) $(id mnan) $(id cntlid) $(id unvmcap)" = "4 4 0 0" ]

nvme delete-ns $drive --namespace-id=1
goes 1
[ "$(id unvmcap)" = "$total" ] && [ -z "$(list)$(list --all)" ]
a=$(nvme create-ns $drive --nsze=32768 --ncap=32768 --flbas=0 | created)  # 16 MiB
b=$(nvme create-ns $drive --nsze=8192 --ncap=8192 --flbas=1 | created)    # 32 MiB
[ "$a $b" = "1 2" ] && [ "$(list --all)" = 0x10x2 ] && [ -z "$(list)" ]
[ "$(id unvmcap)" = $((total - (48 << 20))) ]
all=$((total / 4096))
if nvme create-ns $drive --nsze=$all --ncap=$all --flbas=1 >/tmp/out 2>&1; then fail "too large"; fi
grep -qi capacity /tmp/out
nvme attach-ns $drive --namespace-id=1 --controllers=0
comes 1
nvme attach-ns $drive --namespace-id=2 --controllers=0
comes 2
if nvme attach-ns $drive --namespace-id=2 --controllers=0 >/tmp/out 2>&1; then fail "attached twice"; fi
grep -qi 'already attached' /tmp/out
one=$(disk 1) two=$(disk 2)
[ "$(blockdev --getsize64 "$one") $(blockdev --getss "$one")" = "$((16 << 20)) 512" ]
[ "$(blockdev --getsize64 "$two") $(blockdev --getss "$two")" = "$((32 << 20)) 4096" ]
[ "$(list)" = 0x10x2 ]
nvme list-ctrl $drive --namespace-id=2 | grep -q 'num of ctrls present: 1'
nvme list-ctrl $drive | grep -q ':0$\|:0x0$'
first=$(nvme id-ns "$one" | grep -i nguid)
echo "created and attached"

mkfs.ext4 -q -F "$two"
mount "$two" /mnt
head -c 4M /dev/urandom >/mnt/a
sum=$(sha256sum </mnt/a)
head -c 1M /dev/urandom >/tmp/secret
dd if=/tmp/secret of="$one" bs=64k oflag=direct status=none
fio --name=v --directory=/mnt --size=6M --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite --bs=4k \
  --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal >/tmp/fio.out 2>&1 & load=$!
for _ in {1..400}; do
  read -r -a n </sys/block/"$(basename "$two")"/inflight
  ((n[1] > 4)) && break
  sleep 0.02
done
((n[1] > 4)) || fail "no load"
nvme delete-ns $drive --namespace-id=1
goes 1
kill -0 $load || fail "the deletion came too late"
wait $load || fail "the other namespace: $(</tmp/fio.out)"
[ "$(sha256sum </mnt/a)" = "$sum" ] && [ "$(list)" = 0x2 ] && [ "$(list --all)" = 0x2 ]
echo "deleted beside a file system under load"

[ "$(nvme create-ns $drive --nsze=4096 --ncap=4096 --flbas=1 | created)" = 1 ]
nvme attach-ns $drive --namespace-id=1 --controllers=0
comes 1
one=$(disk 1)
[ "$(blockdev --getss "$one")" = 4096 ] && [ "$(nvme id-ns "$one" | grep -i nguid)" != "$first" ]
dd if="$one" bs=1M count=16 iflag=direct status=none | cmp -n $((16 << 20)) - /dev/zero
nvme delete-ns $drive --namespace-id=1
goes 1

umount /mnt
nvme detach-ns $drive --namespace-id=2 --controllers=0
goes 2
[ "$(list --all)" = 0x2 ] && [ -z "$(list)" ]
nvme id-ns $drive --namespace-id=2 --force | grep -q '^nsze *: 0x2000$'
nvme attach-ns $drive --namespace-id=2 --controllers=0
comes 2
echo 1 >/sys/class/nvme/nvme0/reset_controller
comes 2
two=$(disk 2)
fsck.ext4 -f -n "$two" >/tmp/out 2>&1 || fail "$(</tmp/out)"
mount "$two" /mnt
[ "$(sha256sum </mnt/a)" = "$sum" ]
umount /mnt

turns() { for _ in {1..200}; do [ "$(blockdev --getro "$two")" = "$1" ] && return; sleep 0.05; done; fail "read-only is not $1"; }
protection() { nvme get-feature $drive --namespace-id=2 --feature-id=0x84 | sed -n 's/.*value: *//p'; }
nvme set-feature $drive --namespace-id=2 --feature-id=0x84 --value=1
turns 1
(($(protection) == 1))
if nvme format $drive --namespace-id=2 --lbaf=1 --force >/tmp/out 2>&1; then fail "formatted though protected"; fi
grep -qi 'write protected' /tmp/out
mount -o ro "$two" /mnt
[ "$(sha256sum </mnt/a)" = "$sum" ]
umount /mnt
nvme set-feature $drive --namespace-id=2 --feature-id=0x84 --value=0
turns 0
mount "$two" /mnt
rm /mnt/a
umount /mnt
echo "write protected"
dmesg | grep -c 'rescanning namespaces' >/tmp/notices || fail "no notice has come"
echo "notices: $(</tmp/notices)"
nvme delete-ns $drive --namespace-id=0xffffffff
goes 2
[ "$(id unvmcap)" = "$total" ]
echo fine
