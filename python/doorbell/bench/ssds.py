# SPDX-License-Identifier: Apache-2.0
"""The SSDs beside a card (db_vcsd) that is measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from doorbell.build import simulator
from doorbell.device.drives import WINDOW_BYTES, Latency, ModelDrive, PortOptions, ssd_drive
from doorbell.device.switch_sim import GRANULE, NUMBERS
from doorbell.device.switch_sim import OPTIONS as SWITCH
from doorbell.errors import UserError

READ_US, WRITE_US = 20.0, 10.0  # of flash
SSD_LINK = "gen3x4"


@dataclass(frozen=True)
class SsdSetup:
    """How many, of what kind ("model", or "db_ssd", ours), on which link, how slow; bytes of each."""

    number: int = 2
    kind: str = "model"
    link: str = SSD_LINK
    read_us: float = READ_US
    write_us: float = WRITE_US
    bytes: int = 16 << 20

    def check(self) -> None:
        if self.number not in NUMBERS:
            raise UserError(f"--backends {self.number}: a card has 1, 2, 4 or 8 SSDs")
        if self.kind not in ("model", "db_ssd"):
            raise UserError(f"--ssd {self.kind}: must be model or db_ssd")
        if not (0 <= self.read_us <= 1e6 and 0 <= self.write_us <= 1e6):
            raise UserError("--read-us and --write-us: 0 to 1000000 us")
        if self.bytes < GRANULE * 4096:
            raise UserError(f"--media-size: of all SSDs together, at least {GRANULE * 4096} bytes each")

    @property
    def ns(self) -> tuple[int, int]:
        """Latency of reads and of writes."""
        return round(self.read_us * 1000), round(self.write_us * 1000)

    def drives(self) -> list[PortOptions]:
        """New ones."""
        size = self.bytes // (GRANULE * 4096) * (GRANULE * 4096)
        if self.kind == "model":
            read, write = map(Latency, self.ns)
            now = Latency(0)  # of Write Zeroes, which only bring-up sends
            return [
                ModelDrive(link=self.link, size=size, read=read, write=write, other=now) for _ in range(self.number)
            ]
        window = (SWITCH["window"].default, self.number * WINDOW_BYTES)
        return [ssd_drive(simulator("db_ssd"), window=window, link=self.link, media_size=size,
                          media_latency_ns=self.ns[0], media_write_latency_ns=self.ns[1])
                for _ in range(self.number)]  # fmt: skip

    def options(self) -> dict[str, Any]:
        """Of open_sim, beside the parameter NUM_SSD."""
        return {"ssds": self.drives()}

    def __str__(self) -> str:
        many = f"{self.number} SSD{'s' if self.number > 1 else ''} ({self.kind}) on {self.link}"
        return f"{many}, {self.read_us:g} us a read, {self.write_us:g} us a write"

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)
