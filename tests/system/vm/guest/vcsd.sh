# A drive whose data is on SSDs that the card drives itself: ext4, fio with verify, and what a file holds when the cache
# is empty.
set -e
nvme list | grep -q nvme0n1
mkfs.ext4 -q /dev/nvme0n1
mount /dev/nvme0n1 /mnt
fio --name=verify --directory=/mnt --size=4m --bsrange=512-64k --rw=randrw --ioengine=libaio --iodepth=16 --direct=1 \
    --verify=crc32c --verify_fatal=1 --do_verify=1 --output=/dev/null
head -c 3000000 /dev/urandom > /mnt/file
before=$(sha256sum < /mnt/file)
umount /mnt
mount /dev/nvme0n1 /mnt
[ "$before" = "$(sha256sum < /mnt/file)" ]
umount /mnt
fsck.ext4 -fn /dev/nvme0n1 > /dev/null
echo fine
