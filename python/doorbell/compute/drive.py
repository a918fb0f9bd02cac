# SPDX-License-Identifier: Apache-2.0
"""What a host says to a drive that computes (`db_csd`): keys, what each namespace does, the features C0h to CDh.

    drive.start()
    compute.load_key(drive, 1, key1=os.urandom(32), key2=os.urandom(32))
    compute.bind(drive, 1, Op.AES_XTS, slot=1)

docs/csd/integration.md has the same as nvme-cli lines.
"""

from __future__ import annotations

import random
import struct
import sys
from dataclasses import dataclass

from doorbell.build import operator_folders as folders
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import CsdConfig, Op, VendorFeature, VendorLog, VendorOpc

ALL_SLOTS = 0xFF
FOLLOW = 1 << 31

CTR_WARNING = (
    "AES-CTR with a fixed IV uses its key stream again when a block is written again, which gives away the "
    "difference of both plaintexts: only for data written once, for all else aes-xts"
)
_warned = False


def warn_ctr() -> None:
    """One line on stderr, once a process."""
    global _warned
    if not _warned:
        print(f"doorbell: warning: {CTR_WARNING}", file=sys.stderr)
    _warned = True


def key_data(key1: bytes, key2: bytes | None = None, iv: bytes | None = None) -> tuple[int, bytes]:
    """CDW10 without the slot, and the data, of Key Load. key2: for XTS, iv: for CTR; a drive takes one of both."""
    if len(key1) not in (16, 32) or (key2 is not None and len(key2) != len(key1)):
        raise ValueError("a key has 16 or 32 bytes, both the same")
    if iv is not None and len(iv) != 16:
        raise ValueError("an IV has 16 bytes")
    flags = (len(key1) == 32) << 8 | (iv is not None) << 9 | (key2 is not None) << 10
    return flags, key1.ljust(32, b"\0") + (key2 or b"").ljust(32, b"\0") + (iv or bytes(16))


def load_key_try(drive: Driver, slot: int, key1: bytes, key2: bytes | None = None, iv: bytes | None = None) -> Command:
    """Load a key into a slot; the status is the caller's to look at. Nothing of the key stays in host memory."""
    flags, data = key_data(key1, key2, iv)
    buffer = drive.buffer(len(data))
    try:
        buffer.write(data)
        return drive.admin_try(VendorOpc.KEY_LOAD, buffer=buffer, cdw10=slot | flags)
    finally:
        buffer.write(bytes(len(data)))
        buffer.free()


def load_key(drive: Driver, slot: int, key1: bytes, key2: bytes | None = None, iv: bytes | None = None) -> None:
    load_key_try(drive, slot, key1, key2, iv).check()


def erase_key(drive: Driver, slot: int = ALL_SLOTS) -> None:
    drive.admin(VendorOpc.KEY_ERASE, cdw10=slot)


def bind(drive: Driver, nsid: int, op: int, slot: int = 0, param: bytes = bytes(16)) -> None:
    """From now on `op` is done with the data of this namespace, with the key of `slot`.

    param: the operator's 16 bytes; `addend` makes the adder's, `Folder.pack` that of an operator in a folder. CTR is
    for data written once, and says so on stderr.
    """
    if op == Op.AES_CTR:
        warn_ctr()
    a, b, c, d = struct.unpack("<4I", param)
    drive.admin(VendorOpc.BIND, nsid=nsid, cdw10=int(op) | slot << 8, cdw12=a, cdw13=b, cdw14=c, cdw15=d)


def addend(value: int) -> bytes:
    """The adder's parameters."""
    return value.to_bytes(16, "little")


def follow(drive: Driver, nsid: int) -> None:
    """The namespace does again what feature C0h says."""
    drive.admin(VendorOpc.BIND, nsid=nsid, cdw10=FOLLOW)


@dataclass(frozen=True)
class State:
    """Log page ECh. ctr, xts: the slots whose key is for that. bound: (operator, slot, by command) by namespace.
    aes_failed: the self-test of AES at power-on failed, so no key is taken. A VF is told of the slots and namespaces
    that are its own; slot 0 is one that is not."""

    slots: int
    ops: frozenset[int]
    config: int
    ctr: frozenset[int]
    xts: frozenset[int]
    bound: dict[int, tuple[int, int, bool]]
    aes_failed: bool


