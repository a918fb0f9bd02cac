# SPDX-License-Identifier: Apache-2.0
"""What packages each top as an IP for Vivado's block designs: a wrapper in plain Verilog, interfaces, ranges, Tcl."""
