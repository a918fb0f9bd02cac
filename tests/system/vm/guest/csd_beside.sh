#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two namespaces of a db_csd, one encrypted, one plain, both under fio verify at once; then a reset with both under load:
# the plain one goes on, the encrypted one is locked until its key is back, and then has all that it had.
set -eu -o pipefail
drive=/dev/nvme0 secret=/dev/nvme0n1 plain=/dev/nvme0n2
fail() { echo "FAILED: $*"; dmesg | tail -n 20; exit 1; }
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
[ -b $secret ] && [ -b $plain ]

head -c 64 /dev/urandom >/tmp/keys
load() { { cat /tmp/keys; head -c 16 /dev/zero; } >/tmp/data
  nvme admin-passthru $drive --opcode=0xc1 --cdw10=$((1 << 10 | 1 << 8 | 1)) --data-len=80 --input-file=/tmp/data --write \
    >/dev/null; rm /tmp/data; }
load
nvme admin-passthru $drive --opcode=0xc8 --namespace-id=1 --cdw10=0x103 >/dev/null
verify() {  # namespace, where, how much, more
  fio --name=v --filename="$1" --offset="$2" --size="$3" --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite --bs=4k \
    --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal "${@:4}"
}

verify $secret 0 3M --randseed=7 >/tmp/secret.out & a=$!
verify $plain 0 3M >/tmp/plain.out & b=$!
wait $a || fail "the encrypted one: $(</tmp/secret.out)"
wait $b || fail "the plain one: $(</tmp/plain.out)"
echo "both verified"

verify $secret 4M 16M >/tmp/secret.out 2>&1 & a=$!
verify $plain 4M 5M >/tmp/plain.out & b=$!
for _ in {1..600}; do  # until both move data
  read -r -a s </sys/block/nvme0n1/inflight; read -r -a p </sys/block/nvme0n2/inflight
  ((s[1] > 4 && p[1] > 4)) && break
  sleep 0.05
done
((s[1] > 4 && p[1] > 4)) && kill -0 $a && kill -0 $b
echo 1 >/sys/class/nvme/nvme0/reset_controller
kill -0 $b || fail "the reset came too late"
wait $b || fail "the plain one did not survive the reset: $(</tmp/plain.out)"
if wait $a; then fail "the encrypted one went on without its key"; fi
if dd if=$secret of=/dev/null bs=4k count=1 iflag=direct status=none 2>/dev/null; then fail "it reads without a key"; fi
echo "reset: the plain one went on, the encrypted one is locked"

load
verify $secret 0 3M --randseed=7 --verify_only >/tmp/secret.out || fail "not what it was: $(</tmp/secret.out)"
verify $secret 4M 1M >/tmp/secret.out || fail "after the reset: $(</tmp/secret.out)"
head -c 64 /dev/urandom >/tmp/keys
load
if verify $secret 0 3M --randseed=7 --verify_only >/tmp/out 2>&1; then fail "the wrong key will do"; fi
dd if=$secret of=/dev/null bs=4k count=1 iflag=direct status=none  # garbage, and no error
echo fine
