// SPDX-License-Identifier: Apache-2.0
#include "drives/make_drive.h"

#include "drives/external_drive.h"
#include "drives/lib_drive.h"
#include "drives/model_drive.h"
#include "pcie/bar_map.h"

namespace db {

namespace {

std::string fault_in(const db_model_config& m) {
    if (!m.max_reads || m.max_reads > 128 || !m.fetches || !m.fetch_entries || !m.max_cmds || m.max_cmds > 2000)
        return "model: max_reads 1-128, fetches and fetch_entries at least 1, max_cmds 1-2000";
    if (m.queues < 1 || m.queues > 63 || m.mqes < 2 || m.mqes > 65536) return "model: queues 1-63, mqes 2-65536";
    if (m.lba_shift < 9 || m.lba_shift > 12) return "model: blocks of 512 to 4096 bytes";
    return "";
}

}  // namespace

std::string fault_in(const db_host_port& p) {
    if (p.gen < 1 || p.gen > 5 || p.lanes < 1 || p.lanes > 16) return "link: generation 1-5, 1-16 lanes";
    if (!p.tx_tlps || p.tx_tlps > 32 || !p.tx_bytes) return "tx_tlps: 1 to 32; tx_bytes: at least 1";
    if (!p.drive_tx || p.drive_tx > 32 || p.cq_tlps > 64) return "drive_tx: 1 to 32; cq_tlps: 64 at most";
    if (p.mps_cap_code > 3 || p.drive_mps_cap_code > 5) return "MPS: 128 to 1024 bytes";
    if (p.bar_bytes < BAR_MIN_BYTES || p.bar_bytes & (p.bar_bytes - 1)) return "bar_bytes: a power of 2, 8 KiB or more";
    return p.drive == DB_DRIVE_MODEL ? fault_in(p.model) : "";
}

std::unique_ptr<Drive> make_drive(db_host_port& p, u64 clock_khz, u64 seed, u32 index, std::string& why) {
    if (p.drive == DB_DRIVE_LIB) return std::make_unique<LibDrive>(p, clock_khz);
    if (p.drive != DB_DRIVE_MODEL) return std::make_unique<ExternalDrive>();
    auto m = std::make_unique<ModelDrive>(p, clock_khz, seed, index);
    if (!m->open(why)) return nullptr;
    p.model.image = nullptr;
    return m;
}

}  // namespace db
