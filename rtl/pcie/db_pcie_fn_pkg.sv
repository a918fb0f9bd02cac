// SPDX-License-Identifier: Apache-2.0
// PCIe functions of an endpoint: the PF and its VFs. A function has the number that the hard block calls it by, in
// descriptors and here in all that travels, and a place in vectors with a bit for each function: 0 the PF, 1 VF 0, ...
package db_pcie_fn_pkg;

  localparam int FN_W     = 8;   // number of a function
  localparam int MAX_FN   = 17;  // functions: the PF and 16 VFs
  localparam int FIRST_VF = 4;   // number of the first VF: 4 or 64 (PG213, "SRIOV Config Tab")
  localparam int PLACE_W  = 5;

  // The place of a function; 31, which no function has, if there is none of this number.
  function automatic logic [PLACE_W-1:0] fn_place(input logic [FN_W-1:0] number);
    if (number == '0) return '0;
    if (number < FN_W'(FIRST_VF) || number > FN_W'(FIRST_VF + MAX_FN - 2)) return '1;
    return PLACE_W'(number - FN_W'(FIRST_VF - 1));
  endfunction

  function automatic logic [FN_W-1:0] fn_number(input logic [PLACE_W-1:0] place);
    return place == '0 ? '0 : FN_W'(place) + FN_W'(FIRST_VF - 1);
  endfunction

endpackage
