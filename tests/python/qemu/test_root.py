# SPDX-License-Identifier: Apache-2.0
"""What of the packages goes into a guest."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorbell.errors import UserError
from doorbell.qemu import root

LOADER = """#!/bin/sh
echo "	linux-vdso.so.1 (0x00007ffc0b5f2000)"
echo "	libtinfo.so.6 => {tinfo} (0x00007f1c5a200000)"
echo "	libc.so.6 => {tree}/usr/lib/libc.so.6 (0x00007f1c5a000000)"
echo "	/lib64/ld-linux-x86-64.so.2 (0x00007f1c5a40d000)"
"""


def test_libraries_are_found_in_a_cache_with_a_space_in_its_path(tmp_path: Path) -> None:
    tree = tmp_path / "a cache" / "root"
    loader = tree / "usr" / "lib64" / "ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    (tree / "bash").write_bytes(b"\x7fELF")
    for tinfo in (f"{tree}/usr/lib/libtinfo.so.6", "not found", "/usr/lib/libtinfo.so.6"):
        loader.write_text(LOADER.format(tree=tree, tinfo=tinfo))
        loader.chmod(0o755)
        if tinfo.startswith(str(tree)):
            assert root._libraries(tree, ["bash"]) == {"usr/lib/libtinfo.so.6", "usr/lib/libc.so.6"}
        else:
            with pytest.raises(UserError, match="bash needs libtinfo.so.6, which no package brought"):
                root._libraries(tree, ["bash"])
