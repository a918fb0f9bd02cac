# SPDX-License-Identifier: Apache-2.0
"""What must be known of a recording to play it back, and the images that hold it."""

from __future__ import annotations

import contextlib
import dataclasses
import json as json_module
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from doorbell import paths
from doorbell.device.image_lock import lock_image
from doorbell.device.recorder_sim import BLOCK, Run
from doorbell.errors import UserError
from doorbell.units import parse_size

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
        text = json_module.dumps(dataclasses.asdict(self), indent=1) + "\n"
        paths.write_whole(self.path(Path(self.images[0])), text)

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


def make_image(image: Path, size: int) -> None:
    """Make a sparse file of this size, or extend it to it, if nobody has it."""
    try:
        with open(image, "ab") as file:
            lock_image(file.fileno(), str(image))
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


def plan_sizes(images: list[Path], length: int | None, size: str | None, hidden: int = 0) -> list[int]:
    """How large each image is, or is to be made. hidden: what the drive keeps for itself."""
    try:
        wanted = parse_size(size) if size else None
    except ValueError as e:
        raise UserError(f"--size: {e}") from e
    need = units(units(length or 1, BLOCK), len(images)) * BLOCK + hidden
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
