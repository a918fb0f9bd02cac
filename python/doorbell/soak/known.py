# SPDX-License-Identifier: Apache-2.0
"""Defects that a soak has found and that are not mended yet: what each makes the judge overlook.

With `--strict` nothing is overlooked. Whoever mends one takes its line away.
"""

from __future__ import annotations

KNOWN = {
    # Rows at fault reach the media with no strobe, the rows of the same block before them with data: the block is half
    # new. AWUPF promises whole blocks "during a power fail or error condition".
    "torn-error": "a block of a Write that ends with Data Transfer Error or PRP Offset Invalid may be half written",
    # The same when a reset of the controller or function stops the data path between two rows of a block: the burst
    # whose address is out is filled with rows of no strobe.
    "torn-reset": "a block that a Write was writing when a reset came may be half written",
    # A block of 4096 bytes is written in bursts of 1024, and the power may go between them. One of 512 stays whole.
    "torn-power": "a block of 4096 bytes that a Write was writing when the power or the link went may be half written",
}
