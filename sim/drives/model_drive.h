// SPDX-License-Identifier: Apache-2.0
// A behavioural NVMe SSD, written from the specification (NVMe Base 2.0, NVM Command Set 1.0): registers, queues, PRPs,
// commands, completions, as PCIe requests on the link; with latencies, rates, stalls and faults. Each job has a source
// of its own, model_drive_*.cpp.
#pragma once

#include <queue>
#include <string>

#include "common/counters.h"
#include "drives/identify.h"
#include "drives/model_commands.h"
#include "drives/model_media.h"
#include "drives/nvme_constants.h"
#include "drives/pci_function.h"
#include "pcie/drive.h"

namespace db {

#define DB_MODEL_COUNTERS(X)                \
    X(FETCHES, "drive.fetches")             \
    X(SQES, "drive.sqes")                   \
    X(LIST_READS, "drive.list_reads")       \
    X(DATA_READS, "drive.data_reads")       \
    X(DATA_WRITES, "drive.data_writes")     \
    X(CQES, "drive.cqes")                   \
    X(DOORBELLS, "drive.doorbells")         \
    X(FAULTS, "drive.faults")               \
    X(STALLS, "drive.stalls")               \
    X(MAX_INFLIGHT, "drive.max_inflight")   \
    X(SHUTDOWNS, "drive.shutdowns")         \
    X(BAD_DOORBELL, "error.drive_doorbell") \
    X(BAD_ACCESS, "error.drive_access")
DB_COUNTERS(ModelCount, DB_MODEL_COUNTERS)

class ModelDrive final : public Drive {
    static constexpr u32 PAGE = 4096, QUEUES = 64, COMMANDS = 2048, ADMIN_COMMANDS_LEFT = 16;
    static constexpr u32 SLOT_BITS = 11;
    static_assert(COMMANDS == 1u << SLOT_BITS, "a handle is slot and serial number");

    enum Timer : u8 { T_MEDIA, T_DONE, T_READY, T_UNREADY, T_SHUTDOWN };
    struct Event {
        u64 at, seq;
        Timer kind;
        u32 cmd, gen;
        bool operator>(const Event& o) const { return at != o.at ? at > o.at : seq > o.seq; }
    };
    enum ReadKind : u8 { R_SQE, R_LIST, R_DATA };
    struct ReadOp {
        bool on = false, bad = false;
        ReadKind kind = R_SQE;
        u32 gen = 0, cmd = 0, len = 0, qid = 0, slot = 0;
        u64 at = 0;  // data: offset in the command; list: entries of its page behind what is read
        std::vector<u8> buf;
    };

    const db_model_config& c;
    PciFunction pci;
    Smart smart;
    u64 khz, blocks = 0;
    u32 index;

    u32 cc = 0, csts = 0, aqa = 0, intms = 0;
    u64 asq = 0, acq = 0;
    u32 gen = 0;  // of the controller: what is on its way for an older one is forgotten
    ModelSq sq[QUEUES];
    ModelCq cq[QUEUES];
    std::vector<ModelCommand> cmd;
    std::vector<u32> free_cmd;
    u32 serial = 0, inflight = 0, rr = 0, fetches_out = 0, reads_out = 0, next_tag = 0;
    ReadOp op[DrivePort::TAGS];
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> timers;
    u64 timer_seq = 0, buffered = 0;
    std::deque<u32> list_q, read_q, write_q, cqe_q;
    bool link_on = false, hung = false, fetch_due = false;  // fetch_due: some queue may have entries
    bool gone = false;                                      // pulled out, and the link does not show it yet

    // Commands go by handles, so that what is left over of one is not taken for the next in its slot.
    ModelCommand& of(u32 handle) { return cmd[handle & (COMMANDS - 1)]; }
    const ModelCommand& of(u32 handle) const { return cmd[handle & (COMMANDS - 1)]; }
    bool live(u32 handle) const { return of(handle).on && of(handle).handle == handle; }
    void at(u64 t, Timer kind, u32 i) { timers.push(Event{t, timer_seq++, kind, i, gen}); }
    u32 room_for_commands(u32 qid) const { return c.max_cmds + (qid ? 0 : ADMIN_COMMANDS_LEFT); }

    // ---- registers
    void controller_reset();
    bool enable();
    u64 cap() const;
    u32 reg_read(u32 off) const;
    void reg_write(u32 off, u32 v);
    void write_cc(u32 v);
    void doorbell(u32 off, u32 v);
    void cq_doorbell(ModelCq& q, u32 v);
    void sq_doorbell(ModelSq& q, u32 v);

    // ---- reads of host memory, fetching
    bool take_tag(u32& tag);
    ReadOp& start_read(u32 tag, ReadKind kind, u64 addr, u32 len);
    u32 cut(u64 addr, u64 left) const;
    bool try_fetch();
    void fetch_done(ReadOp& o);
    void command(u32 qid, const u8* entry);

    // ---- PRPs
    void start_data(u32 i);
    bool next_list();
    void list_read(ReadOp& o);
    void listed(u32 i);
    u64 place(const ModelCommand& m, u64 off, u64& left) const;

    // ---- data
    void ready(u32 i);
    bool next_data_read();
    void data_read(ReadOp& o);
    bool take_pages(ModelCommand& m, u64 end);
    bool next_data_write();

    // ---- commands
    void io(u32 i);
    void at_later(u32 i, u64 from, u32 kind);
    void done(u32 i);
    bool durable(const ModelCommand& m);
    void deallocate(ModelCommand& m);
    void check_media(ModelCommand& m, bool good);
    void admin(u32 i);
    void give(u32 i, u64 bytes);
    void identify(u32 i);
    void log_page(u32 i);
    u32 feature(u32 i);
    void abort_command(u32 i);
    u32 create_sq(const ModelCommand& m);
    u32 create_cq(const ModelCommand& m);
    u32 delete_sq(u32 qid);
    u32 delete_cq(u32 qid);

    // ---- the end of a command
    void release(u32 i);
    void finish(u32 i, u32 status);
    bool next_cqe();

    // ---- faults
    const ModelFault* fault(const ModelCommand& m);
    bool meet_fault(u32 i);

    void expired(const Event& e);

  public:
    ModelMedia media;
    Counters<ModelCount> count;
    std::vector<ModelFault> faults;

    ModelDrive(const db_host_port& p, u64 clock_khz, u64 seed, u32 i);
    bool open(std::string& why);
    /// The controller fails: CSTS.CFS, and no further answer.
    void hang();

    void config(u32 handle, u32 target, u32 reg, bool write, u32 data, u8 be) override;
    void mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) override;
    void mem_read(u32 handle, u64 addr, u32 dw, u8, u8) override;
    void read_data(u32 tag, u32 at_dw, const u8* data, u32 dw, u32 status, bool last) override;
    void reset() override;
    void link(bool up) override;
    void step() override;
    u64 next_event() const override;
};

}  // namespace db
