# SPDX-License-Identifier: Apache-2.0
# db_ssd on the Alveo U50, Gen4 x8, HBM. In an unpacked release:
#   vivado -mode batch -source boards/u50/project.tcl [-tclargs build]
source [file join [file dirname [file normalize [info script]]] .. project.tcl]

db_begin u50 db_u50 xcu50-fsvh2104-2-e
source [file join [file dirname [file normalize [info script]]] ip.tcl]
db_end $argv
