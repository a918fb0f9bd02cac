# SPDX-License-Identifier: Apache-2.0
# What the projects of all boards have in common. boards/BOARD/project.tcl sources this file, calls db_begin, sources the
# board's ip.tcl, calls db_end. All paths are of the unpacked archive of a release: it has the generated sources.

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

# A project with the sources of db_ssd and of the board.
proc db_begin {board top part} {
    global db_root
    set files [db_files db_ssd.f]
    create_project -force $top [file join $db_root build $board] -part $part
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
