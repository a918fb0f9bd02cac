# SPDX-License-Identifier: Apache-2.0
"""Our NVMe constants and structures against two headers that others wrote: libnvme's and Linux's.

The headers come from the system's packages (libnvme-dev, linux-headers-*-common), unpacked into the cache and never
installed. A small C program, compiled against each, prints the values, offsets and sizes that are compared with
`doorbell.nvme.constants` and `.structures` and, through them,
with `rtl/nvme/db_nvme_pkg.sv`. Skipped where neither network
nor cache has them.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tarfile
from enum import IntEnum
from pathlib import Path

import pytest
from doorbell.nvme import constants
from doorbell.nvme.constants import (
    AdminOpc,
    AerError,
    AerNotice,
    AerType,
    Cns,
    Csi,
    Feature,
    FeatureSelect,
    LogPage,
    Nidt,
    NsAttach,
    NsMgmt,
    NvmOpc,
    Reg,
    Sct,
    Status,
)
from doorbell.nvme.log_pages import EffectsLog, ErrorLogEntry, FwSlotLog, SmartLog
from doorbell.nvme.structures import (
    Cqe,
    CtrlList,
    DsmRange,
    IdCtrl,
    IdCtrlNvm,
    IdNs,
    IdNsIndependent,
    IdNsNvm,
    Lbaf,
    NsIdDesc,
    PowerState,
    Sqe,
)

ROOT = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("DOORBELL_CACHE") or Path.home() / ".cache" / "doorbell") / "headers-1"

# What Linux's header wants from the rest of the kernel.
STUBS = """
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <linux/types.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef struct { u8 b[16]; } uuid_t;
#define BIT(n) (1u << (n))
#define GENMASK(h, l) (((2u << (h)) - 1) & ~((1u << (l)) - 1))
#define struct_group(name, ...) union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } name; }
#define unlikely(x) (x)
"""

# Enum of ours: (prefixes in the headers, {our name: their names} where they differ)
ENUMS: dict[type[IntEnum], tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    Reg: (("NVME_REG_",), {}),
    AdminOpc: (
        ("nvme_admin_",),
        {
            "ABORT": ("abort_cmd",),
            "SANITIZE": ("sanitize_nvm",),
            "FW_COMMIT": ("fw_commit", "activate_fw"),
            "FW_DOWNLOAD": ("fw_download", "download_fw"),
        },
    ),
    NvmOpc: (("nvme_cmd_",), {}),
    Feature: (("NVME_FEAT_FID_", "NVME_FEAT_"), {"LBA_STATUS_ATTR": ("LBA_STS_INTERVAL",)}),
    FeatureSelect: (("NVME_GET_FEATURES_SEL_",), {}),
    LogPage: (
        ("NVME_LOG_LID_", "NVME_LOG_"),
        {
            "SUPPORTED": ("SUPPORTED_LOG_PAGES",),
            "PREDICTABLE_LAT": ("PREDICTABLE_LAT_NVMSET",),
            "FID_EFFECTS": ("FID_SUPPORTED_EFFECTS",),
            "MI_CMD_EFFECTS": ("MI_CMD_SUPPORTED_EFFECTS",),
        },
    ),
    Cns: (
        ("NVME_IDENTIFY_CNS_", "NVME_ID_CNS_"),
        {
            "CSI_NS": ("CSI_NS", "CS_NS"),
            "CSI_CTRL": ("CSI_CTRL", "CS_CTRL"),
            "CSI_INDEPENDENT_NS": ("CSI_INDEPENDENT_ID_NS", "NS_CS_INDEP"),
            "NS_PRESENT_LIST": ("NS_PRESENT_LIST", "ALLOCATED_NS_LIST"),
            "NS_PRESENT": ("NS_PRESENT", "ALLOCATED_NS"),
            "CTRL_NS_LIST": ("CTRL_NS_LIST", "NS_CTRL_LIST"),
            "SCNDRY_CTRL_LIST": ("SCNDRY_CTRL_LIST", "SECONDARY_CTRL_LIST"),
            "IOCS_LIST": ("COMMAND_SET_STRUCTURE",),
            "CSI_NS_PRESENT_LIST": ("CSI_ALLOCATED_NS_LIST",),
            "CSI_NS_PRESENT": ("CSI_ID_NS_DATA_STRUCTURE",),
        },
    ),
    Csi: (("NVME_CSI_",), {}),
    Nidt: (("NVME_NIDT_",), {}),
    AerType: (("NVME_AER_",), {"IO_COMMAND_SET": ("CSS",), "VENDOR": ("VS",)}),
    AerError: (
        ("NVME_AER_ERROR_",),
        {
            "INVALID_DB_VALUE": ("INVALID_DB_VAL",),
            "FW_IMAGE_LOAD": ("FW_IMAGE_LOAD_ERROR",),
            "PERSISTENT_INTERNAL": ("PERSISTENT_INTERNAL_ERROR", "PERSIST_INT_ERR"),
            "TRANSIENT_INTERNAL": ("TRANSIENT_INTERNAL_ERROR",),
        },
    ),
    AerNotice: (("NVME_AER_NOTICE_",), {}),
    NsMgmt: (("NVME_NS_MGMT_SEL_",), {}),
    NsAttach: (("NVME_NS_ATTACH_SEL_",), {"ATTACH": ("CTRL_ATTACH",), "DETACH": ("CTRL_DEATTACH",)}),
    Sct: (
        ("NVME_SCT_",),
        {"SPECIFIC": ("CMD_SPECIFIC", "COMMAND_SPECIFIC"), "VENDOR": ("VS",), "MEDIA": ("MEDIA", "MEDIA_ERROR")},
    ),
    Status: (
        ("NVME_SC_",),
        {
            "CID_CONFLICT": ("CMDID_CONFLICT",),
            "DATA_TRANSFER_ERROR": ("DATA_XFER_ERROR",),
            "ABORT_REQUESTED": ("ABORT_REQ",),
            "ABORT_SQ_DELETED": ("ABORT_QUEUE",),
            "INVALID_PRP_OFFSET": ("PRP_INVALID_OFFSET",),
            "ATOMIC_WU_EXCEEDED": ("ATOMIC_WU_EXCEEDED", "AWU_EXCEEDED"),
            "OPERATION_DENIED": ("OP_DENIED",),
            "INVALID_SECONDARY_STATE": ("INVALID_SEC_CTRL_STATE",),
            "INVALID_NUM_RESOURCES": ("INVALID_CTRL_RESOURCES",),
            "HOSTID_FORMAT": ("HOSTID_FORMAT", "HOST_ID_INCONSIST"),
            "KAT_EXPIRED": ("KAT_EXPIRED", "KA_TIMEOUT_EXPIRED"),
            "KAT_INVALID": ("KAT_INVALID", "KA_TIMEOUT_INVALID"),
            "ABORTED_PREEMPT": ("CMD_ABORTED_PREMEPT", "ABORTED_PREEMPT_ABORT"),
            "CMD_NOT_SUP_CMB": ("CMD_IN_CMBQ_NOT_SUPP", "CMD_NOT_SUP_CMB_QUEUE"),
            "TRANSIENT_TRANSPORT": ("TRAN_TPORT_ERROR", "TRANSIENT_TR_ERR"),
            "LOCKDOWN": ("PROHIBITED_BY_CMD_AND_FEAT",),
            "MEDIA_NOT_READY": ("ADMIN_CMD_MEDIA_NOT_READY", "ADMIN_COMMAND_MEDIA_NOT_READY"),
            "RESV_CONFLICT": ("RESERVATION_CONFLICT",),
            "AER_LIMIT": ("ASYNC_LIMIT",),
            "FW_SLOT": ("FIRMWARE_SLOT",),
            "FW_IMAGE": ("FIRMWARE_IMAGE",),
            "INVALID_QUEUE_DELETION": ("INVALID_QUEUE",),
            "FW_PROHIBITED": ("FW_ACTIVATE_PROHIBITED",),
            "NSID_UNAVAILABLE": ("NS_ID_UNAVAILABLE",),
            "THIN_PROV_NOT_SUP": ("THIN_PROV_NOT_SUPP",),
            "CONFLICTING_ATTRIBUTES": ("BAD_ATTRIBUTES",),
            "SIZE_LIMIT": ("CMD_SIZE_LIMIT_EXCEEDED", "CMD_SIZE_LIM_EXCEEDED"),
        },
    ),
}
# Linux's NVME_SCT_* have the type in its place in the status field, and NVME_SC_* too; libnvme's have neither.
WITH_TYPE = {"linux"}

# Constants of ours: expressions in the headers
CONSTANTS = {
    "CC_EN": ("NVME_CC_ENABLE",),
    "CC_CSS_SHIFT": ("NVME_CC_CSS_SHIFT",),
    "CC_MPS_SHIFT": ("NVME_CC_MPS_SHIFT",),
    "CC_AMS_SHIFT": ("NVME_CC_AMS_SHIFT",),
    "CC_SHN_SHIFT": ("NVME_CC_SHN_SHIFT",),
    "CC_IOSQES_SHIFT": ("NVME_CC_IOSQES_SHIFT",),
    "CC_IOCQES_SHIFT": ("NVME_CC_IOCQES_SHIFT",),
    "CSTS_RDY": ("NVME_CSTS_RDY",),
    "CSTS_CFS": ("NVME_CSTS_CFS",),
    "CSTS_NSSRO": ("NVME_CSTS_NSSRO",),
    "CSTS_PP": ("NVME_CSTS_PP",),
    "CSTS_SHST_SHIFT": ("NVME_CSTS_SHST_SHIFT",),
    "OAES_NS_ATTR": ("NVME_CTRL_OAES_NA", "NVME_AEN_CFG_NS_ATTR"),
    "OACS_SECURITY": ("NVME_CTRL_OACS_SECURITY", "NVME_CTRL_OACS_SEC_SUPP"),
    "OACS_FORMAT": ("NVME_CTRL_OACS_FORMAT",),
    "OACS_FW": ("NVME_CTRL_OACS_FW",),
    "OACS_NS_MGMT": ("NVME_CTRL_OACS_NS_MGMT", "NVME_CTRL_OACS_NS_MNGT_SUPP"),
    "ONCS_COMPARE": ("NVME_CTRL_ONCS_COMPARE",),
    "ONCS_WRITE_UNCOR": ("NVME_CTRL_ONCS_WRITE_UNCORRECTABLE",),
    "ONCS_DSM": ("NVME_CTRL_ONCS_DSM",),
    "ONCS_WRITE_ZEROES": ("NVME_CTRL_ONCS_WRITE_ZEROES",),
    "ONCS_SAVE_SELECT": ("NVME_CTRL_ONCS_SAVE_FEATURES",),
    "ONCS_RESERVATIONS": ("NVME_CTRL_ONCS_RESERVATIONS",),
    "ONCS_TIMESTAMP": ("NVME_CTRL_ONCS_TIMESTAMP",),
    "ONCS_VERIFY": ("NVME_CTRL_ONCS_VERIFY",),
    "ONCS_COPY": ("NVME_CTRL_ONCS_COPY",),
    **{f"EFFECTS_{n}": (f"NVME_CMD_EFFECTS_{n}",) for n in ("CSUPP", "LBCC", "NCC", "NIC", "CCC")},
    "STATUS_DNR": ("NVME_SC_DNR", "NVME_STATUS_DNR"),
    "STATUS_MORE": ("NVME_SC_MORE", "NVME_STATUS_MORE"),
    "DSM_IDR": ("NVME_DSMGMT_IDR",),
    "DSM_IDW": ("NVME_DSMGMT_IDW",),
    "DSM_AD": ("NVME_DSMGMT_AD",),
    "CREATE_Q_PC": ("NVME_QUEUE_PHYS_CONTIG",),
    "CREATE_CQ_IEN": ("NVME_CQ_IRQ_ENABLED",),
    "RW_LR": ("NVME_RW_LR",),
    "RW_FUA": ("NVME_RW_FUA",),
    "WZ_DEAC": ("NVME_WZ_DEAC",),
}
CONTROL_WORD = {"RW_LR", "RW_FUA", "WZ_DEAC"}  # Linux has them as bits of the upper half of CDW12

# Structure of ours: (their names, {our field: theirs} where they differ)
STRUCTS: dict[type[ctypes.Structure], tuple[tuple[str, ...], dict[str, str]]] = {
    PowerState: (("nvme_id_psd",), {}),
    IdCtrl: (("nvme_id_ctrl",), {}),
    IdNs: (("nvme_id_ns",), {}),
    Lbaf: (("nvme_lbaf",), {}),
    IdCtrlNvm: (("nvme_id_ctrl_nvm",), {}),
    IdNsNvm: (("nvme_nvm_id_ns", "nvme_id_ns_nvm"), {}),
    IdNsIndependent: (("nvme_id_independent_id_ns", "nvme_id_ns_cs_indep"), {"endgrpid": "endgid"}),
    NsIdDesc: (("nvme_ns_id_desc",), {}),
    CtrlList: (("nvme_ctrl_list",), {}),
    SmartLog: (("nvme_smart_log",), {}),
    ErrorLogEntry: (("nvme_error_log_page",), {}),
    FwSlotLog: (("nvme_firmware_slot", "nvme_fw_slot_info_log"), {}),
    EffectsLog: (("nvme_cmd_effects_log", "nvme_effects_log"), {}),
    DsmRange: (("nvme_dsm_range",), {}),
    Sqe: (
        ("nvme_common_command",),
        {
            "cid": "command_id",
            "cdw2": "cdw2[0]",
            "cdw3": "cdw2[1]",
            "mptr": "metadata",
            "prp1": "dptr.prp1",
            "prp2": "dptr.prp2",
        },
    ),
    Cqe: (("nvme_completion",), {"dw0": "result.u32", "sqhd": "sq_head", "sqid": "sq_id", "cid": "command_id"}),
}
# Fields that a header has under no name, or cut differently: not compared.
NEWER = {
    *(repr(s) for s in Status if Status.OVERLAPPING_IO_RANGE <= s <= Status.PROGRAM_TOO_BIG),
    *(repr(c) for c in (AdminOpc.PROGRAM_LOAD, AdminOpc.PROGRAM_ACTIVATION, AdminOpc.MEMORY_RANGE_SET)),
    *(repr(p) for p in (LogPage.PROGRAM_LIST, LogPage.PROGRAM_TYPES, LogPage.RANGE_SET_LIST)),
    *(repr(s) for s in (Csi.SLM, Csi.PROGRAMS)),
}
"""Of the command sets for memory and programs, which headers of Debian do not know yet."""
NOT_THERE = {
    "linux": {
        "IdCtrl": {
            "rrls",
            "nvmsr",
            "vwci",
            "mec",
            "nsetidmax",
            "endgidmax",
            "pels",
            "domainid",
            "megcap",
            "icsvscc",
            "ocfs",
            "maxdna",
            "maxcna",
            "fcatt",
            "ofcs",
        },
        "IdNs": {"mssrl", "mcl", "msrc"},
        "Cqe": {"dw1"},  # the upper half of a 64-bit result there
    },
    "libnvme": {"IdNs": {"vs"}},  # version 1.3 has a mask of storage tags in front of it
}


def fetch(package: str, member: str, to: Path) -> None:
    """Take one file out of the newest `package` of the system's suites."""
    work = CACHE / f"work-{os.getpid()}"
    work.mkdir(parents=True, exist_ok=True)
    try:
        command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise OSError((done.stderr.strip() or "no message").splitlines()[-1])
        deb = next(work.glob("*.deb"))
        pipe = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE)
        try:
            with tarfile.open(fileobj=pipe.stdout, mode="r|") as tar:
                for entry in tar:
                    if re.fullmatch(member, entry.name):
                        part = to.with_suffix(f".{os.getpid()}")
                        part.write_bytes(tar.extractfile(entry).read())
                        part.replace(to)
                        return
        finally:
            pipe.kill()
            pipe.wait()
        raise OSError(f"{deb.name} has no {member}")
    finally:
        shutil.rmtree(work)


