# SPDX-License-Identifier: Apache-2.0
"""The layers of the firmware: what breaks one makes lint fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import lint, lint_firmware

FW = paths.ROOT / "fw"


def test_firmware_is_in_layers() -> None:
    assert lint_firmware.check(FW) == []


def test_layers_are_those_of_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FW))
    import build as firmware_build  # fw/build.py

    assert lint_firmware.LAYERS == firmware_build.LAYERS


@pytest.mark.parametrize(("file", "line", "problem"), [
    ("state/events.c", '#include "commands/events.h"', "commands/events.h is above state"),
    ("commands/format.c", '#include "dispatch/dispatcher.h"', "dispatch/dispatcher.h is above commands"),
    ("commands/format.c", '#include "hw/registers.h"', "hw/registers.h is for hw alone"),
    ("commands/format.c", '#include "db_ssd_fw.h"', "db_ssd_fw.h is not for commands"),
    ("state/events.c", '#include "state/nothing.h"', "there is no state/nothing.h"),
    ("transfer/transfer.c", "void queues_reset(void); void up(void) { queues_reset(); }",
     "queues_reset is above transfer, in state/queues.c"),
    ("state/events.c", "uint32_t format(void); uint32_t up(void) { return format(); }",
     "format is above state, in commands/format.c"),
    ("commands/operators.c", '#include "commands/features.h"\nhandler_t *up = features_set;',
     "commands/features.c, commands/operators.c: call each other"),
])  # fmt: skip
def test_what_breaks_a_layer_is_found(tmp_path: Path, file: str, line: str, problem: str) -> None:
    copy = Path(shutil.copytree(FW, tmp_path / "fw"))
    with (copy / file).open("a") as f:
        f.write(f"{line}\n")
    found = lint_firmware.check(copy)
    assert any(problem in wrong for wrong in found), found


def test_a_file_without_a_layer_is_found(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(FW, tmp_path / "fw"))
    (copy / "fw.h").write_text("")
    (copy / "more").mkdir()
    (copy / "more" / "more.c").write_text("")
    assert [wrong.split(":")[0] for wrong in lint_firmware.check(copy)] == ["fw.h", "more/more.c"]


def test_upward_call_makes_lint_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Path(shutil.copytree(FW, tmp_path / "fw"))
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    lint_firmware.main()
    with (copy / "hw" / "hw.c").open("a") as f:
        f.write('#include "state/events.h"\n')
    with pytest.raises(SystemExit) as end:
        lint_firmware.main()
    assert end.value.code == 1
    assert "firmware" in [name for name, _ in lint.steps()]
