// SPDX-License-Identifier: Apache-2.0
// sim_endpoint with SSDs beside it, for the tests of the simulator's switch: its buffer is what the SSDs see in BAR 2, at
// the same place for all of them, so its registers move data between host, buffer and SSDs. Reads beyond the first MiB of
// an SSD's part are refused. While bit 31 of register 0x04 is set, reads of SSDs are not answered. It gives 8 credits for
// reads, of the host too. ssd_up shows what it was told: the SSDs that are there. ssd_dead: bit 0, a packet on CQ was
// wrong; bit 1, a packet was marked as discontinued. Behavioural, not for synthesis.
module sim_card
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
    parameter int DATA_W = 256,
    parameter int MEDIA_ADDR_W = 40,
    parameter int NUM_FN = 1,
    parameter int CMB_LOG2 = 0,
    parameter int NUM_SSD = 2,
    localparam int N = DATA_W / 32,
    localparam int READS = 16,
    localparam int CREDITS = 8
) (
`include "db_ssd_ports.svh"
    ,
    input  logic [63:0]              window_base,
    input  logic [NUM_SSD-1:0]       ssd_present,
    input  logic [NUM_SSD-1:0][63:0] ssd_bar,
    input  logic [NUM_SSD-1:0][15:0] ssd_id,
    input  logic [NUM_SSD-1:0]       ssd_left_alone,
    input  logic [51:0]              ssd_pages,
    output logic [NUM_SSD-1:0]       ssd_up,
    output logic [NUM_SSD-1:0]       ssd_dead,
    output logic [31:0]              ssd_foreign,
    output logic [31:0]              ssd_retried
);
    logic [DATA_W-1:0] in_cc_tdata, cc_data;
    logic [N-1:0] in_cc_tkeep, cc_keep;
    logic in_cq_tready, in_cc_tvalid, in_cc_tready, in_cc_tlast, in_idle, cc_last, cc_valid;

    // a packet for BAR 2 is ours
    logic cq_first, cq_was_ours, cq_ours;
    logic [12:0] cq_at;
    assign cq_ours = cq_first ? s_axis_cq_tdata[114:112] == 3'd2 : cq_was_ours;
    assign s_axis_cq_tready = cq_ours || in_cq_tready;

    // reads of the SSDs: descriptor and byte enables
    logic [127:0] desc [READS];
    logic [7:0] bes [READS];
    logic [3:0] wp, rp;
    logic [3:0] np_out;             // credits that are out, and reads that are not answered
    logic [12:0] at;                // what is asked next
    int left, piece;                // dwords of the read, of this completion
    logic started;                  // the read at rp is under way

    // CC: a packet of one of us at a time
    logic in_packet, ours_packet, mine;
    assign mine = in_packet ? ours_packet : cc_valid;
    assign m_axis_cc_tvalid = mine ? cc_valid : in_cc_tvalid;
    assign m_axis_cc_tdata = mine ? cc_data : in_cc_tdata;
    assign m_axis_cc_tkeep = mine ? cc_keep : in_cc_tkeep;
    assign m_axis_cc_tlast = mine ? cc_last : in_cc_tlast;
    assign m_axis_cc_tuser = '0;
    assign in_cc_tready = !mine && m_axis_cc_tready;

    assign idle = in_idle && wp == rp && !cc_valid && cq_first;
    assign ssd_up = ssd_present;
    assign ssd_foreign = '0;
    assign ssd_retried = '0;

    sim_endpoint #(.DATA_W(DATA_W), .MEDIA_ADDR_W(MEDIA_ADDR_W), .NUM_FN(NUM_FN)) i_endpoint (
        .s_axis_cq_tvalid(s_axis_cq_tvalid && !cq_ours), .s_axis_cq_tready(in_cq_tready),
        .m_axis_cc_tvalid(in_cc_tvalid), .m_axis_cc_tready(in_cc_tready), .m_axis_cc_tdata(in_cc_tdata),
        .m_axis_cc_tkeep(in_cc_tkeep), .m_axis_cc_tlast(in_cc_tlast), .m_axis_cc_tuser(), .idle(in_idle),
        .pcie_cq_np_req(), .*
    );

    function automatic int lead_of(input logic [3:0] be);  // bytes before the first one that is enabled
        lead_of = 0;
        for (int i = 3; i >= 0; i--) if (be[i]) lead_of = i;
    endfunction

    function automatic int trail_of(input logic [3:0] be);
        trail_of = 0;
        for (int i = 0; i < 4; i++) if (be[i]) trail_of = 3 - i;
    endfunction

    always_ff @(posedge clk) begin : bar2
        int n, lead, trail, bytes;
        logic done, answered;
        logic [127:0] d;
        logic [12:0] a;
        if (m_axis_cc_tvalid && m_axis_cc_tready) begin
            in_packet <= !m_axis_cc_tlast;
            ours_packet <= mine;
        end
        done = in_cc_tvalid && in_cc_tready;  // its answers are one beat
        answered = 1'b0;

        // ---- what comes
        if (s_axis_cq_tvalid && s_axis_cq_tready) begin
            cq_first <= s_axis_cq_tlast;
            cq_was_ours <= cq_ours;
            if (cq_ours) begin
                d = s_axis_cq_tdata[127:0];
                a = cq_first ? d[14:2] : cq_at;
                if (cq_first) begin
                    if (d[111:104] != 0 || 32'(d[120:115]) != 26 + $clog2(NUM_SSD) || d[95:88] < 2 ||
                        {d[63:2], 2'b00} - window_base >= 64'(NUM_SSD) << 26 || d[78:75] > 1)
                        ssd_dead[0] <= 1'b1;
                end
                for (int i = 0; i < N; i++)
                    if (s_axis_cq_tkeep[i] && !(cq_first && i < 4)) begin
                        for (int b = 0; b < 4; b++)
                            if (s_axis_cq_tuser[(DATA_W == 512 ? 16 : 8) + i * 4 + b])
                                i_endpoint.mem[a][b*8+:8] <= s_axis_cq_tdata[i*32+b*8+:8];
                        a++;
                    end
                cq_at <= a;
                if (s_axis_cq_tuser[DATA_W == 512 ? 96 : 41]) ssd_dead[1] <= 1'b1;
                if (cq_first && d[78:75] == 0) begin
                    desc[wp] <= d;
                    bes[wp] <= DATA_W == 512 ? {s_axis_cq_tuser[11:8], s_axis_cq_tuser[3:0]} : s_axis_cq_tuser[7:0];
                    wp <= wp + 1;
                    if (!s_axis_cq_tlast) ssd_dead[0] <= 1'b1;
                end
            end
        end

        // ---- answers
        if (mine && m_axis_cc_tready) cc_valid <= 1'b0;
        if (!cc_valid || mine && m_axis_cc_tready) begin
            d = desc[rp];
            cc_data <= '0;
            if (piece != 0) begin
                for (int i = 0; i < N; i++) cc_data[i*32+:32] <= i_endpoint.mem[at + 13'(i)];
                cc_keep <= piece >= N ? '1 : N'((1 << piece) - 1);
                cc_last <= piece <= N;
                cc_valid <= 1'b1;
                at <= at + 13'(piece < N ? piece : N);
                piece <= piece <= N ? 0 : piece - N;
            end else if (wp != rp && !i_endpoint.regs[1][31]) begin
                cc_valid <= 1'b1;
                if (d[25:20] != 0) begin  // refused: the request follows, byte enables first
                    cc_data[95:0] <= {16'd0, d[111:96], d[95:80], 2'd0, 3'd1, 11'd0,
                                      3'd0, 13'(32'(d[74:64]) * 4 - lead_of(bes[rp][3:0]) -
                                      trail_of(d[74:64] == 1 ? bes[rp][3:0] : bes[rp][7:4])), 16'd0};
                    cc_data[255:96] <= {d, 24'd0, bes[rp]};
                    cc_keep <= N'(8'hff);
                    cc_last <= 1'b1;
                    rp <= rp + 1;
                    answered = 1'b1;
                end else begin
                    n = started ? left : int'(d[74:64]);
                    a = started ? at : d[14:2];
                    lead = started ? 0 : lead_of(bes[rp][3:0]);
                    trail = trail_of(d[74:64] == 1 ? bes[rp][3:0] : bes[rp][7:4]);
                    bytes = 128 << cfg_max_payload;
                    bytes = bytes / 4 - (int'(a) & (bytes / 4 - 1));  // dwords to the next multiple of MPS
                    bytes = n < bytes ? n : bytes;
                    cc_data[95:0] <= {16'd0, d[111:96], d[95:80], 2'd0, 3'd0, 11'(bytes),
                                      3'd0, 13'(n * 4 - lead - trail), 9'd0, a[4:0], 2'(lead)};
                    for (int i = 3; i < N; i++) cc_data[i*32+:32] <= i_endpoint.mem[a + 13'(i) - 13'd3];
                    cc_keep <= bytes + 3 >= N ? '1 : N'((1 << (bytes + 3)) - 1);
                    cc_last <= bytes + 3 <= N;
                    piece <= bytes + 3 <= N ? 0 : bytes + 3 - N;
                    at <= a + 13'(bytes + 3 <= N ? bytes : N - 3);
                    left <= n - bytes;
                    started <= n != bytes;
                    if (n == bytes) rp <= rp + 1;
                    answered = n == bytes;
                end
            end
        end

        pcie_cq_np_req <= {1'b0, np_out < 4'(CREDITS)};
        np_out <= np_out + 4'(np_out < 4'(CREDITS)) - 4'(done) - 4'(answered);
        if (4'(wp - rp) > 4'(CREDITS)) ssd_dead[0] <= 1'b1;

        if (rst) begin
            np_out <= '0;
            pcie_cq_np_req <= '0;
            cq_first <= 1'b1;
            cq_was_ours <= 1'b0;
            wp <= '0;
            rp <= '0;
            piece <= 0;
            started <= 1'b0;
            cc_valid <= 1'b0;
            in_packet <= 1'b0;
            ssd_dead <= '0;
        end
    end
endmodule
