// SPDX-License-Identifier: Apache-2.0
// Known-answer self-test of AES, once after power-on: until it has passed no key can be loaded.
//
// Stands between the registers and the key store. It loads two published keys of 256 bits as a host's keys are loaded
// (IEEE 1619 vector 10 to slot 0 for XTS, SP 800-38A F.5.5 to slot 1 for CTR), lets db_csd_probe of each direction send
// the vectors' rows through its AES and compare what comes out, and erases both slots. Meanwhile it is busy, as the key
// store is, and key commands wait. If a row is wrong, late or missing every load is an erasure from then on: no slot
// ever becomes valid, all namespaces with AES stay locked until power-on. A controller reset in the middle begins it
// again, a later one does not.
// Time: 949 cycles after the key store has erased its slots. Latency of words and commands afterwards: none.
module db_csd_selftest
  import db_aes_pkg::*, db_csd_pkg::*;
(
  input  logic       clk,
  input  logic       rst,           ///< power-on
  input  logic       ctrl_rst,
  output logic       busy,          ///< the key store's too
  output logic       failed,        ///< until power-on
  /// As the key store has them.
  input  logic       s_word_valid,
  input  key_word_t  s_word,
  input  logic       s_cmd_valid,
  output logic       s_cmd_ready,
  input  key_cmd_t   s_cmd,
  /// db_csd_keys
  output logic       m_word_valid,
  output key_word_t  m_word,
  output logic       m_cmd_valid,
  input  logic       m_cmd_ready,
  output key_cmd_t   m_cmd,
  input  logic       keys_busy,
  /// db_csd_probe, [0] media to host, [1] host to media
  output logic       testing,       ///< nothing else passes
  output logic       go,            ///< pulse: send the rows
  input  logic [1:0] good           ///< all rows came, and were right
);
  localparam int WORDS = 20;  // of a key as it is staged
  localparam int LIMIT = 127; // cycles until the last row must be there: with SPLIT some 80
  // K1, K2, IV
  localparam logic [WORDS*32-1:0] XTS_KEY = {128'd0,
    256'h92459474_09820551_37999316_97418802_95278333_64628423_93975853_26594131,
    256'h27769666_49575999_69937024_57774962_26357174_28605323_45904528_18281827};
  localparam logic [WORDS*32-1:0] CTR_KEY = {128'hfffefdfc_fbfaf9f8_f7f6f5f4_f3f2f1f0, 256'd0,
    256'hf4df1409_a310982d_d708613b_072c351f_81777d85_f0ae732b_be71ca15_10eb3d60};

  typedef enum logic [2:0] {ST_STAGE, ST_LOAD, ST_ROWS, ST_ERASE, ST_ERASING, ST_OVER} state_e;
  state_e     state_q;
  logic       slot_q;    // being loaded or erased
  logic [6:0] count_q;   // of the state's own
  logic       testing_q, passed_q;

  assign testing = testing_q;
  assign failed  = !testing_q && !passed_q;
  assign busy    = testing_q || keys_busy;
  assign go      = state_q == ST_ROWS && count_q == '0 && !keys_busy;

  always_comb begin
    m_word_valid = s_word_valid;
    m_word       = s_word;
    m_cmd_valid  = s_cmd_valid;
    m_cmd        = s_cmd;
    m_cmd.load   = s_cmd.load && passed_q;
    s_cmd_ready  = m_cmd_ready;
    if (testing_q) begin
      m_word_valid = state_q == ST_STAGE;
      m_word.addr  = count_q[4:0];
      m_word.data  = slot_q ? CTR_KEY[32*count_q[4:0] +: 32] : XTS_KEY[32*count_q[4:0] +: 32];
      m_cmd_valid  = state_q == ST_LOAD || state_q == ST_ERASE;
      m_cmd        = '{load: state_q == ST_LOAD, slot: KEY_SLOT_W'(slot_q), long_key: 1'b1, ctr: slot_q, xts: !slot_q};
      s_cmd_ready  = 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    unique case (state_q)
      ST_STAGE: if (!keys_busy) begin
        count_q <= count_q + 7'd1;
        if (count_q == 7'(WORDS - 1)) state_q <= ST_LOAD;
      end
      ST_LOAD: if (m_cmd_ready) begin
        count_q <= '0;
        slot_q  <= 1'b1;
        state_q <= slot_q ? ST_ROWS : ST_STAGE;
      end
      ST_ROWS: if (!keys_busy) begin
        count_q <= count_q + 7'd1;
        if (count_q == 7'(LIMIT)) begin
          slot_q   <= 1'b0;
          passed_q <= good == '1;
          state_q  <= ST_ERASE;
        end
      end
      ST_ERASE: if (m_cmd_ready) begin
        slot_q  <= 1'b1;
        state_q <= slot_q ? ST_ERASING : ST_ERASE;
      end
      ST_ERASING: if (!keys_busy) begin
        testing_q <= 1'b0;
        state_q   <= ST_OVER;
      end
      ST_OVER: ;
      default: state_q <= ST_STAGE;
    endcase
    if (rst || (ctrl_rst && testing_q)) begin
      state_q   <= ST_STAGE;
      slot_q    <= 1'b0;
      count_q   <= '0;
      testing_q <= 1'b1;
      passed_q  <= 1'b0;
    end
  end
endmodule
