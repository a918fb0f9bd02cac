# SPDX-License-Identifier: Apache-2.0
"""Drives db_ssd_decode: namespaces, entries and slots in; all that comes out is compared with decode_model.py."""

from __future__ import annotations

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from decode_model import (
    ADMIN,
    CMD,
    COMPLETION,
    CTX,
    NAMESPACE,
    NS_ENTRY,
    NUM_FN,
    OPC,
    PORTS,
    SQE,
    TAP,
    WHERE,
    Model,
    namespaces,
)


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.slots = deque(range(256))
        self.busy: dict[int, dict] = {}  # slot: what is to come out
        self.seen: set = set()
        self.latency: list[int] = []
        self.given: deque[int] = deque()  # slots handed over whose context has not been written yet
        self.slot_valid = False
        self.left: dict[str, int] = {}
        self.aborts = 0.0  # how many entries are marked as aborted
        self.cache_off = 0  # of which functions, by place
        self.unseen = 0  # with several functions: I/O entries that could not be read

    async def begin(self, ns, locked: int = 0, read_only: int = 0) -> None:
        d, n = self.dut, len(self.dut.ns_locked)
        attached = [self.rng.getrandbits(NUM_FN) | 1 if i == 0 else self.rng.getrandbits(NUM_FN) for i in range(n)]
        if all(active for active, *_ in ns):
            attached = [(1 << NUM_FN) - 1] * n
        self.model = Model(ns, attached, self.cache_off)
        some = NUM_FN > 1 and not all(active for active, *_ in ns)
        self.model.barred = barred = [self.rng.getrandbits(NUM_FN) & self.rng.getrandbits(NUM_FN) * some for _ in ns]
        self.model.exclusive = exclusive = [self.rng.getrandbits(1) * some for _ in ns]
        d.cache_off.value = self.cache_off
        assert len(ns) == n
        d.rst.value = d.ns_rst.value = 1
        for p in (
            "s_ns_valid",
            "s_part",
            "s_sqe_valid",
            "s_slot_valid",
            "m_admin_ready",
            "m_read_ready",
            "m_write_ready",
            "m_completion_ready",
        ):
            getattr(d, p).value = 0
        d.ns_locked.value = self.model.locked = locked
        self.model.read_only = read_only
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = d.ns_rst.value = 0
        for i, (active, base, blocks, lba4k) in enumerate(ns):
            entry = NAMESPACE.pack(
                valid=int(active),
                attached=attached[i] if NUM_FN > 1 else 0,
                barred=barred[i],
                exclusive=exclusive[i],
                lba4k=int(lba4k),
                base=base,
                blocks=blocks,
                read_only=read_only >> i & 1,
            )
            d.s_ns_valid.value = 1
            d.s_ns.value = NS_ENTRY.pack(index=i, ns=entry)
            await RisingEdge(d.clk)
        # One beyond the table changes nothing.
        d.s_ns.value = NS_ENTRY.pack(index=n, ns=(1 << NAMESPACE.width) - 1)
        await RisingEdge(d.clk)
        d.s_ns_valid.value = 0

    async def run(self, entries, stall: float, stuck: tuple[str, ...] = (), limit: int = 25_000) -> int:
        """entries: (fn, sqid, head, err, data). stuck: outputs that are never ready. Ends when all (not stuck) is out,
        or at `limit` cycles; returns the cycles from the first entry taken to the last output."""
        d, rng = self.dut, self.rng
        todo = deque(entries)
        want: dict[str, deque] = {p: deque() for p in (*PORTS, "head", "fetch_err")}
        ports = [(p, getattr(d, f"m_{p}_valid"), getattr(d, f"m_{p}_ready")) for p in PORTS]
        ready = dict.fromkeys(PORTS, False)
        valid, cycle, start, end, quiet = False, 0, 0, 0, 0
        aborted = False
        command, taken = None, 0  # what an engine took in the cycle before: (port, fields), and when
        waiting: deque[tuple] = deque()  # I/O entries taken, not yet in a slot
        while cycle < limit and quiet < 10:
            await RisingEdge(d.clk)
            cycle += 1
            if valid and d.s_sqe_ready.value:
                fn, sqid, head, err, entry = todo.popleft()
                valid = False
                start = start or cycle
                want["head"].append((sqid, head))
                if err:
                    want["fetch_err"].append((fn, int(NUM_FN > 1 and sqid < NUM_FN)))
                if sqid < NUM_FN:
                    if not err:
                        want["admin"].append(dict(io=0, fn=fn, sqid=sqid, entry=entry))
                elif not err or NUM_FN > 1:  # others go on, so that it gives back what it holds: it ends unseen
                    waiting.append((cycle, err, *self.model.expect(fn, sqid, entry, bool(aborted or err))))
            # A slot is handed over one cycle before its context is written.
            tap = TAP.unpack(int(d.m_tap_cmd.value))
            if d.m_ctx_valid.value:
                slot = int(d.m_ctx_slot.value)
                at, unseen, port, fields, context = waiting.popleft()
                assert int(d.m_ctx_void.value) == unseen
                self.unseen += unseen
                assert slot == self.given.popleft() and slot not in self.busy
                assert CTX.unpack(int(d.m_ctx.value)) == context
                desc = context["desc"]
                expected = (int(port == "read" and desc["to_host"]), int(port == "write" and desc["from_host"]))
                assert (tap["read"], tap["write"]) == expected, f"tap: {tap}"
                assert not any(expected) or (tap["ctx"], tap["lba4k"]) == (context, fields["lba4k"])
                if port == "admin":
                    want[port].append(fields | {"slot": slot})
                    self.slots.append(slot)
                elif port == "completion":
                    self.busy[slot] = fields
                    want[port].append((at, slot, fields))
                else:  # the engine has taken it a cycle ago
                    assert command == (port, {"slot": slot, **fields}), f"{command}, not {port} {slot} {fields}"
                    command = None
                    self.slots.append(slot)
                    self.latency.append(taken - at)
                    self.seen.add((port, OPC[str(fields["desc"])], None))
            else:
                assert not tap["read"] and not tap["write"]
            assert command is None, f"without a context: {command}"
            if self.slot_valid and d.s_slot_ready.value:
                self.given.append(self.slots.popleft())
                self.slot_valid = False
            if d.m_head_valid.value:
                assert (int(d.m_head_sqid.value), int(d.m_head.value)) == want["head"].popleft()
            if d.m_fetch_err.value:
                assert (int(d.m_fetch_err_fn.value), int(d.m_admin_lost.value)) == want["fetch_err"].popleft()
                self.seen.add("fetch_err")
            else:
                assert not d.m_admin_lost.value
            for p, v, _ in ports:
                if not (ready[p] and v.value):
                    continue
                end = cycle
                if p in ("read", "write"):
                    assert command is None
                    command, taken = (p, CMD.unpack(int(d.m_cmd.value))), cycle
                    if command[1]["desc"]["stores"]:
                        where = WHERE.unpack(int(d.m_store.value))
                        command[1]["store"] = where["nsid"], where["slba"]
                    continue
                if p == "admin":
                    admin = int(d.m_admin.value)
                    got = ADMIN.unpack(admin)
                    got["entry"] = admin >> ADMIN["sqe"].offset & (1 << ADMIN["sqe"].width) - 1
                    expected = want[p].popleft()
                    assert {name: got[name] for name in expected} == expected
                    self.seen.add("reservation" if got["io"] else "admin")
                    continue
                at, slot, fields = want[p].popleft()
                got = COMPLETION.unpack(int(d.m_completion.value))
                got["status"] = COMPLETION["status"].encode(got["status"])
                assert got == {"slot": slot, **fields}, f"{p}: {got}"
                del self.busy[slot]
                self.slots.append(slot)
                self.latency.append(cycle - at)
                self.seen.add((p, None, fields["status"]))
            # next inputs
            if not valid and todo and rng.random() >= stall:
                valid = True
                fn, sqid, head, err, entry = todo[0]
                d.s_sqe.value = SQE.pack(fn=fn, sqid=sqid, head=head, err=err, sqe=entry)
                aborted = rng.random() < self.aborts
                d.s_abort.value = int(aborted)
            if not self.slot_valid and self.slots and rng.random() >= stall:
                self.slot_valid = True
                d.s_slot.value = self.slots[0]
            d.s_sqe_valid.value, d.s_slot_valid.value = int(valid), int(self.slot_valid)
            for p, _, r in ports:
                ready[p] = p not in stuck and rng.random() >= stall
                r.value = int(ready[p])
            done = not todo and not valid and not waiting and not any(q for p, q in want.items() if p not in stuck)
            quiet = quiet + 1 if done else 0
        assert quiet >= 10 or stuck, f"hangs: {[(p, len(q)) for p, q in want.items()]}, {len(todo)} not taken"
        self.left = {p: len(q) for p, q in want.items()} | {"todo": len(todo)}
        return end - start


def clock(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())


async def fresh(dut, seed: int, alive: float = 0.8, locked: int = 0, read_only: int = 0) -> Bench:
    b = Bench(dut, seed)
    n = len(dut.ns_locked)
    b.cache_off = b.rng.getrandbits(NUM_FN) if alive < 1 else 0
    await b.begin(namespaces(b.rng, n, alive), locked & (1 << n) - 1, read_only & (1 << n) - 1)
    return b
