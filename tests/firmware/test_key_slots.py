# SPDX-License-Identifier: Apache-2.0
"""Which key slot a function means by a number, compiled for this machine, for every size of the table and every number
of functions: no two functions have one in common."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
NONE = 0xFF
PROGRAM = """
#include <stdio.h>
#include "base/bytes.h"
#include "state/drive.h"
#include "state/function.h"
#include "state/key_slots.h"

uint64_t div_u64(uint64_t a, uint32_t b, uint32_t* rest) { return (void)rest, a / b; }

int main(void) {
    static struct function functions[FUNCTIONS];
    static struct drive drive = {.functions = functions};
    for (uint32_t slots = 2; slots <= 64; slots++) {
        for (uint32_t count = 1; count <= FUNCTIONS; count++) {
            drive.hw.key_slots = (uint8_t)slots;
            drive.hw.num_fn = (uint8_t)count;
            for (uint32_t place = 0; place < count; place++) {
                functions[place].hw.place = (uint8_t)place;
                printf("%u %u %u %u", slots, count, place, key_slots_known(&drive, &functions[place]));
                for (uint32_t n = 0; n < 256; n++) printf(" %u", key_slot_of(&drive, &functions[place], n));
                for (uint32_t n = 0; n < slots; n++) printf(" %u", key_slot_shown(&drive, &functions[place], n));
                printf("\\n");
            }
        }
    }
    // Whom a slot of VF 2 of 2 may serve, of a table of 16: namespace 1 is nobody's, 2 that of VF 2, 3 of VF 1, 4 of
    // the PF, 5 of VF 2 and can be shared.
    drive.hw.key_slots = 16;
    drive.hw.num_fn = 3;
    functions[2].ns[2].attached = functions[1].ns[3].attached = functions[0].ns[4].attached = true;
    functions[2].ns[5].attached = drive.namespaces.of[5].shared = true;
    for (uint32_t nsid = 1; nsid <= 5; nsid++)
        printf("%u%u ", key_slot_serves(&drive, 11, nsid), key_slot_serves(&drive, 5, nsid));
    printf("\\n");
}
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("slots")
    (folder / "main.c").write_text(PROGRAM)
    include = (arg for d in (FW, FW / "base", build.regs() / "c", ROOT / "facts" / "c") for arg in ("-I", str(d)))
    program = folder / "slots"
    command = ["cc", "-std=gnu11", "-DFUNCTIONS=17", "-Wall", "-Wno-int-to-pointer-cast", "-o", str(program), *include]
    subprocess.run([*command, str(folder / "main.c"), str(FW / "state" / "key_slots.c")], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()


def tables(lines: list[str]) -> Iterator[tuple[int, int, list[list[int]]]]:
    rows = [[int(word) for word in line.split()] for line in lines[:-1]]
    while rows:
        slots, count = rows[0][:2]
        yield slots, count, [row[3:] for row in rows[:count]]
        del rows[:count]


def test_no_slot_is_that_of_two(lines: list[str]) -> None:
    seen = 0
    for slots, count, functions in tables(lines):
        seen += 1
        pf, *vfs = [(row[0], row[1:257], row[257:]) for row in functions]
        assert pf[0] == slots and pf[1][slots:] == [NONE] * (256 - slots)
        assert pf[1][:slots] == pf[2] == list(range(slots)), "the PF names all"
        taken = [slot for _, of, _ in vfs for slot in of[1:] if slot != NONE]
        share = slots // count
        assert sorted(taken) == list(range(slots - share * len(vfs), slots)), "each of the last ones is one VF's"
        assert slots - len(taken) >= share, "the PF has no less"
        for known, of, shown in vfs:
            assert known == share + 1 and of[0] == 0 and of[known:] == [NONE] * (256 - known)
            mine = of[1:known]
            assert shown == [mine.index(slot) + 1 if slot in mine else 0 for slot in range(slots)]
    assert seen == 63 * 17


def test_what_a_slot_serves(lines: list[str]) -> None:
    """A slot of a VF what is its own or nobody's, and private; one of the PF all."""
    assert lines[-1].split() == ["11", "11", "01", "01", "01"]
