// SPDX-License-Identifier: Apache-2.0
// What the blocks of the host share: the window of host memory that the drive sees, block commands, command contexts.
// docs/host.md is the prose to it.
package db_host_pkg;

  // ------------------------------------------------------------------ the window
  // The drive sees one window of 64 MiB, at an address given from outside. Nothing in it need be memory: each region
  // answers reads and takes writes in its own way.
  localparam int WIN_W = 26;  // log2 of its bytes

  typedef enum logic [2:0] {
    REG_QUEUES   = 3'd0,  // submission and completion queues, admin data buffer
    REG_WR_DATA  = 3'd1,  // ring of data to be written
    REG_WR_PRP   = 3'd2,  // PRP lists of it: the list of a command that starts in page p is at 4096 p
    REG_RD_DATA  = 3'd3,  // ring of data that is read
    REG_RD_PRP   = 3'd4,  // PRP lists of it
    REG_RANGES   = 3'd5,  // Dataset Management: the range of command slot s is at 64 s
    REG_FORWARD  = 3'd6,  // writes go out to m_fwd_*, reads are unsupported
    REG_NONE     = 3'd7
  } region_e;
  localparam int REGION_W = WIN_W - 3;  // log2 of a region's bytes: 8 MiB

  // Offsets in REG_QUEUES.
  localparam logic [REGION_W-1:0] ADMIN_SQ  = 23'h00_0000;  // 4 entries
  localparam logic [REGION_W-1:0] ADMIN_CQ  = 23'h00_1000;
  localparam logic [REGION_W-1:0] ADMIN_BUF = 23'h00_2000;  // 4 KiB
  localparam logic [REGION_W-1:0] IO_SQ     = 23'h10_0000;  // I/O queue pair q (0 is the first): + 64 KiB x q
  localparam logic [REGION_W-1:0] IO_CQ     = 23'h20_0000;  // the same
  localparam int ADMIN_SQ_ENTRIES = 4;

  // ------------------------------------------------------------------ block commands
  typedef enum logic [3:0] {
    OP_READ, OP_WRITE, OP_FLUSH, OP_TRIM, OP_ZEROES, OP_VERIFY
  } op_e;

  // s_axis_cmd_tdata, 128 bits
  typedef struct packed {
    logic [11:0] rsvd;
    op_e         op;
    logic [15:0] tag;     // comes back with the status
    logic [31:0] blocks;  // logical blocks, at least 1; Flush: ignored
    logic [63:0] lba;     // first one
  } block_cmd_t;

  // m_axis_status_tdata, 64 bits
  typedef struct packed {
    logic        rsvd;
    logic [14:0] status;   // db_nvme_pkg::status_t without its DNR first: as in CQE dword 3, bits 31:17; 0 is success
    logic [15:0] tag;
    logic [31:0] latency;  // cycles, from the command's (last part's) doorbell to its completion entry
  } block_status_t;

  // Statuses that the host makes itself: SCT 3 (path related).
  localparam logic [7:0] SC_PATH_ERROR   = 8'h70;  // the drive is gone or could not be brought up
  localparam logic [7:0] SC_HOST_ABORTED = 8'h71;  // timed out, not repeated

  // ------------------------------------------------------------------ what a command slot holds
  // Enough to make the submission entry whenever the drive reads it.
  localparam int CID_W = 8;  // up to 256 slots
  localparam int GEN_W = 4;  // a command's identifier is {generation of its slot, slot}
  typedef struct packed {
    op_e         op;
    logic [63:0] lba;
    logic [31:0] blocks;  // at least 1
    logic [13:0] buf512;  // where its data starts in the ring, units of 512 bytes
    logic [13:0] len512;  // bytes of data, units of 512; 0 for commands without
  } slot_t;

  // Cycles from m_row_valid of db_pcie_root to its row.
  localparam int ROW_LATENCY = 4;

endpackage
