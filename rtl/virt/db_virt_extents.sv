// SPDX-License-Identifier: Apache-2.0
// The table that says where each granule of the medium is (docs/vcsd/theory.md), its registers for the firmware
// (regs/db_vcsd.rdl, page 1 of the extension bus), and who looks it up (LOOK_*): reads, writes, commands of the port,
// commands that will read.
//
// Each has a copy of the table, so each may look every cycle; LOOK_COMMAND shares its copy with the firmware.
// Latency: a look-up 1 cycle; a register is read in its cycle. Throughput: a look-up a cycle and client.
module db_virt_extents
  import db_virt_pkg::*, db_vcsd_regs_pkg::*, db_ssd_pkg::ext_bus_t;
#(
  parameter int NUM_SSD      = 2,     ///< 1, 2, 4, 8
  parameter bit STRIPE       = 1'b0,  ///< what the firmware does where nothing was set: a stripe over all
  parameter int EXTENTS      = 1024,  ///< granules that there is room for: a power of two, 64..32768
  parameter int GRANULE_LOG2 = 20,    ///< log2 of a granule's bytes: 17 and log2 of NUM_SSD, at least; 40 at most
  parameter int LOOK_W       = 20     ///< bits of a granule's number
) (
  input  logic                   clk,
  input  logic                   rst,
  /// of each SSD, constant; what is less than a granule at its end is not used
  input  logic [51:0]            ssd_pages,
  /// of the firmware
  input  ext_bus_t               s_ext,
  output logic [31:0]            m_ext_rdata,
  /// what granule; the answer holds until the next one
  input  logic [LOOKERS-1:0]             s_look_valid,
  output logic                           s_look_ready,  ///< of LOOK_COMMAND
  input  logic [LOOKERS-1:0][LOOK_W-1:0] s_look,
  output extent_t [LOOKERS-1:0]          m_extent
);
  localparam int GRANULE_W = $clog2(EXTENTS);
  localparam int SSD_LOG2  = $clog2(NUM_SSD);
  localparam int MOST      = EXTENTS / NUM_SSD;  // granules of an SSD
  if (GRANULE_LOG2 < STRIPE_LOG2 + SSD_LOG2 || GRANULE_LOG2 > 40) begin : g_bad_granule
    $error("%m: GRANULE_LOG2 must be 17 and log2 of NUM_SSD or more, up to 40 (is %0d)", GRANULE_LOG2);
  end
  if (EXTENTS < 64 || EXTENTS > 32768 || EXTENTS != 1 << GRANULE_W) begin : g_bad_extents
    $error("%m: EXTENTS must be a power of two, 64 to 32768 (is %0d)", EXTENTS);
  end

  logic [15:0] each_q;
  logic [51:0] given;
  assign given = ssd_pages >> (GRANULE_LOG2 - 12);
  always_ff @(posedge clk) each_q <= given > 52'(MOST) ? 16'(MOST) : 16'(given);

  // ---- registers
  db_vcsd__in_t  hwif_in;
  db_vcsd__out_t hwif_out;
  logic          sel_q, busy, refused;
  extent_t       found, wanted;
  always_ff @(posedge clk) sel_q <= s_ext.addr[11:8] == 4'd1;  // there a cycle before req
  db_vcsd_regs i_regs (
    .clk, .rst, .s_cpuif_req(s_ext.req && sel_q), .s_cpuif_req_is_wr(s_ext.wr), .s_cpuif_addr(s_ext.addr[4:0]),
    .s_cpuif_wr_data(s_ext.wdata), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(),
    .s_cpuif_rd_ack(), .s_cpuif_rd_err(), .s_cpuif_rd_data(m_ext_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(),
    .hwif_in, .hwif_out);
  always_comb begin
    hwif_in.CAPS.granule.next   = 6'(GRANULE_LOG2);
    hwif_in.CAPS.ssds.next      = 2'(SSD_LOG2);
    hwif_in.CAPS.stripe.next    = STRIPE;
    hwif_in.CAPS.each.next      = each_q;
    hwif_in.STATUS.busy.next    = busy || hwif_out.CTL.go.value;
    hwif_in.STATUS.refused.next = refused;
    hwif_in.FOUND.place.next    = found.place;
    hwif_in.FOUND.ssd.next      = found.ssd;
    hwif_in.FOUND.part.next     = found.part;
    hwif_in.FOUND.log2.next     = found.log2;
    hwif_in.FOUND.valid.next    = found.valid;
  end
  assign wanted = '{valid: 1'b1, log2: hwif_out.PLACE.log2.value, part: hwif_out.PLACE.part.value,
                    ssd: hwif_out.PLACE.ssd.value, place: hwif_out.PLACE.place.value};

  // ---- changes
  localparam int TAKEN_W = 8 * NUM_SSD;
  logic                 table_re, table_we, taken_re, taken_we;
  logic [GRANULE_W-1:0] table_addr, taken_addr;
  extent_t              table_wdata;
  logic [TAKEN_W-1:0]   taken_rdata, taken_wdata;
  extent_t [LOOKERS-1:0] word;
  db_virt_place #(.NUM_SSD(NUM_SSD), .EXTENTS(EXTENTS)) i_place (
    .clk, .rst, .each(each_q), .s_go(hwif_out.CTL.go.value), .s_op(hwif_out.CTL.op.value),
    .s_granule(hwif_out.CTL.granule.value), .s_extent(wanted), .busy, .refused, .m_found(found), .table_re, .table_addr,
    .table_rdata(word[LOOK_COMMAND]), .table_we, .table_wdata,
    .taken_re, .taken_addr, .taken_rdata, .taken_we, .taken_wdata);
  db_ram_sdp #(.WIDTH(TAKEN_W), .DEPTH(EXTENTS)) i_taken (
    .clk, .we(taken_we), .waddr(taken_addr), .wdata(taken_wdata), .re(taken_re), .raddr(taken_addr),
    .rdata(taken_rdata));

  // ---- look-ups
  assign s_look_ready = !table_re;
  for (genvar i = 0; i < LOOKERS; i++) begin : g_client
    localparam bit         SHARED = i == LOOK_COMMAND;
    logic                  re, far_q;
    logic [GRANULE_W-1:0]  raddr;
    assign re    = s_look_valid[i] || (SHARED && table_re);
    assign raddr = SHARED && table_re ? table_addr : GRANULE_W'(s_look[i]);
    db_ram_sdp #(.WIDTH($bits(extent_t)), .DEPTH(EXTENTS)) i_table (
      .clk, .we(table_we), .waddr(table_addr), .wdata(table_wdata), .re, .raddr, .rdata(word[i]));
    always_ff @(posedge clk) if (re) far_q <= s_look[i] >= LOOK_W'(EXTENTS);
    always_comb begin
      m_extent[i]       = word[i];
      m_extent[i].valid = word[i].valid && !far_q;
    end
  end
endmodule
