#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Second boot of two: the files of the first are there.
set -eu -o pipefail
[ -b /dev/nvme0n1 ]
e2fsck -f -n /dev/nvme0n1 >/dev/null
mount -o ro /dev/nvme0n1 /mnt
cd /mnt
md5sum -c sums
