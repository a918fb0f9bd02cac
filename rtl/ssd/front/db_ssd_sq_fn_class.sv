// SPDX-License-Identifier: Apache-2.0
// Credit of the weighted classes (high, medium, low) of each function: as in db_ssd_sq_arb, where there is one function.
//
// A class has credit for as many entries as its weight says, a function's classes get it anew together, when none of them
// that could be served has some left. Without weights everything counts as left.
// Latency: a turn's credit is there in the cycle after it begins; what is spent shows a cycle later.
module db_ssd_sq_fn_class
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
(
  input  logic               clk,
  input  arb_cfg_t           arb_cfg,
  input  logic               init,         ///< after reset: init_place has none left
  input  logic [PLACE_W-1:0] init_place,
  input  logic [PLACE_W-1:0] look_place,
  output logic [2:0]         look_left,    ///< in the same cycle: high, medium, low have some left
  /// A turn begins.
  input  logic               begins,
  input  logic [PLACE_W-1:0] begin_place,
  input  logic [1:0]         begin_list,
  input  logic               renew,        ///< with it: all classes of the function get their weight anew
  /// Credit of its class, until the next one begins; 127 if more, or if it counts not.
  output logic [6:0]         class_most,
  /// ... and takes so many entries.
  input  logic               spend,
  input  logic [6:0]         count
);
  localparam int PLACES = 2 ** PLACE_W;
  logic [2:0][8:0]    credit_mem_q [PLACES];
  logic [2:0]         left_mem_q [PLACES];
  logic [2:0][8:0]    weights, credit_d, credit_q, after;
  logic [8:0]         begin_credit;
  logic [6:0]         class_most_q;
  logic [PLACE_W-1:0] place_q;
  logic [1:0]         list_q, class_at;

  assign weights      = {9'(arb_cfg.weight_low) + 9'd1, 9'(arb_cfg.weight_medium) + 9'd1,
                         9'(arb_cfg.weight_high) + 9'd1};
  assign look_left    = left_mem_q[look_place] | {3{!arb_cfg.wrr}};
  assign class_at     = list_q - 2'd1;
  assign class_most   = class_most_q;
  assign credit_d     = renew ? weights : credit_mem_q[begin_place];
  assign begin_credit = credit_d[begin_list - 2'd1];
  always_comb begin
    after = credit_q;
    if (list_q != 2'd0) after[class_at] = credit_q[class_at] - 9'(count);
  end

  logic write;
  logic [PLACE_W-1:0] place_w;
  assign write   = init || (spend && arb_cfg.wrr);
  assign place_w = init ? init_place : place_q;
  always_ff @(posedge clk) begin
    if (begins) begin
      place_q  <= begin_place;
      list_q   <= begin_list;
      credit_q <= credit_d;
      class_most_q <= (!arb_cfg.wrr || begin_list == 2'd0 || begin_credit[8:7] != '0) ? '1 : begin_credit[6:0];
    end
    if (write) begin
      credit_mem_q[place_w] <= init ? '0 : after;
      left_mem_q[place_w]   <= init ? '0 : {after[2] != '0, after[1] != '0, after[0] != '0};
    end
  end

endmodule
