# SPDX-License-Identifier: Apache-2.0
"""docs/registers.md is what regs/*.rdl generate."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from structs import layout

ROOT = Path(__file__).resolve().parents[3]
RTL_REGS = ROOT / "rtl" / "ssd" / "admin" / "db_ssd_admin_regs.sv"
sys.path.insert(0, str(ROOT / "regs"))
import generate  # noqa: E402


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registers")
    generate.generate(folder)
    return folder


def test_reference_is_up_to_date(generated: Path) -> None:
    assert (ROOT / "docs" / "registers.md").read_text() == generate.reference(generated), (
        "docs/registers.md is old: run `./doorbell build --only reference`"
    )


def test_events_of_the_firmware_have_their_bits(generated: Path) -> None:
    """The struct of events in the RTL and the register that shows them have the same names in the same places."""
    header = (generated / "c" / "db_ssd_fw.h").read_text()
    masks = {name.lower(): int(bit, 16) for name, bit in
             re.findall(r"#define DB_SSD_FW__EVENT__(\w+)_bm (0x[0-9a-f]+)", header)}  # fmt: skip
    events = layout("db_ssd_admin_pkg", "event_t")
    assert masks == {name: 1 << events[name].offset for name in events}
    assert int(re.search(r"DB_SSD_FW__WAKE_ON__MASK_bm (0x[0-9a-f]+)", header)[1], 16) == (1 << events.width) - 1
    sticky = [name for name in events if f"EVENT.{name}.hwset" in RTL_REGS.read_text()]
    assert sorted(sticky) == sorted(layout("db_ssd_admin_pkg", "event_set_t"))
