# SPDX-License-Identifier: Apache-2.0
# VCU118, xcvu9p-flga2104-2L-e. Pins are those that Corundum has for it. Those of DDR4, and its clock, come from AMD's board files
# (boards/vcu118/project.tcl). Clocks of the PCIe block and of DDR4 are made by the XDC of their IP.

set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]

# ---- PCIe: reference clock 1 of the edge connector, beside lanes 0 to 7
set_property PACKAGE_PIN AC9 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AC8 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN AM17 IOSTANDARD LVCMOS18 PULLUP true} [get_ports pcie_reset_n]
# The reset of the slot is asynchronous.
set_false_path -from [get_ports pcie_reset_n]
set_input_delay 0 -clock pcie_refclk [get_ports pcie_reset_n]

# Lanes 0 to 3 in quad 227, 4 to 7 in quad 226.
set_property PACKAGE_PIN AA4 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN AA3 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN Y7 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN Y6 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN AB2 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN AB1 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN AB7 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN AB6 [get_ports {pcie_tx_n[1]}]
set_property PACKAGE_PIN AC4 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN AC3 [get_ports {pcie_rx_n[2]}]
set_property PACKAGE_PIN AD7 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN AD6 [get_ports {pcie_tx_n[2]}]
set_property PACKAGE_PIN AD2 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN AD1 [get_ports {pcie_rx_n[3]}]
set_property PACKAGE_PIN AF7 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN AF6 [get_ports {pcie_tx_n[3]}]
set_property PACKAGE_PIN AE4 [get_ports {pcie_rx_p[4]}]
set_property PACKAGE_PIN AE3 [get_ports {pcie_rx_n[4]}]
set_property PACKAGE_PIN AH7 [get_ports {pcie_tx_p[4]}]
set_property PACKAGE_PIN AH6 [get_ports {pcie_tx_n[4]}]
set_property PACKAGE_PIN AF2 [get_ports {pcie_rx_p[5]}]
set_property PACKAGE_PIN AF1 [get_ports {pcie_rx_n[5]}]
set_property PACKAGE_PIN AK7 [get_ports {pcie_tx_p[5]}]
set_property PACKAGE_PIN AK6 [get_ports {pcie_tx_n[5]}]
set_property PACKAGE_PIN AG4 [get_ports {pcie_rx_p[6]}]
set_property PACKAGE_PIN AG3 [get_ports {pcie_rx_n[6]}]
set_property PACKAGE_PIN AM7 [get_ports {pcie_tx_p[6]}]
set_property PACKAGE_PIN AM6 [get_ports {pcie_tx_n[6]}]
set_property PACKAGE_PIN AH2 [get_ports {pcie_rx_p[7]}]
set_property PACKAGE_PIN AH1 [get_ports {pcie_rx_n[7]}]
set_property PACKAGE_PIN AN5 [get_ports {pcie_tx_p[7]}]
set_property PACKAGE_PIN AN4 [get_ports {pcie_tx_n[7]}]

# ---- button CPU_RESET
set_property -dict {PACKAGE_PIN L19 IOSTANDARD LVCMOS12} [get_ports cpu_reset]
set_false_path -from [get_ports cpu_reset]

# ---- lights
set_property -dict {PACKAGE_PIN AT32 IOSTANDARD LVCMOS12 SLEW SLOW DRIVE 8} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN AV34 IOSTANDARD LVCMOS12 SLEW SLOW DRIVE 8} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN AY30 IOSTANDARD LVCMOS12 SLEW SLOW DRIVE 8} [get_ports {led[2]}]
set_property -dict {PACKAGE_PIN BB32 IOSTANDARD LVCMOS12 SLEW SLOW DRIVE 8} [get_ports {led[3]}]
set_false_path -to [get_ports {led[*]}]

# ---- between the clocks. The crossing of data has the constraints of axi_clock_converter.
# "The memory is ready" comes from the memory's clock; its first register is marked ASYNC_REG.
set_false_path -to [get_pins -hierarchical -filter {NAME =~ i_board/i_reset/ready_q_reg[0]/D}]

# ---- floorplan: PCIe is in the middle one of three dice (SLR1); a controller that spreads over two does not reach 250 MHz.
create_pblock pblock_controller
resize_pblock [get_pblocks pblock_controller] -add {SLR1}
add_cells_to_pblock [get_pblocks pblock_controller] [get_cells i_board]
set_property IS_SOFT true [get_pblocks pblock_controller]
