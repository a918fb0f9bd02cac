#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What Linux can do to a drive while it works: resets, queues that come and go, other schedulers, CPUs that go, a sleep of
# the whole machine, and the removal of the device. ./witness (witness.c) writes and reads all the time and knows what each
# block has to hold; fio verifies beside it, as long as nothing takes the drive away. Words of the kernel's command line:
# ROUNDS; SLEEP=0, for a kernel that does not come out of a sleep in QEMU, with any drive or none; and SPOIL=1, which
# changes a block behind the witness's back. Says at the end how often it did what.
set -eu -o pipefail
rounds=${ROUNDS:-1} sleep=${SLEEP:-1} spoil=${SPOIL:-}
disk=/dev/nvme0n1 sys=/sys/class/nvme/nvme0 block=/sys/block/nvme0n1 cpus=/sys/devices/system/cpu
resets=0 shapes=0 rescans=0 schedulers=0 hotplugs=0 sleeps=0 removals=0

step() { printf '[%6.1f s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() {
  step "FAILED: $*"
  cat /tmp/*.out || true
  dmesg | tail -n 40
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b $disk ]
online=$(nproc)
((online > 1)) || fail "wants --smp 2 or more"

# ---- the load
witness() {  # seed, MiB
  rm -f /tmp/enough
  ./witness /tmp/disk 0 "$2" 8 "$1" /tmp/enough >/tmp/witness.out 2>&1 &
  watched=$!
}
verify() {
  local n
  for ((n = 1; ; n++)); do
    fio --name=v --filename=$disk --offset=16M --size=8M --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite \
      --bsrange=4k-64k --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_backlog=64 --randseed=$n --minimal \
      >/tmp/fio.out 2>&1 || return 1
    echo . >>/tmp/fios
    [ ! -e /tmp/enough ] || return 0
  done
}
busy() {  # all of the load is there, and commands are in flight
  local s
  for _ in {1..1200}; do
    kill -0 $watched || fail "the witness ended"
    [ -z "$verified" ] || kill -0 $verified || fail "fio ended"
    [ ! -e $block/inflight ] || read -r -a s <$block/inflight && ((s[0] + s[1] > 4)) && return
    sleep 0.05
  done
  fail "no load"
}
ended() {  # the witness, and what it saw
  touch /tmp/enough
  wait $watched || fail "witness"
  [ -z "$verified" ] || wait $verified || fail "fio"
  step "$(</tmp/witness.out)"
  errors=$(sed 's/.* \([0-9]*\) errors.*/\1/' /tmp/witness.out)
}
live() {
  for _ in {1..600}; do [ "$(cat $sys/state 2>/dev/null)" = live ] && return; sleep 0.1; done
  fail "state $(cat $sys/state)"
}
shape() { dmesg | sed -n 's|.* \([0-9/]*\) default/read/poll queues|\1|p' | tail -n 1; }
reset() { echo 1 >$sys/reset_controller; live; ((resets += 1)); }

# ---- what the driver carries through: no error reaches who waits
ln -sfn $disk /tmp/disk
witness 1 16
verify & verified=$!
busy
if [ -n "$spoil" ]; then
  sleep 2
  dd if=/dev/zero of=$disk bs=512 count=2048 seek=2000 oflag=direct status=none
