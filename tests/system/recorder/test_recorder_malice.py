# SPDX-License-Identifier: Apache-2.0
"""Two drives, one of which wants to do harm: the other one runs at the pace that it has beside one that is idle or has
failed, and loses nothing. What the bad one's own host makes of it is in tests/system/host.
"""

from __future__ import annotations

import functools
import random
from typing import Any

import pytest
from doorbell import build
from doorbell.device.drives import ExternalDrive, Latency, ModelDrive, PortOptions
from doorbell.device.recorder_setup import simulator_params
from doorbell.device.recorder_sim import BLOCK, RecorderSim

MB = 1 << 20
WINDOW, FORWARD = 64 * MB, 6 * 8 * MB  # bytes of what a drive sees; where in it writes go on to the host
EACH = 400  # blocks
SLACK = 1.002
CMD_TIMEOUT, ABORT_MS, SHUTDOWN_MS, NUM_RESETS, NUM_BAD = 0x28, 0x1C, 0x2C, 0x68, 0x6C  # of db_host
READ, WRITE = 2, 1
GOOD: dict[str, Any] = {"size": 64 * MB, "ready_us": 1, "unready_us": 1, "write": Latency(5000), "read": Latency(9000)}

# What a drive does at its commands, and with which argument.
MALICE: dict[str, tuple[str, int, int | None]] = {
    "another command's identifier": ("cid", 1, None),
    "an identifier that there is not": ("cid", 0xFFFF, None),
    "entries twice": ("double", 0, None),
    "wrong phase": ("phase", 0, None),
    "entries in another queue": ("copy", 0x10000, None),
    "entries in the admin queue": ("copy", -0x1FF000, None),
    "entries in its data": ("copy", 0x1600000, None),
    "entries outside of the window": ("copy", WINDOW, None),
    "entries in nobody's memory": ("copy", 1 << 63, None),
    "data outside of the window": ("astray", WINDOW, None),
    "data in other regions": ("astray", 16 * MB, None),
    "data as packets to the host": ("astray", FORWARD - 3 * 8 * MB, None),
    "damaged data": ("damage", 0, 3),
    "errors": ("status", 0, None),
    "no answer": ("lost", 0, None),
    "fatal": ("hang", 0, 3),
    "removed": ("vanish", 0, 1),
    "link down": ("drop_link", 0, 1),
}


def opened(bad: PortOptions | None = None, **good: Any) -> RecorderSim:
    """A recorder whose drive 0 is up; drive 1 is `bad`, or one like drive 0."""
    library = build.simulator("db_recorder", simulator_params(2))
    sim = RecorderSim(library, [ModelDrive(**{**GOOD, **good}), bad or ModelDrive(**GOOD)])
    sim.run_until(lambda: sim.signal("up") & 1, 5_000_000)
    return sim


def settle(sim: RecorderSim) -> None:
    """Drive 1 is up or given up, and a command of it that never ends is late after 100 us."""
    sim.run_until(lambda: (sim.signal("up") | sim.signal("dead")) & 2, 5_000_000)
    sim.host_set(1, CMD_TIMEOUT, 25_000)
    sim.host_set(1, ABORT_MS, 2)


def work(sim: RecorderSim, job: str, beside: Any = None) -> int:
    """Drive 0 captures or reads by itself; how many cycles it takes, with everything as it should be."""
    data = bytearray(random.Random(2).randbytes(EACH * BLOCK))
    back = bytearray(len(data))
    if job == "capture":
        sim.start_capture(0, EACH, [0])
        sim.capture(data)
    else:
        sim.media_write(0, bytes(data), 0)
        sim.start_read(0, EACH, back, [0])
    begin = sim.cycle
    register, field = ("Status", "Completed") if job == "capture" else ("ReadStatus", "Complete")
    while not sim.get(register, 0, field=field):
        sim.run(100)
        if beside:
            beside()
        assert sim.cycle - begin < 1_000_000, f"the {job} does not end"
    took = sim.cycle - begin
    if job == "capture":
        assert sim.media_read(0, len(data), 0) == data
        assert sim.get("NumBlocks", 0) == EACH and not sim.get("Lost", 0) and not sim.get("Error", 0)
    else:
        sim.run_until(lambda: sim.signal("rdata_bytes") >= len(data), 100_000)
        assert back == data and sim.get("ReadBlocksDone", 0) == EACH and not sim.get("BadReads", 0)
    assert not sim.host_get(0, NUM_BAD) and not sim.host_get(0, NUM_RESETS) and sim.signal("up") & 1
    return took


@functools.cache
def alone(job: str) -> int:
    """Beside a drive that does nothing; a failed one makes no difference."""
    took = []
    for bad in (ModelDrive(**GOOD), ModelDrive(**{**GOOD, "link_up": False})):
        with opened(bad) as sim:
            sim.run(20_000)
            took.append(work(sim, job))
            assert not sim.errors()
    assert abs(took[0] - took[1]) <= 200, took
    return max(took)


