# SPDX-License-Identifier: Apache-2.0
"""NVMe's structures and their readers, from the Base Specification 2.0 and NVM Command Set 1.0.

The reference of host driver and tests; tests/python/nvme/test_headers.py compares them with headers of others.
Structures are packed little-endian ctypes: `IdCtrl.from_buffer_copy(data)` reads one, `bytes(entry)` writes one.
Log pages are in log_pages.py.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_uint8, c_uint16, c_uint32, c_uint64
from typing import NamedTuple

from doorbell.nvme.constants import STATUS_CODE_MASK, STATUS_DNR, Reg, Status


class Cap(NamedTuple):
    """Fields of the CAP register (Base 2.0, 3.1.3.1)."""

    mqes: int  # entries - 1 (zero based)
    cqr: int
    ams: int
    to: int  # 500 ms units
    dstrd: int  # doorbell stride is 4 << dstrd bytes
    nssrs: int
    css: int
    bps: int
    cps: int
    mpsmin: int
    mpsmax: int
    pmrs: int
    cmbs: int
    nsss: int
    crms: int  # bit 0 CRWMS, bit 1 CRIMS

    @classmethod
    def decode(cls, v: int) -> Cap:
        def f(low: int, width: int) -> int:
            return (v >> low) & ((1 << width) - 1)

        return cls(
            f(0, 16),
            f(16, 1),
            f(17, 2),
            f(24, 8),
            f(32, 4),
            f(36, 1),
            f(37, 8),
            f(45, 1),
            f(46, 2),
            f(48, 4),
            f(52, 4),
            f(56, 1),
            f(57, 1),
            f(58, 1),
            f(59, 2),
        )


def doorbell_offset(qid: int, is_cq: bool, dstrd: int = 0) -> int:
    """BAR offset of a queue's doorbell (NVMe over PCIe 1.0, 3.1.2)."""
    return Reg.DBS + (2 * qid + int(is_cq)) * (4 << dstrd)


def status_name(status15: int) -> str:
    """Readable name of a 15-bit status field, for messages."""
    code = status15 & STATUS_CODE_MASK
    name = Status(code).name if code in Status._value2member_map_ else f"SCT {code >> 8} SC {code & 0xFF:02x}h"
    return name + (" DNR" if status15 & STATUS_DNR else "")


class Packed(ctypes.LittleEndianStructure):
    """Fields one behind the other, little-endian."""

    _pack_ = 1


class Sqe(Packed):
    """Submission queue entry, common command format with PRPs. `flags`: FUSE in bits 1:0, PSDT in bits 7:6."""

    _fields_ = [
        ("opcode", c_uint8),
        ("flags", c_uint8),
        ("cid", c_uint16),
        ("nsid", c_uint32),
        ("cdw2", c_uint32),
        ("cdw3", c_uint32),
        ("mptr", c_uint64),
        ("prp1", c_uint64),
        ("prp2", c_uint64),
        ("cdw10", c_uint32),
        ("cdw11", c_uint32),
        ("cdw12", c_uint32),
        ("cdw13", c_uint32),
        ("cdw14", c_uint32),
        ("cdw15", c_uint32),
    ]


class Cqe(Packed):
    """Completion queue entry. `status`: the phase tag in bit 0, the 15-bit status field above it."""

    _fields_ = [
        ("dw0", c_uint32),
        ("dw1", c_uint32),
        ("sqhd", c_uint16),
        ("sqid", c_uint16),
        ("cid", c_uint16),
        ("status", c_uint16),
    ]

    @property
    def phase(self) -> int:
        return self.status & 1

    @property
    def status15(self) -> int:
        return self.status >> 1


