# SPDX-License-Identifier: Apache-2.0
"""Proofs of rtl/compute and rtl/crypto: nothing of a locked namespace leaves, nothing of a key leads anywhere but into
the rounds of AES; and that a broken block is refuted.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell.build import hash_files
from doorbell.build.benches import hash_rtl
from key_paths import Rule, leaks, netlist, plain
from proofs import ROOT, YOSYS, proves, reaches, refutes, slow
from results import run_once

# task, module, text, what replaces it
BROKEN = [
    # a namespace with XTS is never found locked; one with CTR
    slow("lock_write", "db_csd_aes", "(issue.cmd.op == OP_AES_XTS && !xts_ok)", "1'b0"),
    slow("lock_read", "db_csd_aes", "(issue.cmd.op == OP_AES_CTR && !ctr_ok)", "1'b0"),
    # the core is not told, so what the rounds make goes out
    slow("lock_write", "db_csd_aes_core", "ctl.err      = row.key_err;", "ctl.err      = 1'b0;"),
    # the error comes a cycle early
    ("lock_write", "db_csd_delay", "AW'(1 - CYCLES)", "AW'(2 - CYCLES)"),
]


@pytest.mark.parametrize("task", ["lock_write", "lock_read"])
def test_proof(task: str, tmp_path: Path) -> None:
    proves("csd", task, tmp_path)


@pytest.mark.nightly
def test_can_happen(tmp_path: Path) -> None:
    reaches("csd", "lock_cover", tmp_path)


@pytest.mark.parametrize(("task", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(task: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("csd", task, ("common", "crypto", "compute"), module, old, new, tmp_path)


# ---------------------------------------------------------------- where keys go
ROUNDS = ("db_aes_mix.key", "db_aes_sub.x", "db_aes_mix.x")
RULES = {
    # round keys; with the first of them a block is not encrypted yet, so it counts as key until it has been in a round
    "db_aes_pipe": ({"LANES": 1, "KEY_SLOTS": 2}, Rule(("key_mem_q",), into=ROUNDS)),
    "db_aes_iter": ({"KEY_SLOTS": 2}, Rule(("i_keys.rdata",), into=ROUNDS)),
    # what a host has given
    "db_csd_keys": ({"KEY_SLOTS": 2}, Rule(("i_staging.rdata",), ports=("key_bus",), through=("db_aes_sbox",))),
}
"""Module: parameters, where what it reads from its key memory may go."""
LEAKS = [
    # module, text, what replaces it, what is found
    # a round key is the result
    ("db_aes_pipe", "m_data  = state_q[AES_ROUNDS];", "m_data  = s_short ? g_round[3].key : state_q[AES_ROUNDS];",
     ["port m_data"]),
    # no round is done for a key of 128 bits
    ("db_aes_pipe", "r <= AES_SKIPPED && tag.is_short", "tag.is_short", ["port m_data"]),
    # the result is not that of the last round
    ("db_aes_iter", "m_data_q  <= mixed;", "m_data_q  <= short_q ? mixed : state_q;", ["port m_data"]),
    # how long it takes depends on the key
    ("db_csd_keys", "busy        = state_q != ST_IDLE;", "busy        = state_q != ST_IDLE || w_q[0] == 32'd0;",
     ["input db_ram_sdp.we", "port busy"]),
]  # fmt: skip
FILES = [
    *(ROOT / "rtl" / "crypto" / f"{m}.sv" for m in ("db_aes_pkg", "db_aes_sbox", "db_aes_sub", "db_aes_mix")),
    ROOT / "rtl" / "common" / "db_ram_sdp.sv",
    ROOT / "rtl" / "compute" / "db_csd_pkg.sv",
]


def leads(module: str, broken: tuple[str, str] | None, out: Path) -> list[str]:
    """What the keys of a module reach that they must not, its text changed if it is to be broken."""
    folder = "compute" if module == "db_csd_keys" else "crypto"
    parameters, rule = RULES[module]
    source = out / f"{module}.sv"
    shutil.copy(ROOT / "rtl" / folder / source.name, source)
    if broken:
        text = source.read_text()
        assert text.count(broken[0]) == 1, f"{module} no longer says: {broken[0]}"
        source.write_text(text.replace(*broken))
    work = out / "work"
    work.mkdir()
    modules = netlist([*FILES, source], module, parameters, work)
    return leaks(next(m for n, m in modules.items() if plain(n) == module), rule, modules)


def once(module: str, broken: tuple[str, str] | None, want: list[str], out: Path) -> None:
    def run(_: Path) -> None:
        assert leads(module, broken, out) == want

    models = ROOT / "tests" / "models" / "key_paths.py"
    own = next((ROOT / "rtl").rglob(f"{module}.sv"))
    run_once(
        f"keys-{module}", (broken, want, hash_files([models, YOSYS, Path(__file__)]), hash_rtl([*FILES, own])), run
    )


@pytest.mark.parametrize("module", RULES)
def test_keys_lead_into_the_rounds_alone(module: str, tmp_path: Path) -> None:
    once(module, None, [], tmp_path)


@pytest.mark.parametrize(("module", "old", "new", "found"), LEAKS)
def test_finds_where_a_key_leaks(module: str, old: str, new: str, found: list[str], tmp_path: Path) -> None:
    once(module, (old, new), found, tmp_path)
