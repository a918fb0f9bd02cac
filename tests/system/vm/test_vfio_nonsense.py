# SPDX-License-Identifier: Apache-2.0
"""What is no message of the vfio-user protocol, or makes no sense: the server goes on, with the small device of
vfio_device.py."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import vfio_client as vc
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vfio_device import FUZZ, FakeDevice, device_served, memfd


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """Socket of a running server for a small device."""
    yield from device_served(tmp_path, FakeDevice())


def test_oversized_message(path: str) -> None:
    for size in (0, 15, 1 << 30, 0xFFFFFFFF):
        c = vc.Client(path)
        c.version()
        number = c.send(vc.GET_INFO, b"", size=size)
        assert c.reply_to(number, vc.GET_INFO).error == errno.EINVAL
        with pytest.raises(ConnectionError):
            c.receive()
        c.close()


FIELD = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 9, 16, 20, 24, 32, 0x24, 0x1000, 0x2000, 0x4000, 0xFFFFFFFF])
BODY = st.one_of(st.binary(max_size=64), st.lists(FIELD, max_size=12).map(lambda v: struct.pack(f"<{len(v)}I", *v)))
FLAGS = st.sampled_from([0, 0, 0, 0x10, 1, 0x21, 2, 0xFFFFFFFF])
MESSAGE = st.tuples(st.integers(0, 20), BODY, FLAGS, st.integers(0, 2))  # command, body, flags, descriptors


@settings(max_examples=150, **FUZZ)
@given(st.lists(MESSAGE, min_size=1, max_size=20))
@example([(0, b"", 1, 0)])  # a reply to nothing
def test_nonsense(path: str, messages: list[tuple[int, bytes, int, int]]) -> None:
    """Whatever comes, the server answers each command that wants an answer, and serves the next client."""
    c = vc.Client(path, timeout=10)
    c.version()
    fds = [os.eventfd(0), memfd(0x4000)]
    try:
        for command, body, flags, count in messages:
            number = c.send(command, body, fds[:count], flags=flags)
            if flags & 0xF != 1 and not flags & 0x10:
                c.reply_to(number, command)
    finally:
        for fd in fds:
            os.close(fd)
    number = c.send(vc.GET_INFO, struct.pack("<4I", 16, 0, 0, 0))
    assert c.reply_to(number, vc.GET_INFO).error == 0
    c.close()


@settings(max_examples=60, **FUZZ)
@given(st.binary(min_size=1, max_size=200))
def test_noise(path: str, noise: bytes) -> None:
    """Bytes that are no messages: the connection may end, the server goes on."""
    c = vc.Client(path, timeout=10)
    with contextlib.suppress(OSError):
        c.sock.sendall(noise)
    c.close()
    c = vc.Client(path, timeout=10)
    c.version()
    c.close()