def newest_linux_headers() -> str:
    done = subprocess.run(["apt-cache", "pkgnames", "linux-headers-"], capture_output=True, text=True, timeout=60)
    names = re.findall(r"^linux-headers-\d\S*-common$", done.stdout, re.M)
    if not names:
        raise OSError("apt knows no linux-headers-*-common")
    return max(names, key=lambda n: [int(x) for x in re.findall(r"\d+", n)])


@pytest.fixture(scope="module", params=["libnvme", "linux"])
def header(request) -> tuple[str, Path]:
    """(name, file) of a header."""
    name = request.param
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    file = CACHE / f"{name}.h"
    if not file.exists():
        try:
            if name == "libnvme":
                fetch("libnvme-dev", r"\./usr/include/nvme/types\.h", file)
            else:
                fetch(newest_linux_headers(), r"\./usr/src/[^/]*/include/linux/nvme\.h", file)
        except (OSError, subprocess.SubprocessError) as e:
            pytest.skip(f"{name}'s NVMe header cannot be fetched by apt-get: {e}")
    return name, file


def ask(header: tuple[str, Path], expressions: dict[str, str], work: Path) -> dict[str, int]:
    """Values of C expressions that use the header."""
    name, file = header
    text = re.sub(r"^#include .*$", "", file.read_text(), flags=re.M)
    body = "".join(f'  printf("{key} %llu\\n", (unsigned long long)({e}));\n' for key, e in expressions.items())
    (work / "ask.c").write_text(f"{STUBS}\n{text}\nint main(void) {{\n{body}  return 0;\n}}\n")
    subprocess.run(["cc", "-w", "-o", "ask", "ask.c"], cwd=work, check=True, timeout=60)
    out = subprocess.run([str(work / "ask")], capture_output=True, text=True, check=True, timeout=10).stdout
    return {key: int(value) for key, value in (line.split() for line in out.splitlines())}


