// SPDX-License-Identifier: Apache-2.0
// What the C interfaces let the caller do with a drive, whatever it hangs on. A null drive, or one of another kind, does
// nothing and has nothing.
#pragma once

#include <algorithm>
#include <deque>

#include "drives/external_drive.h"
#include "drives/model_drive.h"

namespace db {

template <class T>
int take(std::deque<T>& q, T* out, int n) {
    int k = 0;
    for (; k < n && !q.empty(); ++k) {
        out[k] = q.front();
        q.pop_front();
    }
    return k;
}

inline u32 add_fault(ModelDrive* d, const ModelFault& f) {
    if (!d) return ~0u;
    d->faults.push_back(f);
    return u32(d->faults.size() - 1);
}
inline u64 fault_hits(const ModelDrive* d, u32 id) { return d && id < d->faults.size() ? d->faults[id].hits : 0; }
inline void clear_faults(ModelDrive* d) {
    if (d) d->faults.clear();
}
inline void hang(ModelDrive* d) {
    if (d) d->hang();
}
inline u8* data_of(ModelDrive* d) { return d ? d->media.store.mem : nullptr; }
inline int sync(ModelDrive* d) { return d ? d->media.store.sync() : 0; }

inline int next_message(ExternalDrive* d, db_ext_msg* out) { return d ? take(d->out, out, 1) : 0; }
inline int answer(ExternalDrive* d, u64 id, u32 status, const void* data) {
    return d ? d->answer(id, status, static_cast<const u8*>(data)) : -1;
}
inline int start_read(ExternalDrive* d, u64 addr, u32 len) { return d && len ? d->start_read(addr, len) : -1; }
inline int poll(ExternalDrive* d, int handle, void* data) { return d ? d->poll(handle, static_cast<u8*>(data)) : -2; }
inline void start_write(ExternalDrive* d, u64 addr, const void* data, u32 len) {
    if (d) d->start_write(addr, static_cast<const u8*>(data), len);
}
inline void set_sizes(ExternalDrive* d, u32 mps, u32 mrrs) {
    if (!d) return;
    d->mps = mps;
    d->mrrs = mrrs;
}

}  // namespace db
