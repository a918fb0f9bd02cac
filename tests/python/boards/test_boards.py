# SPDX-License-Identifier: Apache-2.0
"""Board projects: every port is connected, stubs are what another source says, pins and Tcl fit the tops. (That
Verilator -Wall and slang have nothing against the tops is part of lint.)"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice
from doorbell.build import boards
from doorbell.build.slang import parse
from doorbell.device import pci_config
from doorbell.nvme.vendor import BAR_BYTES, BAR_MSIX_PBA, BAR_MSIX_TABLE
from doorbell.release import archive
from vivado import TclError, Vivado

PCIE = {"vcu118": "pcie4_uscale_plus_0", "u50": "pcie4c_uscale_plus_0"}
OPTIONAL = r"cfg_(ext_|interrupt_msi_(enable|mm|mask|data|select|int|pending|attr|tph)|interrupt_msix_(sent|fail))|" \
           r"cfg_bus_number|cfg_ds_function_number"  # fmt: skip
"""Ports of PG213 that the block has only with an option that is off here, or an output that depends on its version."""
OTHERS = {"pci_exp_txn", "pci_exp_txp", "pci_exp_rxn", "pci_exp_rxp"}


def instances(scope: Any, path: str = "") -> dict[str, Any]:
    """Instances below, by their path."""
    found = {}
    for member in scope:
        if member.kind.name == "Instance":
            found[path + member.name] = member
            found |= instances(member.body, f"{path}{member.name}/")
    return found


@pytest.fixture(scope="module", params=boards.BOARDS)
def board(request: pytest.FixtureRequest) -> tuple[str, Any]:
    compilation = parse(boards.BOARDS[request.param])[1]
    board.keep = compilation  # type: ignore[attr-defined]  # slang's objects live as long as it
    return request.param, compilation.getRoot().topInstances[0]


def width(port: Any) -> int:
    return int(port.type.bitWidth)


def test_every_input_is_connected(board: tuple[str, Any]) -> None:
    name, top = board
    below = instances(top.body)
    looked = 0
    for path in ("i_pcie", "i_board", "i_board/i_ssd", *(p for p in below if p.count("/") == 0)):
        for connection in below[path].portConnections:
            if connection.port.direction.name == "In":
                looked += 1
                assert connection.expression is not None, f"{name}: {path}.{connection.port.name}"
    assert looked > 200 and "i_board/i_ssd" in below


def test_stub_of_pcie_is_as_another_model_has_it(board: tuple[str, Any]) -> None:
    """cocotbext-pcie lists the ports and, where it takes a signal, their widths."""
    name, top = board
    code = inspect.getsource(UltraScalePlusPcieDevice.__init__)
    widths = dict(re.findall(r"init_signal\((\w+), (\d+)", code))
    theirs = [
        p for p in inspect.signature(UltraScalePlusPcieDevice.__init__).parameters if p.startswith(("cfg_", "pcie_"))
    ]
    theirs = [p for p in theirs if p not in ("pcie_generation", "pcie_link_width")]
    ours = {
        p.name: width(p)
        for p in instances(top.body)["i_pcie"].body.portList
        if not p.name.startswith(("s_axis", "m_axis"))
    }
    missing = [p for p in theirs if p not in ours and not re.fullmatch(f"(?:{OPTIONAL}).*", p)]
    assert missing == []
    assert {p for p in ours if p not in theirs} <= OTHERS | {
        "sys_clk", "sys_clk_gt", "sys_reset", "user_clk", "user_reset", "user_lnk_up", "phy_rdy_out"}  # fmt: skip
    compared = {p: (w, int(widths[p])) for p, w in ours.items() if p in widths}
    assert len(compared) > 90 and [p for p, (a, b) in compared.items() if a != b] == []


def pins_of(top: Any) -> set[str]:
    """Ports as Vivado names them, bit by bit; of one bit that is declared as a vector, too."""
    names = set()
    for port in top.body.portList:
        vector = port.type.isPackedArray and "[" in str(port.type)
        names |= {f"{port.name}[{i}]" for i in range(width(port))} if vector else {port.name}
    return names


def test_constraints_fit_the_top(board: tuple[str, Any]) -> None:
    name, top = board
    ports = pins_of(top)
    cells = set(instances(top.body))
    vivado = Vivado(ports, cells)
    vivado.run(boards.FOLDER / name / f"{boards.BOARDS[name]}.xdc")
    placed = {p: v["PACKAGE_PIN"] for p, v in vivado.properties.items() if "PACKAGE_PIN" in v}
    assert max(Counter(placed.values()).values()) == 1, "two ports on a pin"
    assert {p for p in ports - placed.keys() if not p.startswith("ddr4_")} == set()
    gt = re.compile(r"pcie_([rt]x|refclk)_")
    assert [p for p in placed if not gt.match(p) and "IOSTANDARD" not in vivado.properties[p]] == []
    filters = [c.options["-filter"] for c in vivado.named("get_pins")]
    assert filters == ["NAME =~ i_board/i_reset/ready_q_reg[0]/D"] and "i_board/i_reset" in cells
    assert {c.options["-name"] for c in vivado.named("create_clock")} >= {"pcie_refclk"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for name, data in archive.contents().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_project_fits_the_top(board: tuple[str, Any], unpacked: Path) -> None:
    name, top = board
    vivado = Vivado(boards=("xilinx.com:vcu118:part0:2.4",))
    vivado.run(unpacked / "boards" / name / "project.tcl", "build")
    added = [Path(f) for c in vivado.named("add_files") for f in vivado.tcl.splitlist(c.words[0])]
    assert all(f.is_file() for f in added) and not any("stubs" in f.parts for f in added)
    stems = {f.stem for f in added}
    below = instances(top.body)
    vendor = {i.definition.name for i in below.values()} & {f.stem for f in boards.stubs()}
    assert {i.definition.name for i in below.values()} - vendor <= stems, "a module is not in the project"
    assert set(vivado.ips) == {v for v in vendor if v.endswith("_0")}
    assert len(vivado.named("launch_runs")) == 1
    sources = vivado.properties["sources_1"]
    assert sources["top"] == boards.BOARDS[name]
    ip = {k.removeprefix("CONFIG."): v for k, v in vivado.properties[PCIE[name]].items()}
    pcie, ssd = below["i_pcie"], {p.name: p for p in below["i_board/i_ssd"].body.parameters}
    streams = {p.name: width(p) for p in pcie.body.portList}
    assert ip["axisten_if_width"] == f"{streams['m_axis_cq_tdata']}_bit"
    assert ip["PL_LINK_CAP_MAX_LINK_WIDTH"] == f"X{streams['pci_exp_txp']}"
    assert int(ip["PF0_MSIX_CAP_TABLE_SIZE"], 16) + 1 == int(ssd["NUM_VEC"].value.value)
    assert int(ip["PF0_MSIX_CAP_TABLE_OFFSET"], 16) == BAR_MSIX_TABLE
    assert int(ip["PF0_MSIX_CAP_PBA_OFFSET"], 16) == BAR_MSIX_PBA
    assert 1024 * int(ip["pf0_bar0_size"]) == BAR_BYTES and ip["pf0_bar0_scale"] == "Kilobytes"
    assert int(ip["vendor_id"], 16) == pci_config.VENDOR_ID and int(ip["PF0_DEVICE_ID"], 16) == pci_config.DEVICE_ID
    if name == "vcu118":
        ddr4 = {p.name: width(p) for p in below["i_ddr4"].body.portList}
        given = {k.removeprefix("CONFIG.C0.DDR4_"): v for k, v in vivado.properties["ddr4_0"].items()}
        assert (
            int(given["AxiDataWidth"]) == ddr4["c0_ddr4_s_axi_wdata"] and int(given["DataWidth"]) == ddr4["c0_ddr4_dq"]
        )
        assert int(given["AxiAddressWidth"]) == ddr4["c0_ddr4_s_axi_araddr"]
        crossing = vivado.properties["axi_clock_converter_0"]
        assert int(crossing["CONFIG.DATA_WIDTH"]) == 256 and crossing["CONFIG.ACLK_ASYNC"] == "1"
    else:
        off = {k[-2:] for k, v in vivado.properties["hbm_0"].items() if "USER_SAXI" in k and v == "false"}
        on = {p.name[4:6] for p in below["i_hbm"].body.portList if p.name.startswith("AXI_")}
        assert off | on == {f"{i:02}" for i in range(32)} and not off & on


def test_project_outside_a_release_says_what_to_do() -> None:
    vivado = Vivado(boards=("xilinx.com:vcu118:part0:2.4",))
    with pytest.raises(Exception, match="run this in an unpacked release"):
        vivado.run(boards.FOLDER / "vcu118" / "project.tcl")


def test_the_recorder_refuses_what_vivado_does() -> None:
    vivado = Vivado({"led[0]"})
    wrongs = {
        "get_ports {led[1]}": "nothing is called led[1]",
        "create_clock -perod 10 [get_ports {led[0]}]": "no option -perod",
        "set_property -dict {A} x": "a value is missing",
    }
    for command, said in wrongs.items():
        with pytest.raises(TclError):
            vivado.tcl.eval(command)
        assert said in vivado.wrong
