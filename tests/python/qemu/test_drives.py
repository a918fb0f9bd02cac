# SPDX-License-Identifier: Apache-2.0
"""A QEMU that ends while it is asked is an error of its own, not the end of whoever asks."""

from __future__ import annotations

import socket

import pytest
from doorbell.device.vfio_user.wire import Connection
from doorbell.errors import UserError
from doorbell.qemu.drives import QemuDrives


@pytest.mark.parametrize("before", [True, False])
def test_it_ends_before_or_behind_a_question(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (qtest, its_qtest), (vfio, its_vfio) = socket.socketpair(), socket.socketpair()
    drives = object.__new__(QemuDrives)
    drives._qtest, drives._qtest_in, drives._connection = qtest, b"", Connection(vfio)
    with qtest, its_qtest, vfio, its_vfio:
        if before:
            its_qtest.close()
        else:
            monkeypatch.setattr(drives, "pump", its_qtest.close)  # with a question that it has not read
        with pytest.raises(UserError, match="QEMU ended"):
            drives.config_read(0, 0)
