# SPDX-License-Identifier: Apache-2.0
"""`./doorbell record` and `./doorbell replay`: a real stream through the simulated recorder to N drives, and back."""

from __future__ import annotations

import contextlib
import dataclasses
import json as json_module
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import typer

from doorbell import build
from doorbell.device import limits
from doorbell.device.host_sim import ExternalDrive, ModelDrive, PortOptions, SsdDrive, ssd_drive
from doorbell.device.recorder_sim import BLOCK, RecorderSim, Run
from doorbell.errors import UserError
from doorbell.ui import progress_bar
from doorbell.units import parse_size

KINDS = ("model", "db_ssd", "qemu")
MAX_DRIVES = 8
PARAMS = {"MS_CYCLES": 5000, "RESET_US": 20, "RD_RING_BYTES": 524288}
"""A millisecond of the hosts' time limits is 20 us, and a reset pulse short: both are only waited for. The read rings
hold what drives of 80 us need at full rate; the top's default is a small one, for area."""
LINK = "gen3x4"
STREAM_W = {1: 256, 2: 256, 3: 512, 4: 512, 5: 1024, 6: 1024, 7: 1024, 8: 1024}
"""Width of the capture stream: more than so many links take."""
SLICE = 4 << 20
"""Bytes of the stream that are handed over at once, and about as many are read back at once."""
STATE_S = 0.5
"""How often what has been acknowledged is written down."""
UP_CYCLES = 20_000_000
QUIET_S = 300.0  # nothing has moved for so long
QEMU_STEP = 1000  # cycles at most between two looks at QEMU's drives
STEP = 20_000
MIN_IMAGE = 1 << 20
STREAM_SIZE = 1 << 30
"""Of an image, when the stream's length is not known."""


@dataclass
class Recording:
    """What must be known to play it back; kept beside the first image."""

    bytes: int
    ssd: str
    images: list[str]
    start: int = 0  # first block of each drive
    blocks: int = 0  # of each drive
    complete: bool = False
    lost: list[Run] = field(default_factory=list)

    @staticmethod
    def path(image: Path) -> Path:
        return image.with_name(image.name + ".json")

    def save(self) -> None:
        """A reader, and a killed writer, see the old or the new."""
        path = self.path(Path(self.images[0]))
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(json_module.dumps(dataclasses.asdict(self), indent=1) + "\n")
        temporary.replace(path)

    @classmethod
    def load(cls, image: Path) -> Recording:
        path = cls.path(image)
        try:
            found = cls(**json_module.loads(path.read_text()))
            found.lost = [Run(*run) for run in found.lost]
        except FileNotFoundError:
            raise UserError(f"there is no recording: {path} is missing") from None
        except (OSError, TypeError, ValueError) as e:
            raise UserError(f"{path} does not describe a recording ({e})") from e
        return found


def simulator_params(drives: int, buffer: int = 0) -> dict[str, int | str]:
    """buffer: bytes of memory before the stream, a power of two."""
    memory = {"BUFFER_LOG2": buffer.bit_length() - 1} if buffer else {}
    return {**PARAMS, "N_DRIVES": drives, "STREAM_W": STREAM_W[drives], **memory}


