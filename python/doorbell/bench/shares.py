# SPDX-License-Identifier: Apache-2.0
"""What the PF gives each function in a bench of several: weights, command slots, limits (docs/virtualization.md).

Functions are named as in a job file: 0 or PF, 2 or VF2, 1-16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from doorbell.bench.jobs import parse_functions
from doorbell.errors import UserError
from doorbell.nvme import virtualization
from doorbell.nvme.commands import NvmeError
from doorbell.nvme.driver import Driver
from doorbell.units import parse_rate, parse_size

MOST_WEIGHT = 255
MOST_DEADLINE_US = 65535


@dataclass(frozen=True)
class Share:
    """What is asked for one function; None: the drive's default. Names and units are those of nvme's FunctionShare."""

    function: int
    weight: int | None = None
    slots_min: int | None = None
    slots_max: int | None = None
    iops: int | None = None
    iops_burst: int | None = None
    bytes_per_s: int | None = None
    bytes_burst: int | None = None
    deadline_us: int | None = None

    @property
    def given(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name != "function" and value is not None}


def _number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ValueError(f"'{text}' is not a number from {least} to {most}")
        return int(text)

    return parse


def _at_most(parse: Callable[[str], int], most: int) -> Callable[[str], int]:
    def checked(text: str) -> int:
        if not 1 <= (value := parse(text)) <= most:
            raise ValueError(f"'{text}' is not in 1 to {most}")
        return value

    return checked


Words = dict[str, tuple[str, Callable[[str], int]]]
LIMIT: Words = {
    "iops": ("iops", _number(1, (1 << 32) - 1)),
    "bw": ("bytes_per_s", _at_most(parse_rate, (1 << 64) - 1)),
    "iops-burst": ("iops_burst", _number(1, (1 << 32) - 1)),
    "bw-burst": ("bytes_burst", _at_most(parse_size, (1 << 32) - 1)),
}
SLOTS: Words = {"min": ("slots_min", _number(0, 256)), "max": ("slots_max", _number(1, 256))}


def parse_shares(
    weights: str | None, slots: Sequence[str], limits: Sequence[str], count: int, deadlines: str | None = None
) -> tuple[Share, ...]:
    """Of --fn-weights, --fn-slots, --fn-limit and --fn-deadlines, for so many functions. Raises UserError, one line."""
    found = {fn: Share(fn) for fn in range(count)}
    for option, text, field, parse in (
        ("--fn-weights", weights, "weight", _number(1, MOST_WEIGHT)),
        ("--fn-deadlines", deadlines, "deadline_us", _number(0, MOST_DEADLINE_US)),
    ):
        of = [_value(option, text, word.strip(), parse) for word in text.split(",")] if text is not None else []
        if len(of) > count:
            raise UserError(f"{option} {text}: {len(of)} values for {count} functions")
        for fn, value in enumerate(of):
            found[fn] = replace(found[fn], **{field: value})
    for option, texts, words in (("--fn-slots", slots, SLOTS), ("--fn-limit", limits, LIMIT)):
        for text in texts:
            functions, values = _assignment(option, text, words)
            for fn in functions:
                if fn not in found:
                    raise UserError(f"{option} {text}: there is no function {fn}: they are 0 to {count - 1}")
                found[fn] = replace(found[fn], **values)
    return tuple(share for share in found.values() if share.given)


def _value(option: str, text: str, word: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(word)
    except ValueError as e:
        raise UserError(f"{option} {text}: {e}") from e


def _assignment(option: str, text: str, words: Words) -> tuple[tuple[int, ...], dict[str, int]]:
    """`VF2=iops:20000,bw:500m`: which functions, and values by name."""
    name, equals, rest = text.partition("=")
    example = "0=min:8,max:64" if words is SLOTS else "2=iops:20000,bw:500m"
    if not equals:
        raise UserError(f"{option} {text}: say which function, as in {option} {example}")
    try:
        functions = parse_functions(name.upper().replace("PF", "0").replace("VF", ""))
    except ValueError as e:
        raise UserError(f"{option} {text}: '{name}' is no function: use 0 or PF, 2 or VF2, 1-16") from e
    values: dict[str, int] = {}
    for part in rest.split(","):
        word, _, value = (p.strip() for p in part.partition(":"))
        if word not in words:
            raise UserError(f"{option} {text}: '{word}' is not one of {', '.join(words)}, as in {option} {example}")
        field, parse = words[word]
        values[field] = _value(option, text, value, parse)
    for rate, burst, called in (("iops", "iops_burst", "iops"), ("bytes_per_s", "bytes_burst", "bw")):
        if burst in values and rate not in values:
            raise UserError(f"{option} {text}: {called}-burst needs {called}")
    return functions, values


def apply(pf: Driver, shares: Sequence[Share], count: int) -> None:
    """Tell the drive; `count` functions work. Raises UserError if it does not have so much."""
    have = {fn: virtualization.share(pf, fn) for fn in range(count)}

    def added(share: Share) -> int:
        return share.given.get("slots_min", have[share.function].slots_min) - have[share.function].slots_min

    for share in sorted(shares, key=added):  # what some give back others may have
        slots = have[share.function].slots
        try:
            virtualization.set_share(pf, share.function, **share.given)
        except NvmeError as e:
            least = virtualization.share(pf, 0).slots_min_total
            raise UserError(
                f"function {share.function} cannot have {_words(share)}: of {slots} command slots min is up to max, "
                f"and min of all together up to {least} (--fn-slots '0-{count - 1}=min:0' gives back what they have)"
                + ("; a deadline needs --top db_csd --param NEAR=1" if share.deadline_us else "")
            ) from e


def _words(share: Share) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in share.given.items())


def describe_shares(shares: Sequence[Share]) -> str:
    """For a title; nothing where nothing was asked for."""
    return "".join(f"; function {share.function}: {_words(share)}" for share in shares)
