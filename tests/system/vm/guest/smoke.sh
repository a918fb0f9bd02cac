#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The drive is there, and a file system on it holds what was written: the short version of full.sh.
set -eu -o pipefail
[ -b /dev/nvme0n1 ]
nvme list | grep nvme0n1
mkfs.ext4 -q -F /dev/nvme0n1
mount /dev/nvme0n1 /mnt
head -c 2M /dev/urandom >/tmp/a
cp /tmp/a /mnt/a
umount /mnt
echo 1 >/sys/class/nvme/nvme0/reset_controller
mount /dev/nvme0n1 /mnt
cmp /tmp/a /mnt/a
umount /mnt
blkdiscard -f /dev/nvme0n1
if dmesg | grep -v 'ommand line:' | grep -iE 'error|timeout|abort'; then exit 3; fi
echo fine
