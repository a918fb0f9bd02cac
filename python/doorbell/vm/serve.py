# SPDX-License-Identifier: Apache-2.0
"""`doorbell serve`: a simulated top as a vfio-user PCIe device, until it is told to stop."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from doorbell.build import firmware, has_ssds
from doorbell.build.rtl import default_of
from doorbell.device import limits, media_options
from doorbell.device.live import watchable
from doorbell.device.nand import parse_media, write_amplification
from doorbell.device.opening import open_sim
from doorbell.device.pci_config import PciConfig
from doorbell.device.vfio_user import ServedDevice, serving
from doorbell.errors import UserError
from doorbell.units import parse_size
from doorbell.vm import functions
from doorbell.vm.devices import QUEUE_PAIRS, FunctionalDevice, SimDevice
from doorbell.vm.ssds import SsdOptions, card_with_ssds

DATA_W, LINK = 512, "gen4x8"  # the fewest cycles to simulate for what a client moves
DEFAULT_SIZE = 1 << 30
SMALLEST = 1 << 20


@contextlib.contextmanager
def serving_device(path: str | Path, *, top: str = "db_ssd", image: Path | None = None, size: str | None = None,
                   link: str = LINK, data_w: int = DATA_W, backend: str = "rtl",
                   params: dict[str, int | str] | None = None, verbose: bool = False,
                   figures_fd: int = -1, flush_ns: int = 0, zero_gbps: float = 0,
                   vfs: int = 0, vf_size: str | None = None, media: str | None = None, serial: int = 1,
                   ssds: SsdOptions | None = None, command: str = "serve") -> Iterator[Any]:  # fmt: skip
    """A server for a device that is made here, and closed (its image written back) at the end.

    vfs: it has so many VFs, each with a server of its own beside; what is given runs them all.
    vf_size: of the namespace that each of them gets, if it has none; None: equal parts. ssds: of a top that has some
    beside it, whose image is its own memory. serial: the drive's number. command: as what it is watched.
    """
    try:
        lanes = limits.Link.parse(link)
        wanted = parse_size(size) if size else None
        of_vf = parse_size(vf_size) if vf_size else None
    except ValueError as e:
        raise UserError(str(e)) from e
    of_ssds = replace(ssds or SsdOptions(), card=image)
    card = has_ssds(top) and backend == "rtl"
    if card:
        of_ssds.check()
    elif ssds and ssds.given and has_ssds(top):
        raise UserError("--ssd, --ssds, --images and --stripe need --backend rtl")
    elif ssds and ssds.given:
        raise UserError(f"{top} has no SSDs beside it: --ssd, --ssds, --images and --stripe are for db_vcsd")
    nand = parse_media(media) if media is not None else None
    if nand and (card or backend != "rtl"):
        raise UserError("--media is for a drive with its own media, and --backend rtl")
    new = image is None or not image.exists() or not image.stat().st_size
    usual = nand.capacity if nand else DEFAULT_SIZE
    media_size = image_size(image, wanted, usual) if image and not card else wanted or usual
    if media_size < SMALLEST or media_size % 4096:
        raise UserError(f"a capacity of {media_size} bytes does not do: at least 1M, a multiple of 4096")
    options: dict[str, Any] = {}
    pace = {"media_flush_latency_ns": flush_ns, "media_zero_gbps": zero_gbps}
    media_options.check(pace)
    options |= pace
    if backend == "rtl":
        options["cpl_timeout_us"] = 4_000_000  # a client answers late in simulated time, but it answers
        # The client lives in real time: simulated time in which the device waits is only work for this machine.
        options |= {"host_latency_ns": 0, "media_latency_ns": 0, "credit_ns": 0}
    if params and backend != "rtl":
        raise UserError("--param needs --backend rtl")
    if of_vf is not None and not vfs:
        raise UserError("--vf-size is the size of a VF's namespace: it needs --vfs (of vm: --guests)")
    if of_vf is not None and (not of_vf or of_vf % 4096):
        raise UserError(f"--vf-size {vf_size}: a namespace has a multiple of 4096 bytes, and some")
    if vfs and backend != "rtl":
        raise UserError("--vfs needs --backend rtl")
    of_top = functions.parameters(vfs, params or {}) if vfs else {"NUM_QP": QUEUE_PAIRS, **(params or {})}
    if serial != 1:
        if backend != "rtl":
            raise UserError("--serial needs --backend rtl: it is part of the firmware")
        slm = bool(of_top.get("SLM", 0))
        of_top["FW_HEX"] = str(firmware(vfs + 1, has_ssds(top), top != "db_ssd", slm, serial))
    options |= {"data_w": data_w, "num_fn": vfs + 1}
    with contextlib.ExitStack() as stack:
        if card:
            of_top = of_ssds.parameters(of_top)
            sim, new = stack.enter_context(card_with_ssds(of_ssds, size, top, link, of_top, **options))
        else:
            options |= {"media_size": media_size} | ({"image": str(image)} if image else {})
            options |= {"nand": nand} if nand else {}
            sim = open_sim(backend, top=top, link=link, params=of_top, **options)
        stack.enter_context(watchable(sim, command, f"{top}, {data_w} bit, {lanes}, at {path}"))
        if vfs:
            vectors = int(of_top.get("VF_VEC", 0)) or default_of(top, "VF_VEC") or 1
            servers = functions.serving_functions(
                path, sim, lanes, vf_vectors=vectors, new=new, verbose=verbose, figures_fd=figures_fd, vf_size=of_vf
            )
        else:
            servers = _serving_one(path, sim, lanes, backend, verbose, figures_fd)
        server = stack.enter_context(servers)
        if nand:
            stack.callback(say_figures, sim)
        yield server


@contextlib.contextmanager
def _serving_one(
    path: str | Path, sim: Any, lanes: limits.Link, backend: str, verbose: bool, figures_fd: int
) -> Iterator[Any]:
    """A server for a drive with one function, which is closed at the end."""
    device: ServedDevice = FunctionalDevice(sim) if backend == "functional" else SimDevice(sim, figures_fd)
    try:
        config = PciConfig(device.vectors, gen=lanes.gen, lanes=lanes.lanes, bar4=getattr(sim, "cmb_size", 0))
        with serving(path, device, config, verbose=verbose) as server:
            yield server
    finally:
        device.close()


def say_figures(sim: Any) -> None:
    """A line about what NAND media have done."""
    f = sim.nand_figures()
    factor = write_amplification(f)
    wrote = "nothing was written" if factor is None else f"write amplification {factor:.2f}"
    print(f"doorbell: NAND media: {wrote}, {f['moved_units']:,} units of 4 KiB moved, {f['erases']:,} blocks erased, "
          f"{f['percent_used']} % of the endurance used", file=sys.stderr, flush=True)  # fmt: skip


def image_size(image: Path, wanted: int | None, usual: int = DEFAULT_SIZE) -> int:
    """The drive's capacity: what is wanted, or the file's. A file that is there is never made shorter.

    Whoever opens it makes it, or makes it longer, once nobody else has it.
    """
    try:
        have = image.stat().st_size if image.exists() else 0
    except OSError as e:
        raise UserError(f"cannot use the image {image}: {e.strerror}") from e
    if have and wanted and wanted < have:
        raise UserError(f"{image} has {have} bytes, more than --size: its end would be lost; leave --size out")
    return wanted or have or usual