@pytest.mark.parametrize("malice", MALICE)
def test_malice_in_reads(malice: str) -> None:
    """Drive 0 captures while drive 1 is read and does what it likes."""
    kind, by, count = MALICE[malice]
    with opened() as sim:
        settle(sim)
        fault = sim.fault(kind, opcode=READ, by=by, count=count, port=1)
        sim.start_read(0, 8 * EACH, bytearray(8 * EACH * BLOCK), [1])
        assert work(sim, "capture") <= SLACK * alone("capture")
        assert sim.fault_hits(fault, 1), "nothing happened"


@pytest.mark.parametrize("malice", MALICE)
def test_malice_in_writes(malice: str) -> None:
    """Drive 0 is read while drive 1 captures and does what it likes."""
    kind, by, count = MALICE[malice]
    with opened() as sim:
        settle(sim)
        fault = sim.fault(kind, opcode=WRITE, by=by, count=count, port=1)
        sim.start_capture(0, 8 * EACH, [1])
        sim.capture(bytearray(EACH * BLOCK), 8)
        assert work(sim, "read") <= SLACK * alone("read")
        assert sim.fault_hits(fault, 1), "nothing happened"


ABSURD: dict[str, dict[str, Any]] = {
    "doorbells 128 KiB apart": {"dstrd": 15},
    "queues of 2": {"mqes": 2},
    "queues of 64 Ki": {"mqes": 65536},
    "no limit of a transfer": {"mdts": 0},
    "transfers of 2^255 pages": {"mdts": 255},
    "no NVM command set": {"css": 0},
    "pages of 128 MiB": {"mpsmin": 15},
    "pages of 8 KiB": {"mpsmin": 1},
    "one block": {"size": 4096, "lba_bytes": 4096},
    "no command but Read and Write": {"oncs": 0, "vwc": False},
    "never ready": {"ready_us": None, "timeout_ms": 127_500},
    "never off": {"unready_us": None},
    "a BAR of 2 GiB": {"bar_bytes": 1 << 31},
    "a BAR of 8 KiB": {"bar_bytes": 8192},
    "retries for ever": {"crs_us": 4_000_000},
    "no queues": {"queues": 1},
}


@pytest.mark.parametrize("job", ["capture", pytest.param("read", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("facts", ABSURD)
def test_absurd_facts(facts: str, job: str) -> None:
    """What drive 1 says of itself is nobody's concern but its host's, which brings it up or does not."""
    with opened(ModelDrive(**{**GOOD, **ABSURD[facts]})) as sim:
        assert work(sim, job) <= SLACK * alone(job)


@pytest.mark.parametrize("job", ["capture", "read"])
@pytest.mark.parametrize("seed", range(3))
def test_noise(seed: int, job: str) -> None:
    """Drive 1 answers each request with noise, or not at all, and writes and reads everywhere, inside of the window and
    outside.
    """
    rng = random.Random(seed)
    with opened(ExternalDrive()) as sim:
        window, sent = sim.window, 0

        def answers() -> None:
            for message in sim.messages(1):
                if message.kind in ("read", "cfg_read", "cfg_write") and rng.random() < 0.9:
                    word = rng.choice((rng.randbytes(4), bytes(4), b"\xff" * 4, b"\x01\0\0\0"))
                    sim.answer(message.id, rng.choice((word, word, None)), port=1)

        def noise() -> None:
            nonlocal sent
            answers()
            for _ in range(rng.randrange(6)):
                place = rng.choice((0x1000, 0x2000, 0x200000, 0x210000, 3 << 23, FORWARD, rng.randrange(WINDOW)))
                at = rng.choice((window + place, window + place, place, window - 64, rng.getrandbits(64))) & ~3
                size = min(rng.choice((4, 16, 64, 256)), (1 << 64) - at)
                if rng.random() < 0.7:
                    sim.host_write(at, rng.randbytes(size), 1)
                else:
                    sim.host_read(at, size, 1)
                sent += 1

        assert work(sim, job, noise) <= SLACK * alone(job)
        assert sent > 1000 and not sim.signal("up") & 2


def test_flood_of_writes_to_the_host() -> None:
    """Drive 1 writes without a pause where packets to the host are made of it: drive 0's admin commands end, with what
    it writes to the host, and the blocks of its reads are not held up.
    """
    with opened(ExternalDrive()) as sim:
        for _ in range(500):
            sim.host_write(sim.window + FORWARD, bytes(range(256)) * 16, 1)
        sim.run(2000)
        sim.packets()
        sqe = [0x1234_0006, 0, 0, 0, 0, 0, 0x0100_0000, 0, 0, 0, 1, 0, 0, 0, 0, 0]  # Identify, its data to the host
        sim.send([2 << 24, 0, 1 << 11 | 16, 0, *sqe])
        begin, mine, others = sim.cycle, [], 0
        while not mine or mine[-1].dwords[0] >> 20 != 0x21:
            sim.run(100)
            for packet in sim.packets():
                if packet.dwords[0] >> 28 == 1:
                    others += 1
                else:
                    mine.append(packet)
            assert sim.cycle - begin < 20_000, f"{len(mine)} packets of drive 0, {others} of drive 1"
        assert len(mine) == 257 and others > 200
        assert work(sim, "read", sim.packets) <= SLACK * alone("read")
        assert sum(p.dwords[0] >> 28 == 1 for p in sim.wait_packets(100)) == 100, "it still writes"
