# SPDX-License-Identifier: Apache-2.0
"""Pure parts of the firmware, compiled for this machine: data through PRPs, arithmetic; and the image's form.

The copy engine is a stand-in that moves bytes of a fake host memory; the model of a PRP walk is written from NVMe Base
2.0, section 4.1.1.
"""

from __future__ import annotations

import ctypes
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from doorbell import build

ROOT = Path(__file__).resolve().parents[2]
FW = ROOT / "fw"
OK, DATA_ERROR, BAD_FIELD, BAD_OFFSET = 0, 4, 0x4002, 0x4013

COPY = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p,
                        ctypes.c_uint32)  # fmt: skip
STAND_IN = """
#include "hw/hw.h"
bool (*copy)(uint32_t, uint32_t, uint64_t, const void *, uint32_t);
bool hw_copy(uint32_t op, uint32_t function, uint64_t host, const void *ram, uint32_t n)
{
    return copy(op, function, host, ram, n);
}
"""


class Buffers(ctypes.Structure):
    _align_ = 64
    _fields_ = [("page", ctypes.c_uint8 * 4096), ("line", ctypes.c_uint32 * 16)]


class Command(ctypes.Structure):
    _fields_ = [("dw", ctypes.c_uint32 * 16), ("function", ctypes.c_uint32)]


@pytest.fixture(scope="module")
def fw(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(tmp_path_factory.mktemp("fw"))


def library(folder: Path, functions: int = 1) -> ctypes.CDLL:
    """transfer.c and bytes.c for so many functions."""
    (folder / "stand_in.c").write_text(STAND_IN)
    # The processor's own memset and memcpy stay out of this process.
    own = (FW / "base" / "bytes.c").read_text()
    for name in ("memset", "memcpy"):
        own = own.replace(f"{name}(void", f"fw_{name}(void")
    (folder / "bytes.c").write_text(own)
    library = folder / "fw.so"
    command = ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-w", f"-DFUNCTIONS={functions}",
               "-I", str(FW), "-I", str(build.regs() / "c"),
               "-I", str(ROOT / "facts" / "c"), "-o",
               str(library), str(folder / "stand_in.c"), str(folder / "bytes.c"),
               str(FW / "transfer" / "transfer.c")]  # fmt: skip
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(str(library))
    lib.div_u64.restype = ctypes.c_uint64
    lib.div_u64.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)]
    lib.put64.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    lib.multiply = getattr(lib, "__muldi3")  # noqa: B009 (the name would be mangled)
    lib.multiply.restype = ctypes.c_uint64
    lib.multiply.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    return lib


