// SPDX-License-Identifier: Apache-2.0
// What the blocks of the recorder share: kinds of commands and their tags, places in the register RAM.
// docs/recorder.md is the prose to it.
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

  // Why a block is in the list of marked blocks.
  localparam logic [3:0] WHY_DOWN   = 4'd1;  // the drive was not up: not written
  localparam logic [3:0] WHY_FORMAT = 4'd2;  // tlast was early (the rest is zeros) or late (the rest is gone); written
  localparam logic [3:0] WHY_STATUS = 4'd3;  // the write ended with an error
  localparam logic [3:0] WHY_RESET  = 4'd4;  // the drive was reset while the block was on its way

  // Register RAM: word address {extended, drive[2:0], word[5:0]}. First the words of a drive's DUNE set.
  localparam logic [5:0] W_ID = 6'h00, W_CONTROL = 6'h01, W_STATUS = 6'h02, W_TOTAL = 6'h03, W_LOST = 6'h04;
  localparam logic [5:0] W_START = 6'h10, W_SIZE = 6'h11, W_ERROR = 6'h12, W_NUM = 6'h13, W_TIME = 6'h14;
  localparam logic [5:0] W_PEAK = 6'h15;
  localparam logic [5:0] W_RCONTROL = 6'h20, W_RSTATUS = 6'h21, W_RBLOCK = 6'h22, W_RNUM = 6'h23, W_RERROR = 6'h24;
  localparam logic [5:0] W_RPROC = 6'h25, W_RDONE = 6'h26, W_RLIMIT = 6'h27;
  // The extended set: histogram first (24 buckets).
  localparam logic [5:0] X_LOST = 6'h18, X_BADREAD = 6'h1a, X_RUNS = 6'h1b, X_LIMIT = 6'h1c, X_TRIMMED = 6'h1d;
  localparam logic [5:0] X_RUN_END = 6'h1f, X_RUN = 6'h20;  // 16 runs of {first, why/length}
  localparam int HIST_BUCKETS = 24;
  localparam int MAX_RUNS = 16;

endpackage
