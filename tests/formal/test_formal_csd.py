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
    # rows of a slot do not go to the next one; what goes to it still gets those of others; a last one's still go on
    slow("near_rename", "db_csd_near_rename", "if (prev_q[s]) route[s] <= chosen;", "if (1'b0) route[s] <= chosen;"),
    slow("near_rename", "db_csd_near_rename", "        else route[s] <= route[s] & ~chosen;\n", ""),
    slow("near_rename", "db_csd_near_rename", "        else if (chosen[s] && !more_q) route[s] <= '0;\n", ""),
    # where rows go changes while commands are inside: in both, in the next one, in the one before
    slow("near_rename", "db_csd_near_rename", "fed_q | (prev_empty_q ? empty : '0)", "'1"),
    slow("near_rename", "db_csd_near_rename", "prev_empty_q ? empty : '0", "prev_empty_q ? '1 : '0"),
    slow("near_rename", "db_csd_near_rename", "(prev_empty_q ? empty : '0)", "empty"),
    slow(
        "near_rename",
        "db_csd_near_rename",
        "prev_empty_q ? oldest(fits_q & empty & ~chain_q, later_q) : '0",
        "oldest(fits_q & empty & ~chain_q, later_q)",
    ),
    slow(
        "near_rename", "db_csd_near_rename", "prev_empty_q <= (prev_q & ~empty)", "prev_empty_q <= (first_q & ~empty)"
    ),
    # a chain waits until nothing is in it, though the one before is the same
    slow("near_rename", "db_csd_near_rename", "fed_q | (prev_empty_q", "(prev_empty_q"),
    # a slot gets another program while a command is inside; two operators of a command
    slow("near_rename", "db_csd_near_rename", "oldest(fits_q & empty & ~chain_q", "oldest(fits_q & ~chain_q"),
    ("near_rename", "db_csd_near_rename", "oldest(fits_q & empty & ~chain_q", "oldest(fits_q & empty"),
    # an operator that is named twice has the other one's words
    slow("near_rename", "db_csd_near_rename", "&& holds_stage_q[s] == stage_q;", ";"),
    # a function's command goes through what holds another's program of that number
    slow(
        "near_rename",
        "db_csd_near_rename",
        "holds_q[s] == owner && holds_stage",
        "holds_q[s].number == owner.number && holds_stage",
    ),
    # ... through what was loaded before the program was written; while it is written, in any state or one
    slow("near_rename", "db_csd_near_rename", "(written && holds_q[s] == written_owner) || ", ""),
    ("near_rename", "db_csd_near_rename", "= written && written_owner == owner;", "= 1'b0;"),
    (
        "near_rename",
        "db_csd_near_rename",
        "if (state_q == IDLE || again) begin",
        "if (state_q == IDLE || (again && state_q != LOAD)) begin",
    ),
    (
        "near_rename",
        "db_csd_near_rename",
        "if (again && state_q != IDLE) begin",
        "if (again && state_q != IDLE && state_q != HEAD) begin",
    ),
    (
        "near_rename",
        "db_csd_near_rename",
        "if (again && state_q != IDLE) begin",
        "if (again && state_q != IDLE && state_q != COME) begin",
    ),
    # ... through what has half of another's words; what got them is not found, or though the command went without
    ("near_rename", "db_csd_near_rename", "        if (hit == '0) valid_q[s] <= 1'b0;\n", ""),
    slow("near_rename", "db_csd_near_rename", "      if (loaded && loads_q[s]) valid_q[s] <= 1'b1;\n", ""),
    slow("near_rename", "db_csd_near_rename", "if (loaded && loads_q[s]) valid_q", "if (goes && loads_q[s]) valid_q"),
    # the next head is looked for a word before it; where it would be of the first; at the same place; behind the words
    slow(
        "near_rename",
        "db_csd_near_rename",
        "next_at_q <= at_q + WORDS_LOG2'(words_q) + 1'b1;",
        "next_at_q <= at_q + WORDS_LOG2'(words_q);",
    ),
    slow(
        "near_rename",
        "db_csd_near_rename",
        "next_q    <= at_q + WORDS_LOG2'(words_q) + 1'b1;",
        "next_q    <= WORDS_LOG2'(words_q) + 1'b1;",
    ),
    ("near_rename", "db_csd_near_rename", "          at_q <= next_at_q;\n", ""),
    slow("near_rename", "db_csd_near_rename", "          next_q  <= at_q;\n", ""),
    # an operator gets the words of the first; all but one; one that it does not have; them from 0 on
    slow("near_rename", "db_csd_near_rename", "next_q  <= at_q + 1'b1;", "next_q  <= WORDS_LOG2'(1);"),
    slow("near_rename", "db_csd_near_rename", "if (left_q <= 8'd1) begin", "if (left_q <= 8'd2) begin"),
    slow("near_rename", "db_csd_near_rename", "left_q != '0 ? chosen_q : '0", "chosen_q"),
    ("near_rename", "db_csd_near_rename", "addr_q   <= 8'd1;", "addr_q   <= 8'd0;"),
    # a later operator's head says how much a command looks at; a Crypt gets a slot
    slow("near_rename", "db_csd_near_rename", "stage_q == '0 && word[24]", "word[24]"),
    slow(
        "near_rename",
        "db_csd_near_rename",
        "word[3:0] == NEAR_NONE || word[3:0] == NEAR_CRYPT || too_long ? GO",
        "word[3:0] == NEAR_NONE || too_long ? GO",
    ),
    # an older slot of the program stays beside the one that has it now
    slow(
        "near_rename",
        "db_csd_near_rename",
        "      if (loaded && holds_q[s] == owner && !chain_q[s]) valid_q[s] <= 1'b0;  // one slot has it\n",
        "",
    ),
    # what is in a slot is exchanged while a command is about to go in; it counts as told afterwards
    ("near_rename", "db_csd_near_rename", "empty[s] && (state_q == IDLE || !chain_q[s])", "empty[s]"),
    ("near_rename", "db_csd_near_rename", " || operators[s] == NEAR_NONE) valid_q", ") valid_q"),
    # a function gets a slot that it may not use; one that is off
    ("near_rename", "db_csd_near_rename", " && !off[s] && allowed[s];", " && !off[s];"),
    ("near_rename", "db_csd_near_rename", " && !off[s] && allowed[s];", " && allowed[s];"),
    # a command's slots lack one; its last is not the last, its first not the first; it is in these two alone; in some
    # without a program
    (
        "near_rename",
        "db_csd_near_rename",
        "slots: NEAR_SLOTS_MOST'(chain_q)",
        "slots: NEAR_SLOTS_MOST'(first_q | prev_q)",
    ),
    ("near_rename", "db_csd_near_rename", "last: NEAR_SLOTS_MOST'(prev_q)", "last: NEAR_SLOTS_MOST'(first_q)"),
    (
        "near_rename",
        "db_csd_near_rename",
        "          if (stage_q == '0) first_q <= chosen;\n",
        "          first_q <= chosen;\n",
    ),
    ("near_rename", "db_csd_near_rename", "loaded ? chain_q : '0", "loaded ? first_q | prev_q : '0"),
    slow("near_rename", "db_csd_near_rename", "goes && !absent_q && !none_q;", "goes && !absent_q;"),
    # a counter of commands wraps
    ("near_rename", "db_csd_near_rename", "INSIDE_W = 4", "INSIDE_W = 3"),
    # a packet goes out twice
    ("near_rename", "db_csd_near_rename", "state_q == GO && !again),", "state_q == GO),"),
    # no slot was used least recently
    slow("near_rename", "db_csd_near_rename", "used[t] ? s > t : 1'b1", "1'b1"),
    # a command whose operator is missed waits for it for ever; the second of two that are the same; nobody is told
    slow("near_rename", "db_csd_near_rename", "if ((fits_q & ~chain_q) == '0) begin", "if (1'b0) begin"),
    slow("near_rename", "db_csd_near_rename", "if ((fits_q & ~chain_q) == '0) begin", "if (fits_q == '0) begin"),
    slow("near_rename", "db_csd_near_rename", "          m_missed[op_q] <= 1'b1;\n", ""),
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
    # an empty slot takes a row, gives a word; an operator that is not there sees rows, or is not in reset
    ("near_slot", "db_csd_near_slot", "s_row_ready  = 1'b0;", "s_row_ready  = row_ready[0];"),
    ("near_slot", "db_csd_near_slot", "m_word_valid = 1'b0;", "m_word_valid = word_valid[1];"),
    ("near_slot", "db_csd_near_slot", "s_row_valid && operator == KINDS[k]", "s_row_valid"),
    ("near_slot", "db_csd_near_slot", "rst || operator != KINDS[k]", "rst"),
    # rows of the other operator; what waits goes out when the operator is gone
    ("near_slot", "db_csd_near_slot", "filters = operator == NEAR_FILTER", "filters = operator == NEAR_GREP"),
    ("near_slot", "db_csd_near_slot", ".rst(off[0] && off[3])", ".rst(rst)"),
]


@pytest.mark.parametrize(
    "task", ["lock_write", "lock_read", "near_rename", slow("near_rename_4"), "near_crossbar", "near", "near_slot"]
)
def test_proof(task: str, tmp_path: Path) -> None:
    proves("csd", task, tmp_path)


@pytest.mark.parametrize(
    "task", [slow("lock_cover"), "near_rename_cover", "near_crossbar_cover", "near_cover", "near_slot_cover"]
)
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
