# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin with its real firmware: a host drives registers and entries, and checks completions and data.

The tests are in the modules of PARTS; one run has all, so that the stack is looked at when all of them have used it.
"""

from __future__ import annotations

import os
import random

import cocotb
import pytest
from ssd_admin_bench import NSID_ALL, NUM_NS, NUM_QP, NUM_VEC, PAINT, stack_of, started

PARTS = ("ssd_admin_bring_up", "ssd_admin_features", "ssd_admin_logs", "ssd_admin_namespaces", "ssd_admin_resets")


@cocotb.test()
async def many_at_once(dut):
    """Bursts of random commands, good and bad: each completes once, in order, and the ring never loses one."""
    b = await started(dut, 10)
    rng = random.Random(11)
    for _ in range(4):
        sent = []
        for _ in range(25):
            opcode = rng.choice((0x02, 0x06, 0x08, 0x09, 0x0A, 0x18, 0x7F, rng.randrange(256)))
            if opcode in (0x0C, 0x0D, 0x80):
                continue
            sent.append(await b.send(
                opcode, nsid=rng.choice((0, 1, 2, NSID_ALL)), prp1=rng.randrange(1 << 20) & ~3,
                prp2=rng.randrange(1 << 8) << 12,
                dw10=rng.choice((rng.getrandbits(32), rng.randrange(16), 0x3FF << 16 | rng.randrange(6))),
                dw11=rng.choice((0, 0, rng.getrandbits(8))),
            ))  # fmt: skip
        expected = len(sent)
        await b.until(lambda n=expected: len(b.completions) == n, 600_000, "all completions")
        assert [c.cid for c in b.completions] == sent
        b.completions.clear()
        await b.asleep()
    assert b.csts.cfs == 0


@cocotb.test()
async def the_stack_is_as_deep_as_it_can_be_or_less(dut):
    """What of it was written since the first of these tests began, beside the bound (tests/firmware/test_stack.py)."""
    b = await started(dut, 22)
    await b.asleep()
    stack, bound = stack_of(dut), int(os.environ["STACK_BOUND"])
    used = 4 * (len(stack) - next(i for i, word in enumerate(stack) if int(word.value) != PAINT))
    dut._log.info(f"stack: {used} bytes of {bound}")
    assert 200 < used <= bound


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_db_ssd_admin(long: bool) -> None:
    import rtl_bench as bench
    from doorbell import build, paths
    from doorbell.build.firmware_stack import measure
    from doorbell.build.riscv import load

    gen = build.regs() / "rtl"
    places, deepest = load(build.linked()).values, measure(build.linked()).deepest
    stack = {"STACK_END": places["bss_end"], "STACK_TOP": places["stack_top"], "STACK_BOUND": deepest}
    bench.run(
        __file__, "db_ssd_admin", {"NUM_QP": NUM_QP, "NUM_VEC": NUM_VEC, "NUM_NS": NUM_NS, "SGL": 1},
        extra_sources=(gen / "db_ssd_fw_regs_pkg.sv", gen / "db_ssd_fw_regs.sv", paths.picorv32()),
        files={"fw.hex": build.firmware()}, inside=("db_ssd_admin_ram",), parts=PARTS,
        env={"LONG": str(int(long)), **{name: str(value) for name, value in stack.items()}},
    )  # fmt: skip
