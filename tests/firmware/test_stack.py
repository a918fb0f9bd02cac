# SPDX-License-Identifier: Apache-2.0
"""The bound of the firmware's stack: below what the linker script leaves for it, right for programs that are run on
another model of the processor, and none where there is none. What the firmware takes when it runs is in
tests/rtl/ssd/test_db_ssd_admin.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from doorbell import build, paths
from doorbell.build.firmware_stack import StackError, measure
from doorbell.build.riscv import load
from rv32_machine import Machine

FW = paths.ROOT / "fw"
RAM = 65536

HEAD = """
#include <stdint.h>
#define OWN __attribute__((noinline, unused)) static
typedef uint32_t (*fn_t)(uint32_t);
extern const uint32_t serial_number;
volatile uint32_t memory[64] __attribute__((section(".bss.instance")));
OWN uint32_t fill(uint32_t n) { volatile uint8_t b[100]; for (uint32_t i = 0; i < 100; i++) b[i] = (uint8_t)(n + i);
    return b[n & 63]; }
OWN uint32_t six(uint32_t n) {
    uint32_t a = fill(n), b = fill(n + 1), c = fill(n + 2), d = fill(a), e = fill(b), f = fill(c);
    for (uint32_t i = 0; i < 3; i++) {
        a += fill(b ^ i); b += fill(c ^ i); c += fill(d ^ i); d += fill(e); e += fill(f);
    }
    return a ^ b ^ c ^ d ^ e ^ f; }
OWN uint32_t last(uint32_t n) { memory[0] += n; return six(n + 7); }
OWN uint32_t each(fn_t f, uint32_t n) { volatile uint32_t b[9]; for (uint32_t i = 0; i < 9; i++) b[i] = f(n + i);
    return b[n & 7]; }
OWN uint32_t twice(uint32_t n) { return each(n & 1 ? fill : last, n) + each(six, n); }
"""
GOOD = (
    HEAD
    + """
struct row { uint32_t opcode; fn_t run; };
static const struct row rows[] = {{3, six}, {7, last}, {9, 0}, {11, twice}, {12, fill}};
OWN const struct row* find(uint32_t opcode) {
    for (uint32_t i = 0; i < 5; i++) { if (rows[i].opcode == opcode) return &rows[i]; }
    return 0;
}
int main(void) {
    for (uint32_t i = 0; i < 16; i++) {
        const struct row* r = find(i + serial_number - 1);
        memory[2] += r && r->run ? r->run(i) : 1;
    }
    __asm__ volatile("ebreak");
    for (;;) {}
}
"""
)
END = """
int main(void) { memory[2] = top(serial_number); __asm__ volatile("ebreak"); for (;;) {} }
"""
BAD = {
    "recursion": ("recursion: down -> down", """
OWN uint32_t down(uint32_t n) { return n > 2 ? fill(n) + down(n - fill(n)) + down(n - 1) : n; }
OWN uint32_t top(uint32_t n) { return down(n + 3); }
"""),
    "recursion through a table": ("recursion: (odd|even) -> ", """
OWN uint32_t odd(uint32_t n); OWN uint32_t even(uint32_t n);
static const fn_t table[] = {odd, even, fill, six};
OWN uint32_t odd(uint32_t n) { return n ? table[n & 3](n - 1) + fill(n) : 1; }
OWN uint32_t even(uint32_t n) { return n ? table[1 + (n & 1)](n - 1) * 3 + fill(n): 0; }
OWN uint32_t top(uint32_t n) { return table[n & 3](n + 9) + 1; }
"""),
    "a frame of any size": ("the size of the frame is not fixed", """
OWN uint32_t top(uint32_t n) { volatile uint8_t b[n & 63]; for (uint32_t i = 0; i < (n & 63); i++) b[i] = (uint8_t)i;
    return b[n & 31]; }
"""),
    "a pointer in memory": ("cannot be followed", """
