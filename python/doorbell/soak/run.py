# SPDX-License-Identifier: Apache-2.0
"""A run: steps of a generator or a script, one after the other, until there are enough of them or one fails."""

from __future__ import annotations

import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doorbell.errors import UserError
from doorbell.soak.card_functions import CardCrowd
from doorbell.soak.card_player import CardPlayer
from doorbell.soak.crowd import Crowd
from doorbell.soak.generate import Generator
from doorbell.soak.generate_crowd import CrowdGenerator
from doorbell.soak.judge import Failure
from doorbell.soak.machine import NOTHING, shape_of, wants_memory
from doorbell.soak.player import Player
from doorbell.soak.steps import Script, Step, whole

SHARED = Path("/dev/shm")  # in memory: a Flush of the drive would be one of the disk


@dataclass
class Outcome:
    """What a run has done, and how it ended."""

    commands: int = 0
    count: int = 0
    cycles: int = 0
    seconds: float = 0.0
    did: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    steps: list[Step] = field(default_factory=list)  # the last ones
    failure: Failure | None = None


def play(
    top: str,
    seed: int,
    steps: Iterable[Step],
    options: dict[str, Any] | None = None,
    *,
    functions: int = 1,
    commands: int = 0,
    seconds: float = 0,
    keep: int = 0,
    shown: Callable[[int], None] = lambda n: None,
    finder: Any = None,
) -> Outcome:
    """Carries out steps until so many commands have been sent or so many seconds of real time are over (0: no limit).

    functions: how many of the drive are at work. keep: so many of the last steps stay in the outcome; 0: all.
    finder: of doorbell.soak.wave.
    """
    out, begun = Outcome(), time.monotonic()
    kept: deque[Step] = deque(maxlen=keep or None)
    player: Player | Crowd | None = None
    with tempfile.TemporaryDirectory(prefix="doorbell-soak-", dir=SHARED if SHARED.is_dir() else None) as folder:
        try:
            wanted = {**(options or {}), **({"finder": finder} if finder else {})}
            player = player_of(top, Path(folder), wanted, seed, functions)
            begun = time.monotonic()  # what had to be built is no part of the run
            for step in steps:
                kept.append(step)
                out.count += 1
                out.did[name_of(step)] += 1
                player.play(step)
                shown(player.commands)
                if (commands and player.commands >= commands) or (seconds and time.monotonic() - begun > seconds):
                    break
            player.finish()
        except Failure as e:
            out.failure = e
        except UserError:
            raise
        except Exception as e:  # it has shown what nobody thought of: a failure with a script, as any other
            at = traceback.extract_tb(e.__traceback__)[-1]
            out.failure = Failure(type(e).__name__, f"{e} (in {at.name}, {Path(at.filename).name}:{at.lineno})")
        finally:
            if player is not None:
                out.commands, out.ended = player.commands, player.ended
                player.close()
                out.cycles = player.cycles
    out.steps = list(kept)
    out.seconds = time.monotonic() - begun
    return out


def player_of(top: str, folder: Path, options: dict[str, Any], seed: int, functions: int = 1) -> Player | Crowd:
    if functions > 1:
        return (CardCrowd if shape_of(top, options).ssds else Crowd)(top, folder, options, seed, functions)
    kind = CardPlayer if shape_of(top, options).ssds else Player
    return kind(top, folder, options, seed)


def name_of(step: Step) -> str:
    """What is counted: steps, resets by their kind, and cuts by what they cut off and their reset."""
    match step["do"]:
        case "reset":
            return f"reset {whole(step)['kind']}"
        case "cut":
            return f"cut {whole(step)['what']} {whole(step)['kind']}"
    return step["do"]


def random_steps(top: str, seed: int, functions: int = 1, options: Mapping[str, Any] = NOTHING) -> Iterator[Step]:
    shape = shape_of(top, options)
    if functions > 1:
        return iter(CrowdGenerator(seed, functions, shape, wants_memory(options)))
    return iter(Generator(seed, shape))


def replay(script: Script, steps: list[Step] | None = None, **limits: Any) -> Outcome:
    """A script, or some of its steps."""
    chosen = script.steps if steps is None else steps
    return play(script.top, script.seed, chosen, script.options, functions=script.functions, **limits)
