# SPDX-License-Identifier: Apache-2.0
# What the projects of all boards have in common. boards/BOARD/project.tcl sources this file and calls, in order,
# db_begin, db_pcie, its own memory, db_end. All paths are of the unpacked archive of a release: it has the generated sources.

set db_root [file normalize [file join [file dirname [file normalize [info script]]] ..]]

# The lines of a file list: what Vivado must read, in order.
proc db_files {list} {
    global db_root
    set name [file join $db_root filelists $list]
    if {![file exists $name]} {
        error "there is no $name: run this in an unpacked release (./doorbell release makes it)"
    }
    set in [open $name]
    set lines [split [string trim [read $in]] "\n"]
    close $in
    set files {}
    foreach line $lines {
        if {![string match +incdir+* $line]} {lappend files [file join $db_root $line]}
    }
    return $files
}

# A project with the sources of db_ssd and of the board. board_part: which of Vivado's boards it is; empty: none is needed.
proc db_begin {board top part board_part} {
    global db_root
    set files [db_files db_ssd.f]
    create_project -force $top [file join $db_root build $board] -part $part
    if {$board_part ne ""} {
        set found [get_board_parts -quiet -latest_file_version $board_part]
        if {[llength $found] == 0} {
            error "Vivado does not know the board $board_part: install its board files (Tools, Vivado Store, Boards)"
        }
        set_property board_part [lindex $found 0] [current_project]
    }
    set_property target_language Verilog [current_project]
    set own [glob [file join $db_root boards rtl *.sv]]
    add_files -norecurse -fileset sources_1 [concat $files [lsort $own] [list [file join $db_root boards $board $top.sv]]]
    set includes {}
    foreach folder {rtl/axi rtl/pcie rtl/ssd rtl/host boards/rtl} {lappend includes [file join $db_root $folder]}
    set_property include_dirs $includes [get_filesets sources_1]
    set_property top $top [get_filesets sources_1]
    # The firmware by the name that FW_HEX has.
    set hex [file join $db_root build $board fw.hex]
    file mkdir [file dirname $hex]
    file copy -force [file join $db_root firmware fw.hex] $hex
    add_files -norecurse -fileset sources_1 $hex
    set_property file_type {Memory Initialization Files} [get_files $hex]
    add_files -norecurse -fileset constrs_1 [file join $db_root boards $board $top.xdc]
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

# Makes what the IP is made of; with `-tclargs build` also the bitstream.
proc db_end {arguments} {
    generate_target all [get_ips]
    update_compile_order -fileset sources_1
    if {[lsearch -exact $arguments build] < 0} return
    launch_runs impl_1 -to_step write_bitstream -jobs 4
    wait_on_run impl_1
    if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
        error "impl_1 did not end: [get_property STATUS [get_runs impl_1]]"
    }
}
