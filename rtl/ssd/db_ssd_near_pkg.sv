// SPDX-License-Identifier: Apache-2.0
// What the controller and the operators of near-storage commands say to each other (docs/csd/near-storage.md).
package db_ssd_near_pkg;
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;

  localparam int NEAR_BYTES_W = 21;       // of data, of a result: at most MDTS

  // What a command asks for; it travels in cmd_t's ns_blocks.
  typedef struct packed {
    logic [NEAR_BYTES_W-1:0]       data;    // bytes of the media's data to look at
    logic [NEAR_BYTES_W-1:0]       result;  // bytes that the host gets
    logic [NEAR_PROGRAMS_LOG2-1:0] number;  // of the function's program
    logic [15:0]                   phase;
  } near_args_t;

  // Where a command that stores writes its result.
  typedef struct packed {
    logic [7:0]  nsid;   // 0: the command's
    logic [63:0] slba;
  } near_store_t;

  // What the entry of a near-storage command says beside its blocks.
  typedef struct packed {
    logic        memory;  // its data lie in memory
    logic        sgl;     // ... where an SGL says
    near_args_t  args;
    logic [1:0]  bad;     // a size is wrong with blocks of [0] 512, [1] 4096 bytes
    near_store_t store;
  } near_fields_t;

  // So many bytes, at least 1, are more than NLB's blocks have.
  function automatic logic beyond_blocks(input logic [31:0] bytes, input logic [15:0] nlb, input logic lba4k);
    logic [31:0] last;
    last = bytes - 32'd1;
    return (lba4k ? last >> 12 : last >> 9) > 32'(nlb);
  endfunction
  // sgls: their data may lie where an SGL says.
  function automatic near_fields_t near_fields(input sqe_t sqe, input logic stores, input bit sgls);
    near_fields_t f;
    logic [15:0]  flags;
    flags    = sqe.cdw15[15:0] & ~FROM_MEMORY & ~(sgls ? FROM_SGL : '0) & ~(stores ? STORE_NSID : '0);
    f.store  = '{nsid: sqe.cdw15[15:8], slba: {sqe.cdw3, sqe.cdw2}};
    f.memory = (sqe.cdw15[15:0] & FROM_MEMORY) != '0;
    f.sgl    = sgls && (sqe.cdw15[15:0] & FROM_SGL) != '0;
    f.args   = '{data: sqe.cdw13[NEAR_BYTES_W-1:0], result: sqe.cdw14[NEAR_BYTES_W-1:0],
                 number: sqe.cdw15[NEAR_PROGRAMS_LOG2-1:0], phase: sqe.cdw15[31:16]};
    f.bad    = {2{sqe.cdw13 == '0 || sqe.cdw14 == '0 || sqe.cdw14[5:0] != '0 || (stores && sqe.cdw14[8:6] != '0) ||
                  flags[15:NEAR_PROGRAMS_LOG2] != '0 || (f.memory && sqe.mptr[1:0] != '0) ||
                  (f.sgl && (!f.memory || sqe.mptr[2]))}};
    for (int i = 0; i < 2; i++)
      if (beyond_blocks(sqe.cdw13, sqe.cdw12[15:0], i == 1) || beyond_blocks(sqe.cdw14, sqe.cdw12[15:0], i == 1))
        f.bad[i] = 1'b1;
    return f;
  endfunction

  // What a Memory Copy asks for, in place of near_args_t; its destination is media_addr.
  localparam int COPY_RANGES_LOG2 = 2;    // ranges that it has at most
  typedef struct packed {
    logic                        memory;   // from memory, else from blocks
    logic [COPY_RANGES_LOG2-1:0] last;     // its ranges, zero based
    logic [31:0]                 length;   // bytes of all
  } copy_args_t;

  // One of its ranges, as its list says, when it has been fetched.
  typedef struct packed {
    logic                        valid;
    logic [SLOT_W-1:0]           slot;
    logic [COPY_RANGES_LOG2-1:0] index;
    logic [31:0]                 nsid;
    logic [63:0]                 start;    // LBA, or byte of the memory
    logic [31:0]                 amount;   // blocks, zero based, in its lower 16 bits; or bytes
  } copy_range_t;

  // The next part of a command comes to decode as an entry, with the slot that the command has; beside it:
  typedef struct packed {
    logic              valid;
    logic [SLOT_W-1:0] slot;
    logic              stores;    // a Write of a result, its NLB in 512 bytes whatever its blocks are; else of a copy:
    logic              more;      // another follows
    logic              memory;    // it must be of a namespace of memory, else of blocks
    logic [1:0]        bad;       // its length is not what is left, with blocks of [0] 512, [1] 4096 bytes
    logic              overlaps;  // the destination
  } part_t;

  // A part has ended well, and the next is to come: what its slot says of the command.
  typedef struct packed {
    logic              copies;    // it is a Memory Copy; else it stores
    logic [SLOT_W-1:0] slot;
    logic [FN_W-1:0]   fn;
    logic [QID_W-1:0]  sqid;
    logic [15:0]       cid;
    logic [31:0]       nsid;
  } near_again_t;

  function automatic logic [NEAR_PROGRAMS_LOG2-1:0] near_program(input cmd_t c);
    near_args_t args;
    args = near_args_t'(c.ns_blocks[$bits(near_args_t)-1:0]);
    return args.number;
  endfunction

  // What functions have of programs and their ranges, from the firmware: pulses (db_ssd_programs).
  localparam int RANGE_SETS_LOG2 = 2;     // of a function
  typedef struct packed {
    logic                       range_valid;
    logic [PLACE_W-1:0]         place;     // of the function, of either
    logic [RANGE_SETS_LOG2-1:0] number;    // RSID - 1
    logic                       result;    // where a program's result goes; else what it looks at
    logic [29:0]                start;     // byte of the memory
    logic [NEAR_BYTES_W-1:0]    bytes;     // 0: there is no such range
    logic                       state_valid;
    logic [PLACE_W-1:0]         state_place;
    logic [2**NEAR_PROGRAMS_LOG2-1:0] there;   // which programs it has
    logic [2**NEAR_PROGRAMS_LOG2-1:0] active;  // ... may be executed
  } programs_set_t;

  // A command of a memory, or of programs, which have no blocks.
  typedef struct packed {
    logic [63:0]             first;        // byte of the memory; of programs: number of the first block, for a Crypt
    logic [64:0]             last;         // byte behind it; of programs: 0
    logic [NEAR_BYTES_W-1:0] bytes;        // of data; of programs: whole blocks
    near_args_t              args;         // of programs, without bytes of the result
    logic                    bad;          // a field is wrong
    logic                    too_many;     // ranges
  } bytewise_t;

  function automatic near_args_t with_result(input near_args_t args, input logic [NEAR_BYTES_W-1:0] bytes);
    with_result        = args;
    with_result.result = bytes;
  endfunction

  // What Execute Program comes to: where its data are, where its result goes.
  typedef struct packed {
    logic                    failed;       // it must not begin, as
    status_t                 status;       // ... says
    logic [29:0]             from;
    logic [29:0]             to;
    logic [NEAR_BYTES_W-1:0] result;       // bytes
  } executed_t;

  // A packet of the media's data will come on its way to the host, the next one in order.
  typedef struct packed {
    logic               computes;   // operators are to make a result of it
    logic [SLOT_W-1:0]  slot;
    logic [PLACE_W-1:0] place;
    near_args_t         args;
  } near_packet_t;

  // What they found.
  typedef struct packed {
    logic [SLOT_W-1:0]       slot;
    logic                    none;       // there is no such program
    logic                    absent;     // its operator is in none of the function's slots
    logic                    too_large;  // for its buffer
    logic [NEAR_BYTES_W-1:0] bytes;
  } near_result_t;

endpackage
