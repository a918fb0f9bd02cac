# SPDX-License-Identifier: Apache-2.0
# db_ssd on the VCU118, Gen3 x8, DDR4. In an unpacked release:
#   vivado -mode batch -source boards/vcu118/project.tcl [-tclargs build]
source [file join [file dirname [file normalize [info script]]] .. project.tcl]

db_begin vcu118 db_vcu118 xcvu9p-flga2104-2L-e
source [file join [file dirname [file normalize [info script]]] ip.tcl]
db_end $argv
