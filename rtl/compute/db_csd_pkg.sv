// SPDX-License-Identifier: Apache-2.0
// Types between the blocks of the compute data path: a command's context, a beat's context, the key bus.
package db_csd_pkg;
  localparam int CSD_SLOT_W = 6;  // bits of a key slot's number
  localparam int CSD_TAG_W = 16;  // bits of a command's tag
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

  // Context of a command; the same on all beats of the command.
  typedef struct packed {
    logic [CSD_PARAM_W-1:0] param;    // of the operator in this namespace; zeros behind the adder and db_csd_ops
    logic [7:0]            fn;        // PCIe function
    logic [31:0]           nsid;      // namespace
    logic [63:0]           lba;       // of the command's first block
    logic [4:0]            lbads;     // log2 of bytes in a block: 9 to 12
    logic                  dir;       // 1: host to media (encrypt), 0: media to host (decrypt)
    logic [3:0]            op;        // op_e
    logic [CSD_SLOT_W-1:0] key_slot;
    logic [CSD_TAG_W-1:0]  tag;       // given back with a result
  } op_ctx_t;

  // Context of one beat, made by db_csd_front: what an operator sees.
  typedef struct packed {
    op_ctx_t    cmd;        // cmd.lba is the block of this beat
    logic       cmd_first;  // first beat of the command (tlast: the last)
    logic       lba_first;  // first beat of a block
    logic       lba_last;   // last beat of a block
    logic [7:0] beat;       // of the block, from 0
    logic       key_err;    // set on the way: no valid key, data are zeros
  } beat_t;

  // Whose result it is: what a host can know a command by.
  typedef struct packed {
    logic [31:0] bytes;
    logic [63:0] lba;    // of its first block
    logic [31:0] nsid;
    logic        dir;    // 1: host to media
    logic [3:0]  op;     // op_e
    logic [7:0]  sqid;   // submission queue
    logic [15:0] cid;    // command identifier
  } res_cmd_t;

  // Broadcast of db_csd_keys to every block that holds round keys. Write-only.
  typedef enum logic [1:0] {
    KEY_ENC   = 2'd0,  // round key of K1, forward cipher
    KEY_DEC   = 2'd1,  // round key of K1, equivalent inverse cipher
    KEY_TWEAK = 2'd2,  // round key of K2, forward cipher
    KEY_IV    = 2'd3   // counter block of byte 0 of block 0
  } key_kind_e;

  typedef struct packed {
    logic                  valid;
    logic [1:0]            kind;   // key_kind_e
    logic [CSD_SLOT_W-1:0] slot;
    logic [3:0]            stage;  // 0: before the first round; a key of 128 bits leaves out stages 1 to 4
    logic [127:0]          data;   // byte k of the round key in bits 8k+7:8k
  } key_bus_t;
endpackage
