// SPDX-License-Identifier: Apache-2.0
// The hardware: time, sleep, commands in, completions and data out.
#include "fw.h"

// Entries that the hardware writes, 32 words each: the entry, then its function.
static volatile uint32_t ring[16][32] __attribute__((aligned(2048), section(".scratch")));

uint8_t num_qp, num_ns;
uint16_t num_vec;

void hw_init(void)
{
    uint32_t config = HW->CONFIG;
    num_qp = (uint8_t)config;
    num_vec = (uint16_t)(config >> DB_SSD_FW__CONFIG__NUM_VEC_bp);
    num_ns = (uint8_t)(config >> DB_SSD_FW__CONFIG__NUM_NS_bp);
    if (num_ns > MAX_NS)
        num_ns = MAX_NS;
    HW->SQ_RING = (uint32_t)ring;
}

uint64_t hw_time(void)
{
    uint32_t hi, lo;
    do {
        hi = HW->TIME_HI;
        lo = HW->TIME_LO;
    } while (hi != HW->TIME_HI);
    return (uint64_t)hi << 32 | lo;
}

static void wait_irq(void)
{
    // picorv32's waitirq a0: goes on when its interrupt input is high
    __asm__ volatile(".word 0x0800050b" ::: "a0", "memory");
}

void hw_sleep(uint32_t events, uint64_t wake)
{
    HW->WAKE_HI = 0xffffffffu;  // never by a half-written time
    HW->WAKE_LO = (uint32_t)wake;
    HW->WAKE_HI = (uint32_t)(wake >> 32);
    HW->WAKE_ON = events | EV(TIMER);
    HW->SLEEP = 1;
    wait_irq();
}

static bool wait_for(uint32_t events, uint32_t give_up, uint64_t until)
{
    for (;;) {
        uint32_t now = HW->EVENT;
        if (now & give_up)
            return false;
        if (now & events)
            return true;
        if (until != NEVER && hw_time() >= until)
            return false;
        hw_sleep(events | give_up, until);
    }
}

bool hw_wait(uint32_t events, uint64_t until) { return wait_for(events, EV_RESET, until); }

bool hw_wait_only(uint32_t events, uint64_t until) { return wait_for(events, 0, until); }

bool hw_command(cmd_t *cmd)
{
    uint32_t pointers = HW->SQ_PTR;
    uint32_t rd = pointers >> DB_SSD_FW__SQ_PTR__RD_PTR_bp & 31u;
    if (rd == (pointers & 31u))
        return false;
    const volatile uint32_t *from = ring[rd & 15u];
    _Pragma("unroll") for (uint32_t i = 0; i < 16; i++)
        cmd->dw[i] = from[i];
    cmd->fn = from[16];
    HW->SQ_PTR = ((rd + 1) & 31u) << DB_SSD_FW__SQ_PTR__RD_PTR_bp;
    return true;
}

void hw_complete(uint32_t fn, uint32_t sqid, uint32_t cid, uint32_t status, uint32_t dw0)
{
    if (!hw_wait(EV(CPL_IDLE), NEVER))
        return;  // a reset takes the command with it
    HW->CPL_DW0 = dw0;
    HW->CPL_ID = cid | sqid << DB_SSD_FW__CPL_ID__SQID_bp | fn << DB_SSD_FW__CPL_ID__FN_bp;
    HW->CPL_STATUS = (status & 0x7fffu) | DB_SSD_FW__CPL_STATUS__GO_bm;
}

void hw_queue(uint32_t ctl, uint64_t base, uint32_t size, uint32_t vector)
{
    if (!hw_wait(EV(QC_IDLE), NEVER))
        return;
    HW->QC_BASE_LO = (uint32_t)base;
    HW->QC_BASE_HI = (uint32_t)(base >> 32);
    HW->QC_SIZE = size | vector << DB_SSD_FW__QC_SIZE__VECTOR_bp;
    HW->QC_CTL = ctl | DB_SSD_FW__QC_CTL__GO_bm;
    (void)hw_wait(EV(QC_IDLE), NEVER);
}

bool hw_copy(uint32_t op, uint32_t fn, uint64_t host, const void *ram, uint32_t bytes)
{
    if (!hw_wait(EV(COPY_IDLE), NEVER))
        return false;
    HW->COPY_HOST_LO = (uint32_t)host;
    HW->COPY_HOST_HI = (uint32_t)(host >> 32);
    HW->COPY_RAM = (uint32_t)ram;
    HW->COPY_CMD = bytes >> 2 | op << DB_SSD_FW__COPY_CMD__OP_bp | fn << DB_SSD_FW__COPY_CMD__FN_bp
                 | DB_SSD_FW__COPY_CMD__GO_bm;
    if (!hw_wait(EV(COPY_IDLE), NEVER))
        return false;
    __asm__ volatile("" ::: "memory");  // a read has changed RAM
    return op != COPY_GET || HW->COPY_STAT == 0;
}

bool hw_media(uint32_t op, uint64_t addr, uint64_t bytes)
{
    if (!hw_wait_only(EV(MEDIA_IDLE), hw_time() + CFG_WAIT_US))
        return false;
    HW->MC_ADDR_LO = (uint32_t)addr;
    HW->MC_ADDR_HI = (uint32_t)(addr >> 32);
    HW->MC_BYTES_LO = (uint32_t)bytes;
    HW->MC_BYTES_HI = (uint32_t)(bytes >> 32);
    HW->MC_CMD = op | DB_SSD_FW__MC_CMD__GO_bm;
    if (!hw_wait(EV(MEDIA_IDLE), NEVER))
        return false;
    return (HW->MC_CMD & DB_SSD_FW__MC_CMD__ERR_bm) == 0;
}

bool hw_hold(uint32_t *ctl)
{
    *ctl = HW->CTL;
    HW->CTL = *ctl & ~DB_SSD_FW__CTL__RUN_bm;
    return hw_wait(EV(DRAINED), hw_time() + CFG_WAIT_US);
}

void hw_go_on(uint32_t ctl)
{
    if (!(HW->EVENT & EV_RESET))
        HW->CTL = ctl;
}

void hw_namespace(uint32_t nsid, bool valid, bool lba4k, uint64_t base, uint64_t blocks)
{
    HW->NS_BASE_LO = (uint32_t)base;
    HW->NS_BASE_HI = (uint32_t)(base >> 32);
    HW->NS_BLOCKS_LO = (uint32_t)blocks;
    HW->NS_BLOCKS_HI = (uint32_t)(blocks >> 32);
    HW->NS_CTL = (nsid - 1) | (valid ? DB_SSD_FW__NS_CTL__VALID_bm : 0) | (lba4k ? DB_SSD_FW__NS_CTL__LBA4K_bm : 0)
               | DB_SSD_FW__NS_CTL__GO_bm;
}
