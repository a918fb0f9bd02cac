// SPDX-License-Identifier: Apache-2.0
// Host memory between blocks: pieces of it that are read or written, and rows of what is in it. Both rtl/pcie and
// rtl/nvme, which lie side by side, need these types, so they are here.
package db_mem_pkg;

  // A piece of host memory inside one 4 KiB page, as a PRP walk makes it: to be read, or to be written.
  typedef struct packed {
    logic [7:0]  fn;            // PCIe function
    logic [63:0] addr;          // dword aligned
    logic [12:0] len;           // bytes, 4..4096, a multiple of 4
    logic        first;         // of a packet (a command's data, a list, entries)
    logic        last;
    logic        drop;          // touch nothing: a read takes its place as if it had failed, a write swallows its data
  } segment_t;

  // What stands beside a row of DATA_W bits on an internal stream. A packet starts at lane 0 of a row.
  typedef struct packed {
    logic       last;           // of the packet
    logic [4:0] dw;             // valid dwords: all but in the last row
    logic       err;            // this row or one before it in the packet could not be read
  } row_info_t;

endpackage
