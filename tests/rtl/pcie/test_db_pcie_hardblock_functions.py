# SPDX-License-Identifier: Apache-2.0
"""Several functions through cocotbext-pcie's model of the UltraScale+ block: requests carry their function, completions
find it, BAR accesses say whose they are.

Where the model ends: it has no VFs (no SR-IOV capability, no VF BAR, no numbers above 7), so its functions 4 to 7 stand
for VFs 1 to 4, with a configuration space and a BAR of their own; 1 to 3 are functions that we do not have.
"""

from __future__ import annotations

from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import gather, with_timeout
from functions import number
from test_db_pcie_hardblock import MEM_SIZE, HardBlock

NUM_FN = 5
OURS = [number(place) for place in range(NUM_FN)]
REGION = MEM_SIZE // 8  # of a function: its number says where


class Watched(HardBlock):
    """Keeps what the device sends to memory: the function and the address."""

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed=seed, functions=8)
        self.sent: list[tuple[int, int]] = []
        send = self.dev.send

        async def watch(tlp: Any) -> None:
            if not tlp.is_completion():
                self.sent.append((tlp.requester_id.function, tlp.address - self.base))
            await send(tlp)

        self.dev.send = watch

    async def read_and_check(self, client: int, packets: int, fns: list[int]) -> None:
        """Reads of the lower half of a function's region, one after the other, of one function and then of another."""
        for _ in range(packets):
            fn = self.rng.choice(fns)
            offset, size = self.part(fn * REGION, fn * REGION + REGION // 2)
            task = cocotb.start_soon(self.request(client, [(self.base + offset, size)], fn, fn))
            data, user, err = await self.packet(client)
            assert (user, err, data) == (fn, 0, bytes(self.mem[offset : offset + size]))
            await task

    async def write_all(self, packets: int, expected: bytearray) -> None:
        """Writes into the third quarter of regions."""
        for _ in range(packets):
            fn = self.rng.choice(OURS)
            lo = fn * REGION + REGION // 2
            await self.writes(1, lo, lo + REGION // 4, expected, fn)

    async def post_all(self, count: int, expected: bytearray) -> None:
        """... into the last."""
        for _ in range(count):
            fn = self.rng.choice(OURS)
            lo = fn * REGION + 3 * REGION // 4
            await self.posts(1, lo, lo + REGION // 4, expected, fn)

    async def access_all(self, count: int) -> None:
        """Each function's registers, at the same offsets."""
        for i in range(count):
            for fn in OURS:
                await self.pcis[fn].bar_window[0].write(0x1000 + 4 * i, bytes([fn, i, 0, 0]))
        for i in range(count):
            for fn in OURS:
                got = await with_timeout(self.pcis[fn].bar_window[0].read(0x1000 + 4 * i, 4), 20, "us")
                assert got == bytes([fn, i, 0, 0])


@cocotb.test()
async def requests_carry_their_function(dut: Any) -> None:
    tb = Watched(dut, seed=21)
    await tb.start()
    expected = bytearray(tb.mem[:])
    tasks = [tb.read_and_check(0, 25, OURS), tb.read_and_check(1, 25, OURS), tb.write_all(25, expected),
             tb.post_all(60, expected), tb.access_all(6)]  # fmt: skip
    await with_timeout(gather(*(cocotb.start_soon(t) for t in tasks)), 500, "us")
    await tb.settle()
    assert bytes(tb.mem[:]) == bytes(expected)
    assert {fn for fn, _ in tb.sent} == set(OURS)
    strangers = [(fn, hex(at)) for fn, at in tb.sent if at // REGION != fn]
    assert not strangers, strangers
    assert dut.idle.value == 1


@cocotb.test()
async def a_silent_function_sends_nothing(dut: Any) -> None:
    """Its reads end with an error, its writes and posts are dropped; the others do not notice."""
    tb = Watched(dut, seed=22)
    await tb.start()
    mute, others = OURS[2], [fn for fn in OURS if fn != OURS[2]]
    dut.silent.value = 1 << 2
    await tb.settle(40)
    before = bytearray(tb.mem[:])
    await tb.posts(4, mute * REGION, (mute + 1) * REGION, bytearray(MEM_SIZE), mute)
    task = cocotb.start_soon(tb.request(0, [(tb.base + mute * REGION, 2048)], 7, mute))
    other = cocotb.start_soon(tb.read_and_check(1, 10, others))
    _, user, err = await with_timeout(tb.packet(0), 50, "us")
    assert (user, err) == (7, 1)
    await with_timeout(gather(task, other), 200, "us")
    await tb.settle()
    assert {fn for fn, _ in tb.sent} <= set(others) and bytes(tb.mem[:]) == bytes(before)
    dut.silent.value = 0
    await tb.settle(40)
    await with_timeout(cocotb.start_soon(tb.read_and_check(0, 3, [mute])), 100, "us")


def test_db_pcie_hardblock_functions() -> None:
    bench.run(
        __file__,
        "pcie_hardblock_tb",
        {"DATA_W": 256, "NUM_FN": NUM_FN},
        extra_sources=("tests/rtl/tb/pcie_hardblock_tb.sv",),
    )
