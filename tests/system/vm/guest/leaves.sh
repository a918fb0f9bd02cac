#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A neighbour that is no good: three times its driver is unbound under I/O and bound again, then it works until it is killed.
set -eu -o pipefail
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"; dmesg | tail -n 20; exit 1' ERR
pci=$(basename "$(readlink -f /sys/class/nvme/nvme0/device)")
driver=/sys/bus/pci/drivers/nvme
disk=/dev/nvme0n1
work() {
  fio --name=w --filename=$disk --direct=1 --ioengine=libaio --iodepth=32 --rw=randrw --bs=16k --time_based --runtime=3600 \
    >/dev/null 2>&1 &
}
for _ in 1 2 3; do
  work
  sleep 2
  kill -0 $!  # it works
  echo "$pci" >$driver/unbind
  wait $! && exit 2  # its I/O fails
  [ ! -b $disk ]
  echo "$pci" >$driver/bind
  until [ -b $disk ]; do sleep 0.2; done
done
work
sleep 2
kill -0 $!
echo "at work"
wait
