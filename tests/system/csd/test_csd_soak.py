# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak` on db_csd: besides all that db_ssd meets, namespaces and keys that come and go under I/O."""

from __future__ import annotations

import pytest
from test_ssd_soak import soak

pytestmark = pytest.mark.rtl
OWN = {"key", "bind", "ns_create", "ns_delete", "attach", "detach"}


def test_soak() -> None:
    assert soak("db_csd", 1, 2000) >= OWN - {"detach", "ns_delete"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 105))
def test_soak_of_25000(seed: int) -> None:
    assert soak("db_csd", seed, 5000) >= OWN
