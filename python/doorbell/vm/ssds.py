# SPDX-License-Identifier: Apache-2.0
"""The SSDs of a served card (db_vcsd), and the file that keeps the card's own memory.

That file has the 32 pages of the settings area, and behind them a line of JSON that says which SSDs the card was used
with: with others, or in another order, every block would be somewhere else.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from doorbell.build import simulator
from doorbell.device.drives import WINDOW_BYTES, Latency, ModelDrive, PortOptions, ssd_drive
from doorbell.device.image_lock import lock_image
from doorbell.device.opening import EXTENTS, granule_log2, open_sim
from doorbell.device.sim import SETTINGS
from doorbell.device.switch_sim import GRANULE, NUMBERS
from doorbell.device.switch_sim import OPTIONS as SWITCH
from doorbell.errors import UserError
from doorbell.units import parse_size

KINDS = ("model", "db_ssd", "qemu")
DEFAULT_SIZE = 1 << 30  # of all
UNIT = GRANULE * 4096
# A millisecond of a drive that lives in real time is about so many simulated cycles; a command is late after some 20 s.
PACE: dict[str, int | str] = {"MS_CYCLES": 1000, "SSD_TIMEOUT": 2_000_000}


@dataclass(frozen=True)
class SsdOptions:
    """What the user wants of the SSDs beside a card."""

    kind: str = "model"
    images: tuple[Path, ...] = ()
    number: int | None = None
    stripe: bool = False
    card: Path | None = None  # the file of the card's own memory; None: beside the first image

    @property
    def given(self) -> bool:
        return self != SsdOptions()

    def check(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"--ssd {self.kind}: must be {', '.join(KINDS)}")
        if self.number is not None and self.number not in NUMBERS:
            raise UserError(f"--ssds {self.number}: a card has 1, 2, 4 or 8 SSDs")
        if self.images and self.number not in (None, len(self.images)):
            raise UserError(f"--ssds {self.number}, but --images names {len(self.images)}: leave --ssds out")
        if self.images and len(self.images) not in NUMBERS:
            raise UserError(f"--images names {len(self.images)} files: a card has 1, 2, 4 or 8 SSDs")
        if len({image.resolve() for image in self.images}) != len(self.images):
            raise UserError("--images: each SSD needs a file of its own")
        if self.card and not self.images:
            raise UserError("--image of a card is its own memory, which says where things are on the SSDs: "
                            "give their files too, --images FILE ...")  # fmt: skip

    def parameters(self, params: dict[str, int | str]) -> dict[str, int | str]:
        """Of the top: what is wanted here, unless it is given anyway."""
        number = len(self.images) or self.number
        mine = dict(PACE) | ({"NUM_SSD": number} if number else {}) | ({"STRIPE": 1} if self.stripe else {})
        for name in ("NUM_SSD", "STRIPE"):
            if name in params and name in mine and params[name] != mine[name]:
                raise UserError(f"--param {name}={params[name]}: --ssds, --images or --stripe say {mine[name]}")
        return mine | params


@dataclass(frozen=True)
class _Card:
    """What a card's memory belongs to."""

    stripe: bool
    bytes_each: int
    images: list[str]
    granule_log2: int | None = None  # not known of one that an older release made

    @staticmethod
    def load(file: Path) -> _Card | None:
        """None: a new card: there is no file, an empty one, or one that was ended when it was made."""
        try:
            with open(file, "rb") as f:
                size = f.seek(0, os.SEEK_END)
                f.seek(0)
                own = f.read(SETTINGS)
                text = f.read(4096).rstrip(b"\0")
            return None if size in (0, SETTINGS) and not any(own) else _Card(**json.loads(text))
        except FileNotFoundError:
            return None
        except (OSError, TypeError, ValueError) as e:
            raise UserError(f"{file} is not the memory of a card ({e}): name another file by --image") from e

    def save(self, file: Path) -> None:
        try:
            with open(file, "ab") as f:
                lock_image(f.fileno(), str(file))
                f.truncate(SETTINGS)
                f.write(json.dumps(asdict(self)).encode() + b"\n")
        except OSError as e:
            raise UserError(f"cannot make {file}: {e.strerror}") from e

    def check(self, file: Path, before: _Card) -> None:
        """UserError if blocks would not be where they were."""
        if before.stripe != self.stripe:
            how = "with --stripe" if before.stripe else "without --stripe"
            raise UserError(f"{file} was made {how}: do the same, or begin with new files")
        if len(before.images) != len(self.images):
            raise UserError(f"{file} was made with {len(before.images)} SSDs, not {len(self.images)}")
        if before.bytes_each != self.bytes_each:
            raise UserError(f"{file} was made with {before.bytes_each:,} bytes of each SSD, not {self.bytes_each:,}")
        if before.granule_log2 not in (None, self.granule_log2):
            sizes = f"2^{before.granule_log2} bytes, not 2^{self.granule_log2}"
            raise UserError(f"{file} was made with granules of {sizes}: give the same EXTENTS or GRANULE_LOG2")
        if before.images != self.images and sorted(before.images) == sorted(self.images):
            raise UserError(f"{file} was made with the SSDs in another order: --images {' '.join(before.images)}")


