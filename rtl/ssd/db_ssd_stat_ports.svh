// SPDX-License-Identifier: Apache-2.0
// The ports of db_ssd and db_csd that only measure, and may be left open; see db_ssd_ports.svh.
  /// Statistics: a pulse for each stage of a command, cycles that engines waited, completions that came too late.
  output logic                         stat_doorbell_valid,
  output logic [QID_W-1:0]             stat_doorbell_qid,
  output logic [15:0]                  stat_doorbell_tail,
  output logic                         stat_fetch_valid,  ///< entries are requested
  output logic [QID_W-1:0]             stat_fetch_qid,
  output logic [15:0]                  stat_fetch_index,
  output logic [6:0]                   stat_fetch_count,
  output logic                         stat_decode_valid, ///< an I/O entry became a command
  output logic [SLOT_W-1:0]            stat_decode_slot,
  output logic [QID_W-1:0]             stat_decode_sqid,
  output logic [15:0]                  stat_decode_cid,
  output logic                         stat_data_valid,   ///< its data has been moved
  output logic [SLOT_W-1:0]            stat_data_slot,
  output logic                         stat_cqe_valid,    ///< its completion queue entry left
  output logic [SLOT_W-1:0]            stat_cqe_slot,
  output logic                         stat_irq_valid,
  output logic [15:0]                  stat_irq_vector,
  output logic [7*32-1:0]              stat_stall         ///< counters of 32 bits, by bits of db_ssd_pkg's stall_t
