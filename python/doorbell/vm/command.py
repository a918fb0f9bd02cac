# SPDX-License-Identifier: Apache-2.0
"""`./doorbell vm`: Linux in QEMU with a simulated top as its NVMe drive; `./doorbell serve`: that drive for others."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import typer

from doorbell.device.opening import parse_params
from doorbell.errors import UserError
from doorbell.qemu.root import Kernel
from doorbell.vm import speed as guest_speed
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import Guest, Kvm, Vm
from doorbell.vm.guests import Guests
from doorbell.vm.serve import DATA_W, LINK, serving_device
from doorbell.vm.ssds import SsdOptions


def main(
    run: list[str] = typer.Option(  # noqa: B008
        [],
        metavar="SCRIPT",
        help="Run this script as root in the guest instead of a shell; --guests: for all, or each.",
    ),
    guests: int = typer.Option(0, min=0, max=16, metavar="N", help="So many guests, each with a VF of the drive."),
    file: list[Path] = typer.Option(  # noqa: B008
        [], "--file", metavar="FILE", help="Copy this file into the guest, to /root; several times: all of them."
    ),
    beside: list[Path] = typer.Option(  # noqa: B008
        [], "--beside", metavar="SOCKET", help="One more drive: that of a ./doorbell serve at this socket."
    ),
    vf_size: str = typer.Option(
        None, "--vf-size", metavar="SIZE", help="With --guests: of each guest's namespace: 64m [equal parts of --size]."
    ),
    top: str = typer.Option("db_ssd", help="Which hardware is the drive."),
    image: str = typer.Option(
        None, metavar="FILE", help="File that holds the drive's data (db_vcsd: its own) and lasts."
    ),
    ssd: str = typer.Option("model", help="Of db_vcsd: its SSDs are model, db_ssd (ours) or qemu (stock NVMe drives)."),
    ssds: int = typer.Option(None, help="How many SSDs: 1, 2, 4 or 8 [2, or as many as --images names]."),
    images: list[Path] = typer.Option(  # noqa: B008
        [], metavar="FILE ...", help="The SSDs' data, a file each that lasts, made if missing; FILE.card: the card's."
    ),
    stripe: bool = typer.Option(False, "--stripe", help="The SSDs take 128 KiB in turn, instead of one after another."),
    size: str = typer.Option(None, help="Capacity of the drive [default: 1G, or the image's]."),
    data_w: int = typer.Option(DATA_W, "--data-w", help="Width of the data path in bits: 128, 256 or 512."),
    link: str = typer.Option(LINK, help="PCIe link of the drive."),
    smp: int = typer.Option(1, help="CPUs of the guest."),
    mem: str = typer.Option("1G", help="Memory of the guest."),
    kernel: Kernel = typer.Option(Kernel.stable, help="Debian's kernel of stable or, newer, of its backports."),
    kvm: Kvm = typer.Option(Kvm.off, help="auto: use KVM if a guest boots under it; off: emulated CPUs."),
    timeout: float = typer.Option(None, min=0, metavar="SECONDS", help="Give up on the guest after this time."),
    append: str = typer.Option("", metavar="ARGS", help="More arguments for the guest's kernel."),
    log: str = typer.Option(None, metavar="FILE", help="Write the guest kernel's console here."),
    param: list[str] = typer.Option(  # noqa: B008
        [], "--param", metavar="NAME=VALUE", help="A parameter of the top: NUM_NS=2."
    ),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    media: str | None = typer.Option(
        None,
        metavar="nand:PROFILE",
        help="Media that behave like flash, in simulated time: nand:cosmos, nand:tlc, "
        "nand:znand or nand:FILE.yaml [a memory].",
    ),  # fmt: skip
    flush_ns: int = typer.Option(0, "--media-flush-latency-ns", help="Of a flush of the media, in simulated time."),
    zero_gbps: float = typer.Option(
        0, "--media-zero-gbps", help="GB/s at which the media zeroes, in simulated time [0: at once]."
    ),
    stock: str = typer.Option(None, hidden=True),
    speed: bool = typer.Option(False, "--speed", help="Measure IOPS beside those of QEMU's own NVMe drive."),
    rounds: int = typer.Option(3, min=1, help="How often --speed measures each drive."),
    seconds: int = typer.Option(4, min=1, help="How long each of its measurements takes."),
    json: Path = typer.Option(None, metavar="FILE", help="Also write what --speed measured to this file (-: stdout)."),  # noqa: B008
) -> int:
    """Boot Linux with a top as its NVMe drive: a shell, or SCRIPT run in the guest and its exit status returned."""
    if speed:
        if run or image or stock or param or guests or vf_size or file or beside:
            raise UserError(
                "--speed brings its own script and drives: leave --run, --image, --param, --guests, --vf-size, "
                "--file, --beside and --stock out"
            )
        guest = Guest(smp=smp, mem=mem, kvm=kvm, timeout=timeout, append=append, log=log, kernel=kernel)
        what = guest_speed.Setting(top, data_w, link, backend, size or "1G", rounds, seconds)
        guest_speed.main(guest, what, json)
        return 0
    if json:
        raise UserError("--json belongs to --speed")
    device = ["--top", top, "--data-w", str(data_w), "--link", link, "--backend", backend]
    device += ["--image", image] if image else []
    device += ["--size", size] if size else []
    device += ["--vf-size", vf_size] if vf_size else []
    device += ["--ssd", ssd, *(["--ssds", str(ssds)] if ssds else []), *(["--stripe"] if stripe else [])]
    device += [word for file in images for word in ("--images", str(file))]
    device += ["--media", media] if media else []
    device += ["--media-flush-latency-ns", str(flush_ns), "--media-zero-gbps", str(zero_gbps)]
    device += [word for text in param for word in ("--param", text)]
    guest = Guest(run[0] if run else None, smp, mem, kvm, timeout, append, log, stock,
                  kernel=kernel, drives=tuple(beside), files=tuple(file))  # fmt: skip
    if guests and beside:
        raise UserError("--beside is for a single guest")
    if guests:
        return Guests(guest, run, guests, device).run()
    if len(run) > 1:
        raise UserError("--run several times is for --guests")
    if vf_size:
        raise UserError("--vf-size is for --guests: it is the size of a VF's namespace")
    return Vm(guest, device).run()


def serve(
    socket: str = typer.Option(..., help="Path of the UNIX socket to make."),
    top: str = typer.Option("db_ssd", help="Which top."),
    image: Path | None = typer.Option(  # noqa: B008
        None, metavar="FILE", help="File that holds the drive's data (db_vcsd: its own memory's); made if missing."
    ),
    ssd: str = typer.Option("model", help="Of db_vcsd: its SSDs are model, db_ssd (ours) or qemu (stock NVMe drives)."),
    ssds: int = typer.Option(None, help="How many SSDs: 1, 2, 4 or 8 [2, or as many as --images names]."),
    images: list[Path] = typer.Option(  # noqa: B008
        [], metavar="FILE ...", help="The SSDs' data, a file each that lasts, made if missing; FILE.card: the card's."
    ),
    stripe: bool = typer.Option(False, "--stripe", help="The SSDs take 128 KiB in turn, instead of one after another."),
    size: str | None = typer.Option(None, help="Capacity of the drive [default: 1G, or the image's]."),
    link: str = typer.Option(LINK, help="PCIe link: gen<1..5>x<lanes>."),
    data_w: int = typer.Option(DATA_W, "--data-w", help="Width of the data path: 128, 256 or 512."),
    param: list[str] = typer.Option(  # noqa: B008
        [], "--param", metavar="NAME=VALUE", help="A parameter of the top: NUM_NS=2."
    ),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    media: str | None = typer.Option(
        None,
        metavar="nand:PROFILE",
        help="Media that behave like flash, in simulated time: nand:cosmos, nand:tlc, "
        "nand:znand or nand:FILE.yaml [a memory].",
    ),  # fmt: skip
    flush_ns: int = typer.Option(0, "--media-flush-latency-ns", help="Of a flush of the media, in simulated time."),
    zero_gbps: float = typer.Option(
        0, "--media-zero-gbps", help="GB/s at which the media zeroes, in simulated time [0: at once]."
    ),
    vfs: int = typer.Option(0, min=0, max=16, help="Virtual functions, each at a socket of its own: SOCKET-vf1, ..."),
    vf_size: str | None = typer.Option(
        None,
        "--vf-size",
        metavar="SIZE",
        help="With --vfs: of the namespace that a VF gets if it has none: 64m; the rest is the PF's [equal parts].",
    ),
    serial: int = typer.Option(
        1, min=1, max=0xFFFFFFFF, metavar="N", help="The drive's number: those of one machine have different ones."
    ),
    verbose: bool = typer.Option(False, "--verbose", help="Say on stderr what clients do."),
    ready_fd: int = typer.Option(-1, hidden=True, help="Where to write a byte when clients may connect."),
    figures_fd: int = typer.Option(-1, hidden=True, help="File that is kept up to date with FIGURES."),
) -> None:
    """Offer a top as a vfio-user PCIe device to QEMU (10.1 or later) and other clients."""
    server: Any = None

    def stop(number: int, _frame: object) -> None:
        if server is None:
            raise SystemExit(128 + number)  # through every `finally`
        server.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with serving_device(socket, top=top, image=image, size=size, link=link, data_w=data_w, backend=backend,
                        params=parse_params(param), verbose=verbose, figures_fd=figures_fd, flush_ns=flush_ns,
                        zero_gbps=zero_gbps, vfs=vfs, vf_size=vf_size, media=media, serial=serial,
                        ssds=SsdOptions(ssd, tuple(images), ssds, stripe),
                        command="serve" if ready_fd < 0 else "vm") as made:  # fmt: skip
        server = made
        if ready_fd >= 0:
            os.write(ready_fd, b"r")
            os.close(ready_fd)
        else:
            beside = "".join(f", VF {fn} at {socket_of_vf(socket, fn)}" for fn in range(1, vfs + 1))
            print(f"doorbell: {top} is at {socket}{beside}; Ctrl-C ends it", file=sys.stderr, flush=True)
        server.serve()
    written = [str(file) for file in [*images, *([image] if image else [])]]
    if written and ready_fd < 0:
        are = "is" if len(written) == 1 else "are"
        print(f"doorbell: ended; {', '.join(written)} {are} written out", file=sys.stderr, flush=True)