class Session:
    """A recorder with its drives, up; `advance` lets time pass for all of them."""

    def __init__(self, kind: str, images: list[Path], sizes: list[int], rate: float = 0, buffer: int = 0) -> None:
        """sizes: of the images, which are made (sparse) where they are not there. buffer: memory before the stream."""
        self._stack = contextlib.ExitStack()
        self._pump: Callable[[], None] | None = None
        self.sim: RecorderSim
        self.kind, self.count = kind, len(images)
        try:
            self._open(kind, images, sizes, rate, buffer)
            self._bring_up()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, kind: str, images: list[Path], sizes: list[int], rate: float, buffer: int) -> None:
        for image, size in zip(images, sizes):
            make_image(image, size)
        library = build.simulator("db_recorder", simulator_params(self.count, buffer))
        drives: list[PortOptions]
        options: dict[str, Any] = {"write_gbps": rate}
        if kind == "qemu":
            from doorbell.qemu.drives import DRIVE_BARS, WINDOW_BYTES, QemuDrives
            from doorbell.qemu.mirror import NvmeMirror

            bus = self._stack.enter_context(QemuDrives(images))
            drives = [ExternalDrive(link=LINK) for _ in images]
            options |= {"window": bus.window(0)[0], "window_step": WINDOW_BYTES, "bar": DRIVE_BARS, "bar_step": 1 << 20}
            self.sim = self._stack.enter_context(RecorderSim(library, drives, **options))
            mirrors = [NvmeMirror(self.sim, bus, i) for i in range(self.count)]

            def pump() -> None:
                for mirror in mirrors:
                    mirror.step()
                bus.pump()

            self._pump = pump
            return
        if kind == "db_ssd":
            ssd = build.simulator("db_ssd")
            drives = [ssd_drive(ssd, link=LINK, image=i, media_size=s) for i, s in zip(images, sizes)]
        else:
            drives = [ModelDrive(link=LINK, image=i, size=s, ready_us=1) for i, s in zip(images, sizes)]
        self.sim = self._stack.enter_context(RecorderSim(library, drives, **options))

    def advance(self) -> None:
        """A little time, for all."""
        if self._pump:
            self.sim.run(QEMU_STEP, "message")
            self._pump()
        else:
            self.sim.run(STEP)

    def wait(self, condition: Callable[[], object], what: str, every: int = 1) -> None:
        """Until the condition holds; looked at after so many steps."""
        end = self.sim.cycle + UP_CYCLES
        while not condition():
            if self.sim.cycle > end:
                raise UserError(f"{what} takes too long", 1)
            for _ in range(every):
                self.advance()

    def check(self) -> None:
        """Nobody has broken a rule: PCIe, doorbells, packets to the host."""
        if broken := self.sim.errors():
            raise UserError(f"rules were broken: {broken}", 1)

    def _bring_up(self) -> None:
        self.wait(lambda: self.sim.up or self.sim.dead, "bring-up of the drives")
        if self.sim.dead:
            dead = self.sim.signal("dead")
            raise UserError(f"drive {(dead & -dead).bit_length() - 1} cannot be brought up", 1)


def make_image(image: Path, size: int) -> None:
    """Make a sparse file of this size, or extend it to it."""
    try:
        with open(image, "ab") as file:
            if file.tell() < size:
                file.truncate(size)
    except OSError as e:
        raise UserError(f"cannot make {image}: {e.strerror}") from e


def parse_images(named: list[Path] | None, drives: int) -> list[Path]:
    """The images that were named, or the default ones."""
    if not named:
        return [Path(f"recording-{i}.img") for i in range(drives)]
    if len(named) != drives:
        raise UserError(f"{drives} drives need {drives} images, not {len(named)}")
    if len({i.resolve() for i in named}) != drives:
        raise UserError("each drive needs an image of its own")
    return named


@contextlib.contextmanager
def opened(name: str, mode: str) -> Iterator[BinaryIO]:
    """A file, or stdin or stdout for '-'."""
    if name == "-":
        yield sys.stdin.buffer if mode == "rb" else sys.stdout.buffer
        return
    try:
        file: Any = open(name, mode)  # noqa: SIM115
    except OSError as e:
        raise UserError(f"cannot open {name}: {e.strerror}") from e
    with file:
        yield file


def keep_apart(name: str, images: list[Path]) -> None:
    """The other end must not be an image, or what stands beside the first."""
    if name != "-" and Path(name).resolve() in {p.resolve() for p in (*images, Recording.path(images[0]))}:
        raise UserError(f"{name} belongs to the recording itself: name another file")


