# SPDX-License-Identifier: Apache-2.0
"""Configuration space of a function, of a PF with VFs, and of a VF. Offsets are the specification's."""

from __future__ import annotations

import struct

import pytest
from doorbell.device.pci_config import PciConfig, PciState, VfConfig

VF_ENABLE, VF_MSE = 1, 8


def get(config: PciConfig, offset: int, size: int = 4) -> int:
    return int.from_bytes(config.read(offset, size), "little")


def put(config: PciConfig, offset: int, value: int, size: int = 4) -> bool:
    return config.write(offset, value.to_bytes(size, "little"))


def capabilities(config: PciConfig) -> dict[int, int]:
    found, at = {}, get(config, 0x34, 1)
    while at:
        found[get(config, at, 1)] = at
        at = get(config, at + 1, 1)
    return found


def extended(config: PciConfig) -> dict[int, int]:
    """Extended capabilities: id to offset; all of version 1."""
    found, at = {}, 0x100
    while at and (header := get(config, at)):
        assert header >> 16 & 15 == 1
        found[header & 0xFFFF] = at
        at = header >> 20
    return found


def sriov(config: PciConfig) -> int:
    return extended(config)[0x10]


def size_of_bar(config: PciConfig, at: int) -> int:
    """As software finds it: all ones written, read, what was there put back."""
    before = config.read(at, 8)
    config.write(at, b"\xff" * 8)
    value = get(config, at, 8)
    config.write(at, before)
    assert value & 15 == 4, "64 bits, not prefetchable"
    return (~(value & ~15) & (1 << 64) - 1) + 1


def test_without_vfs_there_is_no_extended_capability() -> None:
    config = PciConfig(33)
    assert not extended(config) and not any(config.read(0x100, 4096 - 256))
    config.write(0x100, b"\xff" * 0x200)
    assert not any(config.read(0x100, 4096 - 256)) and config.state.vfs == 0


def test_sriov_of_the_pf() -> None:
    config = PciConfig(33, vfs=16)
    assert set(extended(config)) == {0x0E, 0x10}
    at = sriov(config)
    assert (get(config, at + 0x0C, 2), get(config, at + 0x0E, 2), get(config, at + 0x10, 2)) == (16, 16, 0)
    assert (get(config, at + 0x14, 2), get(config, at + 0x16, 2), get(config, at + 0x1A, 2)) == (4, 1, 0xDB11)
    assert get(config, at + 0x1C) & 0x553 == 0x553 and get(config, at + 0x20) == 1
    assert size_of_bar(config, at + 0x24) == 0x4000
    assert not any(config.read(at + 0x2C, 0x14)), "no other BARs, no migration"
    assert get(config, extended(config)[0x0E] + 5, 1) == 0, "no next physical function"


def test_vfs_are_there_while_they_are_enabled() -> None:
    config = PciConfig(33, vfs=4)
    at = sriov(config)
    put(config, at + 0x10, 3, 2)
    assert config.state.vfs == 0
    put(config, at + 8, VF_ENABLE | VF_MSE, 2)
    assert config.state.vfs == 3
    put(config, at + 0x10, 2, 2)
    assert config.state.vfs == 3, "NumVFs is fixed while they are enabled"
    put(config, at + 8, 0, 2)
    assert config.state.vfs == 0
    put(config, at + 0x10, 5, 2)
    assert get(config, at + 0x10, 2) == 3, "more than TotalVFs"
    config.enable_vfs(4)
    assert config.state == PciState(bus_master=False, intx_disable=False, mps=0, mrrs=2, vfs=4)
    config.reset()
    assert config.state.vfs == 0 and get(config, at + 0x10, 2) == 0


@pytest.mark.parametrize(("page", "size"), [(1, 0x4000), (2, 0x4000), (0x10, 0x1_0000), (0x400, 0x40_0000)])
def test_a_vfs_bar_is_a_page_at_least(page: int, size: int) -> None:
    config = PciConfig(33, vfs=4)
    at = sriov(config)
    put(config, at + 0x24, 0xC012_4000)
    put(config, at + 0x20, page)
    assert get(config, at + 0x20) == page and size_of_bar(config, at + 0x24) == size
    assert get(config, at + 0x24) == 0xC012_4000 & ~(size - 1) | 4, "it has the alignment of its size"
    config.reset()
    assert size_of_bar(config, at + 0x24) == 0x4000


@pytest.mark.parametrize("page", [0, 3, 4, 0x553, 0x8000_0000])
def test_a_page_size_that_there_is_not_is_refused(page: int) -> None:
    config = PciConfig(33, vfs=4)
    at = sriov(config)
    put(config, at + 0x20, 2)
    put(config, at + 0x20, page)
    assert get(config, at + 0x20) == 2


def test_page_size_is_fixed_while_vfs_are_enabled() -> None:
    config = PciConfig(33, vfs=4)
    config.enable_vfs(1)
    put(config, sriov(config) + 0x20, 2)
    assert get(config, sriov(config) + 0x20) == 1


@pytest.mark.parametrize("vfs", [-1, 17])
def test_too_many_vfs(vfs: int) -> None:
    with pytest.raises(ValueError, match=r"vfs 0\.\.16"):
        PciConfig(33, vfs=vfs)


@pytest.mark.parametrize("alone", [True, False])
def test_vf(alone: bool) -> None:
    config = VfConfig(8, gen=4, lanes=4, alone=alone)
    assert get(config, 0) == (0xDB11_1234 if alone else 0xFFFF_FFFF)
    assert get(config, 0x08) == 0x010802_01 and get(config, 0x3D, 1) == 0
    put(config, 0x04, 0xFFFF, 2)
    assert get(config, 0x04, 2) == (0x0006 if alone else 0x0004)
    if alone:
        assert size_of_bar(config, 0x10) == 0x4000
    else:
        config.write(0x10, b"\xff" * 0x18)
        assert not any(config.read(0x10, 0x18))
    found = capabilities(config)
    assert get(config, found[0x11] + 2, 2) == 8 - 1
    assert struct.unpack("<II", config.read(found[0x11] + 4, 8)) == (0x2000, 0x3000)
    assert get(config, found[0x10] + 4) >> 28 & 1, "function-level reset"
    assert get(config, found[0x10] + 0x0C) == 4 | 4 << 4
    assert set(extended(config)) == (set() if alone else {0x0E})


def test_vf_takes_sizes_from_its_pf() -> None:
    config = VfConfig(8)
    device_control = capabilities(config)[0x10] + 8
    assert not put(config, device_control, 0x7FFF, 2) and get(config, device_control, 2) == 0
    assert put(config, device_control, 0x8000, 2), "it can be reset"
    put(config, 0x04, 0x0406, 2)
    assert config.state == PciState(bus_master=True, intx_disable=False, mps=0, mrrs=0)
