# SPDX-License-Identifier: Apache-2.0
"""Defects that a soak has found and that are not mended yet: what each makes the judge overlook.

With `--strict` nothing is overlooked. Whoever mends one takes its line away.
"""

from __future__ import annotations

KNOWN = {
    # Rows at fault reach the media with no strobe, the rows of the same block before them with data: the block is half
    # new. AWUPF promises whole blocks "during a power fail or error condition".
    "torn-error": "a block that a Write with Data Transfer Error has begun may be half written",
}