@contextlib.contextmanager
def card_with_ssds(
    wanted: SsdOptions, size: str | None, top: str, link: str, params: dict[str, int | str], **options: Any
) -> Iterator[tuple[Any, bool]]:
    """A card with its SSDs, which are ended behind it: the caller closes the card. And is it new: nobody has used it.

    size: of all SSDs together. options: of `open_sim`, and host_bytes of QemuSsds.
    """
    number = int(params.get("NUM_SSD", 2))
    host_bytes = options.pop("host_bytes", 0)
    each = _bytes_each(wanted, size, number)
    own = SETTINGS if wanted.kind == "db_ssd" else 0  # a drive of ours keeps the end of its media for itself
    card = wanted.card or (wanted.images[0].with_name(wanted.images[0].name + ".card") if wanted.images else None)
    new = True
    with contextlib.ExitStack() as stack:
        images: list[Path | None] = [None] * number
        if wanted.images:
            images = list(wanted.images)
        elif wanted.kind == "qemu":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="doorbell-ssds-")))
            images = [folder / f"ssd{i}.img" for i in range(number)]
        if card:
            least = granule_log2({"media_size": each * number}, int(params.get("EXTENTS", EXTENTS)))
            granules = int(params.get("GRANULE_LOG2", least))
            now = _Card(bool(params.get("STRIPE", 0)), each, [image.name for image in wanted.images], granules)
            before = _Card.load(card)
            if before:
                now.check(card, before)
                for file in wanted.images:
                    if _length(file) < each + own:
                        raise UserError(
                            f"{file} is missing, or a part of it: {card} was made with {each + own:,} bytes"
                        )
            new = before is None
        for image in images:
            if image:
                _make(image, each + own)
        if card and new:
            now.save(card)
        drives: list[PortOptions]
        if wanted.kind == "qemu":
            from doorbell.qemu import ssds as qemu

            stock = stack.enter_context(qemu.QemuSsds([i for i in images if i], host_bytes, link=link))
            drives = list(stock.drives)
            options |= qemu.SWITCH_OPTIONS
        else:
            drives = [_ours(link, image, each + own, number) if own else _model(link, image, each) for image in images]
        if card:
            options["image"] = str(card)
        sim = open_sim(top=top, link=link, params=params, ssds=drives, ssd_pages=each // 4096, **options)
        if wanted.kind == "qemu":
            stock.attach(sim)
        yield sim, new


def _model(link: str, image: Path | None, size: int) -> ModelDrive:
    """An SSD that takes no time: simulated time in which the card waits is only work for this machine."""
    now = Latency(0)
    return ModelDrive(link=link, image=image and str(image), size=size, ready_us=1, read=now, write=now, flush=now,
                      other=now, admin=now)  # fmt: skip


def _ours(link: str, image: Path | None, size: int, number: int) -> PortOptions:
    file: dict[str, Any] = {"image": str(image)} if image else {}
    file |= {"media_size": size if image else size - SETTINGS}
    window = (SWITCH["window"].default, number * WINDOW_BYTES)
    return ssd_drive(simulator("db_ssd"), window=window, link=link, media_latency_ns=0, credit_ns=0, **file)


def _bytes_each(wanted: SsdOptions, size: str | None, number: int) -> int:
    """Of each SSD, for the card: what is wanted, or what the smallest image has. An image is never made shorter."""
    own = SETTINGS if wanted.kind == "db_ssd" else 0
    have = [_length(image) - own for image in wanted.images]
    have = [n for n in have if n > 0]
    each = parse_size(size) // number if size else min(have, default=DEFAULT_SIZE // number)
    if each < UNIT:
        raise UserError(
            f"SSDs of {each:,} bytes are too small: each needs {UNIT:,} at least; --size is of all together"
        )
    each = each // UNIT * UNIT
    if size and any(n // UNIT * UNIT > each for n in have):
        raise UserError(f"an image has more than its part of --size, {each:,} bytes: its end would be lost; "
                        "leave --size out")  # fmt: skip
    return each


def _length(image: Path) -> int:
    try:
        return image.stat().st_size if image.exists() else 0
    except OSError as e:
        raise UserError(f"cannot use the image {image}: {e.strerror}") from e


def _make(image: Path, size: int) -> None:
    """Make it (sparse), or make it longer, if nobody has it."""
    from doorbell.qemu.ssds import wait_until_free

    try:
        with open(image, "ab") as file:
            wait_until_free(file.fileno(), image)
            if file.tell() < size:
                file.truncate(size)
    except OSError as e:
        raise UserError(f"cannot make {image}: {e.strerror}") from e
