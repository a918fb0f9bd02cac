# SPDX-License-Identifier: Apache-2.0
"""CRC-32C (Castagnoli, as in iSCSI, RFC 3720): db_csd_crc32c."""

from __future__ import annotations

from doorbell.compute.operators import Op

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = (_byte >> 1) ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)


class Crc32c:
    CODE = Op.CRC32C

    def result(self, data: bytes) -> int:
        crc = 0xFFFFFFFF
        for byte in data:
            crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
        return crc ^ 0xFFFFFFFF