def state(drive: Driver) -> State:
    raw = drive.get_log(VendorLog.CSD, 512)
    _version, slots, namespaces, ops, config, failed = struct.unpack_from("<HBBIBB", raw)
    valid = raw[16 : 16 + slots]
    bound = {n + 1: (raw[128 + 4 * n], raw[129 + 4 * n], bool(raw[130 + 4 * n])) for n in range(namespaces)}
    return State(
        slots,
        frozenset(op for op in range(16) if ops >> op & 1),
        config,
        frozenset(i for i, v in enumerate(valid) if v & 1),
        frozenset(i for i, v in enumerate(valid) if v & 2),
        bound,
        bool(failed & 1),
    )


@dataclass(frozen=True)
class Result:
    """What a reducer found of one command. number: counts from reset; a gap means that older ones were dropped. status:
    how the command ended, type and code; write: the host's data went to the media, or to Compare."""

    number: int
    op: int
    write: bool
    nsid: int
    lba: int
    nbytes: int
    digest: bytes
    qid: int
    cid: int
    status: int
    compare: bool


def results(drive: Driver) -> list[Result]:
    """Log page EDh: the last 32, newest first."""
    raw = drive.get_log(VendorLog.CSD_RESULTS, 64 + 32 * 64)
    out = []
    for i in range(struct.unpack_from("<H", raw, 2)[0]):
        number, command, nsid, nbytes, lba, status, digest = struct.unpack_from("<4IQH6x32s", raw, 64 + 64 * i)
        op = command >> 24 & 15
        out.append(
            Result(
                number,
                op,
                bool(command >> 28 & 1),
                nsid,
                lba,
                nbytes,
                digest[:4] if op == Op.CRC32C else digest,
                command >> 16 & 0xFF,
                command & 0xFFFF,
                status >> 1 & 0x7FF,
                bool(command >> 29 & 1),
            )
        )
    return out


OPERATORS = {"pass": Op.PASS, "add": Op.ADD, "aes-ctr": Op.AES_CTR, "aes-xts": Op.AES_XTS, "sha256": Op.SHA256,
             "crc32c": Op.CRC32C}  # fmt: skip
"""By the names that the command line knows them by; those in folders have their own."""


def operator(text: str) -> tuple[int, bytes]:
    """Code and parameters of `NAME`, or of `NAME:PARAMETER=VALUE,...` for an operator in a folder."""
    name, _, rest = text.partition(":")
    names = [*OPERATORS, *(f.name for f in folders.find())]
    if name not in names:
        raise UserError(f"there is no operator '{name}': use {', '.join(names)}")
    if name in OPERATORS:
        if rest:
            raise UserError(f"operator {name} takes no parameters here: write --operator {name}")
        return OPERATORS[name], addend(1) if name == "add" else bytes(16)
    values = {}
    for item in filter(None, rest.split(",")):
        key, _, value = item.partition("=")
        if key in values:
            raise UserError(f"--operator {text}: {key} is there twice")
        try:
            values[key] = int(value, 0)
        except ValueError:
            raise UserError(f"--operator {text}: write NAME:PARAMETER=NUMBER, as in xor:mask=0x2a") from None
    folder = folders.by_name(name)
    return folder.code, folder.pack(**values)


def switch_on(drive: Driver, text: str, nsid: int = 1, seed: int = 1) -> None:
    """Let an operator, named as in `operator`, work on a namespace, with a key of 256 bits: for benches."""
    op, param = operator(text)
    name = text.partition(":")[0]
    if drive.controller is None or b"CSD" not in drive.controller.mn:
        raise UserError(f"operator {name}: this drive has none; use --top db_csd")
    rng = random.Random(seed)
    key1, key2, iv = rng.randbytes(32), rng.randbytes(32), rng.randbytes(16)
    if op == Op.AES_CTR:
        load_key(drive, 1, key1, iv=iv)
    else:
        load_key(drive, 1, key1, key2)
    bind(drive, nsid, op, 1, param)


def features(config: int, key: bytes = b"", iv: bytes = b"", addend: int | None = None) -> list[tuple[int, int]]:
    """(feature, value) in the order of the thesis: configuration, key and IV from the last word to the first."""
    if config in (CsdConfig.AES128, CsdConfig.AES256):
        warn_ctr()
    out = [(VendorFeature.CSD_CONFIG, config)]
    if addend is not None:
        out.append((VendorFeature.CSD_WORD_FIRST, addend))
    for first, vector in ((VendorFeature.CSD_WORD_FIRST, key), (VendorFeature.CSD_WORD_IV, iv)):
        words = struct.unpack(f">{len(vector) // 4}I", vector)
        out += [(first + i, word) for i, word in enumerate(reversed(words))]
    return out
