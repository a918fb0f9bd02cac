# SPDX-License-Identifier: Apache-2.0
"""A fake drive (fake_device.c) for the commands of tools/: an image in which files lie in pieces, and its settings."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import tools_build

LAST, UNWRITTEN = 0x1, 0x800
BLOCK = 4096
"""Of the file system."""


@dataclass
class Done:
    status: int
    out: bytes
    err: bytes


@dataclass
class FakeDrive:
    folder: Path
    lba: int = 512
    start: int = 0
    """Where the partition begins."""
    settings: dict[str, object] = field(default_factory=dict)
    _image: bytearray = field(default_factory=bytearray)
    _beside: bytearray = field(default_factory=bytearray)
    """Of namespace 2."""

    def __post_init__(self) -> None:
        self._image += os.urandom(self.start)
        self._beside += os.urandom(self.start)
        self.settings |= {"IMAGE": self.folder / "image", "LOG": self.folder / "log", "LOCKS": self.folder}
        self.settings |= {"LBA": self.lba, "START": self.start}

    def write(
        self, name: str, data: bytes, rng: random.Random | None = None, holes: bool = False, beside: bool = False
    ) -> Path:
        """A file of these data. With rng it lies in pieces, in any order; `holes`: pieces of zeros are holes or
        unwritten; `beside`: on namespace 2."""
        image = self._beside if beside else self._image
        path = self.folder / name
        path.write_bytes(data)
        blocks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
        pieces: list[tuple[int, bytes]] = []
        while blocks:
            n = len(blocks) if rng is None else rng.randint(1, 4)
            at = (len(data) + BLOCK - 1) // BLOCK - len(blocks)
            pieces.append((at * BLOCK, b"".join(blocks[:n])))
            del blocks[:n]
        order = list(range(len(pieces)))
        if rng:
            rng.shuffle(order)
        places: dict[int, int] = {}
        for i in order:
            size = -(-len(pieces[i][1]) // BLOCK) * BLOCK
            image += b"x\n" * (BLOCK // 2 if rng and rng.random() < 0.5 else 0)  # of others
            places[i] = len(image) - self.start
            image += pieces[i][1].ljust(size, b"a")  # what is behind the end of a file may be anything
        lines = []
        for i, (at, piece) in enumerate(pieces):
            flags = LAST if i == len(pieces) - 1 else 0
            place, size = places[i], -(-len(piece) // BLOCK) * BLOCK
            if holes and not piece.strip(b"\0"):
                flags |= UNWRITTEN
                noise = os.urandom(size)
                image[place + self.start : place + self.start + size] = noise
                if rng and rng.random() < 0.5:
                    continue
            lines.append(f"{at} {place} {size} {flags:x}\n")
        Path(f"{path}.map").write_text("".join(lines))
        (self.folder / ("image2" if beside else "image")).write_bytes(image)
        if beside:
            self.settings |= {"IMAGE2": self.folder / "image2", "BESIDE": name}
        return path

    def env(self, **settings: object) -> dict[str, str]:
        every = {k: v for k, v in {**self.settings, **settings}.items() if v is not None}
        return {**os.environ, "LC_ALL": "C", **{f"DBNEAR_{k}": str(v) for k, v in every.items()}}

    def run(self, *command: str | bytes | Path, **settings: object) -> Done:
        self.log_file().unlink(missing_ok=True)
        tool = tools_build.tools(fake=True) / str(command[0])
        done = subprocess.run([tool, *command[1:]], capture_output=True, env=self.env(**settings), cwd=self.folder)
        return Done(done.returncode, done.stdout, done.stderr)

    def log_file(self) -> Path:
        return self.folder / "log"

    def log(self) -> list[list[str]]:
        """Words of each command: "load NUMBER BYTES", "near SLBA BLOCKS LENGTH ROOM RESULT STATUS"."""
        file = self.log_file()
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def commands(self) -> list[list[str]]:
        return [words for words in self.log() if words[0] == "near"]


def grep(folder: Path, *args: str | bytes | Path) -> Done:
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(["grep", "-F", "-a", *args], capture_output=True, env=env, cwd=folder)
    return Done(done.returncode, done.stdout, done.stderr)
