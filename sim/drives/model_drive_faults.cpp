// SPDX-License-Identifier: Apache-2.0
// Faults that the caller wants in a drive's commands.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

// The fault that this command meets, or none.
const ModelFault* ModelDrive::fault(const ModelCommand& m) {
    for (ModelFault& f : faults) {
        if (!f.count || (f.opcode >= 0 && u32(f.opcode) != m.opc) || (f.admin >= 0 && (f.admin != 0) != m.admin))
            continue;
        if (f.blocks && (m.lba + m.blocks <= f.lba || m.lba >= f.lba + f.blocks)) continue;
        if (f.skip) {
            --f.skip;
            continue;
        }
        if (f.count != ~0u) --f.count;
        ++f.hits;
        ++count[ModelCount::FAULTS];
        return &f;
    }
    return nullptr;
}

// False: the command needs nothing more.
bool ModelDrive::meet_fault(u32 i) {
    ModelCommand& m = of(i);
    const ModelFault* f = fault(m);
    if (!f) return true;
    switch (f->kind) {
        case DB_DFAULT_STATUS:
            m.status = u32(f->arg);
            m.failed = true;
            return true;
        case DB_DFAULT_LOST: m.lost = true; return false;
        case DB_DFAULT_LATE: m.late = f->arg; return true;
        case DB_DFAULT_HANG: hang(); return false;
        case DB_DFAULT_DAMAGE: m.damage = true; return true;
        case DB_DFAULT_VANISH: gone = true; return false;
        case DB_DFAULT_DOUBLE: m.twice = true, m.again = f->arg; return true;
        case DB_DFAULT_PHASE: m.wrong_phase = true; return true;
        case DB_DFAULT_CID: m.other_cid = u32(f->arg) & 0xffff; return true;
        case DB_DFAULT_COPY: m.copied = true, m.copy = f->arg; return true;
        case DB_DFAULT_ASTRAY: m.astray = f->arg; return true;
        default: port->drop_link(); return false;
    }
}

}  // namespace db
