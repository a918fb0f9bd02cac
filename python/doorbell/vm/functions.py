# SPDX-License-Identifier: Apache-2.0
"""The functions of a simulated drive as devices of vfio-user servers: a client for the PF and one for each VF.

VFs are there, have queues and are online because the PF's host says so (docs/virtualization.md). While the PF has no
client, the server is this host: PfHost. A client of the PF takes its place; VFs are offline from then on, until it puts
them online.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from doorbell.device.limits import Link
from doorbell.device.pci_config import DEVICE_CONTROL, PciConfig, PciState, VfConfig
from doorbell.device.vfio_user import Loop, Server, serving
from doorbell.errors import UserError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import NvmeError
from doorbell.nvme.constants import Cns, NsAttach
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.structures import IdCtrl
from doorbell.vm.devices import LAND_CYCLES, QUEUE_PAIRS, RESET_S, SimDevice, say_trouble

PATIENCE_S = 10.0  # with a client that answers no DMA message: the drive puts reads in order, so those of others wait
RESET_SLICE = 2000  # cycles between two looks at what comes during a reset
VFS_GO_CYCLES = 50_000  # until the firmware has seen VFs go; a host gives it a second (PCIe 5.0, 9.3.3.3.1)
PATIENCE_US = 60e6  # in simulated time: media may zero for long what is deleted, or what a client has left
MPS = 1  # of the PF, and so of all: 256 bytes


class PfConfig(PciConfig):
    """The PF's configuration space: after a reset the server's software has been there first."""

    def __init__(self, vectors: int, vfs: int, **link: int) -> None:
        super().__init__(vectors, vfs=vfs, **link)
        self._prepare()

    def reset(self) -> None:
        super().reset()
        self._prepare()

    def _prepare(self) -> None:
        self.enable_vfs(self.total_vfs)
        control = int.from_bytes(self.read(DEVICE_CONTROL, 2), "little")
        self.write(DEVICE_CONTROL, (control & ~(7 << 5) | MPS << 5).to_bytes(2, "little"))


class FunctionDevice(SimDevice):
    """One function of a drive. Only the PF's `run` is to be called: all run together."""

    def __init__(self, sim: Any, fn: int, vectors: int, figures_fd: int = -1) -> None:
        """sim: the drive."""
        super().__init__(sim.function(fn), figures_fd, vectors)
        self.fn = fn
        self.on_new: Callable[[int], None] = lambda _: None
        """Told of each VF that the PF has let in."""
        self.meanwhile: Callable[[FunctionDevice], None] = lambda _: None
        """Called while this function is being reset: hands out what has come for the others."""
        self._page: int | None = None

    def _run(self, cycles: int) -> None:
        before = self._sim.cycle
        self.idle = self._sim.run(cycles, stop_idle=True, everybody=True) == "idle" and self._sim.cycle == before
        say_trouble(self._sim)

    @property
    def _enabled(self) -> bool:
        return bool(self._sim.cfg()["enabled"])

    def attached(self, client: bool) -> None:
        """A client has come, or is gone. Its doorbells are looked at in between only."""
        self._sim.doorbell_page(self._page if client else None)

    def doorbell_page(self, pointer: int) -> None:
        self._page = pointer

    def configure(self, state: PciState, msix_enable: bool) -> None:
        if self.fn:
            if self._enabled:
                self._sim.set_cfg(bus_master=state.bus_master, msix_enable=msix_enable)
            return
        super().configure(state, msix_enable)
        before = sum(self._sim.function(fn).cfg()["enabled"] for fn in range(1, self._sim.num_fn))
        if state.vfs != before:
            self._sim.enable_vfs(state.vfs)
            if state.vfs < before:
                self._pass(VFS_GO_CYCLES)
            for fn in range(before + 1, state.vfs + 1):
                self.on_new(fn)

    def reset(self) -> None:
        """The others run on meanwhile; what they ask of their clients waits."""
        if not self._enabled:
            return
        self._sim.flr_begin()
        end = time.monotonic() + RESET_S
        while not self._sim.flr_done:
            if time.monotonic() > end:
                what = f"function {self.fn} of the simulated device"
                raise UserError(f"{what} does not finish its function-level reset, please report: it ends here", 3)
            self._sim.run(RESET_SLICE, everybody=True)
            self.meanwhile(self)
            self._drop_dma()
        self._pass(LAND_CYCLES)  # the firmware, too, sees that it is over: software gives it 100 ms

    def _pass(self, cycles: int) -> None:
        """The others get what has come for them: a message ends a run."""
        end = self._sim.cycle + cycles
        while self._sim.cycle < end:
            self._sim.run(end - self._sim.cycle, everybody=True)
            self.meanwhile(self)
            self.dma_fetch()

    def close(self) -> None:
        """The drive's end, if this is the PF."""
        if not self.fn:
            super().close()