def names_in(header: tuple[str, Path]) -> set[str]:
    return set(re.findall(r"^\s*(NVME_\w+|nvme_\w+)\s*=", header[1].read_text(), re.M))


def find(member: IntEnum, there: set[str]) -> list[str]:
    """The header's names of an enum member of ours."""
    prefixes, renamed = ENUMS[type(member)]
    names = renamed.get(member.name, (member.name,))
    lower = any(p.islower() for p in prefixes)
    return [p + n for p in prefixes for n in ((x.lower() if lower else x) for x in names) if p + n in there]


def test_enums(header, tmp_path):
    """Opcodes, statuses, features, log pages, selectors, registers: every one that the header has has its value."""
    there = names_in(header)
    found = {f"{t.__name__}.{m.name}": (m, find(m, there)) for t in ENUMS for m in t}
    got = ask(header, {f"{k}/{n}": n for k, (_, names) in found.items() for n in names}, tmp_path)
    wrong = []
    for key, (member, names) in found.items():
        for n in names:
            want = member.value
            if isinstance(member, Status) and header[0] not in WITH_TYPE:
                want &= 0xFF
            if isinstance(member, Sct) and header[0] in WITH_TYPE:
                want <<= 8
            if got[f"{key}/{n}"] != want:
                wrong.append(f"{key} is {want:#x}, {n} is {got[f'{key}/{n}']:#x}")
    assert not wrong, "\n".join(wrong)
    assert len(got) >= (200 if header[0] == "libnvme" else 170), f"only {len(got)} found: was a prefix renamed?"


