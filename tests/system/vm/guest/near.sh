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

# The drive writes what it makes: to a file, whose other bytes, and other files, stay. No cached page is older.
head -c 1300001 /dev/urandom >/tmp/old
for file in left target right; do cp /tmp/old $file; done
sync
cat target >/dev/null
dbcrypt -e --drive --slot 1 --to target plain
(cat secret; tail -c +1048577 /tmp/old) >/tmp/want
cmp target /tmp/want
[[ target -nt right ]]
echo 3 >/proc/sys/vm/drop_caches
cmp target /tmp/want
cmp left /tmp/old
cmp right /tmp/old
dbcrypt -d --drive --slot 1 --to target secret
head -c 1048576 target | cmp - plain
# In CTR, with a tail, from and to files in pieces.
head -c 48 /tmp/key >/tmp/counter
(head -c 32 /tmp/key; head -c 32 /dev/zero; tail -c +33 /tmp/counter) >/tmp/words
nvme admin-passthru /dev/nvme0 --opcode=0xc1 --cdw10=$((2 | 1 << 8 | 1 << 9)) --data-len=80 --input-file=/tmp/words --write
for file in odd pieces; do
  for i in $(seq 0 7); do
    dd if=numbers bs=16k count=1 skip="$i" status=none >>$file
    sync $file
    head -c 4096 /dev/zero >>between
    sync between
  done
done
truncate -s 100001 odd
sync
cp pieces /tmp/old
dbcrypt -e --cpu --mode ctr --key /tmp/counter odd >/tmp/want
tail -c +100002 /tmp/old >>/tmp/want
dbcrypt -e --drive --mode ctr --slot 2 --to pieces odd
cmp pieces /tmp/want
echo 3 >/proc/sys/vm/drop_caches
cmp pieces /tmp/want
refused() {  # the line of dbcrypt, its options
  local want=$1 status=0
  shift
  dbcrypt -e --slot 1 "$@" 2>/tmp/line || status=$?
  [[ $status == 2 && $(</tmp/line) == "dbcrypt: $want" ]] || { echo "dbcrypt $*: $(</tmp/line)"; exit 1; }
}
truncate -s 2M sparse
refused 'plain: not by the drive: sparse: a part of it lies on no drive: a hole, or never written' --to sparse plain
fallocate -l 2M unwritten
refused 'plain: not by the drive: unwritten: a part of it lies on no drive: a hole, or never written' --to unwritten plain
refused "$drive: it is mounted, or in use otherwise" --to "$drive" plain
exec 3<target
refused 'plain: not by the drive: target: somebody has it open' --to target plain
exec 3<&-
echo "to: fine"
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
cp /mnt/plain /tmp/plain
cd /
umount /mnt
e2fsck -fn "$drive" >/dev/null 2>&1

# On XFS, where files may share blocks.
mkfs.xfs --unsupported -q -f "$drive"
mount "$drive" /mnt
cp /tmp/plain /mnt/plain
head -c 1300001 /dev/urandom >/tmp/old
cp /tmp/old /mnt/target
sync
(dbcrypt -e --cpu --key /tmp/key /tmp/plain; tail -c +1048577 /tmp/old) >/tmp/want
dbcrypt -e --drive --slot 1 --to /mnt/target /mnt/plain
cmp /mnt/target /tmp/want
echo 3 >/proc/sys/vm/drop_caches
cmp /mnt/target /tmp/want
cp --reflink=always /mnt/target /mnt/other
refused '/mnt/plain: not by the drive: /mnt/target: it shares blocks with another file' --to /mnt/target /mnt/plain
dbcrypt -d --key /tmp/key --slot 1 --to /mnt/target /mnt/plain 2>/tmp/line
[[ $(</tmp/line) == *'/mnt/plain: on the CPU: /mnt/target: it shares blocks with another file' ]]
cmp /mnt/other /tmp/want
umount /mnt
echo "xfs: fine"

# From one partition to another.
printf 'size=1M\nsize=2M\n' | sfdisk -q "$drive"
until [[ -b ${drive}p1 && -b ${drive}p2 ]]; do sleep 0.1; done
dd if=/tmp/plain of="${drive}p1" bs=1M oflag=direct status=none
head -c 2M /dev/urandom >/tmp/old
dd if=/tmp/old of="${drive}p2" bs=1M oflag=direct status=none
head -c 4096 "${drive}p2" | cmp - <(head -c 4096 /tmp/old)
(dbcrypt -e --cpu --key /tmp/key /tmp/plain; tail -c +1048577 /tmp/old) >/tmp/want
dbcrypt -e --drive --slot 1 --to "${drive}p2" "${drive}p1"
cmp "${drive}p2" /tmp/want
dd if="${drive}p2" bs=1M iflag=direct status=none | cmp - /tmp/want
echo "partitions: fine"
echo fine