class PfHost:
    """The PF's host while it has no client."""

    def __init__(self, sim: Any, vfs: int, vf_size: int | None = None) -> None:
        """vf_size: bytes of a namespace that a VF is given; None: an equal part of what there is."""
        self._sim, self._vfs, self._vf_size = sim, vfs, vf_size
        self._memory = HostMemory(1 << 20, base=1 << 32)
        self.up = False

    def begin(self, *, new: bool = False, again: bool = False) -> None:
        """Bring the PF up, give each VF a namespace if it has none, and what it can have of queues and interrupts.

        new: nobody has written to the drive yet: its capacity is shared out, to each VF what it is to have and the rest
        to the PF. Raises UserError where there is nothing left to give; again, behind a client of the PF, a line says
        so, and the other VFs have theirs.
        """
        self._sim.irq_eventfd(0, None)
        self.up = True
        pf = Driver(self._sim, self._memory, admin_timeout_us=PATIENCE_US, ready_timeout_us=PATIENCE_US)
        pf.setup_msix(1)
        pf.enable()
        most = virtualization.capabilities(pf)
        if most.vq.primary or most.vi.primary:  # a client has taken them for the PF
            virtualization.allocate(pf, queues=0, interrupts=0)
            pf.disable()
            pf.enable()
        pf.controller = IdCtrl.from_buffer_copy(pf.identify(Cns.CTRL))
        without = [fn for fn in range(1, self._vfs + 1) if not _has_one(pf, fn)]
        if without and new:
            _share_out(pf, self._vfs, self._vf_size)
        elif without:
            try:
                _give_the_rest(pf, without, self._vf_size)
            except (UserError, NvmeError) as e:
                if not again:
                    raise
                print(f"doorbell serve: a VF stays without a namespace: {e}", file=sys.stderr, flush=True)
        for fn in range(1, self._vfs + 1):
            virtualization.offline(pf, fn)  # what a client of the PF has given them would be in the way
        most = virtualization.capabilities(pf)
        for fn in range(1, self._vfs + 1):
            queues, interrupts = (min(r.secondary_max, (r.total - r.primary) // self._vfs) for r in (most.vq, most.vi))
            virtualization.assign(pf, fn, queues=queues - 1, interrupts=interrupts)
            virtualization.online(pf, fn)

    def end(self) -> None:
        """The PF has been reset, and is another's."""
        if self.up:
            self.up = False
            self._sim.unmap(self._memory.base)
            self._sim.irqs()
            self._sim.irq_eventfd(0, -1)
            self._memory = HostMemory(1 << 20, base=1 << 32)


def _has_one(pf: Driver, fn: int) -> bool:
    return any(fn in namespaces.controllers(pf, nsid) for nsid in namespaces.allocated(pf))


def _attach(pf: Driver, nsid: int, fn: int) -> None:
    namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (fn,)).check()


def _share_out(pf: Driver, vfs: int, vf_size: int | None) -> None:
    """Equal parts, or the VFs' of that size and the rest the PF's, if a block of it is left."""
    for nsid in namespaces.allocated(pf):
        namespaces.delete(pf, nsid)
    free = namespaces.capacity(pf)[1]
    each = vf_size or free // (vfs + 1) // 4096 * 4096
    if vfs * each > free:
        raise UserError(
            f"{vfs} VFs of {each:,} bytes are more than the {free:,} bytes of the drive: use a smaller --vf-size, or a "
            "larger --size"
        )
    sizes = [(free - vfs * each) // 4096 * 4096 if vf_size else each, *[each] * vfs]
    for fn, size in enumerate(sizes):
        if size:
            _attach(pf, namespaces.create(pf, size // 512), fn)


def _give_the_rest(pf: Driver, functions: list[int], vf_size: int | None) -> None:
    """Namespaces that nobody has, then new ones in what no namespace has."""
    nobodys = [nsid for nsid in namespaces.allocated(pf) if not namespaces.controllers(pf, nsid)]
    for nsid in nobodys[: len(functions)]:
        _attach(pf, nsid, functions.pop(0))
    if not functions:
        return
    free = namespaces.capacity(pf)[1]
    if vf_size and len(functions) * vf_size > free:
        raise UserError(
            f"the image has {free:,} bytes that no namespace has, too few for {len(functions)} of {vf_size:,}: use a "
            "smaller --vf-size, a larger --size, or begin with a new image"
        )
    blocks = vf_size // 512 if vf_size else free // len(functions) // 4096 * 8
    if not blocks:
        raise UserError(
            f"the image has no namespace for VF {functions[0]}, and no room for one: begin with a new image, or delete "
            "or detach a namespace as the PF's host"
        )
    for fn in functions:
        _attach(pf, namespaces.create(pf, blocks), fn)


def parameters(vfs: int, params: dict[str, int | str]) -> dict[str, int | str]:
    """Parameters of a top with so many VFs that each of them has queues and a namespace."""
    pairs = max(QUEUE_PAIRS, (vfs + 1) * 8)
    return {"NUM_QP": pairs, "NUM_NS": vfs + 1, **params}


@contextlib.contextmanager
def serving_functions(
    path: str | Path,
    sim: Any,
    link: Link,
    *,
    vf_vectors: int,
    new: bool,
    verbose: bool,
    figures_fd: int,
    vf_size: int | None = None,
) -> Iterator[Loop]:
    """Servers for all functions of a drive, the PF's at `path` and those of the VFs beside it (`socket_of_vf`), and
    their loop; the drive is closed at the end.

    vf_vectors: MSI-X vectors of a VF. new: as of PfHost.begin. vf_size: of PfHost.
    """
    vfs = sim.num_fn - 1
    host = PfHost(sim, vfs, vf_size)
    servers: list[Server] = []

    def attached(client: bool) -> None:
        """Of the PF: its client takes the host's place, and gives it back."""
        devices[0].attached(client)
        if client:
            devices[0].reset()
            host.end()
            servers[0].function_is_new()
        elif not servers[0].stopped:
            host.begin(again=True)

    with contextlib.ExitStack() as stack:
        devices = [FunctionDevice(sim, fn, vf_vectors if fn else QUEUE_PAIRS + 1, figures_fd) for fn in range(vfs + 1)]
        stack.callback(devices[0].close)
        devices[0].on_new = lambda fn: servers[fn].function_is_new() if fn < len(servers) else None
        for fn, device in enumerate(devices):
            device.meanwhile = lambda d: [s.forward() for i, s in enumerate(servers) if i != d.fn]
            shape = {"gen": link.gen, "lanes": link.lanes, "bar4": sim.cmb_size}
            config = VfConfig(vf_vectors, **shape) if fn else PfConfig(QUEUE_PAIRS + 1, vfs, **shape)
            where = socket_of_vf(path, fn) if fn else path
            told = device.attached if fn else attached
            server = serving(where, device, config, verbose=verbose, on_client=told, patience_s=PATIENCE_S)
            servers.append(stack.enter_context(server))
        host.begin(new=new)
        loop = Loop(devices[0], servers)
        stack.callback(loop.close)
        yield loop


def socket_of_vf(path: str | Path, fn: int) -> str:
    """Where the server of a VF is, if the PF's is at `path`."""
    return f"{path}-vf{fn}"
