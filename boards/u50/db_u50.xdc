# SPDX-License-Identifier: Apache-2.0
# Alveo U50, xcu50-fsvh2104-2-e. Pins are those that Corundum has for it. Clocks of the PCIe block and of HBM are made
# by the XDC of their IP.

set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
# What the card may take from the slot, as Corundum has it.
set_operating_conditions -design_power_budget 63

# ---- PCIe: reference clock 0 of the edge connector, which is for lanes 0 to 7
set_property PACKAGE_PIN AB9 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AB8 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property -dict {PACKAGE_PIN AW27 IOSTANDARD LVCMOS18 PULLUP true} [get_ports pcie_reset_n]
# The reset of the slot is asynchronous.
set_false_path -from [get_ports pcie_reset_n]
set_input_delay 0 -clock pcie_refclk [get_ports pcie_reset_n]

# Lanes 0 to 3 in quad 227, 4 to 7 in quad 226.
set_property PACKAGE_PIN AL2 [get_ports {pcie_rx_p[0]}]
set_property PACKAGE_PIN AL1 [get_ports {pcie_rx_n[0]}]
set_property PACKAGE_PIN Y5 [get_ports {pcie_tx_p[0]}]
set_property PACKAGE_PIN Y4 [get_ports {pcie_tx_n[0]}]
set_property PACKAGE_PIN AM4 [get_ports {pcie_rx_p[1]}]
set_property PACKAGE_PIN AM3 [get_ports {pcie_rx_n[1]}]
set_property PACKAGE_PIN AA7 [get_ports {pcie_tx_p[1]}]
set_property PACKAGE_PIN AA6 [get_ports {pcie_tx_n[1]}]
set_property PACKAGE_PIN AK4 [get_ports {pcie_rx_p[2]}]
set_property PACKAGE_PIN AK3 [get_ports {pcie_rx_n[2]}]
set_property PACKAGE_PIN AB5 [get_ports {pcie_tx_p[2]}]
set_property PACKAGE_PIN AB4 [get_ports {pcie_tx_n[2]}]
set_property PACKAGE_PIN AN2 [get_ports {pcie_rx_p[3]}]
set_property PACKAGE_PIN AN1 [get_ports {pcie_rx_n[3]}]
set_property PACKAGE_PIN AC7 [get_ports {pcie_tx_p[3]}]
set_property PACKAGE_PIN AC6 [get_ports {pcie_tx_n[3]}]
set_property PACKAGE_PIN AP4 [get_ports {pcie_rx_p[4]}]
set_property PACKAGE_PIN AP3 [get_ports {pcie_rx_n[4]}]
set_property PACKAGE_PIN AD5 [get_ports {pcie_tx_p[4]}]
set_property PACKAGE_PIN AD4 [get_ports {pcie_tx_n[4]}]
set_property PACKAGE_PIN AR2 [get_ports {pcie_rx_p[5]}]
set_property PACKAGE_PIN AR1 [get_ports {pcie_rx_n[5]}]
set_property PACKAGE_PIN AF5 [get_ports {pcie_tx_p[5]}]
set_property PACKAGE_PIN AF4 [get_ports {pcie_tx_n[5]}]
set_property PACKAGE_PIN AT4 [get_ports {pcie_rx_p[6]}]
set_property PACKAGE_PIN AT3 [get_ports {pcie_rx_n[6]}]
set_property PACKAGE_PIN AE7 [get_ports {pcie_tx_p[6]}]
set_property PACKAGE_PIN AE6 [get_ports {pcie_tx_n[6]}]
set_property PACKAGE_PIN AU2 [get_ports {pcie_rx_p[7]}]
set_property PACKAGE_PIN AU1 [get_ports {pcie_rx_n[7]}]
set_property PACKAGE_PIN AH5 [get_ports {pcie_tx_p[7]}]
set_property PACKAGE_PIN AH4 [get_ports {pcie_tx_n[7]}]

# ---- clock of HBM
set_property -dict {PACKAGE_PIN BB18 IOSTANDARD LVDS} [get_ports clk_100mhz_p]
set_property -dict {PACKAGE_PIN BC18 IOSTANDARD LVDS} [get_ports clk_100mhz_n]
create_clock -name clk_100mhz -period 10.000 [get_ports clk_100mhz_p]

# ---- HBM is too hot: the satellite controller switches the card off. It must be driven.
set_property -dict {PACKAGE_PIN J18 IOSTANDARD LVCMOS18} [get_ports hbm_cattrip]
set_false_path -to [get_ports hbm_cattrip]

# ---- lights, at the QSFP cage
set_property -dict {PACKAGE_PIN E16 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports {led[0]}]
set_property -dict {PACKAGE_PIN F17 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports {led[1]}]
set_property -dict {PACKAGE_PIN E18 IOSTANDARD LVCMOS18 SLEW SLOW DRIVE 8} [get_ports {led[2]}]
set_false_path -to [get_ports {led[*]}]

# ---- between the clocks
# "The memory is ready" comes from the memory's clock; its first register is marked ASYNC_REG.
set_false_path -to [get_pins -hierarchical -filter {NAME =~ i_board/i_reset/ready_q_reg[0]/D}]

# ---- floorplan: PCIe and HBM are both at the lower die (SLR0)
create_pblock pblock_controller
resize_pblock [get_pblocks pblock_controller] -add {SLR0}
add_cells_to_pblock [get_pblocks pblock_controller] [get_cells {i_board i_lanes}]
set_property IS_SOFT true [get_pblocks pblock_controller]
