// SPDX-License-Identifier: Apache-2.0
#include "common/storage.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace db {

namespace {
constexpr u64 PAGE = 4096;
constexpr char TRUNCATED[] = "it was truncated: accesses beyond its end, and flushes, fail";
constexpr u64 ZEROES = 1 << 16;  // written at once where no hole can be made
}  // namespace

Storage::~Storage() {
    if (mem) {
        sync();
        munmap(mem, size);
    }
    if (fd >= 0) close(fd);
}

// An open file description's lock, as QEMU's are: it looks at some bytes of its own, so all of the file is locked.
bool Storage::lock(std::string& why) {
    struct flock all = {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    if (!fcntl(fd, F_OFD_SETLK, &all)) return true;
    const bool held = errno == EAGAIN || errno == EACCES;
    return why = held ? name + " is in use by another process" : "cannot lock " + name + ": " + strerror(errno), false;
}

bool Storage::open(u64 bytes, const char* image, const char* what, std::string& why) {
    size = bytes & ~(PAGE - 1);
    if (image && *image) {
        name = image;
        fd = ::open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return why = "cannot open " + name + ": " + strerror(errno), false;
        if (!lock(why)) return false;
        struct stat st;
        if (fstat(fd, &st)) return why = name + ": " + strerror(errno), false;
        if (!size) size = u64(st.st_size) & ~(PAGE - 1);
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

// ---- a file that fails

void Storage::say(const std::string& what) {
    if (said.insert(what).second) trouble = name + ": " + what;
}

bool Storage::covers(u64 end) {
    struct stat st;
    if (fd < 0) return true;
    if (fstat(fd, &st)) return false;
    if (u64(st.st_size) >= end) return true;
    unmapped = true;  // of the page that it ends in, too, the mapping has zeros behind that end
    return false;
}

bool Storage::load_from_file(u8* to, u64 at, u64 bytes) {
    const ssize_t got = pread(fd, to, bytes, off_t(at));
    if (got == ssize_t(bytes)) return true;
    return say(got < 0 ? std::string(strerror(errno)) + ": reads fail" : TRUNCATED), false;
}

bool Storage::store_in_file(u64 at, const u8* from, u64 bytes) {
    if (!covers(at + bytes)) return say(TRUNCATED), false;
    errno = ENOSPC;
    if (pwrite(fd, from, bytes, off_t(at)) != ssize_t(bytes))
        return say(std::string(strerror(errno)) + ": writes fail until that is mended"), false;
    return true;
}

// ---- the whole

int Storage::sync() {
    if (fd < 0) return 0;
    if (sync_failed) return -1;
    if (!covers(size)) return sync_failed = true, say(TRUNCATED), -1;
    if (!msync(mem, size, MS_SYNC) && !fdatasync(fd)) return 0;
    sync_failed = true;
    say(std::string(strerror(errno)) + ": could not be written out, what came since the last flush may be lost");
    return -1;
}

bool Storage::zero(u64 at, u64 bytes) {
    if (at > size || bytes > size - at) return false;
    if (!covers(at + bytes)) return say(TRUNCATED), false;
    if (fd >= 0) {
        if (!bytes || !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at), off_t(bytes))) return true;
        const std::string none(std::min(bytes, ZEROES), 0);
        for (u64 done = 0; done < bytes;) {
            const u64 n = std::min(bytes - done, ZEROES);
            if (!store_in_file(at + done, reinterpret_cast<const u8*>(none.data()), n)) return false;
            done += n;
        }
        return true;
    }
    const u64 lo = (at + PAGE - 1) & ~(PAGE - 1), hi = (at + bytes) & ~(PAGE - 1);
    if (lo >= hi || madvise(mem + lo, hi - lo, MADV_DONTNEED)) {
        std::memset(mem + at, 0, bytes);
    } else {
        std::memset(mem + at, 0, lo - at);
        std::memset(mem + hi, 0, at + bytes - hi);
    }
    return true;
}

}  // namespace db
