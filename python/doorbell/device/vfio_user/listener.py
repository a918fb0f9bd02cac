# SPDX-License-Identifier: Apache-2.0
"""The socket at a path of the file system, where clients of a server come."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from pathlib import Path

from doorbell.errors import UserError

LOCK_S = 2.0  # that another server may take to make its socket


class Listener:
    """Takes the path when it is made, and gives it back by `close`."""

    def __init__(self, path: Path) -> None:
        """Its folder is locked meanwhile: of two servers that find what another has left behind, one comes second."""
        self._path = path
        try:
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as e:
            raise UserError(f"cannot make the socket {path}: {e.strerror}") from e
        try:
            end = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:  # somebody who is none of ours
                        break
                    time.sleep(0.01)
            self._socket = self._take()
            self._inode = path.stat().st_ino
        finally:
            os.close(folder)

    def _take(self) -> socket.socket:
        if self._path.is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.setblocking(False)  # a server that has clients waiting takes no more
                try:
                    probe.connect(str(self._path))
                    raise UserError(f"{self._path} is in use by another server: name another socket")
                except ConnectionRefusedError:  # left behind: nobody listens any more
                    self._path.unlink(missing_ok=True)
                except FileNotFoundError:
                    pass
                except BlockingIOError as e:
                    raise UserError(f"{self._path} is in use by another server: name another socket") from e
                except OSError as e:
                    raise UserError(f"cannot use the socket {self._path}: {e.strerror}") from e
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(self._path))
        except OSError as e:
            listener.close()
            why = "the path is too long" if "too long" in str(e) else e.strerror
            raise UserError(f"cannot make the socket {self._path}: {why}") from e
        listener.listen(1)
        listener.setblocking(False)
        return listener

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> socket.socket | None:
        """A client's connection, if one is there. One that finds no descriptor or no memory here waits."""
        try:
            return self._socket.accept()[0]
        except OSError:
            return None

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._inode:  # else it is another server's
                self._path.unlink()