class Memory:
    """Host memory by page, and the copy engine's rules: dword addresses, inside one page, reads of 64 bytes."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self.pages: dict[int, bytearray] = {}
        self.broken: set[int] = set()
        self.errors: list[str] = []
        self.reads: list[tuple[int, int]] = []
        self.callback = COPY(self.copy)
        ctypes.c_void_p.in_dll(lib, "copy").value = ctypes.cast(self.callback, ctypes.c_void_p).value

    def page(self, address: int) -> bytearray:
        return self.pages.setdefault(address >> 12, bytearray(4096))

    def copy(self, op: int, fn: int, host: int, ram: int, n: int) -> bool:
        at = host & 4095
        if host % 4 or n % 4 or not 0 < n <= 4096 - at or fn != 3 or (op == 2 and n > 64):
            self.errors.append(f"op {op} fn {fn} host {host:#x} bytes {n}")
        if op == 0:
            self.page(host)[at : at + n] = ctypes.string_at(ram, n)
        elif op == 1:
            self.page(host)[at : at + n] = bytes(n)
        else:
            self.reads.append((host, n))
            ctypes.memmove(ram, bytes(self.page(host)[at : at + n]), n)
        return host >> 12 not in self.broken


def test_prp_walks(fw: ctypes.CDLL) -> None:
    """Random lengths, offsets and lists, also chained ones and such with an error: where does which byte go?"""
    rng = random.Random(5)
    buffers = Buffers()
    for _ in range(1500):
        memory = Memory(fw)
        free = rng.sample(range(1, 1 << 40), 64)
        total = 4 * rng.choice((1, 2, 16, rng.randrange(1, 1024), 1024, rng.randrange(1, 16384)))
        offset = 4 * rng.choice((0, 0, 1, 1023, rng.randrange(1024)))
        places = [free.pop() << 12 | offset]
        while sum(4096 - (p & 4095) for p in places) < total:
            places.append(free.pop() << 12)
        expected = OK
        prp2 = 0
        if len(places) == 2:
            prp2 = places[1]
            if rng.random() < 0.1:
                prp2 |= 4 * rng.randrange(1, 1024)
                expected = BAD_OFFSET
            elif rng.random() < 0.1:
                prp2 = 0
                expected = BAD_FIELD
        elif len(places) > 2:
            # the list may start anywhere in its page, so near the end it goes on in another
            entries = rng.choice((512, 512, rng.randrange(1, 5)))
            spot = free.pop() << 12 | 4096 - 8 * entries
            prp2 = spot
            rest = places[1:]
            bad = rng.random()
            if bad < 0.05:
                rest[rng.randrange(len(rest))] |= 8
                expected = BAD_OFFSET
            elif bad > 0.95:
                rest[rng.randrange(len(rest))] = 0
                expected = BAD_FIELD
            elif bad < 0.1:
                memory.broken.add(spot >> 12)
                expected = DATA_ERROR
            while rest:
                room = (4096 - (spot & 4095)) // 8
                chains = len(rest) > room
                here, rest = rest[: room - chains], rest[room - chains :]
                for i, entry in enumerate(here):
                    struct.pack_into("<Q", memory.page(spot), (spot & 4095) + 8 * i, entry)
                if chains:
                    following = free.pop() << 12
                    struct.pack_into("<Q", memory.page(spot), 4088, following)
                    spot = following
        data = rng.randbytes(4096)
        have = min(total, 4 * rng.randrange(1025))
        buffers.page[:] = data
        cmd = Command(function=3)
        cmd.dw[6], cmd.dw[7] = places[0] & 0xFFFFFFFF, places[0] >> 32
        cmd.dw[8], cmd.dw[9] = prp2 & 0xFFFFFFFF, prp2 >> 32
        lists = {n: bytes(p) for n, p in memory.pages.items()}
        status = fw.data_send(ctypes.byref(buffers), ctypes.byref(cmd), have, total)
        assert memory.errors == []
        assert status == expected
        assert all(n == 8 and host >> 12 in lists for host, n in memory.reads), "read beside the list"
        if expected != OK:
            assert 0 not in memory.pages
            continue
        left = data[:have] + bytes(total - have)
        for place in places:
            n = min(4096 - (place & 4095), len(left))
            got = memory.pages.pop(place >> 12)
            assert got[place & 4095 : (place & 4095) + n] == left[:n]
            assert not any(got[: place & 4095]) and not any(got[(place & 4095) + n :])
            left = left[n:]
        assert not left and all(memory.pages[n] == p for n, p in lists.items() if n in memory.pages)
        assert set(memory.pages) <= set(lists), "written beside the data"


def test_data_from_the_host(fw: ctypes.CDLL) -> None:
    """A command brings some data: what is read is the buffer, from its first byte to the last that is wanted."""
    rng = random.Random(7)
    for _ in range(300):
        memory = Memory(fw)
        total = 4 * rng.randrange(1, 1025)
        wanted = 4 * rng.randrange(1, total // 4 + 1)
        prp1 = 0x5000 | 4 * rng.randrange(1024)
        second = total > 4096 - (prp1 & 4095)
        prp2 = rng.choice((0x9000, 0x9000, 0)) if second else 0
        data = rng.randbytes(8192)
        memory.page(0x5000)[:], memory.page(0x9000)[:] = data[:4096], data[4096:]
        cmd = Command(function=3)
        cmd.dw[6], cmd.dw[8] = prp1, prp2
        words = (ctypes.c_uint32 * (wanted // 4))()
        status = fw.data_receive(ctypes.byref(Buffers()), ctypes.byref(cmd), words, wanted, total)
        if second and not prp2:
            assert status == BAD_FIELD and memory.reads == []
            continue
        at = prp1 & 4095
        assert status == OK and bytes(words) == data[at : at + wanted]
        covered = [a + i for a, n in memory.reads for i in range(n)]
        assert covered == [(0x5000 + at + i) if at + i < 4096 else 0x9000 + at + i - 4096 for i in range(wanted)]
        assert memory.errors == []


def test_unaligned_pointers(fw: ctypes.CDLL) -> None:
    memory = Memory(fw)
    for prp1, prp2, total in ((2, 0, 4), (0x1001, 0, 4096), (0x1000, 0x2004, 8192), (0x1000, 0x2004, 12288)):
        cmd = Command(function=3)
        cmd.dw[6], cmd.dw[8] = prp1, prp2
        assert fw.data_send(ctypes.byref(Buffers()), ctypes.byref(cmd), 4, total) == BAD_OFFSET
    assert memory.pages == {} and memory.errors == []


def test_arithmetic(fw: ctypes.CDLL) -> None:
    rng = random.Random(6)
    for _ in range(3000):
        n = rng.choice((rng.getrandbits(64), rng.getrandbits(20), (1 << 64) - 1, 0))
        d = rng.choice((1, 10, 1000, 3_600_000_000, 0xFFFFFFFF, rng.randrange(1, 1 << 32)))
        rest = ctypes.c_uint32()
        assert fw.div_u64(n, d, ctypes.byref(rest)) == n // d and rest.value == n % d
        a, b = rng.getrandbits(64), rng.getrandbits(rng.randrange(65))
        assert fw.multiply(a, b) == a * b & (1 << 64) - 1
    eight = (ctypes.c_uint8 * 8)()
    fw.put64(eight, 0x0123456789ABCDEF)
    assert bytes(eight) == bytes.fromhex("efcdab8967452301")


def copy_of_firmware(folder: Path) -> Path:
    shutil.copytree(ROOT / "facts" / "c", folder / "facts" / "c")
    return Path(shutil.copytree(FW, folder / "fw", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.mark.parametrize("variable", ["static uint32_t calls;", "static uint32_t calls = 5;"])
def test_variable_outside_of_main_does_not_link(tmp_path: Path, variable: str) -> None:
    """What a function or the drive remembers is passed: a static variable of one's own ends the build."""
    fw = copy_of_firmware(tmp_path)
    file = fw / "commands" / "events.c"
    head = "uint32_t keep_alive(struct request* r) {\n"
    text = file.read_text()
    assert head in text
    file.write_text(text.replace(head, f"{variable}\n\n{head}    r->dw0 = calls++;\n"))
    command = [sys.executable, str(fw / "build.py"), str(tmp_path / "fw.hex"), str(build.regs() / "c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "outside of dispatch/main.c" in done.stdout + done.stderr or "that is written" in done.stdout + done.stderr


@pytest.mark.parametrize("functions", [1, 17])
def test_image_and_serial_number(tmp_path: Path, functions: int) -> None:
    """The image fills the 64 KiB that are loaded; its second word is the serial number: nothing else depends on it."""
    headers = build.regs() / "c"
    words = []
    for serial in (1, 0xCAFE):
        out = tmp_path / f"{serial}.hex"
        command = [sys.executable, str(FW / "build.py"), str(out), str(headers), "--serial", str(serial),
                   "--functions", str(functions)]  # fmt: skip
        subprocess.run(command, check=True)
        words.append([int(line, 16) for line in out.read_text().split()])
    assert len(words[0]) == len(words[1]) == 16384
    assert [i for i in range(16384) if words[0][i] != words[1][i]] == [1]
    assert (words[0][1], words[1][1]) == (1, 0xCAFE)
    made = build.firmware(functions, serial=0xCAFE).read_text()  # which does not compile it
    assert [int(line, 16) for line in made.split()] == words[1]


@pytest.mark.parametrize("functions, before", [(1, "so layers cost nothing"), (17, "have 88 KiB")])
def test_what_the_readme_says_of_the_code(tmp_path: Path, functions: int, before: str) -> None:
    """To a KiB."""
    out = tmp_path / "fw.hex"
    command = [sys.executable, str(FW / "build.py"), str(out), str(build.regs() / "c"), "--functions", str(functions)]
    command += ["--no-programs"] if functions > 1 else []
    subprocess.run(command, check=True)
    words = [int(line, 16) for line in out.read_text().split()]
    used = 4 * (1 + max(i for i, word in enumerate(words) if word))
    told = re.search(before + r": (\d+) KiB of code", (FW / "README.md").read_text())
    assert told and abs(int(told[1]) - used / 1024) < 1


def test_the_hardware_has_the_memory_that_the_firmware_is_built_for() -> None:
    own = re.findall(r"^(\w*RAM_BYTES) = (\d+)(?:, (\d+))?", (FW / "build.py").read_text(), re.MULTILINE)
    size = {name: (int(first), int(second or 0)) for name, first, second in own}
    one, many = size["RAM_BYTES"][0], size["MANY_RAM_BYTES"][0]
    more, extents, slm = size["PROGRAMS_RAM_BYTES"], size["EXTENTS_RAM_BYTES"], size["SLM_RAM_BYTES"]
    for file, first, several in (
        ("ssd/db_ssd.sv", one, many),
        ("ssd/db_ssd_core.sv", one, many),
        ("compute/db_csd.sv", one + more[0], many + more[1]),
        ("compute/db_csd_core.sv", one + more[0], many + more[1]),
        ("virt/db_vcsd.sv", one + more[0] + extents[0], many + more[1] + extents[1]),
    ):
        text = (ROOT / "rtl" / file).read_text()
        bytes_of = f"NUM_FN == 1 ? {first} : NUM_CMDS > 128 ? {several + 4096} : {several}"
        own_memory = rf"\({re.escape(bytes_of)}\) \+\s*\(!SLM \? 0 : NUM_FN == 1 \? {slm[0]} : {slm[1]}\),\n"
        assert f"= {bytes_of},\n" in text or re.search(own_memory, text), file
    assert f"{one // 1024} KiB of RAM for program and data, {many // 1024} KiB where" in (FW / "README.md").read_text()
