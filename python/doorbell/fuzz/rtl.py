# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: the whole RTL of a drive. Run by `running`, as a program.

The bytes of an input take the place of a soak's random numbers (doorbell.soak.generate): I/O and admin commands, their
fields and lists, order, doorbells, resets, faults. So its judge, which knows the specification, holds here. What lines
and toggles of the RTL an input reaches is the guidance. A drive lives for several inputs. What it did from its power-on
until one failed is left as a script that a soak replays and shrinks.

DOORBELL_FUZZ_GUIDED=0: without guidance, with the simulator that everybody uses.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import atheris
import numpy as np

from doorbell.soak.generate import Generator
from doorbell.soak.judge import Failure
from doorbell.soak.machine import shape_of
from doorbell.soak.player import Player
from doorbell.soak.run import player_of
from doorbell.soak.steps import RESETS, Script, Step

TOP, SEED = "db_csd", 1
OPTIONS: dict[str, Any] = {"data_w": 128, "link": "gen3x4"}
"""Half the AES to simulate, and the simulator of db_csd's tests: none is built for this alone."""
INPUTS_A_DRIVE = 150
"""Before the next power-on, which takes as long as some hundred of them: a failure's script can still be shrunk."""
STEPS = 120
"""Of an input at most."""
Words = np.ndarray[Any, np.dtype[np.uint32]]


class Bytes(random.Random):
    """Random numbers that are the bytes of an input, one after the other; zeros behind them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self.data, self.at = data, 0

    @property
    def left(self) -> bool:
        return self.at < len(self.data)

    def _take(self, count: int) -> int:
        taken = self.data[self.at : self.at + count]
        self.at += count
        return int.from_bytes(taken.ljust(count, b"\0"), "little")

    def random(self) -> float:
        return self._take(2) / 65536

    def getrandbits(self, bits: int, /) -> int:
        return self._take(-(-bits // 8)) & (1 << bits) - 1


def steps_of(data: bytes, serial: int = 0) -> Iterator[Step]:
    """What an input says: one turn of a soak at least, as an empty one reaches something too. serial: of the data
    written before."""
    generator = Generator(0, shape_of(TOP), Bytes(data))
    generator.serial = serial
    rng, count = generator.rng, 0
    assert isinstance(rng, Bytes)
    while rng.left or not count:
        for step in generator.turn():
            if step.get("kind") == "power" and "ssd" not in step:  # lines and toggles would begin anew
                step["kind"] = RESETS[0]
            yield step
            count += 1
            if count == STEPS:
                return


class Drive:
    """One from its power-on, with all that was done to it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()  # in that of `running`, which is in memory
        options = OPTIONS | ({"coverage": True} if guided() else {})
        player = player_of(TOP, Path(self.folder.name), options, SEED)
        assert isinstance(player, Player)
        self.player, self.done, self.inputs = player, list[Step](), 0
        for step in Generator(SEED, shape_of(TOP)).start():
            self.play(step)

    def play(self, step: Step) -> None:
        self.done.append(step)
        self.player.play(step)

    def run(self, data: bytes) -> None:
        self.inputs += 1
        for step in steps_of(data, 1000 * self.inputs):
            self.play(step)
        self.play({"do": "check"} if self.inputs == INPUTS_A_DRIVE else {"do": "wait"})

    def counts(self) -> Words:
        """How often each line and toggle was met since power-on."""
        sim = self.player.machine.drive.sim
        return np.frombuffer(sim.coverage_counts() if guided() else b"", np.uint32)

    def close(self) -> None:
        self.player.close()
        self.folder.cleanup()


def guided() -> bool:
    return os.environ.get("DOORBELL_FUZZ_GUIDED") != "0"


class Target:
    """What libFuzzer calls. artifacts: the folder for what an input that fails leaves."""

    def __init__(self, artifacts: Path) -> None:
        self.artifacts = artifacts
        self.drive = Drive()
        self.before = self.drive.counts()
        self.features = np.zeros(len(self.before), np.uint8)
        if guided():
            self._tell_libfuzzer()

    def _tell_libfuzzer(self) -> None:
        """That `features` are counters: it clears them before each input and looks at them afterwards."""
        core = ctypes.CDLL(importlib.import_module("atheris.core_with_libfuzzer").__file__)
        size = len(self.features)
        self.places = np.zeros(
            (size, 2), np.uint64
        )  # what libFuzzer takes for their addresses; no function begins here
        self.places[:, 0] = np.arange(1, size + 1)
        for name, array in (("8bit_counters", self.features), ("pcs", self.places)):
            first = array.ctypes.data
            tell = core[f"__sanitizer_cov_{name}_init"]
            tell(ctypes.c_void_p(first), ctypes.c_void_p(first + array.nbytes))

    def one(self, data: bytes) -> None:
        if self.drive.inputs >= INPUTS_A_DRIVE:
            self.drive.close()
            self.drive = Drive()
            self.before = self.drive.counts()
        try:
            self.drive.run(data)
        except Failure as e:
            script = Script(TOP, SEED, self.drive.done, OPTIONS, failure={"kind": e.kind, "text": str(e)})
            name = f"script-{hashlib.sha1(data).hexdigest()}.json"
            script.save(self.artifacts / name)
            raise RuntimeError(f"{e.kind}: {e} (./doorbell soak --replay {name} does all of it again)") from None
        now = self.drive.counts()
        np.minimum(now - self.before, 255, out=self.features, casting="unsafe")
        self.before = now


def main() -> None:
    prefix = next((a.split("=", 1)[1] for a in sys.argv if a.startswith("-artifact_prefix=")), "./")
    target = Target(Path(prefix))
    atheris.Setup(sys.argv, target.one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
