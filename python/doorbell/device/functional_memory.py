# SPDX-License-Identifier: Apache-2.0
"""Bytes that a functional drive reaches: host memory, and its media. What cannot be reached is an OSError."""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
from typing import Any, Protocol

from doorbell.device.image_lock import lock_image
from doorbell.device.messages import SimError

PAGE = 4096
ZEROES = 1 << 20  # written at once where no hole can be made
KEEP_SIZE, PUNCH_HOLE = 1, 2  # of fallocate

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]

TRUNCATED = "it was truncated: accesses beyond its end, and flushes, fail"


class Bytes(Protocol):
    def load(self, at: int, size: int) -> bytes: ...
    def store(self, at: int, data: bytes) -> None: ...


class Buffer:
    """An object of this process."""

    def __init__(self, buffer: Any) -> None:
        self._view = memoryview(buffer)

    def load(self, at: int, size: int) -> bytes:
        return bytes(self._view[at : at + size])

    def store(self, at: int, data: bytes) -> None:
        self._view[at : at + len(data)] = data


@functools.lru_cache(maxsize=1)
def _memory_of(_: int) -> int:
    """A descriptor of this process's memory, one for all mappings."""
    return os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)


class Mapped:
    """A mapping of somebody's file. It may be truncated at any time, so the kernel is asked to copy: a plain access
    would be a SIGBUS."""

    def __init__(self, address: int) -> None:
        self._address = address
        self._fd = _memory_of(os.getpid())

    def load(self, at: int, size: int) -> bytes:
        data = os.pread(self._fd, size, self._address + at)
        if len(data) != size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return data

    def store(self, at: int, data: bytes) -> None:
        if os.pwrite(self._fd, data, self._address + at) != len(data):
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))


class MediaMemory(Buffer):
    """Media that end with the drive."""

    trouble: str | None = None

    def __init__(self, size: int) -> None:
        self.size = size
        self._map = mmap.mmap(-1, size)
        super().__init__(self._map)

    def zero(self, at: int, size: int) -> None:
        """Zeros, which take no room."""
        first, end = -(-at // PAGE) * PAGE, (at + size) // PAGE * PAGE
        if first >= end:
            return self.store(at, bytes(size))
        self.store(at, bytes(first - at))
        self._map.madvise(mmap.MADV_REMOVE, first, end - first)
        self.store(end, bytes(at + size - end))

    def flush(self) -> None: ...
    def close(self) -> None: ...


class MediaFile:
    """Media in a file, as sim/common/storage.h has them: sparse, locked as QEMU locks its images."""

    def __init__(self, path: str, size: int) -> None:
        """size: 0 is the file's own."""
        self._path, self._sync_failed = path, False
        self._said: set[str] = set()
        self.trouble: str | None = None
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as e:
            raise SimError(f"cannot open {path}: {e.strerror}") from e
        try:
            lock_image(self._fd, path)
            have = os.fstat(self._fd).st_size
            self.size = size or have
            if have < self.size:
                os.ftruncate(self._fd, self.size)
        except OSError as e:
            os.close(self._fd)
            raise SimError(f"cannot use {path}: {e.strerror}") from e
        except SimError:
            os.close(self._fd)
            raise

    def _say(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self.trouble = f"{self._path}: {what}"

    def load(self, at: int, size: int) -> bytes:
        data = os.pread(self._fd, size, at)
        if len(data) != size:
            self._say(TRUNCATED)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return data

    def store(self, at: int, data: bytes) -> None:
        try:
            self._covers(at + len(data))
            if os.pwrite(self._fd, data, at) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as e:
            self._say(TRUNCATED if e.errno == errno.EIO else f"{e.strerror}: writes fail until that is mended")
            raise

    def zero(self, at: int, size: int) -> None:
        """Zeros, which take no room where the file system can have it so."""
        try:
            self._covers(at + size)
        except OSError:
            self._say(TRUNCATED)
            raise
        if size and _libc.fallocate(self._fd, PUNCH_HOLE | KEEP_SIZE, at, size):
            for here in range(at, at + size, ZEROES):
                self.store(here, bytes(min(ZEROES, at + size - here)))

    def _covers(self, end: int) -> None:
        if os.fstat(self._fd).st_size < end:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def flush(self) -> None:
        """Once it has failed it always does: nobody knows what of it is written."""
        if self._sync_failed:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        try:
            self._covers(self.size)
        except OSError:
            self._sync_failed = True  # what was written there is lost, also if the file is made longer again
            self._say(TRUNCATED)
            raise
        try:
            os.fdatasync(self._fd)
        except OSError as e:
            self._sync_failed = True
            self._say(f"{e.strerror}: could not be written out, what came since the last flush may be lost")
            raise

    def close(self) -> None:
        if self._fd < 0:
            return
        try:
            self.flush()
        except OSError as e:
            raise SimError(f"{self._path} could not be written out: {self.trouble or e.strerror}") from e
        finally:
            os.close(self._fd)
            self._fd = -1
