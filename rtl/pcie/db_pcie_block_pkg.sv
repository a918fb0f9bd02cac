// SPDX-License-Identifier: Apache-2.0
// What blocks of rtl/pcie say to each other, and to those who use them: at the endpoint, at the root port, inside both. None
// of it is the hard block's; that is in db_pcie_pkg.
package db_pcie_block_pkg;

  // ---- what the rest of a controller says to the endpoint, beside db_mem_pkg

  /// A short write to host memory, inside one 4 KiB page: completion queue entry, MSI-X message, the firmware's.
  localparam int POST_DWORDS = 4;
  typedef struct packed {
    logic [7:0]                fn;
    logic [63:0]               addr;    ///< bytes, dword aligned
    logic [2:0]                dwords;  ///< 1..POST_DWORDS
    logic [32*POST_DWORDS-1:0] data;
  } post_t;

  /// One access of the host to a 32-bit register of BAR 0; a read is answered later by a pulse with the data.
  typedef struct packed {
    logic        wr;
    logic [7:0]  fn;
    logic [15:0] addr;  ///< bytes, dword aligned
    logic [3:0]  be;
    logic [31:0] wdata;
  } reg_access_t;

  /// What a read client gets: its share of the tags, and a ring that holds its data until it leaves in order.
  typedef struct packed {
    logic [15:0] tags_log2;     ///< reads in flight, 1..7; all clients together have at most 128 tags
    logic [15:0] ring_dw_log2;  ///< dwords of the ring
    logic [15:0] chunk_bytes;   ///< longest read request: a power of two, 128..4096
    logic        has_user;      ///< its packets carry user data; else it is 0, and costs nothing
  } client_cfg_t;

  /// Where a function sees its region of card memory among the addresses that it uses (db_pcie_cmb).
  typedef struct packed {
    logic         enable;
    logic [63:12] base;
  } cmb_window_t;

  localparam logic [2:0] CMB_BAR = 3'd4;  ///< where a host finds card memory

  // Bits of an address of card memory: a region of 2**log2 bytes a function. log2 0: there is none.
  function automatic int cmb_addr_w(input int log2, input int num_fn);
    return (log2 == 0 ? 12 : log2) + $clog2(num_fn);
  endfunction

  // ---- what a host says to the root port

  /// One access to the drive; of these one is under way at a time.
  typedef enum logic [1:0] {
    ACC_CFG_RD, ACC_CFG_WR, ACC_MEM_RD, ACC_MEM_WR
  } acc_op_e;

  typedef struct packed {
    acc_op_e     op;
    logic [23:0] addr;   ///< bytes, in BAR 0 or in configuration space
    logic [3:0]  be;
    logic [31:0] wdata;
  } acc_t;

  typedef enum logic [1:0] {
    ACC_GOOD, ACC_REFUSED, ACC_RETRY, ACC_TIMEOUT  // refused: UR, CA, poisoned or damaged; retry: CRS
  } acc_status_e;

  typedef struct packed {
    acc_status_e status;
    logic [31:0] rdata;
  } acc_answer_t;

  /// A posted write of a dword to BAR 0 that nobody waits for: a doorbell.
  typedef struct packed {
    logic [23:0] addr;   ///< bytes
    logic [31:0] data;
  } poke_t;

  // ---- inside the root port

  /// A request of the drive that wants an answer: the CQ descriptor with its byte enables, for the completion and, if it
  /// is bad, for the copy that PG213 wants behind the descriptor of an unsuccessful completion.
  typedef struct packed {
    logic        bad;      ///< not a memory read of the window's readable part: unsupported
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic [3:0]  req_type;
    logic [10:0] dwords;
    logic [61:0] addr_dw;
    logic [3:0]  last_be;
    logic [3:0]  first_be;
  } window_req_t;

  /// A completion of such a request, as it is cut.
  typedef struct packed {
    logic        bad;
    logic        first;    ///< of its request
    logic        final_c;  ///< and last
    logic [4:0]  addr;     ///< dwords
    logic [9:0]  more;     ///< dwords of the request from here on, less 1
    logic [9:0]  size;     ///< dwords of it, less 1
  } window_cpl_t;

  // ---- inside the endpoint

  localparam int MAX_CLIENTS = 8;
  localparam int MAX_RING_W  = 20;  ///< log2 of the largest ring's dwords

  /// A read request of a client, of one TLP.
  typedef struct packed {
    logic [7:0]            fn;
    logic [63:0]           addr;
    logic [10:0]           dwords;
    logic [7:0]            tag;
    logic [MAX_RING_W-1:0] ring_dw;  ///< where its data goes
  } read_tlp_t;

  /// What db_pcie_rc keeps of a read request that has left.
  typedef struct packed {
    logic [$clog2(MAX_CLIENTS)-1:0] client;
    logic [7:0]                     tag;
    logic [10:0]                    dwords;
    logic [MAX_RING_W-1:0]          ring_dw;
  } read_ctx_t;

  /// What a write TLP is made from: a piece of a segment that fits into one.
  typedef struct packed {
    logic [7:0]  fn;
    logic [61:0] addr_dw;
    logic        drop;
    logic        last;       ///< of the packet
    logic [8:0]  dwords;     ///< 1..256
  } write_cut_t;

  /// A write TLP with its place in the stream of data (db_pcie_write).
  typedef struct packed {
    write_cut_t cut;
    logic       brief;      ///< fewer than 4 of its rows are not taken for the TLP before
    logic [6:0] beats_m1;
    logic [3:0] start_m1;   ///< o' - 1
    logic [3:0] last_lane;
    logic       tail;       ///< the last beat holds the rest of the row where the next TLP begins
    logic       take_last;  ///< the last beat takes a row
  } write_tlp_t;

  /// A tag has ended.
  typedef struct packed {
    logic [$clog2(MAX_CLIENTS)-1:0] client;
    logic [7:0]                     tag;
    logic                           err;
    logic                           lost;  ///< completions of it may still come: it must rest
  } read_done_t;

  /// By what time tags rest (db_pcie_read_clock, db_pcie_read_rest).
  localparam int EPOCH_W     = 3;
  localparam int REST_EPOCHS = 3;  ///< that one in which the tag ended, and all of those behind it
  typedef struct packed {
    logic               any;    ///< some tag may rest; if not, none does
    logic [EPOCH_W-1:0] epoch;
  } rest_now_t;

endpackage