def test_every_enum_member_is_compared():
    """No member of ours has slipped through for want of a name: both headers together know them all."""
    files = [CACHE / f"{n}.h" for n in ("libnvme", "linux")]
    if not all(f.exists() for f in files):
        pytest.skip("needs both headers")
    there = set().union(*(names_in(("", f)) for f in files))
    assert [repr(m) for t in ENUMS for m in t if not find(m, there) and repr(m) not in NEWER] == []


def test_constants(header, tmp_path):
    there = names_in(header)
    found = {ours: [n for n in names if n in there] for ours, names in CONSTANTS.items()}
    got = ask(header, {f"{k}/{n}": n for k, names in found.items() for n in names}, tmp_path)
    for ours, names in found.items():
        for n in names:
            want = getattr(constants, ours) >> (16 if ours in CONTROL_WORD else 0)
            assert got[f"{ours}/{n}"] == want, f"{ours} is {want:#x}, {n} is {got[f'{ours}/{n}']:#x}"
    assert len(got) >= 25


def test_structures(header, tmp_path):
    """Size of every structure, offset and size of every field that is not reserved."""
    text, skip = header[1].read_text(), NOT_THERE[header[0]]
    ask_for, want = {}, {}
    for ours, (names, renamed) in STRUCTS.items():
        for n in names:
            if not re.search(rf"^struct {n} {{", text, re.M):
                continue
            key = f"{ours.__name__}/{n}"
            if ours is not NsIdDesc and (ours, header[0]) != (FwSlotLog, "linux"):
                ask_for[key], want[key] = f"sizeof(struct {n})", ctypes.sizeof(ours)
            for name, _ in ours._fields_:
                if re.fullmatch(r"rsvd\d+", name) or name in skip.get(ours.__name__, ()):
                    continue
                field, theirs = getattr(ours, name), renamed.get(name, name)
                ask_for[f"{key}.{name}"] = f"offsetof(struct {n}, {theirs})"
                ask_for[f"{key}.{name}#"] = f"sizeof(((struct {n} *)0)->{theirs})"
                want[f"{key}.{name}"], want[f"{key}.{name}#"] = field.offset, field.size
    got = ask(header, ask_for, tmp_path)
    assert got == want, "\n".join(f"{k}: ours {want[k]}, theirs {got[k]}" for k in want if got[k] != want[k])
    assert len(got) >= 300