def units(amount: int, unit: int) -> int:
    """How many are needed to hold so much."""
    return -(-amount // unit)


def buffer_size(text: str | None) -> int:
    """Bytes of the buffer in memory, 0 for none."""
    try:
        size = parse_size(text) if text else 0
    except ValueError as e:
        raise UserError(f"--buffer: {e}") from e
    if size and (size & size - 1 or not 1 << 13 <= size <= 1 << 40):
        raise UserError(f"--buffer {text}: a power of two, 8k to 1t")
    return size


def plan_sizes(images: list[Path], length: int | None, size: str | None) -> list[int]:
    """How large each image is, or is to be made."""
    try:
        wanted = parse_size(size) if size else None
    except ValueError as e:
        raise UserError(f"--size: {e}") from e
    need = units(units(length or 1, BLOCK), len(images)) * BLOCK
    made = units(max(need, 1), MIN_IMAGE) * MIN_IMAGE if length is not None else STREAM_SIZE
    out = []
    for image in images:
        have = image.stat().st_size if image.is_file() else 0
        if image.exists() and not image.is_file():
            raise UserError(f"{image} is not a file")
        found = max(have, wanted or 0) if have or wanted else made
        if found < max(need, MIN_IMAGE):
            raise UserError(f"{image} is too small: {found} bytes, and {max(need, MIN_IMAGE)} are needed")
        out.append(found & ~(BLOCK - 1))
    return out


# ---------------------------------------------------------------- record


class _Feed:
    """The input in slices of whole blocks, the last filled up with zeros to a whole row of blocks."""

    def __init__(self, file: BinaryIO, drives: int) -> None:
        self._file, self._row = file, drives * BLOCK
        self._slice = max(1, SLICE // self._row) * self._row
        self.bytes = 0
        self.over = False

    def next(self) -> bytearray | None:
        data = bytearray(self._slice)
        got, view = 0, memoryview(data)
        while got < len(data) and (n := self._file.readinto(view[got:])):  # type: ignore[attr-defined]
            got += n
        view.release()
        self.over = got < len(data)
        self.bytes += got
        if self.over:
            del data[-(-got // self._row) * self._row :]
        return data or None


def traffic(sim: RecorderSim) -> tuple[int, int]:
    """Reads that the drives have sent so far, and doorbells that they have got."""
    reads = 0
    for port, drive in enumerate(sim.drives):
        own = drive.sim if isinstance(drive, SsdDrive) else None
        reads += (own.counters() if own else sim.counters(port))["up.MRd.tlps"]
    return reads, sim.counters()["user.stat_doorbells"]


def write_limit(before: tuple[int, int], after: tuple[int, int], blocks: int,
                link: limits.Link | None = None) -> limits.Limit:  # fmt: skip
    """What the link of one drive allows a capture, with as many entries a fetch and doorbells a write as there were."""
    link = link or limits.Link.parse(LINK)
    fetches = after[0] - before[0] - blocks * (BLOCK // link.mrrs)
    doorbells = (after[1] - before[1]) / 2 / blocks
    work = limits.HostWorkload(BLOCK, read=0, sqes_per_fetch=max(1.0, blocks / max(1, fetches)), sq_doorbells=doorbells,
                               cq_doorbells=doorbells)  # fmt: skip
    return limits.host_limit(link, work)


def capture(session: Session, file: BinaryIO, length: int | None, recording: Recording, update: Any) -> dict[str, Any]:
    """Record all of the input; says how it went."""
    sim, n = session.sim, session.count
    room = min(sim.get("TotalBlocks", i) for i in range(n))
    fits = room * n * BLOCK
    full = False
    feed = _Feed(file, n)
    waiting = feed.next()
    given = 0

    def acknowledged() -> None:
        """How much of the stream is on the drives without a gap."""
        done = [sim.get("NumBlocks", i) for i in range(n)]
        rows = min(done)
        first = next((i for i in range(n) if done[i] == rows), 0)
        recording.blocks = max(done)
        recording.bytes = min((rows * n + first) * BLOCK, feed.bytes)
        recording.save()

    recording.save()
    sim.start_capture(recording.start, room)
    noted = moved = time.monotonic()
    begin, before = sim.cycle, traffic(sim)
    while True:
        while waiting and sim.signal("wdata_left") < 2 * SLICE:
            full = given + len(waiting) > fits
            if full:
                del waiting[fits - given :]
            given += len(waiting)
            if waiting:
                sim.capture(waiting)
            waiting = None if feed.over or full else feed.next()
        session.advance()
        now = time.monotonic()
        if now - noted >= STATE_S:
            noted = now
            then = recording.bytes
            acknowledged()
            moved = now if recording.bytes != then else moved
            if now - moved > QUIET_S:
                raise UserError("the drives take no more data", 1)
            update(min(1.0, recording.bytes / length) if length else 0)
        if not waiting and not sim.signal("wdata_left"):
            break
    sim.set("Control", 0)  # the chunk ends here
    session.wait(lambda: sim.captured, "the end of the recording")
    cycles = sim.cycle - begin
    acknowledged()
    recording.complete = not full
    recording.lost = [run for i in range(n) for run in sim.runs(i)]
    recording.save()
    if full:
        raise UserError(f"the images are too small: they are full after {fits} bytes, which are kept", 1)
    us = sim.get("TimeUs")
    limit = n * write_limit(before, traffic(sim), max(1, given // BLOCK)).bytes_per_s / 1e9
    speed = given / us / 1000 if us else 0.0
    return {
        "bytes": feed.bytes, "drives": n, "ssd": session.kind, "cycles": cycles, "simulated_us": us,
        "simulated_gb_per_s": round(speed, 3), "limit_gb_per_s": round(limit, 3),
        "percent_of_limit": round(100 * speed / limit, 1),
        "peak_write_latency_us": max(sim.get("PeakLatencyUs", i) for i in range(n)),
        "blocks_lost": sum(sim.get("Lost", i) for i in range(n)) + sim.get("BlocksLost"),
    }  # fmt: skip


def main(
    input: str = typer.Argument(..., metavar="INPUT", help="What to record; - is stdin."),  # noqa: A002
    drives: int = typer.Option(2, help="How many drives: 1 to 8."),
    ssd: str = typer.Option("model", help="model (of a drive), db_ssd (ours), or qemu (QEMU's stock NVMe drives)."),
    images: list[Path] | None = typer.Option(  # noqa: B008
        None, metavar="FILE ...", help="A file for each drive, made if missing (recording-0.img ...)."
    ),
    rate: float = typer.Option(0, help="What the source brings, GB/s of simulated time; 0: all that is taken."),
    size: str | None = typer.Option(None, help="Of images that are made (as needed; 1G each for stdin)."),
    buffer: str | None = typer.Option(None, help="Memory before the stream, a power of two (64M); none without."),
    json: bool = typer.Option(False, "--json", help="Print the figures as JSON."),
) -> None:
    """Record a file to striped drives through the simulated db_recorder; './doorbell replay' brings it back."""
    if not 1 <= drives <= MAX_DRIVES:
        raise UserError(f"--drives {drives}: 1 to {MAX_DRIVES}")
    if ssd not in KINDS:
        raise UserError(f"--ssd {ssd}: must be {', '.join(KINDS)}")
    if rate < 0:
        raise UserError(f"--rate {rate}: GB/s, 0 or more")
    memory = buffer_size(buffer)
    paths = parse_images(images, drives)
    keep_apart(input, paths)
    with opened(input, "rb") as file, stoppable():
        length = os.fstat(file.fileno()).st_size if os.path.isfile(input) else None
        sizes = plan_sizes(paths, length, size)
        recording = Recording(0, ssd, [str(p.resolve()) for p in paths])
        start = time.monotonic()
        with Session(ssd, paths, sizes, rate, memory) as session, progress_bar(f"recording {input}") as update:
            result = capture(session, file, length, recording, update)
            session.check()
    result |= {"seconds": round(time.monotonic() - start, 2), "images": recording.images}
    show(result, json, [
        f"{result['bytes']:,} bytes on {drives} drives ({ssd}) in {result['seconds']:.1f} s",
        f"simulated {result['simulated_gb_per_s']} GB/s, {result['percent_of_limit']} % of the links' "
        f"{result['limit_gb_per_s']} GB/s; longest write {result['peak_write_latency_us']} us",
        f"blocks lost: {result['blocks_lost']}",
    ])  # fmt: skip


def show(result: dict[str, Any], as_json: bool, lines: list[str], to: Any = None) -> None:
    print(json_module.dumps(result, indent=1) if as_json else "\n".join(lines), file=to or sys.stdout)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does: drives are closed."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# ---------------------------------------------------------------- replay


def play(session: Session, recording: Recording, file: BinaryIO, update: Any) -> dict[str, Any]:
    """Bring a recording back; says how it went."""
    sim, n = session.sim, session.count
    per_turn = max(1, SLICE // (n * BLOCK))
    left, at, cycles = recording.bytes, recording.start, 0
    buffer = bytearray(per_turn * n * BLOCK)
    view = memoryview(buffer)
    while left:
        blocks = min(per_turn, -(-left // (n * BLOCK)))
        begin = sim.cycle
        sim.start_read(at, blocks, buffer)
        expected = blocks * n * BLOCK
        session.wait(lambda expected=expected: sim.signal("rdata_bytes") >= expected and sim.read_done, "read-out")
        bad = sum(sim.get("BadReads", i) for i in range(n))
        if bad or any(sim.get("ReadError", i) for i in range(n)):
            raise UserError(f"a drive could not read {bad} blocks from its block {at} on", 1)
        cycles += sim.cycle - begin
        sim.set("ReadControl", 0)
        size = min(left, expected)
        file.write(view[:size])
        left -= size
        at += blocks
        update(1 - left / recording.bytes)
    file.flush()
    us = cycles / sim.clock_mhz
    return {"bytes": recording.bytes, "drives": n, "ssd": session.kind, "simulated_us": round(us, 1),
            "simulated_gb_per_s": round(recording.bytes / us / 1000, 3) if us else 0.0,
            "complete": recording.complete, "blocks_lost": sum(r.count for r in recording.lost)}  # fmt: skip


def replay(
    output: str = typer.Argument(..., metavar="OUTPUT", help="Where it goes; - is stdout."),
    images: list[Path] | None = typer.Option(  # noqa: B008
        None, metavar="FILE ...", help="The images, or the first (recording-0.img)."
    ),
    ssd: str | None = typer.Option(None, help="model, db_ssd or qemu (as recorded)."),
    json: bool = typer.Option(False, "--json", help="Print the figures as JSON (on stderr when OUTPUT is -)."),
) -> None:
    """Bring back what './doorbell record' has recorded, read from the drives through the simulated db_recorder."""
    named = images or []
    recording = Recording.load(named[0] if named else Path("recording-0.img"))
    if len(named) > 1 and len(named) != len(recording.images):
        raise UserError(f"this was recorded on {len(recording.images)} drives, not {len(named)}")
    paths = named if len(named) > 1 else [Path(i) for i in recording.images]
    if ssd is not None and ssd not in KINDS:
        raise UserError(f"--ssd {ssd}: must be {', '.join(KINDS)}")
    keep_apart(output, paths)
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path} is missing: it belongs to the recording")
    with opened(output, "wb") as file, stoppable():
        start = time.monotonic()
        sizes = [p.stat().st_size for p in paths]
        with Session(ssd or recording.ssd, paths, sizes) as session, progress_bar(f"replaying to {output}") as update:
            result = play(session, recording, file, update)
            session.check()
    result["seconds"] = round(time.monotonic() - start, 2)
    notes = [
        f"{result['bytes']:,} bytes from {result['drives']} drives ({result['ssd']}) in {result['seconds']:.1f} s, "
        f"simulated {result['simulated_gb_per_s']} GB/s"
    ]
    if not recording.complete:
        notes.append("the recording was cut short: this is what was acknowledged by then")
    if recording.lost:
        notes.append(f"{result['blocks_lost']} blocks are not the stream's: {', '.join(map(str, recording.lost[:4]))}")
    show(result, json, notes, sys.stderr if output == "-" else None)
