# SPDX-License-Identifier: Apache-2.0
"""What a soak is made of: steps, each a few numbers and words; and the scripts of steps that are kept in files.

A step says all that it needs, and whatever it names may be missing: a queue that is not there, a full one, a command
that has ended. Then it does nothing. So any part of a script is a script, and it can be shrunk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from doorbell.device.opening import MAX_FN
from doorbell.errors import UserError
from doorbell.soak.near import MISTAKES, WRONG
from doorbell.soak.near_kinds import KINDS as PROGRAMS

Step = dict[str, Any]

OPS = ("read", "write", "compare", "zeroes", "verify", "dsm", "flush", "near")
RESETS = ("disable", "flr", "subsystem", "shutdown", "abrupt", "link", "power")
VF_RESETS = ("disable", "flr", "shutdown", "abrupt", "offline", "vf_enable")  # the last two by the PF, and back at once
BAD = ("", "opcode", "range", "fused", "sgl", "prp")
CUTS = ("format", "write", "create_queue", "delete_queue", "key", "ns_create", "ns_delete", "program")
FAULTS = ("ur", "ca", "poison", "drop", "late", "double")
SSD_FAULTS = ("late", "status", "lost", "hang", "vanish", "damage", "double", "phase", "cid", "copy", "astray")
MEMORY_OPS = ("write", "read", "fill", "copy")
SSD_OPS = ("read", "write", "zeroes", "flush")  # what an SSD of db_vcsd is asked for

KINDS = (*RESETS, *VF_RESETS[-2:])

# Fields and their defaults; a tuple: one of its words, the first by default.
LAYOUT = {"queues": 4, "entries": 32, "cq_entries": 64, "shared": 0, "wrr": 0}
STEPS: dict[str, dict[str, Any]] = {
    # A command: `count` blocks from `at`. data: number of the random data. offset, list: of the buffer and the PRP list
    # in their pages. match: a Compare of what is there. bad: what is wrong with the entry.
    # fault: what the first read of page `part` of its data meets, where part -1 is its PRP list. text: the data are
    # lines; 2: of fields. Of a near-storage command: length, room: bytes that it looks at, and of its result buffer;
    # -1: all. phase: modulo the record of its program; -1: more than that. Of a message (SHA-256): its PHASE. to: the
    # block from which on its result is stored; -1: it is not; to_ns: in which namespace, 0: its own. memory: its data
    # lie in memory, lines by this number; by an even one of fields; 0: they are the blocks'.
    "io": {"q": 1, "ns": 1, "op": OPS, "at": 0, "count": 1, "data": 0, "offset": 0, "scattered": 0, "list": 0,
           "fua": 0, "match": 0, "bad": BAD, "parts": 1, "fault": ("", *FAULTS), "part": 0, "ring": 1,
           "text": 0, "program": 0, "length": -1, "room": -1, "phase": 0, "to": -1, "to_ns": 0,
           "memory": 0},
    # A command of the function's memory: so many cells of 4 bytes from `at` on. Of a copy: ns, start: namespace of its
    # sources and the first block of the first; ns 0: of the memory, start is a cell; `parts` sources.
    "memory": {"q": 1, "op": MEMORY_OPS, "at": 0, "size": 16, "data": 0, "ns": 0, "start": 0, "parts": 1, "offset": 0,
               "scattered": 0, "list": 0, "bad": ("", "range"), "fault": ("", *FAULTS), "ring": 1},
    # Execute Program: `size` cells from `at` on, in whole 512 bytes; room: bytes of the result, from cell `to` of the
    # other half on. length: -1: all of them. block: for a Crypt.
    "execute": {"q": 1, "number": 0, "at": 0, "size": 128, "to": 0, "room": 4096, "length": -1, "phase": 0, "block": 0,
                "ring": 1},
    "run": {"cycles": 100},
    "wait": {},  # until all commands have ended
    "check": {},  # as `wait`; then all blocks are read
    "hold": {"q": 1, "on": 1},  # nobody reads the completion queue
    "abort": {"q": 1, "pick": 0},  # the command before the last `pick` of a queue; -1: one that is not there
    "requeue": {"q": 1, "entries": 32, "cq": 0},  # delete a queue (cq: its completion queue too), make it anew
    "fatal": {"q": 1, "kind": FAULTS},  # an entry of a submission queue that cannot be read
    "bus_master": {"cycles": 1000},  # off for so long
    "media_error": {"ns": 1, "at": 0, "count": 1, "times": 1},
    "media_mended": {},
    "reset": {"kind": KINDS, **LAYOUT, "timing": 0},  # timing: what a power cut leaves, an index of TIMINGS
    "format": {"ns": 1, "size": 512, "erase": 0, "busy": 0},  # busy: commands of the namespace are under way; same size
    # A reset so long after a command was sent; q: of a Write or a deletion; blocks: of a namespace; of: a program.
    "cut": {"what": CUTS, "ns": 1, "size": 512, "cycles": 1000, "kind": KINDS, "q": 1, "at": 0, "count": 8, "data": 0,
            "blocks": 512, "slot": 1, "key": 1, "of": PROGRAMS},
    # on: of db_vcsd the first SSD is 1, what is beyond the last all of them, striped; 0: wherever
    "ns_create": {"blocks": 512, "size": 512, "shared": 0, "on": 0},
    "ns_delete": {"ns": 1, "busy": 0},
    "attach": {"ns": 1, "to": 0},  # to: a function
    "detach": {"ns": 1, "to": 0, "busy": 0},
    "key": {"slot": 1, "key": 1, "mode": ("", "ctr")},  # key 0: erase; a key for XTS, or for CTR
    "bind": {"ns": 1, "slot": 0},  # slot 0: no operator
    # Load Program. of: its kind; data: number of the program, 0: forget it; bad: why it is none, or what is wrong with
    # the command; extra: bytes behind it; offset: of the buffer. fault: what the read of it meets.
    "program": {"number": 0, "of": PROGRAMS, "data": 0, "bad": ("", *WRONG, *MISTAKES), "extra": 0, "offset": 0,
                "fault": ("", *FAULTS)},
    # What SSD `ssd` of db_vcsd does from now on: `skip` commands of the kind `op` ("": any) are spared, `count`
    # (-1: all) meet it. us: how late a completion is. by: its identifier xor this, or so many 64 bytes (an entry's
    # copy: 16) too far.
    "ssd_fault": {"ssd": 0, "kind": SSD_FAULTS, "op": ("", *SSD_OPS), "skip": 0, "count": 1, "us": 100, "by": 1},
    "ssd_away": {"ssd": 0},  # taken away; it loses what it has not completed, and keeps its data
    "ssd_back": {"ssd": 0},
    "ssd_power": {"ssd": 0, "cycles": 1000},  # gone for so long: away and back
    "grow": {"ns": 1, "granules": 1, "on": 0},  # on: as of ns_create
    "exchange": {"ns": 1, "other": 2},  # two virtual drives have each other's places
    "ssd_mended": {},  # all SSDs are there and up, without a fault
    "offline": {},  # of a drive with several functions: the PF takes this VF offline; it stays away until "online"
    "online": {},
    "vfs": {"count": 0},  # VF Enable with so many VFs; those beyond go, and stay away
}  # fmt: skip

for _step in STEPS.values():
    _step["fn"] = 0  # whose step it is: 0 the PF, 1 the first VF

TIMINGS: tuple[dict[str, Any], ...] = (
    {},
    {"completion_jitter_ns": 1500, "completion_bytes": "random"},
    {"media_latency_ns": 1500, "media_gbps": 3, "media_channels": 2},
    {"media_write_latency_ns": 3000, "media_zero_gbps": 4},
    {"stall_pct": 15},
    {"host_latency_ns": 2500},
    {"posted_headers": 4, "posted_credits": 64, "read_headers": 4},
)
"""What a simulation is opened with: links, hosts and media, fast and slow."""


@dataclass
class Script:
    """Steps, and what they are carried out on. failure: what it ended with, for who reads it. functions: how many."""

    top: str
    seed: int
    steps: list[Step]
    options: dict[str, Any] = field(default_factory=dict)
    failure: dict[str, Any] | None = None
    functions: int = 1

    def save(self, file: Path) -> None:
        lines = ",\n".join(f"    {json.dumps(s)}" for s in self.steps)
        several = {"functions": self.functions} if self.functions > 1 else {}
        head = {"top": self.top, **several, "seed": self.seed, "options": self.options, "failure": self.failure}
        text = json.dumps(head, indent=2)[:-2] + f',\n  "steps": [\n{lines}\n  ]\n}}\n'
        try:
            file.write_text(text)
        except OSError as e:
            raise UserError(f"cannot write {file}: {e.strerror}") from e


def load(file: Path) -> Script:
    """A script from a file, JSON or YAML; every mistake in it is a UserError of one line."""
    try:
        data = yaml.safe_load(file.read_text())
    except OSError as e:
        raise UserError(f"cannot read {file}: {e.strerror}") from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UserError(f"{file} is neither JSON nor YAML: {' '.join(str(e).split())[:120]}") from None
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise UserError(f"{file}: a script has 'steps', a list; see docs/soak.md")
    top, seed, options = data.get("top", "db_ssd"), data.get("seed", 1), data.get("options") or {}
    if not isinstance(top, str) or not isinstance(seed, int) or not isinstance(options, dict):
        raise UserError(f"{file}: 'top' is a name, 'seed' a number, 'options' pairs of names and values")
    steps = [checked(s, f"{file}: step {i + 1}") for i, s in enumerate(data["steps"])]
    return Script(top, seed, steps, options, functions=functions_of(data.get("functions", 1), str(file)))


def functions_of(functions: Any, where: str) -> int:
    """`functions` if a soak may have so many."""
    if isinstance(functions, bool) or not isinstance(functions, int) or not 1 <= functions <= MAX_FN:
        raise UserError(f"{where}: functions is a number from 1 to {MAX_FN}")
    return functions


def checked(step: Any, where: str) -> Step:
    """`step` if it is one."""
    if not isinstance(step, dict) or step.get("do") not in STEPS:
        raise UserError(f"{where}: 'do' must be one of {', '.join(STEPS)}")
    known = STEPS[step["do"]]
    for name, value in step.items():
        if name == "do":
            continue
        if name not in known:
            raise UserError(f"{where}: {step['do']} has no '{name}': {', '.join(known) or 'it has nothing'}")
        wanted = known[name]
        if isinstance(wanted, tuple):
            if value not in wanted:
                raise UserError(f"{where}: {name} is one of {', '.join(filter(None, wanted))}")
        elif isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 1 << 40:
            raise UserError(f"{where}: {name} is a whole number")
    return step


def whole(step: Step) -> Step:
    """The step with its defaults."""
    defaults = {k: v[0] if isinstance(v, tuple) else v for k, v in STEPS[step["do"]].items()}
    return {**defaults, **step}
