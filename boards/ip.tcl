# SPDX-License-Identifier: Apache-2.0
# What boards/BOARD/ip.tcl calls to make AMD's blocks in the current project: that of boards/BOARD/project.tcl, or FuseSoC's.

# Which of Vivado's boards this is. Its files have pins that an IP asks for.
proc db_board_part {pattern} {
    set found [get_board_parts -quiet -latest_file_version $pattern]
    if {[llength $found] == 0} {
        error "Vivado does not know the board $pattern: install its board files (Tools, Vivado Store, Boards)"
    }
    set_property board_part [lindex $found 0] [current_project]
}

# The integrated block as docs/ssd/integration.md wants it; `more` has what is the board's own: link, width, place.
proc db_pcie {ip more} {
    create_ip -name $ip -vendor xilinx.com -library ip -module_name ${ip}_0
    set_property -dict [concat {
        CONFIG.mode_selection {Advanced}
        CONFIG.AXISTEN_IF_CQ_ALIGNMENT_MODE {DWORD_Aligned}
        CONFIG.AXISTEN_IF_RQ_ALIGNMENT_MODE {DWORD_Aligned}
        CONFIG.axisten_if_enable_client_tag {true}
        CONFIG.axisten_freq {250}
        CONFIG.extended_tag_field {true}
        CONFIG.pf0_dev_cap_max_payload {512_bytes}
        CONFIG.PF0_DEV_CAP_FUNCTION_LEVEL_RESET_CAPABLE {true}
        CONFIG.PF0_Use_Class_Code_Lookup_Assistant {false}
        CONFIG.PF0_CLASS_CODE {010802}
        CONFIG.pf0_class_code_base {01}
        CONFIG.pf0_class_code_sub {08}
        CONFIG.pf0_class_code_interface {02}
        CONFIG.vendor_id {1234}
        CONFIG.PF0_DEVICE_ID {DB01}
        CONFIG.PF0_SUBSYSTEM_VENDOR_ID {1234}
        CONFIG.PF0_SUBSYSTEM_ID {DB01}
        CONFIG.PF0_INTERRUPT_PIN {INTA}
        CONFIG.pf0_bar0_type {Memory}
        CONFIG.pf0_bar0_64bit {true}
        CONFIG.pf0_bar0_prefetchable {false}
        CONFIG.pf0_bar0_scale {Kilobytes}
        CONFIG.pf0_bar0_size {16}
        CONFIG.pf0_msi_enabled {false}
        CONFIG.pf0_msix_enabled {true}
        CONFIG.MSI_X_OPTIONS {MSI-X_External}
        CONFIG.PF0_MSIX_CAP_TABLE_SIZE {020}
        CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_1:0}
        CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00002000}
        CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_1:0}
        CONFIG.PF0_MSIX_CAP_PBA_OFFSET {00003000}
    } $more] [get_ips ${ip}_0]
}
