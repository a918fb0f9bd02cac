#!/bin/bash
# Run as root in the guest: the tools on files of an ext4 on the drive say what grep, awk, sha256sum and the CPU say.
set -eu
drive=/dev/nvme0n1
nsid=$(</sys/block/nvme0n1/nsid)
mkfs.ext4 -q -F "$drive"
mount "$drive" /mnt
mkdir /mnt/text
for file in $(seq 4); do
  seq -f "%.0f line $file of the text: $RANDOM" 1 $((3000 * file)) >"/mnt/text/$file"
  seq -f 'ERROR %.0f' 1 7 >>"/mnt/text/$file"
done
printf 'an error without a line end' >>/mnt/text/2
head -c 1200000 /dev/urandom >/mnt/numbers
sync

same() {  # the tool's options, and the drive is to do it
  LC_ALL=C grep -F -a "$@" >/tmp/want && want=0 || want=$?
  dbgrep --drive "$@" >/tmp/got && got=0 || got=$?
  cmp /tmp/want /tmp/got && [[ $want == "$got" ]] || { echo "dbgrep $*: not what grep says"; exit 1; }
}
cd /mnt/text
same ERROR 1 2 3 4
same -i error 1 2 3 4
same -c -e 'line 3' -e 99 1 2 3 4
same -v -e line -e ERROR 2
same -n 'ERROR 3' 1 2 3 4
same -l 'without a line end' 1 2 3 4
same 'no such line' 1 2
echo "grep: fine"

for type in u8 i16 u32 i64; do
  dbsum --drive --type "$type" --record 12 --column 3 /mnt/numbers >/tmp/drive
  dbsum --cpu --type "$type" --record 12 --column 3 /mnt/numbers >/tmp/cpu
  cmp /tmp/drive /tmp/cpu
done
want=$(od -An -v -t u1 -w12 /mnt/numbers | awk '{n++; sum += $4} END {print "count=" n " sum=" sum}')
[[ $(dbsum --drive --type u8 --record 12 --column 3 /mnt/numbers) == "$want "* ]]
echo "sum: fine"

awk 'BEGIN {srand(7); print "name,price,note"
  for (i = 0; i < 60000; i++) printf "n%d,%d.%02d,%s\n", i, rand() * 2000 - 1000, rand() * 100, i % 7 ? "" : "x"}' >/mnt/prices.csv
sync
want=$(awk -F, 'NR > 1 {n++; s += $2; if (n == 1 || $2 + 0 < a) a = $2 + 0; if (n == 1 || $2 + 0 > b) b = $2 + 0}
  END {printf "count=%d sum=%.2f min=%.2f max=%.2f", n, s, a, b}' /mnt/prices.csv)
got=$(dbsum --drive --csv --header 1 --field 2 /mnt/prices.csv)
[[ $(awk '{for (i = 1; i <= 4; i++) {split($i, v, "="); printf i == 1 ? "%s=%d" : " %s=%.2f", v[1], v[2]}}' <<<"$got") == "$want" ]]
[[ $got == *" other=0" && $got == "$(dbsum --cpu --csv --header 1 --field 2 /mnt/prices.csv)" ]]
echo "csv: fine"

filter=(dbfilter --record 12 --where 'u8@3>=200' --where 'u16@4<60000' --or --where 'i8@0==-1')
"${filter[@]}" --drive /mnt/numbers >/tmp/drive
"${filter[@]}" --cpu /mnt/numbers >/tmp/cpu
cmp /tmp/drive /tmp/cpu
want=$(od -An -v -t u1 -w12 /mnt/numbers | awk '($4 >= 200 && $5 + 256 * $6 < 60000) || $1 == 255 {n++; sum += $8} END {print n, sum}')
[[ "$("${filter[@]}" -c --drive /mnt/numbers) $(($(stat -c %s /tmp/drive) / 12))" == "${want% *} ${want% *}" ]]
[[ $(dbsum --drive --type u8 --column 7 "${filter[@]:1}" /mnt/numbers) == "count=${want% *} sum=${want#* } "* ]]
"${filter[@]}" --columns 1:2,7:1 --drive /mnt/numbers >/tmp/drive
od -An -v -t u1 -w12 /mnt/numbers | awk '($4 >= 200 && $5 + 256 * $6 < 60000) || $1 == 255 {print $2, $3, $8}' >/tmp/want
od -An -v -t u1 -w3 /tmp/drive | awk '{print $1, $2, $3}' | cmp - /tmp/want
echo "filter: fine"

cd /mnt
sha256sum text/* numbers >/tmp/want
dbhash --drive text/* numbers >/tmp/got
cmp /tmp/want /tmp/got
dbhash --drive -a crc32c numbers >/tmp/drive
dbhash --cpu -a crc32c numbers >/tmp/cpu
cmp /tmp/drive /tmp/cpu
echo "hash: fine"

head -c 64 /dev/urandom >/tmp/key  # two keys of 256 bits; the drive takes an IV behind them
(cat /tmp/key; head -c 16 /dev/zero) >/tmp/words
nvme admin-passthru /dev/nvme0 --opcode=0xc1 --cdw10=$((1 | 1 << 8 | 1 << 10)) --data-len=80 --input-file=/tmp/words --write
head -c 1048576 numbers >plain
dbcrypt -e --cpu --key /tmp/key plain >secret
sync
dbcrypt -d --drive --slot 1 secret | cmp - plain
dbcrypt -e --drive --slot 1 plain | cmp - secret
echo "crypt: fine"
cd /mnt/text

# By hand, as docs/csd/near-storage.md has it: lines with "error" in the first 64 KiB, whatever these are.
printf '\1\0\0\0\0\n\1\0\5\0\0\0\0\0\0\0error' >/tmp/program
nvme admin-passthru /dev/nvme0 --opcode=0xd5 --cdw10=0 --cdw11=21 --data-len=21 --input-file=/tmp/program --write
nvme io-passthru "$drive" --opcode=0x82 --namespace-id="$nsid" --cdw12=127 --cdw13=65536 --cdw14=64 --data-len=64 --read \
  --raw-binary >/tmp/answer
found=$(head -c 65536 "$drive" | LC_ALL=C grep -c -a -F error || true)
[[ $(od -An -v -t u8 -N 8 /tmp/answer | tr -d ' ') == "$found" ]]
echo "by hand: fine"

dbgrep --drive -c 1 "$drive" >/dev/null
(dbgrep --drive -c line 4; dbgrep --drive -c line 3) & (dbsum --drive --type u8 --record 1 /mnt/numbers) & wait
cd /
umount /mnt
echo fine
