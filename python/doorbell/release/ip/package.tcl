# SPDX-License-Identifier: Apache-2.0
# Packages tops as IP for block designs, in an unpacked release:
#   vivado -mode batch -source ip/package.tcl -tclargs db_ssd_256 db_host_128      (none: all)
# Each becomes build/ip/NAME; add build/ip to the IP repositories of a project. NAME.tcl says what an IP has, by the commands
# below, in order: db_ip_begin, db_ip_sources, then parameters, reset, clock, interfaces, ports that are in none, db_ip_end.

set db_ip_folder [file dirname [file normalize [info script]]]
set db_ip_project [file join $db_ip_folder .. boards project.tcl]
if {![file exists $db_ip_project]} {
    error "there is no $db_ip_project: run this in an unpacked release (./doorbell release makes it)"
}
source $db_ip_project

# A project with the sources of `top` and its wrapper `name`.
proc db_ip_begin {name top version revision description} {
    global db_root db_ip
    array unset db_ip
    array set db_ip [list name $name top $top version $version revision $revision description $description]
    set db_ip(place) [file join $db_root build ip $name]
    set db_ip(buses) {}
    set db_ip(ports) {}
    file delete -force $db_ip(place)
    create_project -force $name [file join $db_root build ip_projects $name]
    set_property target_language Verilog [current_project]
}

# Adds the files and makes a component of them, without the interfaces that Vivado guesses.
proc db_ip_sources {headers image} {
    global db_root db_ip db_ip_folder
    set wrapper [file join $db_ip_folder $db_ip(name).v]
    add_files -norecurse -fileset sources_1 [concat [db_files $db_ip(top).f] [list $wrapper]]
    foreach header $headers {
        set file [file join $db_root $header]
        add_files -norecurse -fileset sources_1 $file
        set_property file_type {Verilog Header} [get_files $file]
    }
    if {$image ne ""} {
        # The firmware by the name that FW_HEX has.
        set hex [file join $db_root build ip_projects $db_ip(name) fw.hex]
        file mkdir [file dirname $hex]
        file copy -force [file join $db_root firmware $image] $hex
        add_files -norecurse -fileset sources_1 $hex
        set_property file_type {Memory Initialization Files} [get_files $hex]
    }
    set_property top $db_ip(name) [get_filesets sources_1]
    update_compile_order -fileset sources_1
    ipx::package_project -root_dir $db_ip(place) -vendor doorbell -library nvme -taxonomy /NVMe -import_files
    set core [ipx::current_core]
    set_property -dict [list name $db_ip(name) version $db_ip(version) core_revision $db_ip(revision) \
        display_name $db_ip(name) description $db_ip(description) vendor_display_name Doorbell \
        supported_families {virtexuplus Production virtexuplusHBM Production kintexuplus Production zynquplus Production} \
    ] $core
    foreach bus [ipx::get_bus_interfaces -of_objects $core] {
        ipx::remove_bus_interface [get_property NAME $bus] $core
    }
    foreach map [ipx::get_memory_maps -of_objects $core] {ipx::remove_memory_map [get_property NAME $map] $core}
    foreach space [ipx::get_address_spaces -of_objects $core] {
        ipx::remove_address_space [get_property NAME $space] $core
    }
}

# kind: list, range (lowest and highest), or any that fits its bits. text: what a user sees of it.
proc db_ip_parameter {name kind values text} {
    set core [ipx::current_core]
    set parameter [ipx::get_user_parameters $name -of_objects $core]
    if {$kind eq "list"} {
        set_property -dict [list value_validation_type list value_validation_list $values] $parameter
    } elseif {$kind eq "range"} {
        set_property -dict [list value_validation_type range_long value_validation_range_minimum [lindex $values 0] \
            value_validation_range_maximum [lindex $values 1]] $parameter
    }
    set_property tooltip $text [ipgui::get_guiparamspec -name $name -component $core]
}

proc db_ip_signal {name type mode signal} {
    global db_ip
    set core [ipx::current_core]
    set bus [ipx::add_bus_interface $name $core]
    set_property -dict [list abstraction_type_vlnv xilinx.com:signal:${type}_rtl:1.0 \
        bus_type_vlnv xilinx.com:signal:${type}:1.0 interface_mode $mode] $bus
    set_property physical_name $name [ipx::add_port_map $signal $bus]
    lappend db_ip(ports) $name
    return $bus
}

proc db_ip_reset {name} {
    set bus [db_ip_signal $name reset slave RST]
    set_property value ACTIVE_HIGH [ipx::add_bus_parameter POLARITY $bus]
}

