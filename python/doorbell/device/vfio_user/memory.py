# SPDX-License-Identifier: Apache-2.0
"""The client's memory: what it has told us of, mapped here where it came with a file descriptor."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import stat
import struct

from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.wire import MAP_READ, MAP_WRITE, MAX_MAPS, UNMAP_ALL, UNMAP_DIRTY, Message, Refused

PAGE = 4096

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def is_memory(fd: int) -> bool:
    """Is it a memfd, or a file of tmpfs or hugetlbfs? Only they have seals, and the kernel alone provides their pages.
    A page of another file is there when a disk, another machine or, with FUSE, the client says so: to touch it may
    take for ever.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return False
    return True


class Mapping:
    """A piece of the client's memory, mapped here if it came with a file descriptor."""

    def __init__(self, base: int, size: int, writable: bool, fd: int | None, offset: int) -> None:
        self.base, self.size, self.writable = base, size, writable
        self.pointer: int | None = None
        self._start = self._length = 0
        if fd is None:
            return
        if not is_memory(fd):
            raise Refused(errno.EOPNOTSUPP)
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode) and offset + size > info.st_size:  # devices tell no size
            raise Refused(errno.EINVAL)
        page = max(mmap.PAGESIZE, info.st_blksize)  # larger in a file of huge pages, which is mapped by whole ones
        lead = offset % page
        self._length = -(-(size + lead) // page) * page
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        start = _libc.mmap(None, self._length, protection, mmap.MAP_SHARED, fd, offset - lead)
        if start in (None, ctypes.c_void_p(-1).value):
            raise Refused(ctypes.get_errno() or errno.EINVAL)
        self._start = start
        self.pointer = start + lead

    def overlaps(self, base: int, size: int) -> bool:
        return base < self.base + self.size and self.base < base + size

    def close(self) -> None:
        if self._start:
            _libc.munmap(self._start, self._length)
        self._start, self.pointer = 0, None


class ClientMemory:
    """All mappings of a client, and the device that reaches them."""

    def __init__(self, device: ServedDevice) -> None:
        self._device = device
        self._maps: dict[int, Mapping] = {}

    def map(self, message: Message) -> bytes:
        argsz, flags, offset, base, size = struct.unpack_from("<IIQQQ", message.body)
        aligned = not (base | size | offset) % PAGE
        if argsz < 32 or not size or not aligned or base + size > 1 << 64 or offset + size >= 1 << 63:
            raise Refused(errno.EINVAL)
        if flags & ~(MAP_READ | MAP_WRITE) or not flags or len(message.fds) > 1:
            raise Refused(errno.EINVAL)
        if len(self._maps) >= MAX_MAPS:
            raise Refused(errno.ENOSPC)
        if any(m.overlaps(base, size) for m in self._maps.values()):
            raise Refused(errno.EEXIST)
        writable = bool(flags & MAP_WRITE)
        mapping = Mapping(base, size, writable, message.fds[0] if message.fds else None, offset)
        try:
            self._device.map(base, size, mapping.pointer, writable)
        except BaseException:
            mapping.close()
            raise
        self._maps[base] = mapping
        return b""

    def unmap(self, message: Message) -> bytes:
        argsz, flags, base, size = struct.unpack_from("<IIQQ", message.body)
        if argsz < 24 or flags & ~UNMAP_ALL or (flags & UNMAP_ALL and (base or size)):
            raise Refused(errno.ENOTSUP if flags & UNMAP_DIRTY else errno.EINVAL)
        if flags & UNMAP_ALL:
            self.remove_all()
        else:
            inside = [m for m in self._maps.values() if m.overlaps(base, size)]
            if not size or any(m.base < base or m.base + m.size > base + size for m in inside):
                raise Refused(errno.EINVAL)
            if not inside:
                raise Refused(errno.ENOENT)
            for mapping in inside:
                self._remove(mapping)
        return struct.pack("<IIQQ", 24, flags, base, size)

    def _remove(self, mapping: Mapping) -> None:
        self._device.unmap(mapping.base, mapping.size)  # from here on the device gets an error for it
        del self._maps[mapping.base]
        mapping.close()

    def remove_all(self) -> None:
        for mapping in list(self._maps.values()):
            self._remove(mapping)
