// SPDX-License-Identifier: Apache-2.0
// A stand-in for db_host with the same ports, for tests of the runtime and of the model of a drive: 4 MiB of plain host
// memory at the window's start, and the test as its processor. Not synthesizable.
//   s_reg_*       one request at a time: bit 23 of the address 0: BAR 0 (bar_base + address), 1: configuration register
//   s_axis_cmd    OP_WRITE: takes `blocks` x 512 bytes of s_axis_wdata to byte 512 x lba of the memory; OP_READ: the
//                 other way; then a status
//   s_axil        0: [2:0] MPS, [6:4] MRRS, [8] completions are cut at 64 bytes, [9] reads are refused; completions are
//                 wrong: [10] byte count, [11] lower address, [12] cut at 60 bytes, [13] of up to 512 bytes, [14] tag
module db_host_stub #(
    parameter int DATA_W = 128,
    localparam int N = DATA_W / 32,
    localparam int CQ_U = (DATA_W == 512) ? 183 : 88,
    localparam int CC_U = (DATA_W == 512) ? 81 : 33,
    localparam int RQ_U = (DATA_W == 512) ? 137 : 62,
    localparam int RC_U = (DATA_W == 512) ? 161 : 75
) (
    input  logic                clk,
    input  logic                rst,
    output logic [DATA_W-1:0]   m_axis_rq_tdata,
    output logic [N-1:0]        m_axis_rq_tkeep,
    output logic                m_axis_rq_tlast,
    output logic [RQ_U-1:0]     m_axis_rq_tuser,
    output logic                m_axis_rq_tvalid,
    input  logic                m_axis_rq_tready,
    input  logic [DATA_W-1:0]   s_axis_rc_tdata,
    input  logic [N-1:0]        s_axis_rc_tkeep,
    input  logic                s_axis_rc_tlast,
    input  logic [RC_U-1:0]     s_axis_rc_tuser,
    input  logic                s_axis_rc_tvalid,
    output logic                s_axis_rc_tready,
    input  logic [DATA_W-1:0]   s_axis_cq_tdata,
    input  logic [N-1:0]        s_axis_cq_tkeep,
    input  logic                s_axis_cq_tlast,
    input  logic [CQ_U-1:0]     s_axis_cq_tuser,
    input  logic                s_axis_cq_tvalid,
    output logic                s_axis_cq_tready,
    output logic [1:0]          pcie_cq_np_req,
    output logic [DATA_W-1:0]   m_axis_cc_tdata,
    output logic [N-1:0]        m_axis_cc_tkeep,
    output logic                m_axis_cc_tlast,
    output logic [CC_U-1:0]     m_axis_cc_tuser,
    output logic                m_axis_cc_tvalid,
    input  logic                m_axis_cc_tready,
    input  logic                link_up,
    input  logic [2:0]          cfg_mps_cap,
    output logic [2:0]          set_mps,
    output logic [2:0]          set_mrrs,
    input  logic [63:0]         window_base,
    input  logic [63:0]         bar_base,
    input  logic [15:0]         s_axil_awaddr,
    input  logic                s_axil_awvalid,
    output logic                s_axil_awready,
    input  logic [31:0]         s_axil_wdata,
    input  logic [3:0]          s_axil_wstrb,
    input  logic                s_axil_wvalid,
    output logic                s_axil_wready,
    output logic [1:0]          s_axil_bresp,
    output logic                s_axil_bvalid,
    input  logic                s_axil_bready,
    input  logic [15:0]         s_axil_araddr,
    input  logic                s_axil_arvalid,
    output logic                s_axil_arready,
    output logic [31:0]         s_axil_rdata,
    output logic [1:0]          s_axil_rresp,
    output logic                s_axil_rvalid,
    input  logic                s_axil_rready,
    input  logic [127:0]        s_axis_cmd_tdata,
    input  logic                s_axis_cmd_tvalid,
    output logic                s_axis_cmd_tready,
    input  logic [DATA_W-1:0]   s_axis_wdata_tdata,
    input  logic                s_axis_wdata_tvalid,
    output logic                s_axis_wdata_tready,
    output logic [DATA_W-1:0]   m_axis_rdata_tdata,
    output logic                m_axis_rdata_tvalid,
    input  logic                m_axis_rdata_tready,
    output logic                m_axis_rdata_tlast,
    output logic                m_axis_rdata_tuser,
    output logic [63:0]         m_axis_status_tdata,
    output logic                m_axis_status_tvalid,
    input  logic                m_axis_status_tready,
    input  logic                s_adm_valid,
    output logic                s_adm_ready,
    input  logic [31:0]         s_adm_data,
    output logic                m_adm_valid,
    input  logic                m_adm_ready,
    output logic [127:0]        m_adm_cqe,
    output logic                m_adm_timeout,
    output logic                m_fwd_valid,
    input  logic                m_fwd_ready,
    output logic [22:0]         m_fwd_addr,
    output logic [DATA_W-1:0]   m_fwd_data,
    output logic [DATA_W/8-1:0] m_fwd_be,
    input  logic                s_reg_valid,
    output logic                s_reg_ready,
    input  logic                s_reg_write,
    input  logic [23:0]         s_reg_addr,
    input  logic [31:0]         s_reg_wdata,
    output logic                m_reg_valid,
    output logic [31:0]         m_reg_rdata,
    output logic [1:0]          m_reg_status,
    output logic                up,
    output logic                dead,
    output logic [63:0]         blocks,
    output logic [3:0]          lba_shift,
    output logic                idle,
    output logic                stat_doorbell,
    output logic                stat_cqe
);

  localparam int MEM_DW = 1 << 20;
  logic [31:0] mem[MEM_DW];
  logic [31:0] cfg_q;

  assign set_mps       = cfg_q[2:0];
  assign set_mrrs      = cfg_q[6:4];
  assign up            = link_up;
  assign dead          = 1'b0;
  assign blocks        = 64'(cfg_mps_cap);
  assign lba_shift     = 4'd9;
  assign stat_doorbell = 1'b0;
  assign stat_cqe      = 1'b0;
  assign m_fwd_valid   = 1'b0;
  assign m_fwd_addr    = '0;
  assign m_fwd_data    = '0;
  assign m_fwd_be      = '0;

  // ------------------------------------------------------------------ CQ: memory writes, and a queue of reads
  typedef struct packed {
    logic        bad;
    logic [25:0] addr;
    logic [10:0] dw;
    logic [3:0]  fbe;
    logic [3:0]  lbe;
    logic [7:0]  tag;
    logic [15:0] rid;
    logic [2:0]  tc;
    logic [2:0]  attr;
    logic [159:0] echo;  // what a refusal has behind its descriptor: byte enables, descriptor
  } rd_t;
  rd_t reads[$];
  logic cq_in;
  logic [127:0] cq_desc;
  int cq_dw;
  assign s_axis_cq_tready = reads.size() < 64;
  assign pcie_cq_np_req   = 2'b01;  // no selective flow control

  function automatic logic [63:0] beat_be(input logic [182:0] u);
    return (DATA_W == 512) ? u[79:16] : 64'(u[39:8]);
  endfunction

  always_ff @(posedge clk) begin
    automatic logic [127:0] d = cq_in ? cq_desc : s_axis_cq_tdata[127:0];
    automatic logic [63:0] be = beat_be(183'(s_axis_cq_tuser));
    automatic int at = cq_in ? cq_dw : 0;
    automatic logic [63:0] off = {d[63:2], 2'b00} - window_base;
    if (rst) begin
      cq_in <= 1'b0;
    end else if (s_axis_cq_tvalid && s_axis_cq_tready) begin
      for (int l = (cq_in ? 0 : 4); l < N; l++) begin
        if (s_axis_cq_tkeep[l] && d[78:75] == 4'd1) begin
          for (int b = 0; b < 4; b++)
            if (be[4*l+b] && off + 64'(4 * at) < 64'(4 * MEM_DW))
              mem[(off/4)+64'(at)][8*b+:8] <= s_axis_cq_tdata[32*l+8*b+:8];
          at++;
        end
      end
      cq_in   <= !s_axis_cq_tlast;
      cq_desc <= d;
      cq_dw   <= at;
      if (s_axis_cq_tlast && d[78:75] == 4'd0)
        reads.push_back('{
            bad: off + 64'(4 * d[74:64]) > 64'(4 * MEM_DW) || cfg_q[9],
            addr: off[25:0], dw: d[74:64],
            fbe: s_axis_cq_tuser[3:0], lbe: (DATA_W == 512) ? s_axis_cq_tuser[11:8] : s_axis_cq_tuser[7:4],
            tag: d[103:96], rid: d[95:80], tc: d[123:121], attr: d[126:124],
            echo: {d, 24'd0, (DATA_W == 512) ? s_axis_cq_tuser[11:8] : s_axis_cq_tuser[7:4], s_axis_cq_tuser[3:0]}});
    end
  end

  // ------------------------------------------------------------------ CC: completions
  // verilog_lint: waive-start always-ff-non-blocking
  rd_t cur;
  logic cur_on;
  int cur_done, cpl_dw, cpl_pos, cpl_end;  // dwords

  function automatic int ctz4(input logic [3:0] v);
    return v[0] ? 0 : v[1] ? 1 : v[2] ? 2 : v[3] ? 3 : 0;
  endfunction
  function automatic int clz4(input logic [3:0] v);
    return v[3] ? 0 : v[2] ? 1 : v[1] ? 2 : v[0] ? 3 : 0;
  endfunction

  always_ff @(posedge clk) begin
    automatic int lead, trail, left, cut, n;
    automatic logic [95:0] head;
    if (rst) begin
      cur_on <= 1'b0;
      m_axis_cc_tvalid <= 1'b0;
    end else if (!m_axis_cc_tvalid || m_axis_cc_tready) begin
      m_axis_cc_tvalid <= 1'b0;
      if (!cur_on && reads.size() != 0) begin
        cur      = reads.pop_front();
        cur_on   = 1'b1;
        cur_done = 0;
        cpl_pos  = 0;
      end
      if (cur_on) begin
        lead  = (cur_done == 0) ? ctz4(cur.fbe) : 0;
        trail = clz4(cur.dw == 11'd1 ? cur.fbe : cur.lbe);
        left  = 4 * (int'(cur.dw) - cur_done) - lead - trail;
        cut   = cfg_q[13] ? 512 : cfg_q[8] ? 64 : (128 << cfg_q[2:0]);
        if (cpl_pos == 0) begin
          cpl_dw = (cut - (int'(cur.addr) + 4 * cur_done) % cut) / 4;
          if (cpl_dw > int'(cur.dw) - cur_done) cpl_dw = int'(cur.dw) - cur_done;
          if (cfg_q[12] && cpl_dw > 15) cpl_dw = 15;
          if (cur.bad) cpl_dw = 0;
        end
        head = '0;
        head[6:0]   = 7'(int'(cur.addr) + 4 * cur_done + lead + (cfg_q[11] ? 4 : 0));
        head[28:16] = 13'(left + (cfg_q[10] ? 4 : 0));
        head[42:32] = 11'(cpl_dw);
        head[45:43] = cur.bad ? 3'd1 : 3'd0;
        head[63:48] = cur.rid;
        head[71:64] = cur.tag ^ {cfg_q[14], 7'd0};
        head[91:89] = cur.tc;
        head[94:92] = cur.attr;
        cpl_end = 3 + (cur.bad ? 5 : cpl_dw);
        n = cpl_end - cpl_pos;
        if (n > N) n = N;
        m_axis_cc_tdata <= '0;
        for (int l = 0; l < N; l++) begin
          automatic int p = cpl_pos + l;
          m_axis_cc_tkeep[l] <= l < n;
          if (l < n)
            m_axis_cc_tdata[32*l+:32] <= (p < 3) ? head[32*p+:32] : cur.bad ? cur.echo[32*(p-3)+:32]
                                                                    : mem[int'(cur.addr) / 4 + cur_done + p - 3];
        end
        m_axis_cc_tvalid <= 1'b1;
        m_axis_cc_tlast  <= cpl_pos + n == cpl_end;
        m_axis_cc_tuser  <= '0;
        if (DATA_W == 512) begin
          m_axis_cc_tuser[0]    <= cpl_pos == 0;
          m_axis_cc_tuser[6]    <= cpl_pos + n == cpl_end;
          m_axis_cc_tuser[11:8] <= (cpl_pos + n == cpl_end) ? 4'(n - 1) : 4'd0;
        end
        cpl_pos = cpl_pos + n;
        if (cpl_pos == cpl_end) begin
          cpl_pos  = 0;
          cur_done = cur_done + cpl_dw;
          if (cur.bad || cur_done == int'(cur.dw)) cur_on = 1'b0;
        end
      end
    end
  end

  // verilog_lint: waive-stop always-ff-non-blocking

  // ------------------------------------------------------------------ RQ and RC
  typedef enum logic [1:0] {R_IDLE, R_HEAD, R_DATA, R_WAIT} rst_e;
  rst_e r_q;
  logic r_write_q;
  logic [23:0] r_addr_q;
  logic [31:0] r_data_q;
  logic [7:0] r_tag_q;
  logic [127:0] r_desc;
  logic r_posted;
  assign s_reg_ready = r_q == R_IDLE;
  assign s_axis_rc_tready = 1'b1;
  assign r_posted = r_write_q && !r_addr_q[23];

  always_comb begin
    automatic logic [63:0] a = bar_base + 64'(r_addr_q[22:0]);
    r_desc         = '0;
    r_desc[63:2]   = r_addr_q[23] ? 62'(r_addr_q[11:2]) : a[63:2];
    r_desc[74:64]  = 11'd1;
    r_desc[78:75]  = r_addr_q[23] ? (r_write_q ? 4'd10 : 4'd8) : (r_write_q ? 4'd1 : 4'd0);
    r_desc[103:96] = r_tag_q;
    r_desc[119:104] = r_addr_q[23] ? {8'd1, 5'd0, r_addr_q[14:12]} : 16'd0;
    m_axis_rq_tdata = '0;
    m_axis_rq_tdata[127:0] = (r_q == R_DATA) ? 128'(r_data_q) : r_desc;
    if (DATA_W > 128 && r_write_q) m_axis_rq_tdata[(DATA_W > 128 ? 128 : 0)+:32] = r_data_q;
    m_axis_rq_tvalid = r_q == R_HEAD || r_q == R_DATA;
    m_axis_rq_tlast  = DATA_W != 512 && ((DATA_W > 128) || !r_write_q || r_q == R_DATA);
    m_axis_rq_tkeep  = (DATA_W == 512) ? '1 : (DATA_W == 256) ? N'(r_write_q ? 'h1f : 'hf)
                       : (r_q == R_DATA) ? N'(1) : N'('hf);
    m_axis_rq_tuser  = '0;
    m_axis_rq_tuser[3:0] = 4'hf;
    if (DATA_W == 512) begin
      m_axis_rq_tuser[20]    = 1'b1;
      m_axis_rq_tuser[26]    = 1'b1;
      m_axis_rq_tuser[31:28] = r_write_q ? 4'd4 : 4'd3;
    end
  end

  always_ff @(posedge clk) begin
    m_reg_valid <= 1'b0;
    if (rst) begin
      r_q <= R_IDLE;
      r_tag_q <= '0;
    end else begin
      unique case (r_q)
        R_IDLE:
        if (s_reg_valid) begin
          r_q <= R_HEAD;
          {r_write_q, r_addr_q, r_data_q} <= {s_reg_write, s_reg_addr, s_reg_wdata};
          r_tag_q <= r_tag_q + 8'd1;
        end
        R_HEAD, R_DATA:
        if (m_axis_rq_tready) begin
          if (r_q == R_HEAD && DATA_W == 128 && r_write_q) r_q <= R_DATA;
          else if (r_posted) begin
            r_q <= R_IDLE;
            m_reg_valid  <= 1'b1;
            m_reg_rdata  <= '0;
            m_reg_status <= 2'd0;
          end else r_q <= R_WAIT;
        end
        default: ;
      endcase
      if (r_q == R_WAIT && s_axis_rc_tvalid && s_axis_rc_tdata[71:64] == r_tag_q) begin
        r_q <= R_IDLE;
        m_reg_valid  <= 1'b1;
        m_reg_rdata  <= s_axis_rc_tdata[127:96];
        m_reg_status <= (s_axis_rc_tdata[15:12] == 4'd9) ? 2'd3 : (s_axis_rc_tdata[45:43] == 3'd2) ? 2'd2
                        : (s_axis_rc_tdata[15:12] != 4'd0) ? 2'd1 : 2'd0;
      end
    end
  end

  // ------------------------------------------------------------------ user's streams
  logic c_on, c_write;
  int c_row, c_end;
  logic [15:0] c_tag;
  assign s_axis_cmd_tready   = !c_on && !m_axis_status_tvalid;
  assign s_axis_wdata_tready = c_on && c_write;

  always_ff @(posedge clk) begin
    if (m_axis_status_tready) m_axis_status_tvalid <= 1'b0;
    if (m_axis_rdata_tready) m_axis_rdata_tvalid <= 1'b0;
    if (rst) begin
      c_on <= 1'b0;
      m_axis_status_tvalid <= 1'b0;
      m_axis_rdata_tvalid <= 1'b0;
    end else if (!c_on) begin
      if (s_axis_cmd_tvalid && s_axis_cmd_tready) begin
        c_on    <= 1'b1;
        c_write <= s_axis_cmd_tdata[112];
        c_tag   <= s_axis_cmd_tdata[111:96];
        c_row   <= int'(s_axis_cmd_tdata[31:0]) * 128;
        c_end   <= int'(s_axis_cmd_tdata[31:0] + s_axis_cmd_tdata[95:64]) * 128;
      end
    end else if (c_row == c_end) begin
      c_on <= 1'b0;
      m_axis_status_tvalid <= 1'b1;
      m_axis_status_tdata  <= {16'h0, c_tag, 32'd7};
    end else if (c_write) begin
      if (s_axis_wdata_tvalid) begin
        for (int l = 0; l < N; l++) mem[c_row+l] <= s_axis_wdata_tdata[32*l+:32];
        c_row <= c_row + N;
      end
    end else if (!m_axis_rdata_tvalid || m_axis_rdata_tready) begin
      for (int l = 0; l < N; l++) m_axis_rdata_tdata[32*l+:32] <= mem[c_row+l];
      m_axis_rdata_tvalid <= 1'b1;
      m_axis_rdata_tlast  <= c_row + N == c_end;
      m_axis_rdata_tuser  <= 1'b0;
      c_row <= c_row + N;
    end
  end

  // ------------------------------------------------------------------ AXI4-Lite: one register; admin: an echo
  assign s_axil_awready = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready  = s_axil_awready;
  assign s_axil_arready = !s_axil_rvalid;
  assign s_axil_bresp   = 2'd0;
  assign s_axil_rresp   = 2'd0;
  logic [3:0] adm_n_q;
  assign s_adm_ready    = !m_adm_valid;
  assign m_adm_timeout  = 1'b0;

  always_ff @(posedge clk) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (m_adm_ready) m_adm_valid <= 1'b0;
    if (s_axil_awready) begin
      if (s_axil_awaddr == 16'd0) cfg_q <= s_axil_wdata;
      s_axil_bvalid <= 1'b1;
    end
    if (s_axil_arvalid && s_axil_arready) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rdata  <= cfg_q;
    end
    if (s_adm_valid && s_adm_ready) begin
      if (adm_n_q < 4'd4) m_adm_cqe[32*adm_n_q[1:0]+:32] <= s_adm_data;
      adm_n_q     <= adm_n_q + 4'd1;
      m_adm_valid <= adm_n_q == 4'd15;
    end
    if (rst) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
      m_adm_valid   <= 1'b0;
      adm_n_q       <= 4'd0;
      cfg_q         <= 32'h21;
    end
  end

  assign idle = r_q == R_IDLE || r_q == R_WAIT;

endmodule
