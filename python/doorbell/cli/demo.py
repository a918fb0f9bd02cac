# SPDX-License-Identifier: Apache-2.0
"""`./doorbell demo`: the main job in about a minute. Brings the simulated SSD up, writes and reads back data that is
compared byte by byte, then shows bandwidth, IOPS and latency beside what the PCIe link allows."""

from __future__ import annotations

import json as json_module
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from doorbell.bench.jobs import Job, describe
from doorbell.bench.results import fio_json, table
from doorbell.bench.runner import run_group
from doorbell.bench.stages import Recorder
from doorbell.bench.views import HELP as WINDOW_HELP
from doorbell.bench.views import Views, Window
from doorbell.build import has_ssds
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.device import limits
from doorbell.device.opening import check_clean, open_sim, sim_link
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.vendor import NearComparison
from doorbell.ui import print_table, progress_bar

IO_BYTES = 128 << 10
QUEUES = 4
DEPTH = 32  # commands in flight, each queue


def jobs(card: bool = False) -> list[Job]:
    """What the demo measures. Names say what is asked: bandwidth and IOPS at depth, latency alone."""
    many = {"iodepth": DEPTH, "numjobs": QUEUES}
    if card:  # SSDs that take their time, and three times as much to simulate
        return [
            Job("4 KiB read", "randread", 4096, number_ios=150, **many),
            Job("4 KiB write", "randwrite", 4096, number_ios=150, **many),
            Job("4 KiB read, one", "randread", 4096, number_ios=20),
            Job("4 KiB write, one", "randwrite", 4096, number_ios=20),
        ]
    return [
        Job("4 KiB read", "randread", 4096, number_ios=1000, **many),
        Job("4 KiB write", "randwrite", 4096, number_ios=1000, **many),
        Job("128 KiB read", "randread", IO_BYTES, iodepth=8, numjobs=QUEUES, number_ios=48),
        Job("128 KiB write", "randwrite", IO_BYTES, iodepth=8, numjobs=QUEUES, number_ios=48),
        Job("4 KiB read, one", "randread", 4096, number_ios=200),
        Job("4 KiB write, one", "randwrite", 4096, number_ios=200),
    ]


