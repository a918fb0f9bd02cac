# SPDX-License-Identifier: Apache-2.0
"""Proofs of rtl/compute and rtl/crypto: nothing of a locked namespace leaves, nothing of a key leads anywhere but into
the rounds of AES, a near-storage command has slots of its own program alone, its rows go through these and to
its buffer; and that a broken block is refuted.
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
    # rows of a last slot still go where they went when it was first in another chain
    ("near_rename", "db_csd_near_rename", "last_q[s] ? '0 : route[s] & ~", "route[s] & ~"),
    # a last slot still gets rows of the one that was first before
    ("near_rename", "db_csd_near_rename", "route[s] & ~(load_first_q | last_q)", "route[s] & ~load_first_q"),
    # a first that is to feed another does so while commands are inside
    slow(
        "near_rename",
        "db_csd_near_rename",
        "(first_q & ~empty) == '0 ? oldest(fits_behind_q & empty & ~first_q, later_q) : '0",
        "oldest(fits_behind_q & empty & ~first_q, later_q)",
    ),
    slow("near_rename", "db_csd_near_rename", " & (load_first_q == '0 ? '1 : empty)", ""),
    # a slot gets another program while a command is inside
    ("near_rename", "db_csd_near_rename", "oldest(fits_q & empty, later_q)", "oldest(fits_q, later_q)"),
    # a function's command goes through what holds another's program of that number
    (
        "near_rename",
        "db_csd_near_rename",
        "valid_q[s] && holds_q[s] == owner;",
        "valid_q[s] && holds_q[s].number == owner.number;",
    ),
    # ... through what was loaded before the program was written; while it is written
    ("near_rename", "db_csd_near_rename", "(written && holds_q[s] == written_owner) || ", ""),
    ("near_rename", "db_csd_near_rename", "= written && written_owner == owner;", "= 1'b0;"),
    # ... through what has half of another's words
    ("near_rename", "db_csd_near_rename", "if (state_q == LOAD && load_q[s]) valid_q[s] <= 1'b0;", ""),
    # what is behind gets the words of the first
    slow("near_rename", "db_csd_near_rename", "WORDS_LOG2'(1) + WORDS_LOG2'(words_q)", "WORDS_LOG2'(1)"),
    # an older slot of the program stays beside the one that has it now
    (
        "near_rename",
        "db_csd_near_rename",
        "if (loaded && holds_q[s] == owner && !first_q[s] && !last_q[s]) valid_q[s] <= 1'b0;",
        "",
    ),
    # what is in a slot is exchanged while a command is about to go in; it counts as told afterwards
    ("near_rename", "db_csd_near_rename", "empty[s] && (state_q == IDLE || !(first_q[s] || last_q[s]))", "empty[s]"),
    ("near_rename", "db_csd_near_rename", " || operators[s] == NEAR_NONE) valid_q", ") valid_q"),
    # a function gets a slot that it may not use
    (
        "near_rename",
        "db_csd_near_rename",
        "operators[s] == behind_q && !off[s] && allowed[s]",
        "operators[s] == behind_q && !off[s]",
    ),
    # a counter of commands wraps
    ("near_rename", "db_csd_near_rename", "INSIDE_W = 4", "INSIDE_W = 3"),
    # a packet goes out twice
    ("near_rename", "db_csd_near_rename", "state_q == GO && !again)", "state_q == GO)"),
    # no slot was used least recently
    ("near_rename", "db_csd_near_rename", "used[t] ? s > t : 1'b1", "1'b1"),
    # a command whose operator is missed waits for it for ever; nobody is told
    ("near_rename", "db_csd_near_rename", "if ((fits_behind_q & ~first_q) == '0) begin", "if (1'b0) begin"),
    ("near_rename", "db_csd_near_rename", "m_missed[op_q] <= 1'b1;", ""),
    # rows of a slot do not get to the next; others get there
    ("near_crossbar", "db_csd_near_crossbar", "          slot_valid[s] = gives_valid[from_slot];\n", ""),
    ("near_crossbar", "db_csd_near_crossbar", "          slot_data[s]  = gives_data[from_slot];\n", ""),
    # a row that is not taken is gone: by the next slot; by the result
    (
        "near_crossbar",
        "db_csd_near_crossbar",
        "route[s] != '0 ? (route[s] & slot_ready)",
        "route[s] != '0 ? slot_ready",
    ),
    ("near_crossbar", "db_csd_near_crossbar", "from_valid && from_last[s] && m_ready;", "from_valid && m_ready;"),
    ("near_crossbar", "db_csd_near_crossbar", "from_valid && from_last == '0 && m_ready", "from_valid && m_ready"),
    # a row goes to a slot and to the result
    ("near_crossbar", "db_csd_near_crossbar", "s_valid && plain;", "s_valid;"),
    # a result before its turn; with a byte more than it has
    ("near_crossbar", "db_csd_near_crossbar", "from_valid && gives_valid[s]", "gives_valid[s]"),
    ("near_crossbar", "db_csd_near_crossbar", "7'(i) < s_row.bytes", "7'(i) <= s_row.bytes"),
    # more commands begin than there is room for; one that gives no result waits for its turn to
    ("near", "db_csd_near", "&& !begun_q && !inside_q[$clog2(INSIDE)];", "&& !begun_q;"),
    ("near", "db_csd_near", ".s_valid(begins && !nowhere)", ".s_valid(begins)"),
    # the next one's result begins before the last row of gathered words
    ("near", "db_csd_near", "gathered_valid ? gathered.last : rows_row.last", "rows_row.last"),
    # the first slot's rows are taken for the result
    ("near", "db_csd_near", "ALL'(chain.last)}", "ALL'(chain.first)}"),
    # a command leaves its slots in each cycle
    ("near", "db_csd_near", "leave <= from_end && !rst", "leave <= from_valid && !rst"),
    # what comes behind a result's last row is taken for the same command; what has no slot waits for rows
    ("near", "db_csd_near_pack", "active_q && !ended_q && (!full_q", "active_q && (!full_q"),
    ("near", "db_csd_near_pack", "<= begun.none || begun.absent;", "<= begun.none;"),
    # a command ends before its data have; twice
    slow("near", "db_csd_near_pack", "ended_q && end_valid : full_q", "ended_q : full_q"),
    slow("near", "db_csd_near_pack", "begun_valid && !done;", "begun_valid;"),
]


@pytest.mark.parametrize(
    "task", ["lock_write", "lock_read", "near_rename", slow("near_rename_4"), "near_crossbar", "near"]
)
def test_proof(task: str, tmp_path: Path) -> None:
    proves("csd", task, tmp_path)


@pytest.mark.parametrize("task", [slow("lock_cover"), "near_rename_cover", "near_crossbar_cover", "near_cover"])
def test_can_happen(task: str, tmp_path: Path) -> None:
    reaches("csd", task, tmp_path)


@pytest.mark.parametrize(("task", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(task: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("csd", task, ("axi", "common", "crypto", "compute", "nvme", "pcie", "ssd"), module, old, new, tmp_path)


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
