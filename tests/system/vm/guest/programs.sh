#!/bin/bash
# Run as root in the guest: Linux finds the namespaces of memory and of programs behind those of blocks, passes their commands
# through, and what a program finds in the memory is what grep finds in the file.
set -eu
blocks=$(ls -d /dev/nvme0n* | wc -l)  # the others have no block device
memory=$((blocks + 1)) programs=$((blocks + 2))
declare -A device
for node in /dev/ng0n*; do
  device[$(nvme get-ns-id "$node" | grep -o '[0-9]*$')]=$node
done
[[ -n ${device[$memory]:-} && -n ${device[$programs]:-} ]] || { echo "no node for NSID $memory or $programs"; exit 1; }
for of in "$memory 3" "$programs 4"; do
  nvme ns-descs /dev/nvme0 --namespace-id="${of% *}" | grep -qi "csi.*${of#* }" || { echo "NSID ${of% *}: not its CSI"; exit 1; }
done
echo "namespaces: fine"

number() {  # little-endian, so many bytes
  local value=$1
  for _ in $(seq "$2"); do printf "\\x$(printf %02x $((value & 255)))"; value=$((value >> 8)); done
}
range() { number "$memory" 4; number "$2" 4; number "$1" 8; number 0 16; }
ng() { nvme io-passthru "${device[$1]}" --namespace-id="$1" "${@:2}"; }
refused() { if "$@" >/tmp/refused 2>&1; then echo "$*: not refused"; exit 1; fi; }
admin() { nvme admin-passthru /dev/nvme0 --namespace-id="$programs" "$@"; }
bytes=131072 result=1048576
seq -f 'line %.0f of the text ' 1 6000 | awk 'NR % 7 {print; next} {print $0 "error"}' | head -c $bytes >/tmp/text
printf '\1\0\0\0\0\n\1\0\5\0\0\0\0\0\0\0error\0\0\0' >/tmp/program
{ range 0 $bytes; range $result 64; } >/tmp/ranges
{ range 0 $bytes; range $((bytes - 64)) 64; } >/tmp/bad

admin --opcode=0x85 --cdw10=0xc00000 --cdw11=24 --cdw14=24 --data-len=24 --input-file=/tmp/program --write
admin --opcode=0x88 --cdw10=0x10000
refused admin --opcode=0x89 --cdw11=2 --data-len=64 --input-file=/tmp/bad --write
rsid=$(admin --opcode=0x89 --cdw11=2 --data-len=64 --input-file=/tmp/ranges --write 2>&1 | grep -o 'result: *[0-9a-fx]*' | grep -o '[0-9a-fx]*$')
for at in 0 65536; do
  dd if=/tmp/text of=/tmp/part bs=65536 skip=$((at / 65536)) count=1 status=none
  ng "$memory" --opcode=0x05 --cdw10=$at --cdw12=65536 --data-len=65536 --input-file=/tmp/part --write
  ng "$memory" --opcode=0x02 --cdw10=$at --cdw12=65536 --data-len=65536 --read --raw-binary 2>/dev/null >/tmp/back
  cmp /tmp/part /tmp/back
done
echo "memory: fine"

found_as_grep_does() {
  ng "$memory" --opcode=0x04 --cdw10=$result --cdw12=64
  ng "$programs" --opcode=0x01 --cdw2=$((rsid << 16)) --cdw10=$bytes
  ng "$memory" --opcode=0x02 --cdw10=$result --cdw12=64 --data-len=64 --read --raw-binary 2>/dev/null >/tmp/found
  read -r count lines < <(od -An -v -t u8 -N16 /tmp/found)
  [[ $count == $(grep -c error /tmp/text) && $lines == $(grep -c '' /tmp/text) ]] || { echo "$count of $lines lines"; exit 1; }
}
found_as_grep_does
echo "programs: fine"

# The same text by Memory Copy from blocks, in two sources.
ng "$memory" --opcode=0x04 --cdw12=$bytes
ng "$memory" --opcode=0x02 --cdw12=65536 --data-len=65536 --read --raw-binary 2>/dev/null | cmp - <(head -c 65536 /dev/zero)
dd if=/tmp/text of=/dev/nvme0n1 bs=$bytes seek=8 oflag=direct status=none
nsid=$(nvme get-ns-id /dev/nvme0n1 | grep -o '[0-9]*$')  # Linux numbers them as it finds them
source_of() { number "$nsid" 4; number 0 4; number "$1" 8; number "$2" 2; number 0 14; }
{ source_of 2048 127; source_of 2176 127; } >/tmp/sources
ng "$memory" --opcode=0x01 --cdw2=$bytes --cdw12=0x201 --data-len=64 --input-file=/tmp/sources --write
found_as_grep_does
refused ng "$memory" --opcode=0x01 --cdw2=$((bytes - 4)) --cdw12=0x201 --data-len=64 --input-file=/tmp/sources --write
echo "copies: fine"

mkfs.ext4 -q -F /dev/nvme0n1  # blocks as ever, and both are there after a reset
nvme reset /dev/nvme0
sleep 1
ng "$memory" --opcode=0x02 --cdw10=0 --cdw12=65536 --data-len=65536 --read --raw-binary 2>/dev/null | cmp - <(head -c 65536 /tmp/text)
refused ng "$programs" --opcode=0x01 --cdw2=$((rsid << 16)) --cdw10=$bytes  # forgotten
echo fine