# The one clock, and the resets that belong to it.
proc db_ip_clock {name resets} {
    global db_ip
    set bus [db_ip_signal $name clock slave CLK]
    set_property value [join $resets :] [ipx::add_bus_parameter ASSOCIATED_RESET $bus]
    set db_ip(clock) $name
}

# protocol: axis, axi4, axi4lite. signals: name in the interface's definition and port, in turn.
proc db_ip_bus {name protocol mode signals} {
    global db_ip
    set core [ipx::current_core]
    set kind [expr {$protocol eq "axis" ? "axis" : "aximm"}]
    set bus [ipx::add_bus_interface $name $core]
    set_property -dict [list abstraction_type_vlnv xilinx.com:interface:${kind}_rtl:1.0 \
        bus_type_vlnv xilinx.com:interface:${kind}:1.0 interface_mode $mode] $bus
    foreach {signal port} $signals {
        set_property physical_name $port [ipx::add_port_map $signal $bus]
        lappend db_ip(ports) $port
    }
    if {$kind eq "aximm"} {
        set_property value [string toupper $protocol] [ipx::add_bus_parameter PROTOCOL $bus]
    }
    ipx::associate_bus_interfaces -busif $name -clock $db_ip(clock) $core
    lappend db_ip(buses) $name
    set db_ip(ports_of,$name) [dict values $signals]
}

# What a master reaches, or a slave has: 2 to the power of `bits` bytes; a master's may be a parameter.
proc db_ip_addresses {name bits} {
    set core [ipx::current_core]
    set bus [ipx::get_bus_interfaces $name -of_objects $core]
    if {[get_property INTERFACE_MODE $bus] eq "slave"} {
        set map [ipx::add_memory_map $name $core]
        set_property slave_memory_map_ref $name $bus
        set block [ipx::add_address_block registers $map]
        set_property -dict [list base_address 0 range [expr {1 << $bits}] width 32 usage register] $block
        return
    }
    set space [ipx::add_address_space $name $core]
    set_property master_address_space_ref $name $bus
    if {[string is integer $bits]} {
        set_property range [expr {1 << $bits}] $space
    } else {
        set range "pow(2,(spirit:decode(id('MODELPARAM_VALUE.$bits')) - 1) + 1)"
        set_property -dict [list range_dependency $range range_resolve_type dependent] $space
    }
}

# The interface is there if each parameter of `above` is more than the number behind it; inputs are 0 without it.
proc db_ip_only {name above} {
    global db_ip
    set core [ipx::current_core]
    set terms {}
    foreach {parameter number} $above {
        lappend terms "(spirit:decode(id('MODELPARAM_VALUE.$parameter')) > $number)"
    }
    set when [join $terms " and "]
    set_property enablement_dependency $when [ipx::get_bus_interfaces $name -of_objects $core]
    foreach port $db_ip(ports_of,$name) {
        set object [ipx::get_ports $port -of_objects $core]
        set_property enablement_dependency $when $object
        if {[get_property DIRECTION $object] eq "in"} {set_property driver_value 0 $object}
    }
}

# Ports that a block design connects one by one.
proc db_ip_plain {names} {
    global db_ip
    foreach name $names {lappend db_ip(ports) $name}
}

# Nothing may be left over: neither a port, nor an interface.
proc db_ip_end {} {
    global db_ip
    set core [ipx::current_core]
    set there {}
    foreach port [ipx::get_ports -of_objects $core] {lappend there [get_property NAME $port]}
    if {[lsort $there] ne [lsort $db_ip(ports)]} {
        error "$db_ip(name).v has other ports than $db_ip(name).tcl: unpack the release anew"
    }
    ipx::create_xgui_files $core
    ipx::update_checksums $core
    ipx::check_integrity $core
    ipx::save_core $core
    close_project
    puts "build/ip/$db_ip(name): doorbell:nvme:$db_ip(name):$db_ip(version)"
}

set db_ip_known {}
foreach file [lsort [glob -nocomplain [file join $db_ip_folder db_*.tcl]]] {
    lappend db_ip_known [file rootname [file tail $file]]
}
set db_ip_wanted [expr {[llength $argv] > 0 ? $argv : $db_ip_known}]
foreach name $db_ip_wanted {
    if {$name ni $db_ip_known} {error "there is no IP $name: there are [join $db_ip_known {, }]"}
}
foreach name $db_ip_wanted {source [file join $db_ip_folder $name.tcl]}
