#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# First boot of two: a file system with files, on a drive whose image stays.
set -eu -o pipefail
[ -b /dev/nvme0n1 ]
mkfs.ext4 -q -F /dev/nvme0n1
mount /dev/nvme0n1 /mnt
mkdir /mnt/a
head -c 3M /dev/urandom >/mnt/a/random
seq 100000 >/mnt/a/numbers
(cd /mnt && md5sum a/* >sums)
umount /mnt
