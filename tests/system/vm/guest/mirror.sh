#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# md RAID 1 over two of our drives. One of them has blocks that cannot be read, which md mends from the other; then it is
# taken out of the machine under load and comes back; at last its medium fails ("break it" on stdout asks for that). Each
# time ./witness (witness.c) knows what the mirror has to hold, and sees no error.
set -eu -o pipefail
one=/dev/nvme0n1 two=/dev/nvme1n1 md=/dev/md0 state=/sys/block/md0/md
step() { printf '[%6.1f s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() { step "FAILED: $*"; cat /proc/mdstat /tmp/*.out || true; dmesg | tail -n 30; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b $one ] && [ -b $two ]
until_that() {  # seconds, words of a test
  local n
  for ((n = 0; n < $1 * 10; n++)); do "${@:2}" && return; sleep 0.1; done
  fail "not within $1 s: ${*:2}"
}
degraded() { [ "$(cat $state/degraded)" = "$1" ]; }
idle() { [ "$(cat $state/sync_action)" = idle ]; }
witness() { rm -f /tmp/enough; ./witness $md 0 16 4 "$1" /tmp/enough >/tmp/witness.out 2>&1 & watched=$!; }
ended() {
  touch /tmp/enough
  wait $watched || fail witness
  step "$(</tmp/witness.out)"
  grep -q ' 0 errors' /tmp/witness.out || fail "an error reached who waited"
}
same() {  # on both drives, says md; and so do we, but for md's own first 4 MiB
  until_that 120 idle
  echo check >$state/sync_action
  sleep 0.5
  until_that 120 idle
  [ "$(cat $state/mismatch_cnt)" = 0 ] || fail "$(cat $state/mismatch_cnt) sectors differ"
  local start
  start=$(($(cat $state/rd0/offset) * 512))
  cmp -n $((32 << 20)) -i $start <(dd if=$one bs=1M iflag=direct status=none) <(dd if=$two bs=1M iflag=direct status=none) ||
    fail "the drives differ"
}

modprobe raid1
mdadm --create $md --run --level=1 --raid-devices=2 --bitmap=none --metadata=1.2 --size=32M $one $two >/tmp/create.out 2>&1
until_that 120 idle
echo $((1 << 20)) >/proc/sys/dev/raid/speed_limit_min

step "blocks that cannot be read"
head -c 16M /dev/urandom >/tmp/noise
dd if=/tmp/noise of=$md bs=256k oflag=direct status=none
start=$(cat $state/rd1/offset)
for at in 100 3000 20000; do nvme write-uncor /dev/nvme1 -n 1 -s $((start + at)) -c 7 >/dev/null; done
if dd if=$two of=/dev/null bs=512 skip=$((start + 3000)) count=8 iflag=direct status=none 2>/dev/null; then fail "readable"; fi
echo repair >$state/sync_action  # reads both
sleep 0.5
until_that 120 idle
degraded 0 || fail "a drive was given up for blocks that could not be read"
echo 3 >/proc/sys/vm/drop_caches
cmp -n $((16 << 20)) /tmp/noise $md
dd if=$two of=/dev/null bs=512 skip=$((start + 3000)) count=8 iflag=direct status=none
same
mended=$(($(dmesg | grep -c 'critical medium error, dev nvme1n1' || true) - 1))  # what we read ourselves is none
((mended > 0)) || fail "md met no block that cannot be read"

step "one is taken out of the machine"
slot=$(readlink -f /sys/class/nvme/nvme1/device)
witness 1
sleep 2
echo 1 >"$slot/remove"
until_that 120 degraded 1
sleep 1
mdadm $md --remove failed >/tmp/remove.out 2>&1 || true
mdadm $md --remove detached >>/tmp/remove.out 2>&1 || true
echo 1 >/sys/bus/pci/rescan
until_that 60 test -b $two
mdadm --zero-superblock $two >>/tmp/remove.out 2>&1 || true
mdadm $md --add $two >/tmp/add.out 2>&1
until_that 120 degraded 0
ended
same

step "the medium of one fails"
witness 2
sleep 2
echo "break it"
until_that 120 degraded 1
sleep 1
ended
grep -q 'nvme1n1.*(F)' /proc/mdstat
if dmesg | grep -v 'ommand line:' | grep -E 'blocked for|WARNING|BUG:|nvme0.*(I/O [Ee]rror|timeout)'; then fail "dmesg complains"; fi
step "mended $mended times, fine"