class PowerState(Packed):
    _fields_ = [
        ("mp", c_uint16),
        ("rsvd2", c_uint8),
        ("flags", c_uint8),
        ("enlat", c_uint32),
        ("exlat", c_uint32),
        ("rrt", c_uint8),
        ("rrl", c_uint8),
        ("rwt", c_uint8),
        ("rwl", c_uint8),
        ("idlp", c_uint16),
        ("ips", c_uint8),
        ("rsvd19", c_uint8),
        ("actp", c_uint16),
        ("apws", c_uint8),
        ("rsvd23", c_uint8 * 9),
    ]


class IdCtrl(Packed):
    """Identify Controller, CNS 01h (Base 2.0, 5.17.2.1)."""

    _fields_ = [
        ("vid", c_uint16),
        ("ssvid", c_uint16),
        ("sn", c_char * 20),
        ("mn", c_char * 40),
        ("fr", c_char * 8),
        ("rab", c_uint8),
        ("ieee", c_uint8 * 3),
        ("cmic", c_uint8),
        ("mdts", c_uint8),
        ("cntlid", c_uint16),
        ("ver", c_uint32),
        ("rtd3r", c_uint32),
        ("rtd3e", c_uint32),
        ("oaes", c_uint32),
        ("ctratt", c_uint32),
        ("rrls", c_uint16),
        ("rsvd102", c_uint8 * 9),
        ("cntrltype", c_uint8),
        ("fguid", c_uint8 * 16),
        ("crdt1", c_uint16),
        ("crdt2", c_uint16),
        ("crdt3", c_uint16),
        ("rsvd134", c_uint8 * 119),
        ("nvmsr", c_uint8),
        ("vwci", c_uint8),
        ("mec", c_uint8),
        ("oacs", c_uint16),
        ("acl", c_uint8),
        ("aerl", c_uint8),
        ("frmw", c_uint8),
        ("lpa", c_uint8),
        ("elpe", c_uint8),
        ("npss", c_uint8),
        ("avscc", c_uint8),
        ("apsta", c_uint8),
        ("wctemp", c_uint16),
        ("cctemp", c_uint16),
        ("mtfa", c_uint16),
        ("hmpre", c_uint32),
        ("hmmin", c_uint32),
        ("tnvmcap", c_uint8 * 16),
        ("unvmcap", c_uint8 * 16),
        ("rpmbs", c_uint32),
        ("edstt", c_uint16),
        ("dsto", c_uint8),
        ("fwug", c_uint8),
        ("kas", c_uint16),
        ("hctma", c_uint16),
        ("mntmt", c_uint16),
        ("mxtmt", c_uint16),
        ("sanicap", c_uint32),
        ("hmminds", c_uint32),
        ("hmmaxd", c_uint16),
        ("nsetidmax", c_uint16),
        ("endgidmax", c_uint16),
        ("anatt", c_uint8),
        ("anacap", c_uint8),
        ("anagrpmax", c_uint32),
        ("nanagrpid", c_uint32),
        ("pels", c_uint32),
        ("domainid", c_uint16),
        ("rsvd358", c_uint8 * 10),
        ("megcap", c_uint8 * 16),
        ("rsvd384", c_uint8 * 128),
        ("sqes", c_uint8),
        ("cqes", c_uint8),
        ("maxcmd", c_uint16),
        ("nn", c_uint32),
        ("oncs", c_uint16),
        ("fuses", c_uint16),
        ("fna", c_uint8),
        ("vwc", c_uint8),
        ("awun", c_uint16),
        ("awupf", c_uint16),
        ("icsvscc", c_uint8),
        ("nwpc", c_uint8),
        ("acwu", c_uint16),
        ("ocfs", c_uint16),
        ("sgls", c_uint32),
        ("mnan", c_uint32),
        ("maxdna", c_uint8 * 16),
        ("maxcna", c_uint32),
        ("rsvd564", c_uint8 * 204),
        ("subnqn", c_char * 256),
        ("rsvd1024", c_uint8 * 768),
        ("ioccsz", c_uint32),
        ("iorcsz", c_uint32),
        ("icdoff", c_uint16),
        ("fcatt", c_uint8),
        ("msdbd", c_uint8),
        ("ofcs", c_uint16),
        ("rsvd1806", c_uint8 * 242),
        ("psd", PowerState * 32),
        ("vs", c_uint8 * 1024),
    ]


