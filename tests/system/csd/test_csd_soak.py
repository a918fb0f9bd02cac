# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak` on db_csd: besides all that db_ssd meets, namespaces and keys that come and go under I/O."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from csd_drive import NARROW
from doorbell.nvme import namespaces
from doorbell.soak.judge import Failure
from doorbell.soak.player import Player
from doorbell.soak.steps import RESETS
from test_ssd_soak import often, soak

pytestmark = pytest.mark.rtl
OWN = {"key", "bind", "ns_create", "ns_delete", "attach", "detach"}


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    p = Player("db_csd", tmp_path, NARROW, 1)
    yield p
    p.close()


def test_soak() -> None:
    assert soak("db_csd", 1, 1200, **NARROW) >= OWN - {"detach", "ns_delete"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 105))
def test_soak_of_25000(seed: int) -> None:
    assert soak("db_csd", seed, 5000) >= OWN


CUTS = [("key", "power")]
ALL_CUTS = [(what, kind) for what in ("ns_create", "ns_delete", "key") for kind in RESETS]


@pytest.mark.parametrize(("what", "kind"), often(CUTS, ALL_CUTS))
def test_cut_off_by_a_reset(player: Player, what: str, kind: str) -> None:
    """At several stages, beside a namespace under load; a second reset changes nothing."""
    load = {"do": "key", "slot": 1, "key": 1}
    player.play(load)
    player.play({"do": "bind", "ns": 1, "slot": 1})
    for cycles in (2000, 20_000):
        player.play({"do": "ns_delete", "ns": 2})
        player.play({"do": "ns_delete", "ns": 3})
        player.play(load)
        if what == "ns_delete":
            player.play({"do": "ns_create", "blocks": 777})
            player.play({"do": "attach", "ns": 2})
            player.play({"do": "io", "op": "write", "ns": 2, "count": 48, "data": cycles})
        player.play({"do": "io", "op": "write", "count": 48, "data": cycles})
        player.play({"do": "cut", "what": what, "kind": kind, "cycles": cycles, "ns": 2, "blocks": 777, "key": 2})
        player.play({"do": "reset", "kind": "power"})
        player.play(load)
        player.play({"do": "check"})
    player.finish()


def test_namespace_that_is_lost_after_a_reset_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    player.play({"do": "ns_delete", "ns": 2})
    plain = namespaces.allocated
    monkeypatch.setattr(namespaces, "allocated", lambda *args: [n for n in plain(*args) if n != 2])
    with pytest.raises(Failure, match="Create Namespace: not done"):
        player.play({"do": "cut", "what": "ns_create", "cycles": 100_000})
