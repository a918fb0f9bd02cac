// SPDX-License-Identifier: Apache-2.0
// What passes between the blocks of the compute data path: the context of a command and of a row, keys, bindings,
// results.
package db_csd_pkg;
  import db_aes_pkg::KEY_SLOT_W;

  localparam int CSD_TAG_W = 16;     // bits of a command's tag
  localparam int CSD_PARAM_W = 128;  // bits of an operator's parameters

  // ---- made by facts/generate.py from facts/doorbell.yaml: change it there
  // What is done to the data of a command. Codes 6 to 15: operators in folders (rtl/compute/ops).
  typedef enum logic [3:0] {
    OP_PASS    = 4'd0,
    OP_ADD     = 4'd1,  // 32-bit words: add on write, subtract on read
    OP_AES_CTR = 4'd2,  // key size is the slot's
    OP_AES_XTS = 4'd3,
    OP_SHA256  = 4'd4,
    OP_CRC32C  = 4'd5
  } op_e;
  // ---- end of what is made

  // ---- what an operator sees
  // Context of a command; the same on all rows of the command.
  typedef struct packed {
    logic [CSD_PARAM_W-1:0] param;    // of the operator in this namespace; zeros behind the adder and db_csd_ops
    logic [7:0]             fn;       // PCIe function
    logic [31:0]            nsid;     // namespace
    logic [63:0]            lba;      // of the command's first block
    logic [4:0]             lbads;    // log2 of bytes in a block: 9 to 12
    logic                   dir;      // 1: host to media, encrypt; 0: media to host, decrypt
    logic                   of_program;  // AES of one: dir only says which; zeros are data; NSID is in no counter
    logic                   refuse;   // all of its rows get key_err
    logic [3:0]             op;       // op_e
    logic [KEY_SLOT_W-1:0]  key_slot;
    logic [CSD_TAG_W-1:0]   tag;      // given back with a result
  } op_ctx_t;

  // Context of one row, made by db_csd_front: what an operator sees.
  typedef struct packed {
    op_ctx_t    cmd;        // cmd.lba is the block of this row
    logic       cmd_first;  // first row of the command (tlast: the last)
    logic       lba_first;  // first row of a block
    logic       lba_last;   // last row of a block
    logic [7:0] row;        // of the block, from 0
    logic       key_err;    // set on the way: no valid key, data are zeros
  } row_ctx_t;

  // ---- results
  // What a reducer has found in a command.
  typedef struct packed {
    logic [CSD_TAG_W-1:0] tag;     // of the command
    logic [255:0]         digest;  // byte k in bits 8k+7:8k
  } result_t;

  // Whose result it is: what a host can know a command by.
  typedef struct packed {
    logic [31:0] bytes;
    logic [63:0] lba;    // of its first block
    logic [31:0] nsid;
    logic        compare;  // the host's data went to Compare
    logic        dir;      // 1: host to media
    logic [3:0]  op;     // op_e
    logic [7:0]  sqid;   // submission queue
    logic [15:0] cid;    // command identifier
  } res_cmd_t;

  // ---- keys and bindings
  // What a namespace does from now on.
  typedef struct packed {
    logic                   of_program;  // a program, not a namespace (db_csd_crypt)
    logic [7:0]             index;  // NSID - 1; of a program its function's place and its number in it
    logic [3:0]             op;     // op_e
    logic [KEY_SLOT_W-1:0]  slot;
    logic [CSD_PARAM_W-1:0] param;
  } binding_t;

  // A word of a key on its way to the staging memory: word i is bytes 4i to 4i+3 (little-endian), 0 to 7 K1, 8 to 15
  // K2, 16 to 19 IV.
  typedef struct packed {
    logic [4:0]  addr;
    logic [31:0] data;
  } key_word_t;

  // What is done with the staging memory and a slot.
  typedef struct packed {
    logic                  load;      // 1: load, 0: erase
    logic [KEY_SLOT_W-1:0] slot;      // below KEY_SLOTS
    logic                  long_key;  // of 256 bits, else 128
    logic                  ctr;       // there is an IV: the slot can do CTR
    logic                  xts;       // there is a K2: the slot can do XTS
  } key_cmd_t;

  // What a slot is good for.
  typedef struct packed {
    logic ctr;        // valid for CTR
    logic xts;        // valid for XTS
    logic short_key;  // of 128 bits
  } key_slot_t;
endpackage
