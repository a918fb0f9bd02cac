# SPDX-License-Identifier: Apache-2.0
"""From sources to what runs: generated registers, firmware, simulators, kept in the cache by their content."""

from doorbell.build.cache import cached, hash_files, say, tool, version
from doorbell.build.compiler import jobs
from doorbell.build.firmware_image import IMAGES, firmware, linked, own_image
from doorbell.build.registers import regs
from doorbell.build.rtl import (
    FOLDERS,
    PACKAGES,
    RtlSources,
    check_params,
    find_module,
    include_folders,
    rtl_sources,
    verilator,
)
from doorbell.build.simulators import has_ssds, is_host, simulator

__all__ = [
    "FOLDERS",
    "IMAGES",
    "PACKAGES",
    "RtlSources",
    "cached",
    "check_params",
    "find_module",
    "firmware",
    "has_ssds",
    "hash_files",
    "include_folders",
    "is_host",
    "jobs",
    "linked",
    "own_image",
    "regs",
    "rtl_sources",
    "say",
    "simulator",
    "tool",
    "verilator",
    "version",
]
