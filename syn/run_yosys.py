# SPDX-License-Identifier: Apache-2.0
"""Runs a yosys script with the native library of pyosys: `python syn/run_yosys.py SCRIPT`, one command a line."""

import sys

from pyosys import libyosys as ys

design = ys.Design()
with open(sys.argv[1]) as script:
    for line in script:
        if line.strip():
            ys.run_pass(line.strip(), design)