OWN uint32_t top(uint32_t n) { memory[5] = (uint32_t)(n & 1 ? fill : six); return ((fn_t)memory[5])(n) + 1; }
"""),
}  # fmt: skip


def linked(folder: Path, text: str, many: bool) -> Path:
    """A program instead of the firmware: its start code, script and compiler."""
    sys.path.insert(0, str(FW))
    import build as firmware_build

    sys.path.remove(str(FW))
    places = {"RAM_BYTES": str(RAM), "RINGS_BYTES": "5K" if many else "0", "STACK_BYTES": "2K"}
    (folder / "link.ld").write_text(re.sub("|".join(places), lambda m: places[m[0]], (FW / "link.ld").read_text()))
    (folder / "main.c").write_text(text)
    flags = [*firmware_build.FLAGS, *(firmware_build.MANY_FLAGS if many else ())]
    command = [
        *firmware_build.zig(), "cc", *flags, f"-DFUNCTIONS={17 if many else 1}", "-T", str(folder / "link.ld"),
        "-Wl,--gc-sections", "-o", str(folder / "main.elf"), str(FW / "start.S"), str(folder / "main.c"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "main.elf"


@pytest.mark.parametrize("many", [False, True])
def test_a_bound_is_what_a_program_takes(tmp_path: Path, many: bool) -> None:
    """All its calls are made, so it is neither more nor less: by tables, callbacks, shared prologues, last steps."""
    elf = linked(tmp_path, GOOD, many)
    program = load(elf)
    machine = Machine(program.data, RAM)
    machine.run()
    taken = program.values["stack_top"] - machine.lowest
    m = measure(elf)
    assert m.chain[1:3] == ("twice", "each") and m.chain[-1] == "fill"
    assert taken > 200 and m.deepest == taken


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_no_bound_where_there_is_none(tmp_path: Path, what: str, many: bool) -> None:
    why, text = BAD[what]
    with pytest.raises(StackError, match=why):
        measure(linked(tmp_path, HEAD + text + END, many))


@pytest.mark.parametrize("image", build.IMAGES)
def test_the_firmwares_stack_has_room(image: str) -> None:
    """In what every link leaves for it, and so in what this one does."""
    told = re.search(r"^STACK_BYTES = (\d+)", (FW / "build.py").read_text(), re.MULTILINE)
    assert told
    m = measure(build.linked(*build.IMAGES[image]))
    assert 500 < m.deepest <= int(told[1]) <= m.room


@pytest.mark.parametrize("top", ["db_ssd", "db_csd", "db_vcsd"])
@pytest.mark.parametrize("functions", [1, 17])
def test_the_stack_ends_where_the_memory_of_each_top_does(top: str, functions: int) -> None:
    """Or before: no top has less memory than its image was linked for."""
    text = next((paths.ROOT / "rtl").rglob(f"{top}.sv")).read_text()
    told = re.search(r"RAM_BYTES\s*= \(?NUM_FN == 1 \? (\d+) : NUM_CMDS > 128 \? \d+ : (\d+)", text)
    more = re.search(r"\(!SLM \? 0 : NUM_FN == 1 \? (\d+) : (\d+)\)", text)
    assert told and (more or top == "db_ssd")
    rings = 0 if functions == 1 else 5 * 1024
    for slm in (False, True) if more else (False,):
        program = load(build.linked(functions, build.has_ssds(top), top != "db_ssd", slm))
        size = sum(int(m[2 if functions > 1 else 1]) for m in (told, more if slm else None) if m)
        assert program.values["stack_top"] <= size - rings


def test_what_the_readme_says_of_the_stack() -> None:
    """To a tenth of a KiB."""
    told = re.search(
        r"deepest calls take ([\d.]+) KiB with one function, ([\d.]+) with several", (FW / "README.md").read_text()
    )
    assert told
    for image, options in build.IMAGES.items():
        assert 0 <= float(told[1 + (options[0] > 1)]) - measure(build.linked(*options)).deepest / 1024 < 0.1, image


def test_the_command_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    from doorbell.build.command import show_stacks

    show_stacks()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(build.IMAGES)
    for line, options in zip(lines[1:], build.IMAGES.values(), strict=True):
        m = measure(build.linked(*options))
        assert list(map(int, line.split()[1:5])) == [m.code, m.variables, m.room, m.deepest]
