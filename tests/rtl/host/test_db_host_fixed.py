# SPDX-License-Identifier: Apache-2.0
"""db_host_fixed: AXI4-Lite of a host without registers. Every access is answered once, OKAY and 0, whoever is slow; the
settings are the parameters."""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from rtl_bench import run
from streams import start
from structs import layout

SETTINGS = layout("db_host_pkg", "settings_t")
VALUES = {"NSID": 3, "POLL_MS": 7, "REPEAT": 0, "CMD_TIMEOUT": 1000}
INPUTS = ("awvalid", "wvalid", "bready", "arvalid", "rready")


@cocotb.test()
async def every_access_is_answered_once(dut: Any) -> None:
    def signal(name: str) -> Any:
        return getattr(dut, f"s_axil_{name}")

    for seed in range(4):
        rng = random.Random(seed)
        await start(dut, **{f"s_axil_{name}": 0 for name in INPUTS})
        given = dict.fromkeys(INPUTS, 0)
        count = dict.fromkeys(("aw", "w", "b", "ar", "r"), 0)
        held = {"b": 0, "r": 0}
        for _ in range(1500):
            await RisingEdge(dut.clk)
            taken = {
                **{c: given[f"{c}valid"] and int(signal(f"{c}ready").value) for c in ("aw", "w", "ar")},
                **{c: int(signal(f"{c}valid").value) and given[f"{c}ready"] for c in ("b", "r")},
            }
            for channel, gone in taken.items():
                count[channel] += gone
            for c in ("b", "r"):
                valid = int(signal(f"{c}valid").value)
                assert valid or not held[c], f"{c} was taken back"
                assert not valid or not int(signal(f"{c}resp").value), "OKAY"
                held[c] = valid and not taken[c]
            assert count["b"] <= min(count["aw"], count["w"]) and count["r"] <= count["ar"]
            assert not int(dut.s_axil_rdata.value)
            for name in INPUTS:
                c = name.removesuffix("valid")
                stays = name.endswith("valid") and given[name] and not taken[c]
                given[name] = 1 if stays else int(rng.random() < rng.choice((0.3, 0.8)))
                signal(name).value = given[name]
        assert count["r"] > 200 and count["b"] > 100
        assert all(count[c] - count[end] in (0, 1) for c, end in (("ar", "r"), ("aw", "b"), ("w", "b")))
    settings = SETTINGS.unpack(int(dut.settings.value))
    names = ("nsid", "poll_ms", "repeat_on_reset", "cmd_timeout")
    assert [settings[name] for name in names] == list(VALUES.values())
    assert settings["admin_ms"] == 10_000, "what is not given is as the parameter's default"


@cocotb.test()
async def no_ready_follows_a_valid(dut: Any) -> None:
    """Between inputs and outputs of an AXI interface is no way but through a register (AXI4, A3.1.1)."""
    await start(dut, **{f"s_axil_{name}": 0 for name in INPUTS})
    await FallingEdge(dut.clk)
    seen = set()
    for valid in itertools.product((0, 1), repeat=3):
        for c, v in zip(("aw", "w", "ar"), valid, strict=True):
            getattr(dut, f"s_axil_{c}valid").value = v
        await Timer(1, "ps")
        seen.add(tuple(int(getattr(dut, f"s_axil_{c}ready").value) for c in ("aw", "w", "ar")))
    assert len(seen) == 1, seen


def test_db_host_fixed() -> None:
    run(__file__, "db_host_fixed", dict(VALUES))
