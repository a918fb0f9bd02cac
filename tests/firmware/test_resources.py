# SPDX-License-Identifier: Apache-2.0
"""Which I/O queues functions have, compiled for this machine, for numbers of functions and of queues: none has a queue
that is not there, or that of another."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
QUEUES = 32
"""A function's at most."""
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "state/drive.h"
#include "state/function.h"
#include "state/resources.h"

void hw_function_queues(const struct hw_function* f) { (void)f; }

/* The PF takes `wanted` at its reset, then VFs what is left. */
int main(void) {
    static struct function functions[FUNCTIONS];
    static struct drive drive = {.functions = functions};
    for (uint32_t count = 2; count <= FUNCTIONS; count += 5) {
        for (uint32_t queues = 1; queues <= 255 - count; queues += queues < 40 ? 1 : 7) {
            for (uint32_t wanted = 0; wanted <= 64; wanted++) {
                memset(functions, 0, sizeof functions);
                drive.hw.num_fn = (uint8_t)count;
                drive.hw.num_qp = (uint8_t)queues;
                drive.hw.vf_vec = 8;
                drive.primary = (struct resources){0, 0};
                resources_init(&drive);
                if (wanted > resources_primary_most(&drive)) break;
                drive.primary.queues = (uint16_t)wanted;
                resources_settle(&drive);
                for (uint32_t vf = 1; vf < count; vf++) {
                    struct resources r = {9, 1};
                    while (r.queues && !resources_give(&drive, &functions[vf], r)) r.queues--;
                }
                printf("%u %u %u %u", count, queues, resources_private(&drive).queues - 1, wanted);
                for (uint32_t i = 0; i < count; i++)
                    printf(" %u %u", functions[i].hw.before_first, functions[i].hw.num_qp);
                printf("\\n");
            }
        }
    }
}
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[list[int]]:
    folder = tmp_path_factory.mktemp("resources")
    (folder / "main.c").write_text(PROGRAM)
    include = (arg for d in (FW, FW / "base", build.regs() / "c", ROOT / "facts" / "c") for arg in ("-I", str(d)))
    program = folder / "resources"
    command = ["cc", "-std=gnu11", "-O1", "-DFUNCTIONS=17", "-w", "-o", str(program), *include]
    sources = [str(folder / "main.c"), str(FW / "state" / "resources.c")]
    subprocess.run([*command, *sources], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return [[int(word) for word in line.split()] for line in said.splitlines()]


def test_no_function_has_a_queue_that_is_not_there(rows: list[list[int]]) -> None:
    for count, queues, own, wanted, *parts in rows:
        had = [(before + 1, before + 1 + many) for before, many in zip(parts[::2], parts[1::2], strict=True) if many]
        assert all(count <= first < end <= count + queues for first, end in had), (count, queues, wanted)
        assert parts[1] == own + wanted, "the PF has what it was promised"
        taken = [number for first, end in had for number in range(first, end)]
        assert len(taken) == len(set(taken)) and max(parts[1::2]) <= QUEUES


def test_the_primary_may_have_all(rows: list[list[int]]) -> None:
    most: dict[tuple[int, int], int] = {}
    for count, queues, _, _, _, many, *_ in rows:
        most[count, queues] = max(most.get((count, queues), 0), many)
    assert most == {(count, queues): min(queues, QUEUES) for count, queues in most}
