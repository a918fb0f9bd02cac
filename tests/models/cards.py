# SPDX-License-Identifier: Apache-2.0
"""What tests of db_vcsd share: cards with their SSDs, and where bytes of the medium are by docs/vcsd/theory.md."""

from __future__ import annotations

from typing import Any

from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme import namespaces
from doorbell.nvme.driver import Driver
from doorbell.soak.card import PARAMS as PARAMS

SIZE = 16 << 20  # of each SSD
CHUNK = 128 << 10


def card_of(sim: Any) -> SwitchSim:
    assert isinstance(sim, SwitchSim)
    return sim


def one_of_all(card: Driver, block_size: int = 512) -> None:
    """Namespace 1 over the whole medium, and no other."""
    for nsid in namespaces.allocated(card):
        namespaces.delete(card, nsid)
    assert namespaces.create(card, card_of(card.sim).media_size // block_size, block_size) == 1
    namespaces.attach(card, 1)
    card.identify_all()


def places(drive: Driver, at: int, size: int, stripe: bool = False) -> list[tuple[int, int, int]]:
    """The parts (SSD, byte on it, bytes) of `size` bytes from byte `at` of the medium on."""
    sim, out = card_of(drive.sim), []
    each = sim.ssd_pages * 4096
    number = sim.media_size // each
    while size:
        if stripe:
            chunk, rest = divmod(at, CHUNK)
            ssd, place, room = chunk % number, chunk // number * CHUNK + rest, CHUNK - rest
        else:
            ssd, place = divmod(at, each)
            room = each - place
        n = min(size, room)
        out.append((ssd, place, n))
        at, size = at + n, size - n
    return out


def on_ssds(drive: Driver, at: int, size: int, stripe: bool = False) -> bytes:
    """What the SSDs hold of bytes `at`... of the medium."""
    ssds = card_of(drive.sim).ssds
    return b"".join(bytes(ssds.media_read(place, n, port=ssd)) for ssd, place, n in places(drive, at, size, stripe))
