# SPDX-License-Identifier: Apache-2.0
"""SHA-256 (FIPS 180-4) of all bytes of a command: db_csd_sha256. Byte k of the digest is in bits 8k+7:8k."""

from __future__ import annotations

import hashlib

from doorbell.compute.operators import Op


class Sha256:
    CODE = Op.SHA256

    def result(self, data: bytes) -> int:
        return int.from_bytes(hashlib.sha256(data).digest(), "little")
