# SPDX-License-Identifier: Apache-2.0
"""The SSDs behind a card of a soak: how many, and what they are. What of a script's options says so is `ssds`, their
number, and `ssd`, their kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doorbell.build import simulator
from doorbell.device.drives import WINDOW_BYTES, Latency, ModelDrive, PortOptions, ssd_drive
from doorbell.device.sim import SETTINGS
from doorbell.device.switch_sim import NUMBERS
from doorbell.device.switch_sim import OPTIONS as SWITCH
from doorbell.errors import UserError
from doorbell.soak.steps import SSD_FAULTS

KINDS = ("model", "db_ssd")
OF_ALL = ("status",)
"""Faults of every kind of SSD: errors of its media make any drive answer so. The rest only the model knows."""

SPEEDS: tuple[dict[str, Latency], ...] = (
    {"read": Latency(4000), "write": Latency(2000), "flush": Latency(5000), "other": Latency(4000)},
    {},
    {"read": Latency(1000, to_ns=30_000), "write": Latency(500, to_ns=20_000), "flush": Latency(1000, to_ns=40_000)},
)
"""How fast models are; the rest are their defaults."""

OWN_SPEEDS: tuple[dict[str, Any], ...] = (
    {"media_latency_ns": 4000, "media_write_latency_ns": 2000},
    {},
    {"media_latency_ns": 20_000, "media_gbps": 3},
)
"""... and a db_ssd."""


def chosen(options: Mapping[str, Any], number: int) -> tuple[int, str]:
    """Number and kind, of a top that has `number` of them where nothing is said (0: none at all)."""
    ssds, ssd = options.get("ssds"), options.get("ssd", "model")
    if not number and (ssds is not None or ssd != "model"):
        raise UserError("--ssds and --ssd are for db_vcsd: other drives have no SSDs behind them")
    if ssds is not None and (isinstance(ssds, bool) or ssds not in NUMBERS):
        raise UserError(f"--ssds {ssds}: a card has 1, 2, 4 or 8 SSDs")
    if ssd not in KINDS:
        raise UserError(f"--ssd {ssd}: must be {' or '.join(KINDS)}")
    return ssds or number, ssd


def faults_of(ssd: str) -> tuple[str, ...]:
    """What kinds of `ssd_fault` an SSD of this kind has."""
    return SSD_FAULTS if ssd == "model" else OF_ALL


def left_out(ssd: str) -> tuple[str, ...]:
    return tuple(kind for kind in SSD_FAULTS if kind not in faults_of(ssd))


def drives(ssd: str, number: int, size: int, image: Path, timing: int) -> list[PortOptions]:
    """New ones, whose data are in files beside `image`: what is there stays, so a power cut is one of all."""
    files = [image.with_suffix(f".ssd{i}.img") for i in range(number)]
    if ssd == "model":
        speed = SPEEDS[timing % len(SPEEDS)]
        return [ModelDrive(size=size, image=str(file), **speed) for file in files]
    window = (SWITCH["window"].default, number * WINDOW_BYTES)
    made: list[PortOptions] = []
    for file in files:
        media = {} if file.exists() else {"media_size": size + SETTINGS}  # the end of it is its own
        speed_of_own = OWN_SPEEDS[timing % len(OWN_SPEEDS)]
        made.append(ssd_drive(simulator("db_ssd"), window=window, image=str(file), **media, **speed_of_own))
    return made
