// SPDX-License-Identifier: Apache-2.0
// What the firmware's files share. A command function returns the status of its command, or PENDING if the command is
// completed later; it may set *dw0.
#ifndef FW_H
#define FW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "db_csd.h"
#include "db_ssd_fw.h"
#include "nvme.h"

void *memset(void *to, int value, size_t n);

#define HW ((volatile db_ssd_fw_t *)0x80000000u)
#define PAGE    4096u
#define PENDING 0xffffu
#define MAX_QP  254u
#define MAX_VEC 2048u
#define MAX_NS  64u
#define NEVER   (~(uint64_t)0)

#define EV(name) DB_SSD_FW__EVENT__##name##_bm
#define EV_RESET (EV(EN_FELL) | EV(NSSR) | EV(FLR))

// ---------------------------------------------------------------- hw.c: the hardware
extern uint8_t num_qp, num_ns;
extern uint16_t num_vec;

void hw_init(void);
uint64_t hw_time(void);
/// Sleep until one of the events is there or time_us has reached `wake`.
void hw_sleep(uint32_t events, uint64_t wake);
/// Wait for one of `events`. False: a reset was asked for meanwhile, or the time is over.
bool hw_wait(uint32_t events, uint64_t until);
/// The same, whatever else is asked for.
bool hw_wait_only(uint32_t events, uint64_t until);
bool hw_command(cmd_t *cmd);
void hw_complete(uint32_t fn, uint32_t sqid, uint32_t cid, uint32_t status, uint32_t dw0);
void hw_queue(uint32_t ctl, uint64_t base, uint32_t size, uint32_t vector);
bool hw_copy(uint32_t op, uint32_t fn, uint64_t host, const void *ram, uint32_t bytes);
/// Media command: 0 flush, 1 zero. False: it failed.
bool hw_media(uint32_t op, uint64_t addr, uint64_t bytes);
/// Let the commands inside end; none is fetched until `hw_go_on`. False: they did not, or a reset was asked for.
bool hw_hold(uint32_t *ctl);
void hw_go_on(uint32_t ctl);
void hw_namespace(uint32_t nsid, bool valid, bool lba4k, uint64_t base, uint64_t blocks);

enum { COPY_PUT = 0, COPY_ZERO = 1, COPY_GET = 2 };

// ---------------------------------------------------------------- util.c
void put16(uint8_t *at, uint32_t v);
void put32(uint8_t *at, uint32_t v);
void put64(uint8_t *at, uint64_t v);
/// Text, padded with spaces to n bytes.
void put_text(uint8_t *at, const char *text, uint32_t n);
void put_hex(uint8_t *at, uint32_t v);
/// n / d; the remainder too if asked for.
uint64_t div_u64(uint64_t n, uint32_t d, uint32_t *remainder);

// ---------------------------------------------------------------- xfer.c: data of a command, through its PRPs
typedef struct {
    uint32_t fn;
    uint32_t left;     // bytes not yet moved
    uint32_t room;     // bytes left in this page
    uint64_t at;       // host address
    uint64_t prp2;
    bool list;         // prp2 points into a list
} data_t;

/// The page all data is built in.
extern uint8_t page[PAGE];

uint32_t data_open(data_t *d, const cmd_t *cmd, uint32_t bytes);
uint32_t data_put(data_t *d, const uint8_t *ram, uint32_t bytes);
uint32_t data_zero(data_t *d, uint32_t bytes);
uint32_t data_get(data_t *d, uint32_t *words, uint32_t bytes);
/// Send the first `bytes` of `page` as `total` bytes, zeros behind them.
uint32_t data_send(const cmd_t *cmd, uint32_t bytes, uint32_t total);
/// Leave nothing of what `data_get` has read.
void data_forget(void);

// ---------------------------------------------------------------- ctrl.c: the controller's life
extern uint32_t ctrl_cc;        // CC at enable
void ctrl_fail(void);
_Noreturn void ctrl_loop(void);
extern uint32_t boot_record[3];  // start.S: power cycles, unsafe shutdowns, enabled and not shut down
extern const uint32_t serial_number;

// ---------------------------------------------------------------- admin.c: commands
void admin_reset(void);
void admin_execute(const cmd_t *cmd);
void admin_timer(void);
uint64_t admin_deadline(void);
void keep_alive_restart(void);
bool queues_exist(void);

// ---------------------------------------------------------------- events and logs
void log_init(void);
void log_error(uint32_t sqid, uint32_t cid, uint32_t status, uint32_t nsid, uint64_t lba);
uint32_t log_get(const cmd_t *cmd);
/// What the next entry of the error log has as command specific information.
void log_specific(uint64_t value);
enum { AER_ERROR = 0, AER_SMART = 1, AER_NOTICE = 2, AER_TYPES = 3 };
void aer_reset(void);
void aer_event(uint32_t type, uint32_t info);
void aer_unmask(uint32_t type);
uint32_t aer_command(const cmd_t *cmd);
bool aer_abort(uint32_t cid);
uint8_t smart_warning(void);

// ---------------------------------------------------------------- identify.c, features.c, format.c
void identify_init(void);
uint32_t identify(const cmd_t *cmd);
void features_reset(void);
uint32_t features_set(const cmd_t *cmd, uint32_t *dw0);
uint32_t features_get(const cmd_t *cmd, uint32_t *dw0);
bool feature_known(uint32_t fid);
uint32_t feature_events(void);
uint32_t feature_temperature(bool under);
uint64_t feature_keep_alive_us(void);
uint32_t format(const cmd_t *cmd);

// ---------------------------------------------------------------- namespace.c
void ns_init(void);
bool ns_exists(uint32_t nsid);
/// It exists and is attached to this controller.
bool ns_active(uint32_t nsid);
/// Success, or what a command ends with that wants it to be so.
uint32_t ns_check_exists(uint32_t nsid);
uint32_t ns_check_active(uint32_t nsid);
bool ns_lba4k(uint32_t nsid);
uint64_t ns_blocks(uint32_t nsid);
uint64_t ns_bytes(uint32_t nsid);
/// How many had been created since power-on when this one was; 0: it was there then.
uint32_t ns_generation(uint32_t nsid);
uint64_t ns_free_bytes(void);
/// Zero it and set its block size, while fetching is held. False: the media failed.
bool ns_format(uint32_t nsid, bool lba4k);
uint32_t ns_management(const cmd_t *cmd, uint32_t *dw0);
uint32_t ns_attachment(const cmd_t *cmd);
/// Log page 04h, built in `page`; and that it has been read.
uint32_t ns_changed_page(void);
void ns_changed_read(void);

// ---------------------------------------------------------------- csd.c: operators in the data path
extern uint32_t csd_slots;  // key slots; 0: there are no operators
void csd_init(void);
void csd_reset(void);
bool csd_feature(uint32_t fid);
uint32_t csd_feature_set(uint32_t fid, uint32_t value);
uint32_t csd_feature_get(uint32_t fid);
/// Its key goes: before its media is zeroed, so that nothing readable is left if that fails.
void csd_erase_ns(uint32_t nsid);
/// It is gone: binding and results are forgotten. Last, when nothing of it is under way.
void csd_forget_ns(uint32_t nsid);
uint32_t csd_key_load(const cmd_t *cmd);
uint32_t csd_key_erase(const cmd_t *cmd);
uint32_t csd_bind(const cmd_t *cmd);
uint32_t csd_page(void);
#define CSD_RESULTS_BYTES (64u + CFG_RESULTS * 64u)
uint32_t csd_results_page(void);

#endif
