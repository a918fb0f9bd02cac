// SPDX-License-Identifier: Apache-2.0
#include "common/storage.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace db {

Storage::~Storage() {
    if (mem) {
        sync();
        munmap(mem, size);
    }
    if (fd >= 0) close(fd);
}

bool Storage::open(u64 bytes, const char* image, const char* what, std::string& why) {
    size = bytes & ~u64{4095};
    if (image && *image) {
        const std::string name = image;
        fd = ::open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return why = "cannot open " + name + ": " + strerror(errno), false;
        if (flock(fd, LOCK_EX | LOCK_NB)) return why = name + " is in use by another simulation", false;
        struct stat st;
        if (fstat(fd, &st)) return why = name + ": " + strerror(errno), false;
        if (!size) size = u64(st.st_size) & ~u64{4095};
        if (u64(st.st_size) < size && ftruncate(fd, off_t(size)))
            return why = "cannot extend " + name + ": " + strerror(errno), false;
    }
    if (!size) return why = std::string(what) + " needs at least 4096 bytes", false;
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) return why = std::string("cannot map ") + what + ": " + strerror(errno), false;
    mem = static_cast<u8*>(p);
    return true;
}

int Storage::sync() { return fd >= 0 && (msync(mem, size, MS_SYNC) || fdatasync(fd)) ? -1 : 0; }

bool Storage::zero(u64 at, u64 bytes) {
    if (at > size || bytes > size - at) return false;
    if (fd >= 0) {
        if (bytes && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at), off_t(bytes)))
            std::memset(mem + at, 0, bytes);
        return true;
    }
    const u64 lo = (at + 4095) & ~u64{4095}, hi = (at + bytes) & ~u64{4095};
    if (lo >= hi || madvise(mem + lo, hi - lo, MADV_DONTNEED)) {
        std::memset(mem + at, 0, bytes);
    } else {
        std::memset(mem + at, 0, lo - at);
        std::memset(mem + hi, 0, at + bytes - hi);
    }
    return true;
}

}  // namespace db
