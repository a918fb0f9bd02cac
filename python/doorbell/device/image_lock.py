# SPDX-License-Identifier: Apache-2.0
"""The lock of an image: of its open file description, all of the file; QEMU's locks and it see each other."""

from __future__ import annotations

import fcntl
import os
import struct

from doorbell.device.messages import SimError

_FLOCK = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, length, pid


def lock_image(fd: int, name: str) -> None:
    """Until the descriptor is closed. Before anything of the file is changed."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except (BlockingIOError, PermissionError) as e:
        raise SimError(f"{name} is in use by another process") from e
    except OSError as e:
        raise SimError(f"cannot lock {name}: {e.strerror}") from e
