# SPDX-License-Identifier: Apache-2.0
"""An SSD behind db_vcsd that a program of the host owns: it creates a queue pair in the card's window and hands it over
(docs/vcsd/hand-over.md). The card uses it as it is; data is on the SSD; taken back, the SSD is its owner's alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

import copies
import pytest
from cards import PARAMS, SIZE, card_of, on_ssds, one_of_all
from doorbell.device.switch_host import SsdHost
from doorbell.nvme import hand_over
from doorbell.nvme.constants import Cns, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.hand_over import SsdOwner
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.vendor import SsdOwner as Owner
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
WINDOW = 0x7E00_0000_0000  # BAR 2 of the card, as the simulator's host has placed it
OWNED = 0  # the SSD that the program has; the card brings up the other one itself


@dataclass
class Lent:
    """A card with an SSD that is lent to it, and who owns that."""

    card: Driver
    owner: SsdOwner


@pytest.fixture(scope=copies.scope("module"))
def lent(make_drive_once: MakeDrive) -> Lent:
    """One namespace over the lent SSD and one that the card has brought up itself."""
    size = PARAMS["NUM_SSD"] * SIZE
    card = make_drive_once(top="db_vcsd", params=PARAMS, media_size=size, left_alone=1 << OWNED)
    card.start(queues=2, entries=64)
    own = SsdOwner(Driver(SsdHost(card_of(card.sim), OWNED), HostMemory(1 << 20, 0x33_0000_0000)))
    own.start()
    own.lend(card, OWNED, WINDOW)
    one_of_all(card)
    return Lent(card, own)


def status_of(card: Driver, opcode: NvmOpc, at: int) -> int:
    buffer = card.buffer(4096) if opcode != NvmOpc.FLUSH else None
    c = card.submit(1, opcode, at, 7, buffer)
    card.ring()
    card.wait([c])
    return c.status


def test_a_queue_pair_is_used_as_it_is(lent: Lent) -> None:
    """Data is on the SSD; the card rings its doorbells alone, and its owner's admin queue works meanwhile."""
    card, sim, half = lent.card, card_of(lent.card.sim), SIZE // 512
    rang = sim.ssds.counters(port=OWNED)["drive.doorbells"]
    rng = random.Random(1)
    data = {at: rng.randbytes(4096 * n) for at, n in ((0, 1), (64, 32), (half - 8, 2), (4096, 3))}
    for at, d in data.items():
        card.write(at, d)
    card.flush()
    for at, d in data.items():
        assert on_ssds(card, at * 512, len(d)) == d
        assert card.read(at, len(d) // 512) == d
    assert sim.up == 3 and sim.ssds.counters(port=OWNED)["drive.doorbells"] > rang
    assert lent.owner.drive.identify(Cns.CTRL)[4:24].strip() != b""
    found = hand_over.state(card, OWNED)
    assert (found.owner, found.present, found.up) == (Owner.HANDED, True, True)