class Lbaf(Packed):
    """LBA format: metadata bytes, log2 of the data bytes, relative performance."""

    _fields_ = [("ms", c_uint16), ("ds", c_uint8), ("rp", c_uint8)]


class IdNs(Packed):
    """Identify Namespace, CNS 00h, NVM command set."""

    _fields_ = [
        ("nsze", c_uint64),
        ("ncap", c_uint64),
        ("nuse", c_uint64),
        ("nsfeat", c_uint8),
        ("nlbaf", c_uint8),
        ("flbas", c_uint8),
        ("mc", c_uint8),
        ("dpc", c_uint8),
        ("dps", c_uint8),
        ("nmic", c_uint8),
        ("rescap", c_uint8),
        ("fpi", c_uint8),
        ("dlfeat", c_uint8),
        ("nawun", c_uint16),
        ("nawupf", c_uint16),
        ("nacwu", c_uint16),
        ("nabsn", c_uint16),
        ("nabo", c_uint16),
        ("nabspf", c_uint16),
        ("noiob", c_uint16),
        ("nvmcap", c_uint8 * 16),
        ("npwg", c_uint16),
        ("npwa", c_uint16),
        ("npdg", c_uint16),
        ("npda", c_uint16),
        ("nows", c_uint16),
        ("mssrl", c_uint16),
        ("mcl", c_uint32),
        ("msrc", c_uint8),
        ("rsvd81", c_uint8 * 11),
        ("anagrpid", c_uint32),
        ("rsvd96", c_uint8 * 3),
        ("nsattr", c_uint8),
        ("nvmsetid", c_uint16),
        ("endgid", c_uint16),
        ("nguid", c_uint8 * 16),
        ("eui64", c_uint8 * 8),
        ("lbaf", Lbaf * 64),
        ("vs", c_uint8 * 3712),
    ]


class IdCtrlNvm(Packed):
    """I/O command set specific Identify Controller, CNS 06h, CSI 0. Size limits: 2**n minimum pages, 0 = none."""

    _fields_ = [
        ("vsl", c_uint8),
        ("wzsl", c_uint8),
        ("wusl", c_uint8),
        ("dmrl", c_uint8),
        ("dmrsl", c_uint32),
        ("dmsl", c_uint64),
        ("rsvd16", c_uint8 * 4080),
    ]


class IdNsNvm(Packed):
    """I/O command set specific Identify Namespace, CNS 05h, CSI 0."""

    _fields_ = [
        ("lbstm", c_uint64),
        ("pic", c_uint8),
        ("rsvd9", c_uint8 * 3),
        ("elbaf", c_uint32 * 64),
        ("rsvd268", c_uint8 * 3828),
    ]


class IdNsIndependent(Packed):
    """I/O command set independent Identify Namespace, CNS 08h."""

    _fields_ = [
        ("nsfeat", c_uint8),
        ("nmic", c_uint8),
        ("rescap", c_uint8),
        ("fpi", c_uint8),
        ("anagrpid", c_uint32),
        ("nsattr", c_uint8),
        ("rsvd9", c_uint8),
        ("nvmsetid", c_uint16),
        ("endgrpid", c_uint16),
        ("nstat", c_uint8),
        ("rsvd15", c_uint8 * 4081),
    ]


class NsIdDesc(Packed):
    """Header of a namespace identification descriptor; `nidl` bytes of identifier follow. nidt 0 ends the list."""

    _fields_ = [("nidt", c_uint8), ("nidl", c_uint8), ("rsvd2", c_uint8 * 2)]


class CtrlList(Packed):
    """Controller List: Identify CNS 12h and 13h, data of Namespace Attachment."""

    _fields_ = [("num", c_uint16), ("identifier", c_uint16 * 2047)]