def verify(drive: Driver, total: int, progress: Any = None, seed: int = 1) -> dict[str, Any]:
    """Write `total` bytes of random data from all queues, read them back elsewhere in memory, compare all of it."""
    block = drive.block_size
    count = total // IO_BYTES
    source = np.random.default_rng(seed).integers(0, 256, total, dtype=np.uint8).tobytes()
    view = memoryview(source)
    # Some buffers start in the middle of a page, some are scattered over memory: lists of every shape.
    buffers = [
        drive.buffer(IO_BYTES, offset=(0, 512, 2048, 4)[i % 4], scattered=i % 3 == 0) for i in range(QUEUES * DEPTH)
    ]
    order = np.random.default_rng(seed + 1).permutation(count)
    result: dict[str, Any] = {"bytes": total, "compared": 0}
    for opcode, name in ((NvmOpc.WRITE, "write"), (NvmOpc.READ, "read")):
        free = list(range(len(buffers)))
        todo = iter(order)
        left = count
        start = drive.sim.ns
        pending = True
        while left:
            while free and pending:
                item = next(todo, None)
                if item is None:
                    pending = False
                    break
                slot = free.pop()
                buffer = buffers[slot]
                if opcode == NvmOpc.WRITE:
                    buffer.write(view[item * IO_BYTES : (item + 1) * IO_BYTES])
                else:
                    buffer.fill(0xA5)
                drive.submit(
                    1 + slot % QUEUES,
                    opcode,
                    int(item) * (IO_BYTES // block),
                    IO_BYTES // block - 1,
                    buffer,
                    user=(slot, int(item)),
                )
            done = drive.step()
            if not done:
                done = drive.wait([c for q in drive.sqs.values() for c in q.pending.values()][:1])
            for command in done:
                command.check()
                slot, item = command.user
                if opcode == NvmOpc.READ:
                    if buffers[slot].read() != view[item * IO_BYTES : (item + 1) * IO_BYTES]:
                        where = f"in the 128 KiB at {item * IO_BYTES}"
                        raise UserError(f"data read back differs from what was written, {where}", status=1)
                    result["compared"] += IO_BYTES
                free.append(slot)
                left -= 1
            if progress:
                progress((count - left) / count / 2 + (0.5 if name == "read" else 0))
        result[f"{name}_mb_s"] = total / (drive.sim.ns - start) * 1e3
    drive.flush()
    for buffer in buffers:
        buffer.free()
    return result


def encrypt(drive: Driver) -> str:
    """Encrypt the namespace with a key in a slot; show that the media holds something else than the host reads."""
    compute.switch_on(drive, "aes-xts")
    text = b"what the host writes and reads, 32 bytes"[:32] * 16
    drive.write(0, text)
    on_media = drive.sim.media_read(0, len(text))
    if drive.read(0, 1) != text or any(on_media[i : i + 16] in text for i in range(0, 512, 16)):
        raise UserError("the data on the media is not encrypted, or does not come back", status=1)
    return f"AES-256-XTS is on: the host reads {text[:8]!r}, the media holds {on_media[:8].hex()}"


def on_ssds(drive: Driver) -> str:
    """Write to the first and the last block of a card; show that each is on an SSD of its own."""
    sim, blocks = drive.sim, drive.namespace.nsze if drive.namespace else 0
    text = b"what the host writes to a card".ljust(drive.block_size, b".")
    number = len(sim.ssds.drives)
    for at, ssd, place in ((0, 0, 0), (blocks - 1, number - 1, blocks * drive.block_size // number - drive.block_size)):
        drive.write(at, text)
        drive.flush()
        if sim.ssds.media_read(place, len(text), port=ssd) != text or drive.read(at, 1) != text:
            raise UserError(f"block {at} is not on SSD {ssd}", status=1)
    return f"{number} NVMe SSDs, which the card drives: block 0 is on SSD 0, block {blocks - 1:,} on SSD {number - 1}"


TEXT_BYTES = 1 << 20


def search(drive: Driver) -> str:
    """Let the drive look for a string in a text that is on it, and add up a column of chosen records, beside Python."""
    rng = np.random.default_rng(3)
    lines = (
        b"%d %s %d\n" % (i, (b"fine", b"ERROR")[int(rng.random() < 0.01)], rng.integers(1e9)) for i in range(60_000)
    )
    text = b"".join(lines)[:TEXT_BYTES]
    blocks = TEXT_BYTES // drive.block_size
    for at in range(0, TEXT_BYTES, IO_BYTES):
        drive.write(at // drive.block_size, text[at : at + IO_BYTES])
    large = near.Predicate(near.ColumnType.U16, 2, NearComparison.NOT_LESS, 0x4000)
    column = near.Aggregate(near.ColumnType.U32, 16, 4)
    programs: list[near.Program] = [near.Grep((b"error",), fold_case=True), near.Filter(16, (large,), behind=column)]
    begin, came = drive.sim.ns, drive.sim.counters()["up.MWr.payload"]
    answers = []
    for number, program in enumerate(programs):
        near.load(drive, number, program.program())
        command, answer = near.run(drive, number, 0, blocks, room=64)
        command.check()
        if answer[: command.dw0] != program.result(text):
            raise UserError(f"{type(program).__name__} by the drive differs from what Python finds", status=1)
        answers.append(answer)
    took, came = drive.sim.ns - begin, drive.sim.counters()["up.MWr.payload"] - came
    found, chosen, total = (
        int.from_bytes(answers[n][a:b], "little") for n, a, b in ((0, 0, 8), (1, 0, 8), (1, 16, 32))
    )
    return (
        f"near-storage commands: {found} of {text.count(10):,} lines have 'error', the sum over {chosen:,} of "
        f"{TEXT_BYTES // 16:,} records is {total:,}, as in Python; {2 * TEXT_BYTES >> 20} MiB looked at in "
        f"{took / 1000:,.0f} us, {came:,} bytes to the host"
    )


def traffic(drive: Driver) -> str:
    """What has crossed the links of a card's SSDs."""
    counters, parts = drive.sim.counters(), []
    for ssd in range(len(drive.sim.ssds.drives)):
        to, back = (counters[f"ssd{ssd}.{name}.payload"] >> 20 for name in ("down.CplD", "up.MWr"))
        parts.append(f"SSD {ssd} {to} MiB to it, {back} MiB back in {counters[f'ssd{ssd}.drive.sqes']:,} commands")
    return "peer to peer, beside the host: " + "; ".join(parts)


def identity(drive: Driver) -> dict[str, Any]:
    """What the drive says of itself."""
    c, n, cap = drive.controller, drive.namespace, drive.cap
    assert c is not None and n is not None and cap is not None
    version = drive.read32(0x08)
    return {
        "model": c.mn.decode("ascii", "replace").strip(),
        "serial": c.sn.decode("ascii", "replace").strip(),
        "firmware": c.fr.decode("ascii", "replace").strip(),
        "version": f"{version >> 16}.{version >> 8 & 0xFF}",
        "blocks": n.nsze,
        "block_size": drive.block_size,
        "max_transfer": drive.max_transfer,
        "queue_entries": cap.mqes + 1,
    }


def main(
    json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    link: str = typer.Option("gen3x8", help="PCIe link: gen<1..5>x<lanes>."),
    top: str = typer.Option(
        "db_ssd", help="Which top: db_ssd; db_csd, whose data is encrypted; db_vcsd, on SSDs of its own."
    ),
    data_w: int = typer.Option(256, "--data-w", help="Width of the data path: 128, 256 or 512."),
    mib: int = typer.Option(None, "--mib", min=1, max=512, help="MiB to write, read back and compare [64; db_vcsd 8]."),
    backend: str = typer.Option("rtl", help="rtl, or functional: a Python model with rough timing."),
    perfetto: Path | None = typer.Option(None, help="Draw what it measures, for ui.perfetto.dev, into this file."),
    wave: Path | None = typer.Option(None, help="Write a waveform to this file: .fst or .vcd."),
    window: str | None = typer.Option(None, help=WINDOW_HELP),
) -> None:
    """Bring up the SSD in simulation, write and verify data, show how fast it is beside the link's limit."""
    started = time.monotonic()
    out = sys.stderr if json else sys.stdout

    def say(text: str) -> None:
        print(text, file=out, flush=True)

    try:
        wire = limits.Link.parse(link)
    except ValueError as e:
        raise UserError(str(e)) from e
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w: {data_w} is not one of 128, 256, 512")
    card = has_ssds(top)
    mib = mib or (8 if card else 64)
    total = mib << 20
    if top not in ("db_ssd", "db_csd", "db_vcsd") or (top != "db_ssd" and backend != "rtl"):
        raise UserError(f"--top {top}: use db_ssd, or db_csd or db_vcsd with --backend rtl")
    views = Views(perfetto, wave, Window.parse(window) if window is not None else None)
    if views.wanted and backend != "rtl":
        raise UserError("--perfetto and --wave need --backend rtl")
    if views.needs_another_run:
        raise UserError("--wave of a command is for ./doorbell bench; here --window is a time: 50us, 1ms:50us")
    views.check_files()
    computes = {} if top == "db_ssd" else {"NEAR": 1}
    params = computes | ({"SHA_CORES": 0, "STRIPE": 1} if card else {})
    sim = open_sim(
        backend,
        top=top,
        link=link,
        data_w=data_w,
        mps=wire.mps,
        mrrs=wire.mrrs,
        media_size=1 << 30,
        params=params,
        trace=views.kind,
    )
    wire = sim_link(sim, wire)
    built = time.monotonic()
    drive = Driver(sim, HostMemory(192 << 20))
    drive.start(queues=QUEUES, entries=4 * DEPTH)
    who = identity(drive)
    say(
        f"{who['model']}, serial {who['serial']}, firmware {who['firmware']}, NVMe {who['version']}, {wire}, "
        f"{data_w} bit"
    )
    say(
        f"namespace 1: {who['blocks'] * who['block_size'] >> 20} MiB in blocks of {who['block_size']} bytes, up to "
        f"{who['max_transfer'] >> 10} KiB a command, queues of up to {who['queue_entries']} entries; "
        f"ready after {sim.ns / 1e6:.2f} ms of simulated time"
    )
    if top == "db_csd":
        say(encrypt(drive))
    if card:
        say(on_ssds(drive))
    if computes:
        say(search(drive))
    with progress_bar(f"writing and reading back {mib} MiB") as update:
        checked = verify(drive, total, update)
    say(
        f"{checked['compared'] >> 20} MiB written and read back with {QUEUES} queues x {DEPTH} commands of 128 KiB: "
        f"every byte compared, equal ({checked['write_mb_s']:,.0f} MB/s write, {checked['read_mb_s']:,.0f} MB/s read)"
    )
    if card:
        say(traffic(drive))
    results = []
    recorders: list[Recorder] = []
    begin_ns = views.begin(sim)
    for job in jobs(card):
        if views.perfetto:
            recorders.append(Recorder(everything=True))
        with progress_bar(describe(job)) as update:
            recorder = recorders[-1] if recorders else None
            results.append(run_group(drive, [job], progress=update, recorder=recorder))
    views.end(begin_ns, sim.ns, recorders)
    drive.stop()
    check_clean(sim)
    if json:
        setting = {"top": top, "identify": who, "verify": checked, "link": link, "data_w": data_w, "backend": backend}
        print(json_module.dumps(fio_json(results, wire, setting), indent=2))
    else:
        print_table(table(results, wire, f"Random I/O, {wire}, {data_w} bit at 250 MHz (simulated time)"))
    wall = time.monotonic() - built
    say(
        f"{sim.ns / 1e6:.1f} ms simulated in {wall:.0f} s; everything took {time.monotonic() - started:.0f} s. "
        "More: ./doorbell bench --help, ./doorbell vm"
    )
    if views.wave:
        sim.close()  # the file is complete
