# SPDX-License-Identifier: Apache-2.0
"""Media that behave like NAND flash: their description (a profile, or a YAML file), and what they have counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from doorbell import paths
from doorbell.device.c_header import c_header, chosen, converted
from doorbell.errors import UserError
from doorbell.units import parse_size

PROFILES = paths.ROOT / "sim" / "nand" / "profiles"
KIND = "nand:"
"""What --media begins with."""

READ_BUF_BYTES = 512 << 10
"""Of a drive with such media: a read of 4 KiB for each of its commands, so that many dies work at a time."""

_HEADER = c_header("db_nand.h")
OPTIONS = _HEADER.options("db_nand_config")
"""What a profile may say, beside its name and capacity."""
PRECONDITIONS = _HEADER.names("db_nand_precondition")
Config = _HEADER.structures["db_nand_config"]
Figures = _HEADER.structures["db_nand_figures"]
SIGNATURES = _HEADER.signatures("db_nand_")


@dataclass(frozen=True)
class Nand:
    """A description of NAND media."""

    name: str
    capacity: int
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        o = chosen(OPTIONS, self.options, "NAND media")
        return f"NAND media {self.name}, {o['channels']} x {o['ways']} dies, {o['precondition']}"

    def config(self) -> Any:
        """As the C interface has it."""
        o = chosen(OPTIONS, self.options, "NAND media")
        o["precondition"] = PRECONDITIONS[o["precondition"]]
        return Config(**converted(OPTIONS, o))

    def preconditioned(self, how: str | None) -> Nand:
        """With another past: empty, filled or steady."""
        if how is None:
            return self
        return replace(self, options=_checked({**self.options, "precondition": how}, "--precondition"))


def profiles() -> list[str]:
    """The names of those that come with Doorbell."""
    return sorted(file.stem for file in PROFILES.glob("*.yaml"))


def parse_media(text: str) -> Nand:
    """--media: nand:PROFILE, or nand:FILE.yaml."""
    name = text.removeprefix(KIND)
    known = ", ".join(KIND + p for p in profiles())
    if not text.startswith(KIND) or not name:
        raise UserError(f"--media {text}: there are {known} and nand:FILE.yaml")
    file = Path(name) if name.endswith((".yaml", ".yml")) else PROFILES / f"{name}.yaml"
    if not file.is_file():
        raise UserError(f"--media {text}: no such profile or file: there are {known} and nand:FILE.yaml")
    return read_profile(file)


def read_profile(file: Path) -> Nand:
    """A description in YAML."""
    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise UserError(f"{file}: cannot be read as YAML: {' '.join(str(e).split())}") from e
    if not isinstance(found, dict):
        raise UserError(f"{file}: not a list of 'name: value': see {PROFILES / 'tlc.yaml'}")
    name = str(found.pop("name", file.stem))
    try:
        capacity = parse_size(str(found.pop("capacity")))
    except KeyError:
        raise UserError(f"{file}: has no capacity: add a line like 'capacity: 16g'") from None
    except ValueError as e:
        raise UserError(f"{file}: capacity: {e}") from e
    return Nand(name, capacity, _checked(found, str(file)))


def _checked(given: dict[str, Any], where: str) -> dict[str, Any]:
    """Options with values of the right kind; their ranges the simulator checks."""
    for name, value in given.items():
        if name not in OPTIONS:
            raise UserError(f"{where}: there is no '{name}': {', '.join(['name', 'capacity', *OPTIONS])}")
        default = OPTIONS[name].default
        if isinstance(default, str):
            if value not in PRECONDITIONS:
                raise UserError(f"{where}: {name}: {value} is none of {', '.join(PRECONDITIONS)}")
        elif isinstance(default, bool):
            if not isinstance(value, bool):
                raise UserError(f"{where}: {name}: {value} is neither true nor false")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 4_294_967:
            raise UserError(f"{where}: {name}: {value} is not a number from 0 to 4294966")
        elif OPTIONS[name].convert(value) > 0xFFFF_FFFF:
            raise UserError(f"{where}: {name}: {value} is too large")
        elif OPTIONS[name].convert(value) != int(OPTIONS[name].convert(value)):
            raise UserError(f"{where}: {name}: {value} is not a whole number")
    return given


def as_dict(figures: Any) -> dict[str, int]:
    """Figures by name."""
    return {name: getattr(figures, name) for name, _ in figures._fields_}


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """What was counted meanwhile; what tells a state is that of the end."""
    return {name: value - before[name] if name in COUNTED else value for name, value in after.items()}


COUNTED = ("host_reads", "buffer_reads", "empty_reads", "host_units", "buffer_hits", "merge_reads", "moved_units",
           "padding", "senses", "move_senses", "programs", "erases", "suspensions", "collections", "levelled",
           "refreshed", "retired")  # fmt: skip


def write_amplification(figures: dict[str, int]) -> float | None:
    """Units that were programmed for each unit of the host; None: it wrote none."""
    wrote = figures["host_units"]
    return (wrote + figures["moved_units"] + figures["padding"]) / wrote if wrote else None
