# SPDX-License-Identifier: Apache-2.0
"""Settings that a drive has saved in its image, for tests that need a number near its end there: what takes years to
count. Of a drive without extents (db_ssd, db_csd); the layout is that of fw/state/store.c."""

from __future__ import annotations

import struct
from pathlib import Path

from doorbell.compute.near import crc32c

MAGIC = b"DBS2"
LINE = 64  # bytes of the media that a word has to itself
SEQUENCE, COUNT, CRC, FIRST = 1, 2, 3, 4  # words of a copy, behind its magic
HISTORY = FIRST + 3  # behind the counts of power-ups: which totals follow, two words each


class Copy:
    """One of the two copies: its words, by their place in it."""

    def __init__(self, image: Path, at: int) -> None:
        self.image, self.at = image, at
        with image.open("rb") as file:
            file.seek(at)
            head = [self._next(file) for _ in range(FIRST)]
            self.words = head + [self._next(file) for _ in range(head[COUNT])]
        assert self.words[CRC] == self._crc(), "the copy in the image is not whole"

    @staticmethod
    def _next(file) -> int:  # type: ignore[no-untyped-def]
        return int(struct.unpack_from("<I", file.read(LINE))[0])

    def _crc(self) -> int:
        checked = [word for place, word in enumerate(self.words) if place >= SEQUENCE and place != CRC]
        return crc32c(struct.pack(f"<{len(checked)}I", *checked))

    def write(self) -> None:
        """The words as they are now, with the check that belongs to them."""
        self.words[CRC] = self._crc()
        with self.image.open("r+b") as file:
            for place, word in enumerate(self.words):
                file.seek(self.at + LINE * place)
                file.write(struct.pack("<I", word))

    @property
    def created(self) -> int:
        """Place of the number of namespaces that were created, in its lower 16 bits."""
        features = HISTORY + 1 + 2 * self.words[HISTORY].bit_count()
        return features + 1 + self.words[features].bit_count() + 2

    def generation_of(self, key: int) -> int:
        """Place of the generation of the reservation whose registrant has this key."""
        pair = [key & 0xFFFFFFFF, key >> 32]
        found = [p for p in range(FIRST + 1, len(self.words) - 1) if self.words[p : p + 2] == pair]
        assert len(found) == 1, "the key is there once"
        return found[0] - 1


def copies(image: Path) -> list[Copy]:
    """Those that are whole, the newer one first; the drive is off."""
    data = image.read_bytes()
    places = [at for at in range(0, len(data), LINE) if data.startswith(MAGIC, at)]
    found = [Copy(image, at) for at in places]
    assert 1 <= len(found) <= 2
    return sorted(found, key=lambda copy: copy.words[SEQUENCE], reverse=True)
