# SPDX-License-Identifier: Apache-2.0
"""One function of a drive sends a 4 KiB command at a time, 16 others want everything: how long does it wait?

    ./doorbell python examples/noisy_neighbours.py                   # beside 4 KiB reads, writes and a mix of both
    ./doorbell python examples/noisy_neighbours.py "128 KiB reads"   # or beside one thing

With equal weights, with a guarantee of slots and a greater weight, with limits of the others (docs/virtualization.md).
The first run builds a simulator of 17 functions, which takes minutes.
"""

from __future__ import annotations

import sys

from doorbell.bench.owners import NOISE, measure_noise

NOISES = sys.argv[1:] or ["4 KiB reads", "4 KiB writes", "4 KiB, 70/30"]
HEAD = ("one command", "beside 16 with", "setting", "p50 us", "p99 us", "p99.9 us", "fair us", "others' % of link")


def main() -> None:
    if unknown := [name for name in NOISES if name not in NOISE]:
        raise SystemExit(f"'{unknown[0]}' is not one of {', '.join(NOISE)}")
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for row in measure_noise(NOISES):
        names = ("rw", "beside", "setting", "p50_us", "p99_us", "p999_us", "fair_us", "others_link_pct")
        print("| " + " | ".join(str(row[name]) for name in names) + " |", flush=True)


main()
