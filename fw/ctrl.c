// SPDX-License-Identifier: Apache-2.0
// The controller's life: enable, disable, shutdown, resets (Base 2.0, 3.5 to 3.7), and the loop that waits for work.
#include "fw.h"

uint32_t ctrl_cc;

// DISABLED: CC.EN is 0. READY: commands are executed. OFF: shut down. FAILED: CSTS.CFS is 1.
static enum { DISABLED, READY, OFF, FAILED } state;
static bool notified;  // the shutdown that CC.SHN asks for has been done

static void set_csts(uint32_t rdy, uint32_t cfs, uint32_t shst)
{
    HW->CSTS = rdy | cfs << DB_SSD_FW__CSTS__CFS_bp | shst << DB_SSD_FW__CSTS__SHST_bp;
}

void ctrl_fail(void)
{
    HW->CTL = 0;
    set_csts(state == READY, 1, 0);
    state = FAILED;
}

/// Bring the data path to rest and back to what it is after power-on; all queues are gone then.
static void reset(bool function)
{
    HW->CTL = DB_SSD_FW__CTL__STOP_bm;
    HW->EVENT = EV(EN_FELL) | EV(CC);
    uint64_t limit = hw_time() + CFG_WAIT_US;
    (void)hw_wait_only(EV(QUIET), limit);
    (void)hw_wait_only(EV(MEDIA_IDLE), limit);
    (void)hw_wait_only(EV(QUIET), limit);
    HW->CTL = DB_SSD_FW__CTL__STOP_bm | DB_SSD_FW__CTL__DP_RST_bm;
    if (function) {
        HW->CTL = DB_SSD_FW__CTL__STOP_bm | DB_SSD_FW__CTL__FN_RST_bm;
        (void)hw_time();  // let CC fall
        HW->EVENT = EV(EN_FELL) | EV(CC) | EV(NSSR);
    }
    HW->EVENT = EV(DBERR);
    admin_reset();
    features_reset();
    csd_reset();
    aer_reset();
    state = DISABLED;
    notified = false;
    set_csts(0, 0, 0);
    HW->CTL = 0;
}

static bool settings_valid(uint32_t cc, uint32_t aqa)
{
    uint32_t css = CC_CSS(cc);
    return CC_MPS(cc) == 0 && CC_AMS(cc) <= 1 && (css == 0 || css == 6) && (aqa & 0xfffu) && (aqa >> 16 & 0xfffu);
}

static void enable(uint32_t cc)
{
    uint32_t aqa = HW->AQA;
    ctrl_cc = cc;
    notified = false;
    if (!settings_valid(cc, aqa)) {
        ctrl_fail();
        return;
    }
    hw_queue(DB_SSD_FW__QC_CTL__CQ_bm | DB_SSD_FW__QC_CTL__VALID_bm | DB_SSD_FW__QC_CTL__IEN_bm,
             (uint64_t)HW->ACQ_HI << 32 | HW->ACQ_LO, aqa >> 16 & 0xfffu, 0);
    hw_queue(DB_SSD_FW__QC_CTL__VALID_bm, (uint64_t)HW->ASQ_HI << 32 | HW->ASQ_LO, aqa & 0xfffu, 0);
    HW->CTL = DB_SSD_FW__CTL__RUN_bm | (CC_AMS(cc) ? DB_SSD_FW__CTL__WRR_bm : 0);
    state = READY;
    boot_record[2] = 1;
    set_csts(1, 0, 0);
}

static void shut_down(uint32_t shn)
{
    bool rdy = state == READY;
    bool cfs = state == FAILED;
    notified = true;
    set_csts(rdy, cfs, 1);
    HW->CTL = 0;
    // A normal shutdown ends the commands that have been taken; an abrupt one stops them where they are. Either way the
    // media has answered every write before it is told to flush.
    if (rdy && !(shn == 1 && hw_wait(EV(DRAINED), hw_time() + CFG_WAIT_US))) {
        HW->CTL = DB_SSD_FW__CTL__STOP_bm;
        (void)hw_wait(EV(QUIET), hw_time() + CFG_WAIT_US);
    }
    (void)hw_media(0, 0, 0);
    if (HW->EVENT & EV_RESET)
        return;
    if (state == READY)
        state = OFF;
    boot_record[2] = 0;
    set_csts(rdy, cfs, 2);
}

static void collect_errors(void)
{
    while (HW->EVENT & EV(ERR)) {
        uint32_t id = HW->ERR_ID;
        log_error(id >> DB_SSD_FW__ERR_ID__SQID_bp & 0xffu, id & 0xffffu, HW->ERR_STATUS & 0x7fffu, HW->ERR_NSID,
                  (uint64_t)HW->ERR_LBA_HI << 32 | HW->ERR_LBA_LO);
        HW->ERR_STATUS = DB_SSD_FW__ERR_STATUS__POP_bm;
    }
}

static void collect_doorbell(void)
{
    uint32_t bad = HW->DBERR;
    HW->EVENT = EV(DBERR);
    if (state != READY)
        return;
    log_error(bad >> DB_SSD_FW__DBERR__QID_bp & 0xffu, 0xffff, ST_QUEUE_ID, 0, 0);
    aer_event(AER_ERROR, bad & 1u);  // 0 no such doorbell, 1 bad value
}

_Noreturn void ctrl_loop(void)
{
    for (;;) {
        uint32_t now = HW->EVENT;
        if (now & EV(FLR)) {
            reset(true);
            HW->CTL = DB_SSD_FW__CTL__FLR_DONE_bm;
            while (HW->EVENT & EV(FLR))
                ;
        } else if (now & EV(NSSR)) {
            reset(true);
            HW->CSTS = DB_SSD_FW__CSTS__NSSRO_bm;
        } else if (now & EV(EN_FELL)) {
            reset(false);
        }
        HW->EVENT = EV(CC);
        uint32_t cc = HW->CC;
        if (state == DISABLED && CC_EN(cc))
            enable(cc);
        if (CC_SHN(cc) == 1 || CC_SHN(cc) == 2) {
            if (!notified)
                shut_down(CC_SHN(cc));
        }
        collect_errors();
        if (now & EV(DBERR))
            collect_doorbell();
        if (state == READY) {
            cmd_t cmd;
            if (hw_command(&cmd)) {
                admin_execute(&cmd);
                continue;
            }
            if (now & EV(TIMER))
                admin_timer();
        }
        uint32_t awake = EV(CC) | EV(ERR) | EV(DBERR) | EV_RESET;
        hw_sleep(state == READY ? awake | EV(SQE) : awake, state == READY ? admin_deadline() : NEVER);
    }
}

int main(void)
{
    boot_record[0]++;
    boot_record[1] += boot_record[2];
    boot_record[2] = 0;
    hw_init();
    csd_init();
    log_init();
    ns_init();
    identify_init();
    admin_reset();
    features_reset();
    aer_reset();
    ctrl_loop();
}
