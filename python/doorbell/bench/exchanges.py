# SPDX-License-Identifier: Apache-2.0
"""How long a slot's operator takes to be exchanged: by the card's own controller, and through software of the host.

By the card: a bitstream lies in card memory; the PF names it (command D4h), or a command misses its operator and comes
again until it is there. Through software: the hypervisor is told what is missed, looks at what is in the slots, writes
the bitstream through BAR 4, 64 bytes at a time, names it, and tells the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from doorbell.bench.pool import Pool
from doorbell.bench.software import Software
from doorbell.compute import slots
from doorbell.errors import UserError
from doorbell.nvme.cmb import map_cmb
from doorbell.nvme.vendor import NearOperator

SIZES = (32 << 10, 128 << 10, 512 << 10, 1 << 20)
WORDS_A_US = 200  # of the configuration port: 32 bits each
WRITE_BYTES = 64
PATIENCE = 100_000
CARD_BASE = 0x40_0000_0000


def _empty_of(pool: Pool, operator: int, other: int, slot: int) -> None:
    """`operator` is in no slot that can be exchanged, and `slot` is the one that was used least recently."""
    fn = pool.setup.asking[-1]
    all_of_them = [s for s in range(pool.setup.slots) if pool.exchangeable(s)]
    pool.fill(dict.fromkeys(all_of_them, other))
    for used in [s for s in all_of_them if s != slot]:
        pool.share({fn: 1 << used})
        pool.ask(fn, other)
    pool.share({fn: (1 << pool.setup.slots) - 1})
    if operator in slots.get(pool.pf).operators:
        raise UserError(f"operator {operator} is there already")


def by_the_pf(pool: Pool, operator: int, slot: int, size: int) -> float:
    """Microseconds of the PF's command, from its doorbell to its end."""
    pool.store(0, pool.bitstream(operator, slot, size))
    return slots.exchange_try(pool.pf, slot, 0).check().latency_ns / 1000


def as_missed(pool: Pool, operator: int, slot: int, size: int) -> float:
    """Microseconds from the command that misses its operator to the end of the first that has it."""
    fn = pool.setup.asking[-1]
    pool.store(slots.place(operator, slot, size), pool.bitstream(operator, slot, size))
    slots.library(pool.pf, 0, size)
    software = Software(pool.drive(fn))
    for _ in range(PATIENCE):
        found = pool.ask(fn, operator)
        software.interrupt()
        if found is not None:
            break
    else:
        raise UserError(f"operator {operator} was missed and did not come")
    slots.library(pool.pf, 0, 0)
    return software.us


def by_software(pool: Pool, operator: int, slot: int, size: int) -> tuple[float, Software]:
    """The same, with nothing in card memory and no library: all is the hypervisor's work."""
    fn = pool.setup.asking[-1]
    stream = pool.bitstream(operator, slot, size)
    card = map_cmb(pool.pf, CARD_BASE)
    software = Software(pool.drive(fn))
    if pool.ask(fn, operator) is not None:
        raise UserError(f"operator {operator} is there already")
    software.interrupt()
    software.vm_exit()  # the function's software asks its hypervisor
    if operator in slots.get(pool.pf).operators:
        raise UserError(f"operator {operator} is there already")
    software.interrupt()
    for at in range(0, size, WRITE_BYTES):
        card.store(at, stream[at : at + WRITE_BYTES])
    software.steps["writes"] += -(-size // WRITE_BYTES)
    slots.exchange(pool.pf, slot, 0)
    software.interrupt()
    software.vm_exit()  # the function is told
    software.interrupt()
    if pool.ask(fn, operator) is None:
        raise UserError(f"operator {operator} was brought and is not there")
    software.interrupt()
    return software.us, software


def measure(pool: Pool, sizes: Sequence[int] = SIZES) -> Iterator[dict[str, Any]]:
    """Rows: an exchange of a bitstream of each size, three ways."""
    slot = next(s for s in range(pool.setup.slots) if pool.exchangeable(s))
    operator = NearOperator.AGGREGATE if slot else NearOperator.GREP  # whose places are the first where none is fixed
    for size in sizes:
        _empty_of(pool, operator, NearOperator.FILTER, slot)
        pf_us = by_the_pf(pool, operator, slot, size)
        _empty_of(pool, operator, NearOperator.FILTER, slot)
        missed_us = as_missed(pool, operator, slot, size)
        _empty_of(pool, operator, NearOperator.FILTER, slot)
        software_us, software = by_software(pool, operator, slot, size)
        yield {
            "bytes": size, "port_us": round(size / 4 / WORDS_A_US, 2), "pf_us": round(pf_us, 2),
            "missed_us": round(missed_us, 2), "software_us": round(software_us, 2), **software.steps,
        }  # fmt: skip
