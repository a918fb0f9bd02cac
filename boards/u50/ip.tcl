# SPDX-License-Identifier: Apache-2.0
# AMD's blocks on the Alveo U50.
source [file join [file dirname [file normalize [info script]]] .. ip.tcl]

db_pcie pcie4c_uscale_plus {
    CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {16.0_GT/s}
    CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH {X8}
    CONFIG.axisten_if_width {512_bit}
    CONFIG.AXISTEN_IF_EXT_512_RQ_STRADDLE {true}
    CONFIG.AXISTEN_IF_EXT_512_RC_STRADDLE {true}
    CONFIG.AXISTEN_IF_EXT_512_RC_4TLP_STRADDLE {true}
    CONFIG.AXISTEN_IF_EXT_512_CQ_STRADDLE {false}
    CONFIG.AXISTEN_IF_EXT_512_CC_STRADDLE {false}
    CONFIG.pcie_blk_locn {X1Y0}
    CONFIG.en_gt_selection {true}
    CONFIG.select_quad {GTY_Quad_227}
}

# Both stacks with ECC; of their 32 ports one each, at the clock of the PCIe block.
create_ip -name hbm -vendor xilinx.com -library ip -module_name hbm_0
set db_hbm {
    CONFIG.USER_HBM_DENSITY {8GB}
    CONFIG.USER_HBM_STACK {2}
    CONFIG.USER_AXI_INPUT_CLK_FREQ {250}
    CONFIG.USER_AXI_INPUT_CLK1_FREQ {250}
    CONFIG.USER_CLK_SEL_LIST0 {AXI_00_ACLK}
    CONFIG.USER_CLK_SEL_LIST1 {AXI_16_ACLK}
}
for {set i 0} {$i < 16} {incr i} {lappend db_hbm CONFIG.USER_MC${i}_ENABLE_ECC_CORRECTION true}
for {set i 0} {$i < 32} {incr i} {
    if {$i % 16 != 0} {lappend db_hbm CONFIG.USER_SAXI_[format %02d $i] false}
}
set_property -dict $db_hbm [get_ips hbm_0]
