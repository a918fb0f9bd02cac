# SPDX-License-Identifier: Apache-2.0
"""A program that owns an SSD lends db_vcsd a queue pair of it, takes it back, and lends it again.

    ./doorbell python examples/hand_over.py [model | db_ssd | qemu]

It stands for a kernel's driver or SPDK: it resets SSD 0, has its admin queue, creates a queue pair whose queues lie in
the card, and hands it over with an admin command to the card's PF. Data that was written through the card it then reads
from the SSD itself. SSD 1 the card brings up. With `qemu` the SSDs are QEMU's stock NVMe drives. docs/vcsd/hand-over.md
"""

from __future__ import annotations

import random
import sys

from doorbell.device.switch_host import SsdHost
from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme import hand_over, namespaces, virtual_drives
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.hand_over import SsdOwner
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.structures import status_name
from doorbell.nvme.virtual_drives import Ssds
from doorbell.qemu.drives import OUR_BAR, WINDOW_BYTES
from doorbell.vm.ssds import PACE, SsdOptions, card_with_ssds

MINE, NUMBER = 0, 2  # the SSD that this program owns, of so many
CARD = {"DATA_W": 128, "NUM_SSD": NUMBER, "NUM_NS": 4, "SHA_CORES": 0, "MS_CYCLES": 5000, "SSD_TIMEOUT": 100_000}
MEMORY = 1 << 20  # of this program, for the SSD
BLOCKS = 512  # a quarter of a MiB at a time


def data_of(pf: Driver) -> bytes:
    """Half a MiB on the namespace, read through the card."""
    return pf.read(0, BLOCKS) + pf.read(BLOCKS, BLOCKS)


def main(kind: str) -> None:
    options = SsdOptions(kind, number=NUMBER)
    params = CARD | (PACE if kind == "qemu" else {})  # it lives in real time
    own = {"left_alone": 1 << MINE, "host_bytes": MEMORY}
    with card_with_ssds(options, "128m", "db_vcsd", "gen3x4", params, **own) as (sim, _):
        try:
            run(sim)
        finally:
            sim.close()


def run(sim: SwitchSim) -> None:
    pf = Driver(sim, HostMemory(32 << 20, 0x12_4000_0000), admin_timeout_us=10_000_000, io_timeout_us=10_000_000)
    pf.start(queues=1, entries=64)
    print(f"card: SSD {MINE} is {hand_over.state(pf, MINE).owner.name}, SSD 1 {hand_over.state(pf, 1).owner.name}")

    ssd = Driver(SsdHost(sim, MINE), HostMemory(MEMORY, OUR_BAR + NUMBER * WINDOW_BYTES), admin_timeout_us=10_000_000,
                 io_timeout_us=10_000_000, ready_timeout_us=10_000_000)  # fmt: skip
    owner = SsdOwner(ssd)
    owner.start()
    assert ssd.controller
    print(f"owner: has {bytes(ssd.controller.mn).decode().strip()}, {ssd.controller.sn.decode().strip()}")

    pair = owner.lend(pf, MINE, sim.window, entries=64)
    print(f"owner: lends queue pair {pair.qid} of {pair.entries} entries, doorbell at {pair.sq_doorbell:#x}")
    for nsid in namespaces.allocated(pf):
        namespaces.delete(pf, nsid)
    pf.nsid = virtual_drives.create(pf, 4, Ssds(MINE))
    namespaces.attach(pf, pf.nsid)
    pf.identify_all()
    data = random.Random(1).randbytes(2 * BLOCKS * 512)
    pf.write(0, data[: BLOCKS * 512])
    pf.write(BLOCKS, data[BLOCKS * 512 :])
    pf.flush()
    assert data_of(pf) == data
    print("card: wrote half a MiB, flushed and read it")

    owner.get_back(pf, MINE)
    buffer = pf.buffer(4096)
    c = pf.submit(1, NvmOpc.READ, 0, 7, buffer)
    pf.wait([c])
    assert c.status == Status.READ_ERROR
    print(f"owner: has it back; the card is told {status_name(c.status15)} now")
    place = virtual_drives.where(pf, pf.nsid)[0]
    assert place and place.granule == 0
    ssd.create_cq(1, 16, 0, ien=False)
    ssd.create_sq(1, 16, 1)
    found = b"".join(ssd.read(at, 64) for at in range(0, 2 * BLOCKS, 64))
    ssd.delete_sq(1)
    ssd.delete_cq(1)
    assert found == data
    print("owner: read the same from the SSD by a queue of its own")

    owner.lend(pf, MINE, sim.window, qid=2, entries=16)
    assert data_of(pf) == data
    print("owner: lends queue pair 2; card: read it again")
    assert not sim.errors(), sim.errors()


main(sys.argv[1] if len(sys.argv) > 1 else "model")
