// SPDX-License-Identifier: Apache-2.0
// What the blocks of the recorder share: kinds of commands and their tags, places in the register RAM.
// docs/recorder.md is the prose to it. Needs the package that is made from regs/db_recorder.rdl.
package db_rec_pkg;

  // The recorder's unit: a block of 4 KiB, whatever the drives' own block size. Block numbers on all ports are of one
  // drive.
  localparam int BLOCK_BITS = 8 * 4096;
  localparam int BLOCK_LG   = 12;

  // Command tag, 16 bits: kind in 15:14. Writes: blocks - 1 in 13:12, low bits of the block number in 11:0, so that at
  // most 4 blocks are in a write and fewer than 4096 blocks of a drive on their way. Others: blocks in 13:0.
  typedef enum logic [1:0] {
    K_WRITE, K_TRIM, K_READ, K_RTRIM  // K_TRIM: before a capture. K_RTRIM: PerformTrim
  } kind_e;

  // Why a block is in the list of marked blocks: what regs/db_recorder.rdl says.
  localparam logic [3:0] WHY_DOWN   = db_recorder_regs_pkg::WHY_DOWN;    // the drive was not up: not written
  localparam logic [3:0] WHY_FORMAT = db_recorder_regs_pkg::WHY_FORMAT;  // tlast was early or late; written
  localparam logic [3:0] WHY_STATUS = db_recorder_regs_pkg::WHY_STATUS;  // the write ended with an error
  localparam logic [3:0] WHY_RESET  = db_recorder_regs_pkg::WHY_RESET;   // the drive was reset meanwhile

  // Register RAM: word address {extended, drive[2:0], word[5:0]}. A word is where its register is in the drive's set
  // (W_) or extended set (X_) of regs/db_recorder.rdl; the last two are the sequencer's own, where there is none.
  localparam logic [5:0] W_ID       = 6'(db_recorder_regs_pkg::SET_ID_ADDR / 4);
  localparam logic [5:0] W_CONTROL  = 6'(db_recorder_regs_pkg::SET_CONTROL_ADDR / 4);
  localparam logic [5:0] W_STATUS   = 6'(db_recorder_regs_pkg::SET_STATUS_ADDR / 4);
  localparam logic [5:0] W_TOTAL    = 6'(db_recorder_regs_pkg::SET_TOTAL_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_LOST     = 6'(db_recorder_regs_pkg::SET_BLOCKS_LOST_ADDR / 4);
  localparam logic [5:0] W_START    = 6'(db_recorder_regs_pkg::SET_DATA_CHUNK_START_ADDR / 4);
  localparam logic [5:0] W_SIZE     = 6'(db_recorder_regs_pkg::SET_DATA_CHUNK_SIZE_ADDR / 4);
  localparam logic [5:0] W_ERROR    = 6'(db_recorder_regs_pkg::SET_ERROR_ADDR / 4);
  localparam logic [5:0] W_NUM      = 6'(db_recorder_regs_pkg::SET_NUM_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_TIME     = 6'(db_recorder_regs_pkg::SET_TIME_US_ADDR / 4);
  localparam logic [5:0] W_PEAK     = 6'(db_recorder_regs_pkg::SET_PEAK_LATENCY_US_ADDR / 4);
  localparam logic [5:0] W_RCONTROL = 6'(db_recorder_regs_pkg::SET_READ_CONTROL_ADDR / 4);
  localparam logic [5:0] W_RSTATUS  = 6'(db_recorder_regs_pkg::SET_READ_STATUS_ADDR / 4);
  localparam logic [5:0] W_RBLOCK   = 6'(db_recorder_regs_pkg::SET_READ_BLOCK_ADDR / 4);
  localparam logic [5:0] W_RNUM     = 6'(db_recorder_regs_pkg::SET_READ_NUM_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_RERROR   = 6'(db_recorder_regs_pkg::SET_READ_ERROR_ADDR / 4);
  localparam logic [5:0] W_RPROC    = 6'(db_recorder_regs_pkg::SET_READ_BLOCKS_PROC_ADDR / 4);
  localparam logic [5:0] W_RDONE    = 6'(db_recorder_regs_pkg::SET_READ_BLOCKS_DONE_ADDR / 4);
  localparam logic [5:0] X_LOST     = 6'(db_recorder_regs_pkg::EXTENDED_LOST_ADDR / 4);
  localparam logic [5:0] X_BADREAD  = 6'(db_recorder_regs_pkg::EXTENDED_BAD_READS_ADDR / 4);
  localparam logic [5:0] X_RUNS     = 6'(db_recorder_regs_pkg::EXTENDED_RUNS_ADDR / 4);
  localparam logic [5:0] X_LIMIT    = 6'(db_recorder_regs_pkg::EXTENDED_CUT_ADDR / 4);
  localparam logic [5:0] X_TRIMMED  = 6'(db_recorder_regs_pkg::EXTENDED_TRIMMED_ADDR / 4);
  localparam logic [5:0] X_RUN      = 6'(db_recorder_regs_pkg::EXTENDED_RUN_ADDR / 4);
  localparam int HIST_BUCKETS = db_recorder_regs_pkg::EXTENDED_HISTOGRAM_NUM;
  localparam int MAX_RUNS     = db_recorder_regs_pkg::EXTENDED_RUN_NUM;
  localparam logic [5:0] W_RLIMIT = 6'h27, X_RUN_END = 6'h1f;

endpackage
