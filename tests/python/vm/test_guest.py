# SPDX-License-Identifier: Apache-2.0
"""What `doorbell vm` wants of a guest; guests themselves are tests/system's."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorbell.errors import UserError
from doorbell.vm.guest import FAILED, Guest, Vm


def test_files_that_a_guest_would_not_get(tmp_path: Path) -> None:
    """It has all that are named, or does not start."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data").write_bytes(folder.encode())
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 32)
    one, other = tmp_path / "a" / "data", tmp_path / "b" / "data"
    Vm(Guest(files=(one,)), []).check()
    for files, why in (
        ((one, other), "two have the name data"),
        ((large,), "large has 4 GiB or more"),
        ((tmp_path / "a",), "is not a file"),
    ):
        with pytest.raises(UserError, match=why) as e:
            Vm(Guest(files=files), []).check()
        assert e.value.status == FAILED
