# SPDX-License-Identifier: Apache-2.0
"""One drive, two owners: the PF gives a VF queues and a namespace, and both work at once in memory of their own.

./doorbell python examples/two_owners.py
"""

from doorbell.device import open_sim
from doorbell.nvme import Driver, HostMemory, NvmOpc, namespaces, virtualization
from doorbell.nvme.constants import NsAttach

BLOCKS = 8  # of 512 bytes: 4 KiB


def share() -> tuple[Driver, Driver]:
    """The PF's driver and the VF's; each has a namespace of 64 MiB, private to it."""
    sim = open_sim(num_fn=2, params={"NUM_NS": 2}, link="gen3x8", media_size=130 << 20)
    pf = Driver(sim, HostMemory(32 << 20))
    pf.start(queues=4, entries=64)
    namespaces.delete(pf)
    own, given = (namespaces.create(pf, (64 << 20) // 512) for _ in range(2))
    namespaces.attach(pf, own)
    namespaces.attachment_try(pf, given, NsAttach.ATTACH, (1,)).check()

    sim.enable_vfs(1)
    virtualization.assign(pf, 1, queues=2, interrupts=3)
    virtualization.online(pf, 1)
    vf = Driver(sim.function(1), HostMemory(32 << 20))
    vf.start(queues=2, entries=64)
    return pf, vf


if __name__ == "__main__":
    for name, drive in zip(("PF", "VF"), share()):
        nsid = namespaces.active(drive)[0]
        buffer = drive.buffer(BLOCKS * 512)
        buffer.write(name.encode() * (BLOCKS * 256))
        drive.run(drive.submit(1, NvmOpc.WRITE, 0, BLOCKS - 1, buffer, nsid=nsid))
        done = drive.run(drive.submit(1, NvmOpc.READ, 0, BLOCKS - 1, buffer, nsid=nsid))
        print(f"{name}: namespace {nsid}, reads {buffer.read()[:2].decode()}, {done.latency_ns:.0f} ns")
