// SPDX-License-Identifier: Apache-2.0
// Who may ask the root port: accesses to the drive, one under way at a time, and doorbells.
//
// Accesses: db_host_nvme, db_host_pci, db_host_supervisor, the user's raw ones, in this order. Bring-up and recovery
// run one after the other. A raw access waits in a register of its own, so that who is first is not the user's
// concern, and its answer goes to nobody else. Doorbells: those of the I/O queues before the admin queue's.
// Latency: 1 cycle for an access, 2 for a raw one, none for a doorbell or an answer.
module db_host_request_arb
  import db_nvme_pkg::*, db_pcie_block_pkg::*, db_host_pkg::*, db_host_control_pkg::*;
(
  input  logic        clk,
  input  logic        rst,

  /// zeros while it is not valid
  input  logic        s_nvme_valid,
  output logic        s_nvme_ready,
  input  acc_t        s_nvme,
  /// zeros while it is not valid; never valid together with s_nvme
  input  logic        s_pci_valid,
  output logic        s_pci_ready,
  input  acc_t        s_pci,
  input  logic        s_supervisor_valid,
  output logic        s_supervisor_ready,
  input  acc_t        s_supervisor,
  input  logic        s_raw_valid,
  output logic        s_raw_ready,
  input  raw_access_t s_raw,

  /// db_pcie_root: the access, and its answer (one cycle)
  output logic        m_acc_valid,
  input  logic        m_acc_ready,
  output acc_t        m_acc,
  input  logic        s_answer_valid,
  /// the answer is one to bring-up or recovery; to a raw access
  output logic        m_answer_valid,
  output logic        m_raw_valid,

  input  logic        s_io_doorbell_valid,
  output logic        s_io_doorbell_ready,
  input  doorbell_t   s_io_doorbell,
  input  logic        s_admin_doorbell_valid,
  output logic        s_admin_doorbell_ready,
  input  doorbell_t   s_admin_doorbell,
  /// CAP.DSTRD: doorbells stand 4 << doorbell_stride bytes apart
  input  logic [3:0]  doorbell_stride,
  output logic        m_poke_valid,
  input  logic        m_poke_ready,
  output poke_t       m_poke,

  /// an access or a doorbell waits
  output logic        busy
);
  // ---- accesses
  logic ready, raw_q, own_valid, supervisor_first, held_q, acc_valid_q;
  acc_t acc, acc_q, raw_acc_q;
  assign supervisor_first   = s_supervisor_valid && !s_nvme_valid && !s_pci_valid;
  assign own_valid          = s_pci_valid || s_nvme_valid || s_supervisor_valid;
  assign ready              = m_acc_ready && !acc_valid_q;  // so no answer can be another's
  assign s_nvme_ready       = ready;
  assign s_pci_ready        = ready && !s_nvme_valid;
  assign s_supervisor_ready = ready && !s_nvme_valid && !s_pci_valid;
  assign s_raw_ready        = !held_q;
  assign m_answer_valid     = s_answer_valid && !raw_q;
  assign m_raw_valid        = s_answer_valid && raw_q;
  // Bring-up's are zeros when they are not valid, and only one of the two ever is.
  assign acc = s_nvme | s_pci | (supervisor_first ? s_supervisor : acc_t'('0)) | (own_valid ? acc_t'('0) : raw_acc_q);

  always_ff @(posedge clk) begin
    if (!held_q) raw_acc_q <= '{op: s_raw.write ? ACC_MEM_WR : ACC_MEM_RD, addr: s_raw.addr, be: 4'hf,
                                wdata: s_raw.wdata};
    held_q <= held_q ? !ready || own_valid : s_raw_valid;
    if (ready) begin
      acc_valid_q <= own_valid || held_q;
      acc_q       <= acc;
      raw_q       <= !own_valid;
    end else if (m_acc_ready) begin
      acc_valid_q <= 1'b0;
    end
    if (rst) begin
      held_q      <= 1'b0;
      acc_valid_q <= 1'b0;
    end
  end
  assign m_acc_valid = acc_valid_q;
  assign m_acc       = acc_q;
  assign busy        = acc_valid_q || held_q || s_raw_valid || m_poke_valid;

  // ---- doorbells
  doorbell_t doorbell;
  assign doorbell               = s_io_doorbell_valid ? s_io_doorbell : s_admin_doorbell;
  assign m_poke_valid           = s_io_doorbell_valid || s_admin_doorbell_valid;
  assign m_poke                 = '{addr: NVME_REG_DBS + (24'({doorbell.qid, doorbell.cq, 2'b00}) << doorbell_stride),
                                    data: 32'(doorbell.value)};
  assign s_io_doorbell_ready    = m_poke_ready;
  assign s_admin_doorbell_ready = m_poke_ready && !s_io_doorbell_valid;
endmodule
