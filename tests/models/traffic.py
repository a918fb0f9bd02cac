# SPDX-License-Identifier: Apache-2.0
"""Random traffic for tests: the generator is doorbell/nvme/traffic.py, here is the type of the fixture of drives."""

from __future__ import annotations

from collections.abc import Callable

from doorbell.nvme.driver import Driver
from doorbell.nvme.traffic import Traffic, media_of

__all__ = ["MakeDrive", "Traffic", "media_of"]

MakeDrive = Callable[..., Driver]
"""The fixture `make_drive` of conftest.py."""
