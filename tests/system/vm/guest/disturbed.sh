#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fio writes and verifies on both queues while their commands are aborted, the queues deleted behind the driver's back and
# the controller reset in every way that Linux has. Each answer of the drive is looked at; what the driver does not know of
# it finds by its own timeouts (nvme_core.io_timeout), and recovers from. Says at the end how often it did what.
set -eu -o pipefail
drive=/dev/nvme0 disk=/dev/nvme0n1 sys=/sys/class/nvme/nvme0 trace=/sys/kernel/tracing
rounds=${ROUNDS:-1} aborts=${ABORTS:-3}  # words of the kernel's command line
before=0 aborted=0 not_aborted=0 deletions=0 refusals=0 resets=0 timeouts=0

step() { printf '[%6.1f s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() {
  step "FAILED: $*"
  cat /tmp/fio*.out || true
  [ ! -e $trace/instances/ended ] || tail -n 40 $trace/instances/ended/trace
  dmesg | tail -n 30
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b $disk ] && [ "$(cat $sys/queue_count)" = 3 ]

# ---- what is seen of the driver: commands as they are sent, and I/O commands that end with an error
mount -t tracefs tracefs $trace
for name in sent ended; do mkdir $trace/instances/$name; done
sent=$trace/instances/sent ended=$trace/instances/ended
echo 'qid != 0' >$sent/events/nvme/nvme_setup_cmd/filter
echo 'qid != 0 && status != 0' >$ended/events/nvme/nvme_complete_rq/filter
echo 4 >$sent/buffer_size_kb
echo 1 >$sent/events/nvme/nvme_setup_cmd/enable
echo 1 >$ended/events/nvme/nvme_complete_rq/enable

live() { for _ in {1..300}; do [ "$(cat $sys/state)" = live ] && return; sleep 0.1; done; fail "state $(cat $sys/state)"; }
ups() { dmesg | grep -c 'default/read/poll queues' || true; }  # the driver says it after each reset
recovered() {  # since `before`, so many ups
  for _ in {1..300}; do
    if (($(ups) > before)); then
      live
      ((resets += 1))
      return
    fi
    sleep 0.1
  done
  fail "no recovery: state $(cat $sys/state)"
}