class Resources(Packed):
    """Of one kind, VQ or VI, in Primary Controller Capabilities."""

    _fields_ = [
        ("total", c_uint32),
        ("assigned", c_uint32),
        ("primary", c_uint16),
        ("private", c_uint16),
        ("secondary_max", c_uint16),
        ("granularity", c_uint16),
        ("rsvd16", c_uint8 * 16),
    ]


class PrimaryCaps(Packed):
    """Primary Controller Capabilities, CNS 14h. crt: bit 0 VQ, bit 1 VI resources are flexible."""

    _fields_ = [
        ("cntlid", c_uint16),
        ("portid", c_uint16),
        ("crt", c_uint8),
        ("rsvd5", c_uint8 * 27),
        ("vq", Resources),
        ("vi", Resources),
        ("rsvd96", c_uint8 * 4000),
    ]


class SecondaryCtrl(Packed):
    """An entry of the Secondary Controller List. scs: bit 0 online."""

    _fields_ = [
        ("scid", c_uint16),
        ("pcid", c_uint16),
        ("scs", c_uint8),
        ("rsvd5", c_uint8 * 3),
        ("vfn", c_uint16),
        ("nvq", c_uint16),
        ("nvi", c_uint16),
        ("rsvd14", c_uint8 * 18),
    ]


class SecondaryList(Packed):
    """Secondary Controller List, CNS 15h."""

    _fields_ = [("num", c_uint8), ("rsvd1", c_uint8 * 31), ("entry", SecondaryCtrl * 127)]


class FunctionShare(Packed):
    """Doorbell's feature D0h: what a function may have of what all share (docs/virtualization.md). A burst of 0 is the
    drive's choice; a rate of 0 no limit. What comes from `slots` on the drive says, and a host need not."""

    _fields_ = [
        ("weight", c_uint8),  # of its turns, 1 to 255
        ("rsvd1", c_uint8),
        ("slots_min", c_uint16),  # command slots that it always gets
        ("slots_max", c_uint16),  # ... that it has at most, from 1
        ("rsvd6", c_uint16),
        ("iops", c_uint32),  # commands a second
        ("iops_burst", c_uint32),  # commands
        ("bytes_per_s", c_uint64),
        ("bytes_burst", c_uint32),  # bytes
        ("deadline_us", c_uint16),  # in which its commands should go to an engine; 0: none
        ("rsvd30", c_uint16),
        ("slots", c_uint16),  # command slots of the drive
        ("slots_min_total", c_uint16),  # what slots_min of all functions may be together
        ("rsvd36", c_uint8 * 28),
    ]


class ResvStatus(Packed):
    """Reservation Status, of Reservation Report (Base 2.0, 7.5): in front of its registered controllers."""

    _pack_ = 1
    _fields_ = [
        ("gen", c_uint32),
        ("rtype", c_uint8),
        ("regctl", c_uint16),
        ("rsvd7", c_uint8 * 2),
        ("ptpls", c_uint8),
        ("rsvd10", c_uint8 * 14),
    ]


class ResvController(Packed):
    """Registered Controller, of Reservation Report, with a host identifier of 64 bits."""

    _fields_ = [
        ("cntlid", c_uint16),
        ("rcsts", c_uint8),
        ("rsvd3", c_uint8 * 5),
        ("hostid", c_uint64),
        ("rkey", c_uint64),
    ]


class ResvControllerExtended(Packed):
    """Registered Controller Extended: with a host identifier of 128 bits."""

    _fields_ = [
        ("cntlid", c_uint16),
        ("rcsts", c_uint8),
        ("rsvd3", c_uint8 * 5),
        ("rkey", c_uint64),
        ("hostid", c_uint8 * 16),
        ("rsvd32", c_uint8 * 32),
    ]


class DsmRange(Packed):
    """One range of a Dataset Management command."""

    _fields_ = [("cattr", c_uint32), ("nlb", c_uint32), ("slba", c_uint64)]
