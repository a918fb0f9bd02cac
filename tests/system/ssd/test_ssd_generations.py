# SPDX-License-Identifier: Apache-2.0
"""Numbers that a drive saves, set near their end in its image: the generation of a reservation (GEN, Base 2.1, 7.8), of
a created namespace (in its NGUID and UUID), and the sequence number by which a drive knows the newer one of its two
copies of the settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import saved_settings
from doorbell.nvme import namespaces, reservations
from doorbell.nvme.constants import Feature, ResvPtpl
from doorbell.nvme.driver import Driver
from namespace_model import MEDIA
from reservation_hosts import Cluster
from traffic import NARROW, MakeDrive

pytestmark = pytest.mark.rtl
BLOCKS = 64
SAVE = 1 << 31  # of Set Features


def generation(drive: Driver, nsid: int) -> int:
    """As its NGUID says. A namespace that was created has no EUI-64: that could not tell it from the one before."""
    found = namespaces.of(drive, nsid, attached=False)
    assert not any(found.eui64)
    return int.from_bytes(bytes(found.nguid)[4:6], "little")


def test_a_reservation(make_drive: MakeDrive, tmp_path: Path) -> None:
    """After 2^32 - 1 comes 0, and nothing else of the reservation changes."""
    hosts = Cluster(make_drive, 3, tmp_path / "image")
    first, _, _ = hosts.drives
    reservations.register(first, hosts.keys[0], ptpl=ResvPtpl.SET)
    first.sim.close()
    saved = saved_settings.copies(tmp_path / "image")[0]
    place = saved.generation_of(hosts.keys[0])
    assert saved.words[place] == 1
    saved.words[place] = (1 << 32) - 1
    saved.write()
    hosts.power_cycle()
    hosts.name()
    first, second, _ = hosts.drives
    before = reservations.report(first)
    assert before.generation == (1 << 32) - 1 and [c.key for c in before.controllers] == [hosts.keys[0]]
    reservations.register(second, hosts.keys[1])
    after = reservations.report(first)
    assert after.generation == 0 and [c.key for c in after.controllers] == hosts.keys[:2] and after.persists
    hosts.power_cycle()
    assert reservations.report(hosts.drives[0]).generation == 0


def test_a_namespace(make_drive: MakeDrive, tmp_path: Path) -> None:
    """After 65,535 comes 1: 0 is a namespace that was there from the first, which has an EUI-64."""
    image = tmp_path / "image"
    open_it = {**NARROW, "seed": 3, "media_size": MEDIA, "image": str(image)}
    drive = make_drive(**open_it)
    drive.start(queues=1, entries=16)
    namespaces.delete(drive)
    assert generation(drive, namespaces.create(drive, BLOCKS)) == 1
    drive.sim.close()
    saved = saved_settings.copies(image)[0]
    assert saved.words[saved.created] & 0xFFFF == 1
    saved.words[saved.created] |= 0xFFFE
    saved.write()
    drive = make_drive(**open_it)
    drive.start(queues=1, entries=16)
    assert [generation(drive, namespaces.create(drive, BLOCKS)) for _ in range(2)] == [1, 2]
    assert [generation(drive, nsid) for nsid in namespaces.allocated(drive)] == [1, 1, 2]


@pytest.mark.parametrize("last", [(1 << 31) - 1, (1 << 32) - 1], ids=["sign", "end"])
def test_the_sequence_of_copies(make_drive: MakeDrive, tmp_path: Path, last: int) -> None:
    """The newer copy is known where the number has passed its end, too; each power-up finds what was set last."""
    image = tmp_path / "image"
    open_it = {**NARROW, "seed": 3, "media_size": MEDIA, "image": str(image)}
    drive = make_drive(**open_it)
    drive.start(queues=1, entries=16)
    drive.set_features(Feature.ARBITRATION | SAVE, 300 << 8)
    drive.sim.close()
    for back, copy in enumerate(saved_settings.copies(image)):
        copy.words[saved_settings.SEQUENCE] = last - back
        copy.write()
    seen = {last}
    for value in range(301, 305):
        drive = make_drive(**open_it)
        drive.start(queues=1, entries=16)
        assert drive.get_features(Feature.ARBITRATION) == (value - 1) << 8
        drive.set_features(Feature.ARBITRATION | SAVE, value << 8)
        drive.sim.close()
        seen |= {copy.words[saved_settings.SEQUENCE] for copy in saved_settings.copies(image)}
    assert {last, (last + 1) % (1 << 32), (last + 2) % (1 << 32)} <= seen
