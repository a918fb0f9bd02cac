// SPDX-License-Identifier: Apache-2.0
// A queue of fixed size that never allocates.
#pragma once

#include "common/types.h"

namespace db {

/// Ring of N (a power of two) entries. `mid` is a second read pointer between head and tail, for queues whose entries
/// are first sent and later arrive; plain queues ignore it.
template <class T, u32 N>
struct Ring {
    static_assert((N & (N - 1)) == 0, "power of two");
    T a[N] = {};  // what is behind a packet's end is on lanes that nobody reads, but the same in every waveform
    u32 head = 0, mid = 0, tail = 0;

    u32 size() const { return tail - head; }
    u32 sent() const { return mid - head; }
    u32 unsent() const { return tail - mid; }
    bool empty() const { return head == tail; }
    bool full() const { return tail - head == N; }
    T& front() { return a[head & (N - 1)]; }
    const T& front() const { return a[head & (N - 1)]; }
    T& next() { return a[mid & (N - 1)]; }
    const T& next() const { return a[mid & (N - 1)]; }
    T& slot() { return a[tail & (N - 1)]; }  // the entry that push() will add
    T& at(u32 i) { return a[i & (N - 1)]; }
    void push() { ++tail; }
    void push(const T& v) {
        slot() = v;
        ++tail;
    }
    void pop() { ++head; }
    void clear() { head = mid = tail = 0; }
};

}  // namespace db