# ------------------------------------------------------------------------------------------------ the RTL's package


def package() -> str:
    return (ROOT / "rtl/nvme/db_nvme_pkg.sv").read_text()


def test_package_constants():
    """(ADMIN_)OPC_*, SC_* and SCT_* of db_nvme_pkg have the values of doorbell.nvme, which the tests above compare."""
    enums = {"OPC": NvmOpc, "ADMIN_OPC": AdminOpc, "SC": Status, "SCT": Sct}
    seen = 0
    constant = r"localparam logic \[\d+:0\] (OPC|ADMIN_OPC|SCT|SC)_(\w+)\s*=\s*\d+'([hd])(\w+);"
    for prefix, name, base, digits in re.findall(constant, package()):
        want = enums[prefix][name].value & 0xFF
        assert int(digits, 16 if base == "h" else 10) == want, f"{prefix}_{name} should be {want:#x}"
        seen += 1
    assert seen >= 20


@pytest.mark.parametrize("name,ours", [("sqe_t", Sqe), ("cqe_t", Cqe)])
def test_package_structures(name, ours):
    """The fields of a packed struct stand where those of doorbell.nvme stand."""
    body = re.search(rf"typedef struct packed {{([^}}]*)}} {name};", package()).group(1)
    widths = {"status_t": 15, "logic": 1}
    fields = [
        (n, int(msb) + 1 if msb else widths[t])
        for t, msb, n in re.findall(r"^\s*(\w+)\s*(?:\[(\d+):0\])?\s+(\w+);", body, re.M)
    ]
    at, offsets = 0, {}
    for field, width in reversed(fields):
        offsets[field] = (at, width)
        at += width
    assert at == 8 * ctypes.sizeof(ours)
    renamed = {"opcode": "opc"}
    inside = {"flags": ["fuse", "rsvd", "psdt"], "status": ["phase", "status"]}  # a byte or word of ours, in its parts
    for field, _ in ours._fields_:
        ctype = getattr(ours, field)
        parts = inside.get(field, [renamed.get(field, field)])
        bit = 8 * ctype.offset
        for part in parts:
            assert offsets[part][0] == bit, f"{name}.{part} is at bit {offsets[part][0]}, not {bit}"
            bit += offsets[part][1]
        assert bit == 8 * (ctype.offset + ctype.size)
