# SPDX-License-Identifier: Apache-2.0
"""`python -m doorbell`: what the launcher runs."""

import sys

from doorbell.cli.main import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