# ---- admin commands beside the driver
said=
admin() {  # opcode, dword 10: its status, and dword 0 in `said`; NONE if the driver was in a reset and did not send it
  local text try
  for try in {1..50}; do
    live
    text=$(nvme admin-passthru $drive --opcode="$1" --cdw10="$2" 2>&1) || true
    case $text in
      *Success*result:*) said=${text##*result: }; status=0; return ;;
      *'NVMe status:'*'('0x*) status=${text##*(}; status=${status%%)*}; status=$((status & 0x7ff))
        ((status >= 0x300)) || return 0 ;;  # 3xxh: the host's own, the command was never sent
    esac
    sleep 0.1
  done
  fail "opcode $1: $text"
}
removal() {  # opcode, queue, how it has to end
  admin "$1" "$2"
  if ((status != $3)); then
    (($(ups) > before)) || fail "deletion of queue $2 ended with $status, not $3"
    step "the driver was faster"  # on a slow machine; the queue is another one by now
  elif ((status == 0)); then
    ((deletions += 1))
  else
    ((refusals += 1))
  fi
}
abort() {  # queue, command: whether it was aborted
  admin 8 $(($2 << 16 | $1))
  ((status == 0)) || fail "Abort ended with $status"
  case $said in
    0x00000000) ((aborted += 1)); echo "qid=$1, cmdid=$2" >>/tmp/aborted; return 0 ;;
    0x00000001) ((not_aborted += 1)); return 1 ;;
    *) fail "Abort answered $said" ;;
  esac
}
newest() {  # of a queue, in `cid`; without another process: it is soon over
  local lines i
  mapfile -t lines <$sent/trace
  cid=
  for ((i = ${#lines[@]} - 1; i > 0; i--)); do
    [[ ${lines[i]} =~ \ qid=$1,\ cmdid=([0-9]+), ]] && { cid=${BASH_REMATCH[1]}; return; }
  done
}

# ---- the load: one fio after the other on each CPU, so on each queue
load() {  # CPU, where
  local n
  for ((n = 1; ; n++)); do
    fio --name=v --filename=$disk --offset="$2" --size=8M --cpus_allowed="$1" --direct=1 --ioengine=libaio --iodepth=32 \
      --rw=randwrite --bsrange=32k-128k --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_backlog=64 --randseed=$n \
      --minimal >/tmp/fio"$1".out 2>&1
    cut -d';' -f6,47 /tmp/fio"$1".out >>/tmp/moved"$1"  # KiB that were read, so verified, and written
    [ ! -e /tmp/enough ] || break
  done
}
load 0 0 & one=$!
load 1 16M & two=$!
busy() {  # both still run, with commands in flight
  local s
  for _ in {1..600}; do
    kill -0 $one && kill -0 $two || fail "fio ended"
    [ -e /sys/block/nvme0n1/inflight ] || fail "the driver has given the drive up: is the machine busy?"
    read -r -a s </sys/block/nvme0n1/inflight
    ((s[0] + s[1] > 16)) && return
    sleep 0.05
  done
  fail "no load"
}
busy

for ((round = 1; round <= rounds; round++)); do
  step "round $round: aborts"
  most=$((aborted + aborts))
  for ((n = 0; aborted < most; n++)); do
    ((n < 40 * aborts)) || fail "no command is ever aborted"
    busy
    newest $((n % 2 + 1))
    [ -z "$cid" ] || abort $((n % 2 + 1)) "$cid" || true
  done
  abort 1 65535 && fail "a command that is not there was aborted"

  step "queue 1 and submission queue 2 go; the driver finds out"
  busy
  before=$(ups)
  removal 4 1 0x10c  # its submission queue is there
  newest 1
  removal 0 1 0
  abort 1 "$cid" && fail "a command of a deleted queue was aborted"
  removal 0 1 0x101
  removal 4 1 0
  removal 4 1 0x101
  removal 0 2 0
  recovered

  step "nvme reset"
  busy
  before=$(ups)
  nvme reset $drive
  recovered
  step "both queues go, then reset_controller"
  busy
  before=$(ups)
  for q in 1 2; do removal 0 $q 0; done
  removal 4 2 0
  echo 1 >$sys/reset_controller
  recovered
  step "subsystem reset; the driver finds out"
  busy
  before=$(ups)
  nvme subsystem-reset $drive
  recovered
  step "function-level reset"
  busy
  before=$(ups)
  echo 1 >$sys/device/reset
  recovered
done

busy
touch /tmp/enough
wait $one || fail "fio on CPU 0"
wait $two || fail "fio on CPU 1"

# ---- what the driver saw is what the drive said
timeouts=$(dmesg | grep -c 'timeout, aborting' || true)
dmesg | sed -n 's/.*I\/O tag [0-9]* (\([0-9a-f]*\)).*QID \([0-9]*\) timeout, aborting.*/\2 \1/p' |
  while read -r q cid; do echo "qid=$q, cmdid=$((16#$cid))"; done | sort >/tmp/by_driver
sed -n 's/.*\(qid=[0-9]*, cmdid=[0-9]*\),.*status=0x7$/\1/p' $ended/trace | sort >/tmp/ended
touch /tmp/aborted
sort -o /tmp/aborted /tmp/aborted
[ -z "$(comm -23 /tmp/aborted /tmp/ended)" ] || fail "said to be aborted, but they did not end so"
comm -13 /tmp/aborted /tmp/ended | comm -23 - /tmp/by_driver >/tmp/strange
[ ! -s /tmp/strange ] || fail "ended as aborted, but nobody was told: $(</tmp/strange)"
if grep -v 'status=0x7$\|status=0x37[01]$' $ended/trace | grep -v '^#'; then fail "errors of other kinds"; fi
# A reset that meets the driver's look at namespaces ends that: -4, and it looks again.
if dmesg | grep -vE 'failed(: -4| \(-4\)| .*status=0xfffffffc.)$' |
  grep -E 'I/O error|nvme.*([Rr]emov|[Dd]isabl|[Ff]ail|not ready|[Uu]nable)|blocked for|WARNING|BUG:'; then
  fail "dmesg complains"
fi
awk -F';' '{ r += $1; w += $2; n++ } END { printf "fio: %d runs, %d KiB written, %d KiB verified\n", n, w, r }' /tmp/moved[01]
echo "aborted $aborted, not aborted $not_aborted, deletions $deletions, refusals $refusals, resets $resets, timeouts $timeouts"
step fine
