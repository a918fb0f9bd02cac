// SPDX-License-Identifier: Apache-2.0
// A small device with the ports of db_ssd, for the tests of the simulator runtime: moves data between host memory, a
// buffer of its own and the media as its registers say. Behavioural, not for synthesis.
//
// Registers (byte offsets; 32 bit): 0x00 ID  0x04 scratch  0x08 host address low  0x0c high  0x10 bytes
//   0x14 media address  0x18 operation, starts it: 1 host -> buffer, 2 buffer -> host, 3 write 0x1c to the host
//   address, 4 media -> buffer, 5 buffer -> media, 6 flush, 7 zero the media range, 8 raise INTx, 9 lower INTx
//   0x1c data  0x20 {busy, errors of completions[15:0], last error code[3:0], status[2:0]} (own codes: 13 bad
//   CQ packet, 14 bad RC packet, 15 tag not in use)  0x24 doorbells seen
//   0x28 last doorbell {offset[15:0], data[15:0]}  0x2c repeats of the operation  0x30 {number of the function that
//   sends requests[15:8], byte enables {last, first} of writes}  0x34 wake at this time_us (0: never)  0x38 times woken  0x3c errors of the media
//
// All functions share these, but for what the function that is asked says of itself: in 0x00 of a VF {settings: enabled,
// bus master, MSI-X enable, mask[19:16], its number[15:8]}, and the number of the last doorbell's function in 0x24[31:24].
module sim_endpoint
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
    parameter int DATA_W = 256,
    parameter int MEDIA_ADDR_W = 40,
    parameter int NUM_FN = 1,
    parameter int CMB_LOG2 = 0,
    localparam int N = DATA_W / 32
) (
`include "db_ssd_ports.svh"
);
    assign {m_cmb_awaddr, m_cmb_awlen, m_cmb_awsize, m_cmb_awburst, m_cmb_awvalid, m_cmb_wdata, m_cmb_wstrb,
            m_cmb_wlast, m_cmb_wvalid, m_cmb_bready, m_cmb_araddr, m_cmb_arlen, m_cmb_arsize, m_cmb_arburst,
            m_cmb_arvalid, m_cmb_rready} = '0;  // it has no card memory
    localparam int TAGS = 32;
    localparam int BUF = 8192;      // dwords: 32 KiB
    localparam int ROW = DATA_W / 8;

    logic [31:0] mem [BUF];
    logic [31:0] regs [16];
    logic [3:0] op;
    logic [63:0] addr;
    logic [31:0] left, at, reps;    // bytes to go, dword in the buffer
    logic [31:0] maddr, mleft;
    logic [TAGS-1:0] tag_busy;
    logic [15:0] tag_at [TAGS];     // dword that follows the last one of the tag's data
    logic [15:0] errs;
    logic [3:0] err_code;
    logic [2:0] err_status;
    logic [31:0] wr_left;           // dwords left of the TLP on its way
    logic [7:0] ar_out;             // bursts on their way
    // bursts of reads go to the two ids in turn; where in the buffer each one's data goes
    logic [12:0] r_start [2*64];
    logic [5:0] r_wp [2], r_rp [2];
    logic [12:0] r_off [2];
    logic [31:0] r_at;
    logic r_id;
    logic [31:0] w_at, w_left;
    logic wait_rsp, bells;
    logic [4:0] flr_cnt [NUM_FN];

    // CQ packet
    logic cq_first;
    logic [127:0] cq_desc;
    logic [31:0] cq_data [16];
    logic [7:0] cq_be;
    int cq_n;
    logic cq_go;                    // a packet is complete
    logic cq_busy;

    assign s_axis_cq_tready = !cq_go && !cq_busy;
    assign s_axis_rc_tready = 1'b1;
    assign pcie_cq_np_req = 2'b01;
    assign m_axi_bready = 1'b1;
    assign m_axi_rready = 1'b1;
    assign m_axi_awid = 1'b0;
    assign m_axi_awsize = 3'($clog2(ROW));
    assign m_axi_arsize = 3'($clog2(ROW));
    assign m_axi_awburst = 2'b01;
    assign m_axi_arburst = 2'b01;
    assign m_axi_wstrb = '1;
    logic waits;  // for an answer only
    assign waits = op == 0 || op == 1 && left == 0 && wr_left == 0 || op == 4 && mleft == 0 && !m_axi_arvalid
                || op == 5 && mleft == 0 && w_left == 0 && !m_axi_awvalid && !m_axi_wvalid
                || wait_rsp && !m_media_cmd_valid;
    assign idle = waits && !m_axis_rq_tvalid && !m_axis_cc_tvalid && !cq_go && !cq_busy && cq_first && cfg_flr == 0;
    assign m_media_health_word = '0;
    assign wake_us = regs[13] == 0 ? '1 : 64'(regs[13]);

    function automatic logic [31:0] merge(input logic [31:0] old, input logic [31:0] d, input logic [3:0] be);
        for (int i = 0; i < 4; i++) merge[i*8+:8] = be[i] ? d[i*8+:8] : old[i*8+:8];
    endfunction

    function automatic logic [31:0] chunk(input logic [63:0] a, input logic [31:0] n, input logic [31:0] limit);
        logic [31:0] room;
        room = limit - (a[31:0] & (limit - 1));
        return n < room ? n : room;
    endfunction

    function automatic logic [3:0] count(input logic [7:0] be);  // bytes enabled
        count = 0;
        for (int i = 0; i < 8; i++) count += 4'(be[i]);
    endfunction

    function automatic logic [7:0] number(input int fn);  // of a function, as the hard block has it
        number = fn == 0 ? 8'd0 : 8'(FIRST_VF + fn - 1);
    endfunction

    function automatic logic [31:0] own(input logic [7:0] num);  // what a VF says of itself
        own = 0;
        for (int i = 1; i < NUM_FN; i++)
            if (num == number(i))
                own = {12'h0db, cfg_fn_enable[i], cfg_bus_master[i], cfg_msix_enable[i], cfg_msix_mask[i], num, 8'd1};
    endfunction

    logic [31:0] mps, mrrs;
    assign mps = 32'd128 << cfg_max_payload;
    assign mrrs = 32'd128 << cfg_max_read_req;

    logic rc_first;
    logic [4:0] rc_tag;
    logic [15:0] rc_at;
    logic rc_done;
    logic [15:0] rc_left;

    always_ff @(posedge clk) begin : core
        int n, fn, ln, tag, free;
        logic [31:0] c, off, v;
        logic [15:0] p, dw_left;
        logic bad;
        cfg_flr_done <= '0;
        cq_busy <= 1'b0;

        // ---- requests of the host
        if (s_axis_cq_tvalid && s_axis_cq_tready) begin
            n = cq_first ? 0 : cq_n;
            bad = s_axis_cq_tuser[DATA_W == 512 ? 80 : 40] != cq_first;
            for (int i = 0; i < N; i++)  // byte enables: none of the descriptor, and those of the only dword
                if (s_axis_cq_tuser[(DATA_W == 512 ? 16 : 8) + i*4+:4] != 0 ? cq_first && i < 4 : s_axis_cq_tkeep[i] &&
                    !(cq_first && i < 4)) bad = 1'b1;
            if (bad) begin
                errs <= errs + 1;
                err_code <= 4'hd;
            end
            if (cq_first) begin
                cq_desc <= s_axis_cq_tdata[127:0];
                cq_be <= DATA_W == 512 ? {s_axis_cq_tuser[11:8], s_axis_cq_tuser[3:0]} : s_axis_cq_tuser[7:0];
            end
            for (int i = 0; i < N; i++)
                if (s_axis_cq_tkeep[i] && !(cq_first && i < 4)) begin
                    if (n < 16) cq_data[n] <= s_axis_cq_tdata[i*32+:32];
                    n++;
                end
            cq_n <= n;
            cq_first <= s_axis_cq_tlast;
            cq_go <= s_axis_cq_tlast;
        end
        if (m_axis_cc_tvalid && m_axis_cc_tready) m_axis_cc_tvalid <= 1'b0;
        if (cq_go && !m_axis_cc_tvalid) begin
            cq_go <= 1'b0;
            cq_busy <= 1'b1;
            ln = int'(cq_desc[74:64]);
            off = {18'd0, cq_desc[13:2], 2'b00};
            if (cq_desc[78:75] == 4'd1) begin
                for (int i = 0; i < ln; i++) begin
                    if (off >= 32'h1000 && off < 32'h2000) begin
                        regs[9] <= {cq_desc[111:104], regs[9][23:0] + 24'd1};
                        regs[10] <= {off[15:0], cq_data[i][15:0]};
                    end else if (off < 64) begin
                        regs[off[5:2]] <= merge(regs[off[5:2]], cq_data[i],
                                                i == 0 ? cq_be[3:0] : i == ln - 1 ? cq_be[7:4] : 4'hf);
                        if (off[5:2] == 6) begin
                            op <= cq_data[i][3:0];
                            addr <= {regs[3], regs[2]};
                            left <= regs[4];
                            mleft <= regs[4];
                            maddr <= regs[5];
                            at <= 0;
                            w_at <= 0;
                            r_at <= 0;
                            w_left <= 0;
                            reps <= regs[11];
                            wr_left <= 0;
                            if (cq_data[i][3:0] == 8) cfg_intx <= !cfg_intx_disable;
                            if (cq_data[i][3:0] == 9) cfg_intx <= 1'b0;
                            if (cq_data[i][3:0] > 7) op <= 0;
                        end
                    end
                    off += 4;
                end
            end else begin
                // a read: at most N - 3 dwords, others and those above the registers are not supported
                m_axis_cc_tvalid <= 1'b1;
                m_axis_cc_tdata <= '0;
                v = 32'd0;
                for (int i = 0; i < N - 3; i++)
                    if (i < ln) m_axis_cc_tdata[(i+3)*32+:32] <=
                        off[5:2] + 4'(i) == 8 ? {op != 0, 8'd0, errs, err_code, err_status} :
                        off[5:2] + 4'(i) == 0 && cq_desc[111:104] != 0 ? own(cq_desc[111:104]) : regs[off[5:2] + 4'(i)];
                n = 0;
                for (int i = 3; i >= 0; i--) if (cq_be[i]) n = i;
                v[6:0] = {off[6:2], 2'(n)};
                v[28:16] = ln == 1 ? 13'(count({4'd0, cq_be[3:0]})) : 13'(ln * 4 - 8) + 13'(count(cq_be));
                m_axis_cc_tdata[31:0] <= v;
                m_axis_cc_tdata[63:32] <= {cq_desc[95:80], 2'd0, 3'd0, 11'(ln)};
                m_axis_cc_tdata[95:64] <= {16'd0, cq_desc[111:96]};
                m_axis_cc_tkeep <= N'((1 << (ln + 3)) - 1);
                if (off >= 64 || ln > N - 3) begin
                    m_axis_cc_tdata[63:32] <= {cq_desc[95:80], 2'd0, 3'd1, 11'd0};
                    m_axis_cc_tkeep <= N'(7);
                end
            end
        end

        // ---- requests to the host
        if (m_axis_rq_tvalid && m_axis_rq_tready) m_axis_rq_tvalid <= 1'b0;
        if (!m_axis_rq_tvalid || m_axis_rq_tready) begin
            m_axis_rq_tuser <= '0;
            m_axis_rq_tkeep <= '1;
            m_axis_rq_tlast <= 1'b1;
            free = -1;
            for (int i = 0; i < TAGS; i++) if (!tag_busy[i]) free = i;
            if (wr_left != 0) begin
                for (int i = 0; i < N; i++) m_axis_rq_tdata[i*32+:32] <= mem[13'(at) + 13'(i)];
                m_axis_rq_tvalid <= 1'b1;
                m_axis_rq_tkeep <= wr_left >= N ? '1 : N'((1 << wr_left) - 1);
                m_axis_rq_tlast <= wr_left <= N;
                at <= at + (wr_left >= N ? N : wr_left);
                wr_left <= wr_left >= N ? wr_left - N : 0;
            end else if (op == 1 && left != 0 && free >= 0) begin
                c = chunk(addr, left, mrrs);
                m_axis_rq_tdata[127:0] <= {24'd0, 8'(free), 8'd0, regs[12][15:8], 5'd0, 11'(c / 4), addr[63:2], 2'b00};
                m_axis_rq_tkeep <= N'(15);
                if (DATA_W == 512) m_axis_rq_tuser[11:0] <= {c > 4 ? 4'hf : 4'h0, 4'h0, 4'hf};
                else m_axis_rq_tuser[7:0] <= {c > 4 ? 4'hf : 4'h0, 4'hf};
                m_axis_rq_tvalid <= 1'b1;
                tag_busy[free] <= 1'b1;
                tag_at[free] <= 16'(at + c / 4);
                at <= at + c / 4;
                addr <= addr + 64'(c);
                left <= left - c;
            end else if (op == 2 && left != 0 || op == 3) begin
                c = op == 3 ? 4 : chunk(addr, left, mps);
                m_axis_rq_tdata[127:0] <= {32'd0, 8'd0, regs[12][15:8], 1'b0, 4'd1, 11'(c / 4), addr[63:2], 2'b00};
                for (int i = 4; i < N; i++) m_axis_rq_tdata[i*32+:32] <= op == 3 ? regs[7] : mem[13'(at) + 13'(i) - 4];
                fn = regs[12][3:0] == 0 ? 15 : int'(regs[12][3:0]);
                ln = c == 4 ? 0 : regs[12][7:4] == 0 ? 15 : int'(regs[12][7:4]);
                if (DATA_W == 512) m_axis_rq_tuser[11:0] <= {4'(ln), 4'h0, 4'(fn)};
                else m_axis_rq_tuser[7:0] <= {4'(ln), 4'(fn)};
                m_axis_rq_tkeep <= c / 4 + 4 >= N ? '1 : N'((1 << (c / 4 + 4)) - 1);
                m_axis_rq_tlast <= c / 4 + 4 <= N;
                m_axis_rq_tvalid <= 1'b1;
                wr_left <= c / 4 + 4 <= N ? 0 : c / 4 + 4 - N;
                at <= at + (c / 4 + 4 <= N ? c / 4 : N - 4);
                addr <= addr + 64'(c);
                left <= left - c;
                if (op == 3) begin
                    if (N == 4) begin  // the payload is the next beat
                        mem[BUF-1] <= regs[7];
                        at <= BUF - 1;
                    end
                    op <= 0;
                end
            end else if ((op == 1 && tag_busy == 0 || op == 2) && left == 0) begin
                if (reps != 0) begin
                    reps <= reps - 1;
                    addr <= {regs[3], regs[2]};
                    left <= regs[4];
                    at <= 0;
                end else begin
                    op <= 0;
                end
            end
        end

        // ---- completions
        if (s_axis_rc_tvalid) begin
            p = rc_at;
            dw_left = rc_left;
            tag = int'(rc_tag);
            if (rc_first) begin
                tag = int'(s_axis_rc_tdata[68:64]);
                dw_left = 16'(s_axis_rc_tdata[42:32]);
                p = tag_at[tag] - 16'(s_axis_rc_tdata[28:18]);
                rc_done <= s_axis_rc_tdata[30];
                rc_tag <= 5'(tag);
                if (s_axis_rc_tdata[15:12] != 0) begin
                    errs <= errs + 1;
                    err_code <= s_axis_rc_tdata[15:12];
                    err_status <= s_axis_rc_tdata[45:43];
                end
                if (!tag_busy[tag]) begin
                    errs <= errs + 1;
                    err_code <= 4'hf;
                end
            end
            bad = s_axis_rc_tuser[DATA_W == 512 ? 64 : 32] != rc_first ||
                  s_axis_rc_tuser[DATA_W == 512 ? 76 : 34] != s_axis_rc_tlast;
            for (int i = 0; i < N; i++) begin
                if (s_axis_rc_tuser[i*4+:4] != (!(rc_first && i < 3) && dw_left != 0 ? 4'hf : 4'h0)) bad = 1'b1;
                if (s_axis_rc_tkeep[i] != (rc_first && i < 3 || dw_left != 0)) bad = 1'b1;
                if (!(rc_first && i < 3) && dw_left != 0) begin
                    mem[13'(p)] <= s_axis_rc_tdata[i*32+:32];
                    p++;
                    dw_left--;
                end
            end
            if (bad || s_axis_rc_tlast != (dw_left == 0)) begin
                errs <= errs + 1;
                err_code <= 4'he;
            end
            rc_at <= p;
            rc_left <= dw_left;
            rc_first <= s_axis_rc_tlast;
            if (s_axis_rc_tlast && (rc_first ? s_axis_rc_tdata[30] : rc_done)) tag_busy[tag] <= 1'b0;
        end

        // ---- media
        if (m_axi_arvalid && m_axi_arready) m_axi_arvalid <= 1'b0;
        if (m_axi_awvalid && m_axi_awready) m_axi_awvalid <= 1'b0;
        if (m_axi_wvalid && m_axi_wready) m_axi_wvalid <= 1'b0;
        if (m_media_cmd_valid && m_media_cmd_ready) m_media_cmd_valid <= 1'b0;
        n = int'(ar_out);
        if (op == 4 && mleft != 0 && !m_axi_arvalid && ar_out < 32) begin
            c = chunk(64'(maddr), mleft, 4096);
            m_axi_arvalid <= 1'b1;
            m_axi_arid <= r_id;
            r_id <= !r_id;
            r_start[{r_id, r_wp[r_id]}] <= 13'(r_at);
            r_wp[r_id] <= r_wp[r_id] + 1;
            r_at <= r_at + c / 4;
            m_axi_araddr <= MEDIA_ADDR_W'(maddr);
            m_axi_arlen <= 8'(c / ROW - 1);
            maddr <= maddr + c;
            mleft <= mleft - c;
            n++;
        end
        if (m_axi_rvalid) begin
            p = 16'(r_start[{m_axi_rid, r_rp[m_axi_rid]}] + r_off[m_axi_rid]);
            for (int i = 0; i < N; i++) mem[13'(p) + 13'(i)] <= m_axi_rdata[i*32+:32];
            r_off[m_axi_rid] <= m_axi_rlast ? 0 : r_off[m_axi_rid] + 13'(N);
            if (m_axi_rlast) r_rp[m_axi_rid] <= r_rp[m_axi_rid] + 1;
            if (m_axi_rlast) n--;
            if (m_axi_rresp != 0) regs[15] <= regs[15] + 1;
        end
        if (op == 5 && mleft != 0 && !m_axi_awvalid && w_left == 0) begin
            c = chunk(64'(maddr), mleft, 4096);
            m_axi_awvalid <= 1'b1;
            m_axi_awaddr <= MEDIA_ADDR_W'(maddr);
            m_axi_awlen <= 8'(c / ROW - 1);
            w_left <= c / ROW;
            maddr <= maddr + c;
            mleft <= mleft - c;
            n++;
        end
        if (w_left != 0 && (!m_axi_wvalid || m_axi_wready)) begin
            for (int i = 0; i < N; i++) m_axi_wdata[i*32+:32] <= mem[13'(w_at) + 13'(i)];
            w_at <= w_at + N;
            m_axi_wvalid <= 1'b1;
            m_axi_wlast <= w_left == 1;
            w_left <= w_left - 1;
        end
        if (m_axi_bvalid) begin
            n--;
            if (m_axi_bresp != 0) regs[15] <= regs[15] + 1;
        end
        ar_out <= 8'(n);
        if ((op == 4 || op == 5) && mleft == 0 && n == 0 && w_left == 0) begin
            if (reps != 0) begin
                reps <= reps - 1;
                mleft <= regs[4];
                maddr <= regs[5];
                w_at <= 0;
                r_at <= 0;
            end else begin
                op <= 0;
            end
        end
        if ((op == 6 || op == 7) && !wait_rsp) begin
            m_media_cmd_valid <= 1'b1;
            m_media_cmd_op <= {1'b0, op == 7};
            m_media_cmd_addr <= MEDIA_ADDR_W'(regs[5]);
            m_media_cmd_bytes <= 64'(regs[4]) << (regs[7][5:0]);
            wait_rsp <= 1'b1;
        end
        if (s_media_rsp_valid) begin
            wait_rsp <= 1'b0;
            op <= 0;
            if (s_media_rsp_err) regs[15] <= regs[15] + 1;
        end

        // ---- time
        if (regs[13] != 0 && time_us >= 64'(regs[13])) begin
            regs[13] <= 0;
            regs[14] <= regs[14] + 1;
        end

        for (int i = 0; i < NUM_FN; i++)
            if (cfg_flr[i]) begin
                if (regs[12][15:8] == number(i)) op <= 0;
                flr_cnt[i] <= flr_cnt[i] + 1;
                if (flr_cnt[i] == 20) cfg_flr_done[i] <= 1'b1;
            end else begin
                flr_cnt[i] <= 0;
            end

        if (rst) begin
            op <= 0;
            cq_first <= 1'b1;
            rc_first <= 1'b1;
            cq_go <= 1'b0;
            cq_busy <= 1'b0;
            m_axis_cc_tvalid <= 1'b0;
            m_axis_rq_tvalid <= 1'b0;
            m_axi_arvalid <= 1'b0;
            m_axi_awvalid <= 1'b0;
            m_axi_wvalid <= 1'b0;
            m_media_cmd_valid <= 1'b0;
            tag_busy <= '0;
            wr_left <= 0;
            w_left <= 0;
            left <= 0;
            mleft <= 0;
            ar_out <= 0;
            r_id <= 1'b0;
            for (int i = 0; i < 2; i++) begin
                r_wp[i] <= 0;
                r_rp[i] <= 0;
                r_off[i] <= 0;
            end
            wait_rsp <= 1'b0;
            errs <= 0;
            err_code <= 0;
            err_status <= 0;
            cfg_intx <= 1'b0;
            for (int i = 0; i < NUM_FN; i++) flr_cnt[i] <= 0;
            for (int i = 0; i < 16; i++) regs[i] <= i == 0 ? 32'h0db0_0001 : 0;
        end
    end
    assign m_axis_cc_tlast = 1'b1;
    assign m_axis_cc_tuser = '0;
endmodule