fi
for ((round = 1; round <= rounds; round++)); do
  step "round $round: resets"
  for _ in 1 2; do
    busy
    nvme reset /dev/nvme0
    live
    ((resets += 1))
    busy
    reset
  done
  nvme subsystem-reset /dev/nvme0 && sleep 0.1
  cat $sys/device/config >/dev/null  # a look at the device, so that the driver finds out
  echo 1 >$sys/reset_controller || true
  live

  step "queues: other numbers"
  for write in 1 2 0; do  # queues for writes alone; some kernels take the number at a reset, others only at a probe
    echo $write >/sys/module/nvme/parameters/write_queues
    busy
    reset
    ((write == 0)) || [ "$(shape)" != $write/$((online - write))/0 ] || ((shapes += 1))
  done
  [ "$(shape)" = "$online/0/0" ]

  step "rescans"
  for _ in 1 2 3; do
    busy
    echo 1 >$sys/rescan_controller
    nvme ns-rescan /dev/nvme0
    ((rescans += 2))
  done

  step "schedulers and depths: each change waits for an empty queue"
  for scheduler in mq-deadline none kyber bfq none; do
    busy
    echo $scheduler >$block/queue/scheduler 2>/dev/null || continue  # a kernel may lack one
    grep -q "\[$scheduler\]" $block/queue/scheduler
    echo 32 >$block/queue/nr_requests 2>/dev/null || true
    ((schedulers += 1))
  done

  step "CPUs go and come"  # no reset while one is away: Linux then waits for an interrupt of its queue, with any drive
  for _ in 1 2 3; do
    for ((cpu = 1; cpu < online; cpu++)); do
      busy
      echo 0 >$cpus/cpu$cpu/online
      busy
    done
    [ "$(cat $cpus/online)" = 0 ] || fail "CPUs $(cat $cpus/online)"
    for ((cpu = 1; cpu < online; cpu++)); do
      busy
      echo 1 >$cpus/cpu$cpu/online
      ((hotplugs += 1))
    done
    busy
    reset
  done

  if ((sleep)); then
    step "the machine sleeps"
    busy
    rtcwake -m mem -s 2 >/tmp/sleep.out 2>&1
    live
    ((sleeps += 1))
    busy
  fi
done
ended
((errors == 0)) || fail "$errors commands failed"
fios=$(wc -l </tmp/fios)
((fios > 0)) || fail "fio never came to its end"
# A reset that meets the driver's look at namespaces ends that: -4, and it looks again.
left=$(dmesg | grep -v 'ommand line:' | grep -vE 'failed(: -4| \(-4\)| .*status=0xfffffffc.)$' |
  grep -E 'I/O error|I/O tag|nvme.*([Rr]emov|[Dd]isabl|[Ff]ail|not ready|[Uu]nable)|blocked for|WARNING|BUG:|timeout' || true)
[ -z "$left" ] || fail "dmesg complains: $left"

# ---- what the driver cannot hide: the device goes and comes back
slot=$(readlink -f $sys/device)
verified=
for ((round = 1; round <= rounds; round++)); do
  step "round $round: removals"
  for how in remove unbind poll; do
    case $how in
      remove) words=(1 0) want=1/$online/0 ;;
      unbind) words=(0 0) want=$online/0/0 ;;
      poll) words=(0 1) want=$online/0/1 ;;  # not by a reset: it sends what it held back to the queue it had, polled or not
    esac
    echo "${words[0]}" >/sys/module/nvme/parameters/write_queues
    echo "${words[1]}" >/sys/module/nvme/parameters/poll_queues
    witness $((round * 10 + removals)) 4
    sleep 1.5
    busy
    if [ $how = unbind ]; then echo "${slot##*/}" >"$slot/driver/unbind"; else echo 1 >"$slot/remove"; fi
    for _ in {1..100}; do [ -b $disk ] || break; sleep 0.1; done
    [ ! -e $disk ] || fail "the disk stays"
    sleep 0.3
    if [ $how = unbind ]; then echo "${slot##*/}" >/sys/bus/pci/drivers/nvme/bind; else echo 1 >/sys/bus/pci/rescan; fi
    for _ in {1..600}; do [ -b $disk ] && break; sleep 0.1; done
    live
    [ "$(shape)" = "$want" ] || fail "queues: $(shape), not $want"
    ((removals += 1))
    sleep 1
    busy
    ended
    ((errors > 0)) || fail "nobody noticed that the drive was away"
  done
  step "polled queues"
  fio --name=p --filename=$disk --offset=16M --size=2M --direct=1 --ioengine=io_uring --hipri --iodepth=8 --rw=randwrite \
    --bs=4k --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal >/tmp/fio.out 2>&1
  echo 0 >/sys/module/nvme/parameters/poll_queues
done
dmesg | grep -v 'ommand line:' | grep -E 'blocked for|WARNING|BUG:|nvme.*(not ready|Unable)' && fail "dmesg complains"
echo "$fios fios, $resets resets, $shapes shapes, $rescans rescans, $schedulers schedulers, $hotplugs hotplugs," \
  "$sleeps sleeps, $removals removals"
step fine
