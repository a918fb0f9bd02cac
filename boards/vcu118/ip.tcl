# SPDX-License-Identifier: Apache-2.0
# AMD's blocks on the VCU118.
source [file join [file dirname [file normalize [info script]]] .. ip.tcl]

db_board_part *:vcu118:*

db_pcie pcie4_uscale_plus {
    CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {8.0_GT/s}
    CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH {X8}
    CONFIG.axisten_if_width {256_bit}
    CONFIG.AXISTEN_IF_RC_STRADDLE {false}
    CONFIG.pcie_blk_locn {X1Y2}
    CONFIG.en_gt_selection {true}
    CONFIG.select_quad {GTY_Quad_227}
}

# 64 of the 80 bits of interface C1: its pins and its clock of 250 MHz come from AMD's board files.
create_ip -name ddr4 -vendor xilinx.com -library ip -module_name ddr4_0
set_property -dict {
    CONFIG.C0_CLOCK_BOARD_INTERFACE {default_250mhz_clk1}
    CONFIG.C0_DDR4_BOARD_INTERFACE {ddr4_sdram_c1_062}
    CONFIG.System_Clock {Differential}
    CONFIG.C0.DDR4_InputClockPeriod {4000}
    CONFIG.C0.DDR4_TimePeriod {833}
    CONFIG.C0.DDR4_MemoryType {Components}
    CONFIG.C0.DDR4_MemoryPart {MT40A256M16LY-062E}
    CONFIG.C0.DDR4_DataWidth {64}
    CONFIG.C0.DDR4_DataMask {DM_NO_DBI}
    CONFIG.C0.DDR4_AxiSelection {true}
    CONFIG.C0.DDR4_AxiDataWidth {256}
    CONFIG.C0.DDR4_AxiAddressWidth {31}
    CONFIG.C0.DDR4_AxiIDWidth {1}
    CONFIG.C0.DDR4_AxiNarrowBurst {false}
} [get_ips ddr4_0]

create_ip -name axi_clock_converter -vendor xilinx.com -library ip -module_name axi_clock_converter_0
set_property -dict {
    CONFIG.PROTOCOL {AXI4}
    CONFIG.ACLK_ASYNC {1}
    CONFIG.ADDR_WIDTH {31}
    CONFIG.DATA_WIDTH {256}
    CONFIG.ID_WIDTH {1}
} [get_ips axi_clock_converter_0]
