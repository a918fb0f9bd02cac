#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test procedure of the computational storage thesis, 3.2.4, with nothing but nvme-cli and dd: features C0h to CDh,
# plaintext in, ciphertext on the media, plaintext back. Then a key in a slot, XTS, a file system, a reset, and an operator
# with a result.
set -eu -o pipefail
drive=/dev/nvme0
disk=/dev/nvme0n1
[ -b $disk ]

hex() { printf "$(sed 's/../\\x&/g')"; }
set_feature() { nvme set-feature $drive --feature-id="$1" --value="$2" >/dev/null; }
read_disk() { dd if=$disk bs=512 count="${1:-1}" iflag=direct status=none; }

plain=6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
plain+=30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710
cipher128=874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
cipher128+=5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee
cipher256=601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
cipher256+=2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6
{ hex <<<$plain; head -c 448 /dev/zero; } >/tmp/plain

# Figure 3.54: AES-128, least significant word first; then figure 3.57: AES-256.
key128=(09CF4F3C ABF71588 28AED2A6 2B7E1516)
key256=(0914DFF4 2D9810A3 3B6108D7 1F352C07 857D7781 2B73AEF0 15CA71BE 603DEB10)
iv=(FCFDFEFF F8F9FAFB F4F5F6F7 F0F1F2F3)
vectors() {  # configuration, ciphertext, words of the key
  set_feature 0xC0 "$1"
  expected=$2
  shift 2
  fid=$((0xC1))
  for word in "$@"; do set_feature $((fid++)) 0x$word; done
  fid=$((0xCA))
  for word in "${iv[@]}"; do set_feature $((fid++)) 0x$word; done
  dd if=/tmp/plain of=$disk bs=512 count=1 oflag=direct status=none
  read_disk | cmp - /tmp/plain
  set_feature 0xC0 0
  read_disk >/tmp/raw
  [ "$(head -c 64 /tmp/raw | od -An -v -tx1 | tr -d ' \n')" = "$expected" ]
}
vectors 2 $cipher128 "${key128[@]}"
vectors 8 $cipher256 "${key256[@]}"
nvme get-feature $drive --feature-id=0xC8 | grep -E 'value: *(0x)?0+$'
echo "SP 800-38A: both ciphertexts as published"

# A key for XTS in slot 1, the namespace bound to it, a file system on top.
head -c 64 /dev/urandom >/tmp/keys
load() { { cat /tmp/keys; head -c 16 /dev/zero; } >/tmp/data
  nvme admin-passthru $drive --opcode=0xc1 --cdw10=$((1 << 10 | 1 << 8 | 1)) --data-len=80 --input-file=/tmp/data --write \
    >/dev/null; rm /tmp/data; }
load
nvme admin-passthru $drive --opcode=0xc8 --namespace-id=1 --cdw10=0x103 >/dev/null
mkfs.ext4 -q -F $disk
mount $disk /mnt
head -c 2M /dev/urandom >/tmp/a
{ echo "a sentence that must not be found"; cat /tmp/a; } >/mnt/a
umount /mnt
echo 1 >/sys/class/nvme/nvme0/reset_controller
if read_disk >/dev/null 2>&1; then echo "it reads without a key"; exit 4; fi
load
mount $disk /mnt
{ echo "a sentence that must not be found"; cat /tmp/a; } | cmp - /mnt/a
umount /mnt

# Lines counted by the drive on the way (operator 7), as the host counts them in what it got.
nvme admin-passthru $drive --opcode=0xc8 --namespace-id=1 --cdw10=7 --cdw12=0x0a >/dev/null
lines=$(dd if=$disk bs=64k count=1 iflag=direct status=none | tr -cd '\n' | wc -c)
nvme get-log $drive --log-id=0xed --log-len=2112 --raw-binary >/tmp/results
number() { od -An -tu4 -j "$1" -N 4 /tmp/results | tr -d ' '; }
[ "$(number 76)" = 65536 ] && [ "$lines" -gt 0 ] && [ "$(number 96)" = "$lines" ]
echo "the drive counted $lines lines"
echo fine
