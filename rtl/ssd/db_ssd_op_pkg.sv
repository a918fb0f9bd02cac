// SPDX-License-Identifier: Apache-2.0
// What each I/O opcode means to the controller: the only place that says so.
//
// db_ssd_decode looks the opcode up once; the descriptor then travels with the command (cmd_t) and stays in its slot
// (slot_ctx_t). No other block looks at an opcode. Bits that a block has no use for cost it nothing.
// Source: NVM Command Set 1.0, section 3.2.
package db_ssd_op_pkg;
  import db_nvme_pkg::*;

  // ---- made by facts/generate.py from facts/doorbell.yaml: change it there
  // Vendor specific I/O commands.
  localparam logic [7:0] OPC_NEAR = 8'h82;  // near-storage command (docs/csd/near-storage.md)
  localparam logic [7:0] OPC_NEAR_STORE = 8'h83;  // ... whose result is written to blocks, too
  // Vendor specific statuses, of the command specific ones.
  localparam logic [7:0] SC_RESULT_TOO_LARGE = 8'hc0;  // of a near-storage command: its result buffer is too small
  localparam logic [7:0] SC_OPERATOR_NOT_LOADED = 8'hc1;  // of a near-storage command: its operator is in no slot
  localparam logic [7:0] SC_BITSTREAM_REFUSED = 8'hc2;  // of command D4h; dword 0 says why (SlotError)
  // ---- end of what is made

  typedef struct packed {
    // what decode checks
    logic known;          // the controller has this command; else Invalid Opcode
    logic has_lba;        // CDW10 to CDW12 give SLBA and NLB, which must lie inside the namespace
    logic any_namespace;  // NSID FFFFFFFFh is legal
    logic has_fua;        // CDW12.FUA counts
    logic has_directive;  // CDW12.DTYPE counts: no directive is supported
    logic modifies;       // changes blocks: a write-protected namespace refuses it
    logic user_data;      // moves blocks: MDTS limits it, a locked namespace refuses it, operators see it
    // where its data goes; with neither bit no PRP is looked at
    logic to_host;
    logic from_host;
    // who does it, and what that engine does; with neither it ends in decode without work
    logic read_engine;
    logic write_engine;
    logic write;          // rows of the host go to the media
    logic compare;        // rows of the host are compared with the media's
    logic ranges;         // rows of the host are a list of ranges to deallocate; without CDW11.AD advice only: no work
    logic zero;           // the media zeroes a stretch by itself
    logic uncorrectable;  // reads of the stretch fail until it is written
    logic flush;          // the media makes durable what it holds
    logic computes;       // operators make a result of the media's data; the host gets that (docs/csd/near-storage.md)
    logic memory;         // ... of data that lie in memory instead (db_ssd_read_memory); an entry says so, no opcode
    logic from_sgl;       // ... where an SGL says, whose one descriptor is at media_addr; likewise
    logic from_pointer;   // ... of those that its data pointer says, and it is media_addr, in memory, where they go
    logic stores;         // ... and when it has got it, it is written to blocks (db_ssd_near_store)
    logic fills;          // zeros go to memory: nothing comes from anywhere
    logic copies;         // comes again when it has ended well, for the next of its ranges (db_ssd_copy)
    logic firmware;       // the firmware does it: several functions, reservations
    // what a success counts as in the SMART / Health log
    logic counts_read;    // ... of what reads blocks, which MDTS limits, too
    logic counts_write;
  } op_desc_t;

  // uncorrectable: the media can do what Write Uncorrectable asks for; not every memory can. reservations: a namespace may
  // be that of several functions. near: there are operators for near-storage commands.
  function automatic op_desc_t op_desc(input logic [7:0] opcode, input bit uncorrectable = 1'b0,
                                       input bit reservations = 1'b0, input bit near = 1'b0);
    unique case (opcode)
      OPC_READ:         return '{known: 1'b1, has_lba: 1'b1, has_fua: 1'b1, user_data: 1'b1, to_host: 1'b1,
                                 read_engine: 1'b1, counts_read: 1'b1, default: 1'b0};
      OPC_VERIFY:       return '{known: 1'b1, has_lba: 1'b1, has_fua: 1'b1, read_engine: 1'b1, counts_read: 1'b1,
                                 default: 1'b0};
      OPC_WRITE:        return '{known: 1'b1, modifies: 1'b1, has_lba: 1'b1, has_fua: 1'b1, has_directive: 1'b1,
                                 user_data: 1'b1, from_host: 1'b1, write_engine: 1'b1, write: 1'b1,
                                 counts_write: 1'b1, default: 1'b0};
      OPC_COMPARE:      return '{known: 1'b1, has_lba: 1'b1, has_fua: 1'b1, user_data: 1'b1, from_host: 1'b1,
                                 write_engine: 1'b1, compare: 1'b1, counts_read: 1'b1, default: 1'b0};
      OPC_WRITE_ZEROES: return '{known: 1'b1, modifies: 1'b1, has_lba: 1'b1, has_fua: 1'b1, write_engine: 1'b1,
                                 zero: 1'b1, default: 1'b0};
      OPC_WRITE_UNCOR:  return !uncorrectable ? '0 : op_desc_t'{known: 1'b1, modifies: 1'b1, has_lba: 1'b1,
                                 write_engine: 1'b1, uncorrectable: 1'b1, default: 1'b0};
      OPC_DSM:          return '{known: 1'b1, modifies: 1'b1, from_host: 1'b1, write_engine: 1'b1, ranges: 1'b1,
                                 default: 1'b0};
      OPC_FLUSH:        return '{known: 1'b1, any_namespace: 1'b1, write_engine: 1'b1, flush: 1'b1, default: 1'b0};
      OPC_NEAR:         return !near ? '0 : op_desc_t'{known: 1'b1, has_lba: 1'b1, has_fua: 1'b1, user_data: 1'b1,
                                 to_host: 1'b1, read_engine: 1'b1, computes: 1'b1, counts_read: 1'b1, default: 1'b0};
      // Of itself it reads; what it stores is a Write, which decode checks as one.
      OPC_NEAR_STORE:   return !near ? '0 : op_desc_t'{known: 1'b1, has_lba: 1'b1, has_fua: 1'b1, user_data: 1'b1,
                                 to_host: 1'b1, read_engine: 1'b1, computes: 1'b1, stores: 1'b1, counts_read: 1'b1,
                                 default: 1'b0};
      OPC_RESV_REGISTER, OPC_RESV_REPORT, OPC_RESV_ACQUIRE, OPC_RESV_RELEASE:
                        return !reservations ? '0 : op_desc_t'{known: 1'b1, firmware: 1'b1, default: 1'b0};
      default:          return '0;
    endcase
  endfunction

  // I/O commands of a memory namespace (Subsystem Local Memory Command Set 1.0).
  function automatic op_desc_t memory_desc(input logic [7:0] opcode);
    unique case (opcode)
      SLM_OPC_READ:  return '{known: 1'b1, has_lba: 1'b1, user_data: 1'b1, to_host: 1'b1, read_engine: 1'b1,
                              memory: 1'b1, default: 1'b0};
      SLM_OPC_WRITE: return '{known: 1'b1, has_lba: 1'b1, user_data: 1'b1, to_host: 1'b1, read_engine: 1'b1,
                              memory: 1'b1, from_pointer: 1'b1, default: 1'b0};
      SLM_OPC_FILL:  return '{known: 1'b1, has_lba: 1'b1, user_data: 1'b1, to_host: 1'b1, read_engine: 1'b1,
                              memory: 1'b1, from_pointer: 1'b1, fills: 1'b1, default: 1'b0};
      // Of itself it reads its list; each range is a Read, or a Memory Read.
      SLM_OPC_COPY:  return '{known: 1'b1, has_lba: 1'b1, read_engine: 1'b1, memory: 1'b1, from_pointer: 1'b1,
                              copies: 1'b1, default: 1'b0};
      default:       return '0;
    endcase
  endfunction

  // ... of one of programs (Computational Programs Command Set 1.0).
  function automatic op_desc_t programs_desc(input logic [7:0] opcode);
    return opcode != PROGRAMS_OPC_EXECUTE ? '0 :
           op_desc_t'{known: 1'b1, has_lba: 1'b1, user_data: 1'b1, to_host: 1'b1, read_engine: 1'b1, computes: 1'b1,
                      memory: 1'b1, default: 1'b0};
  endfunction

endpackage
