// SPDX-License-Identifier: Apache-2.0
#include "state/resources.h"

#include "state/drive.h"
#include "state/function.h"

static uint32_t vfs(const struct drive* drive) { return drive->hw.num_fn - 1u; }

/// I/O queues that are the PF's alone: what a full share for each VF leaves, and at least a quarter of all.
static uint32_t private_queues(const struct drive* drive) {
    uint32_t share = drive->hw.vf_vec - 1u, all = drive->hw.num_qp;
    if (vfs(drive) == 0) return all;
    uint32_t least = all / 4u ? all / 4u : 1u, left = share * vfs(drive) < all ? all - share * vfs(drive) : 0;
    uint32_t own = left < least ? least : left;
    return own > QUEUES ? QUEUES : own;
}

struct resources resources_private(const struct drive* drive) {
    return (struct resources){.queues = (uint16_t)(private_queues(drive) + 1), .interrupts = drive->hw.num_vec};
}

/// Each VF has an admin queue of its own, which counts too.
struct resources resources_total(const struct drive* drive) {
    return (struct resources){.queues = (uint16_t)(drive->hw.num_qp - private_queues(drive) + vfs(drive)),
                              .interrupts = (uint16_t)(vfs(drive) * drive->hw.vf_vec)};
}

struct resources resources_most(const struct drive* drive) {
    uint32_t io = drive->hw.num_qp - private_queues(drive);
    if (io > QUEUES) io = QUEUES;
    return (struct resources){.queues = (uint16_t)(io + 1), .interrupts = drive->hw.vf_vec};
}

uint32_t resources_primary_most(const struct drive* drive) {
    uint32_t all = drive->hw.num_qp > QUEUES ? QUEUES : drive->hw.num_qp, own = private_queues(drive);
    return all > own ? all - own : 0;
}

struct resources resources_given(const struct drive* drive) {
    struct resources sum = {0, 0};
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
        sum.queues += drive->functions[i].own.queues;
        sum.interrupts += drive->functions[i].own.interrupts;
    }
    return sum;
}

static void show(struct drive* drive, struct function* fn, uint32_t before_first, uint32_t num_qp) {
    fn->hw.before_first = (uint8_t)before_first;
    fn->hw.num_qp = (uint8_t)num_qp;
    if (drive->hw.num_fn > 1) hw_function_queues(&fn->hw);
}

/// Numbers of I/O queues begin behind the admin queues of all functions.
static uint32_t first_of_all(const struct drive* drive) { return vfs(drive); }

/// Where `count` queues in a row are free for `fn`: behind those of the PF, beside those of the other VFs.
static bool find_row(const struct drive* drive, const struct function* fn, uint32_t count, uint32_t* before_first) {
    uint32_t at = drive->functions[0].hw.before_first + drive->functions[0].hw.num_qp;
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
        const struct hw_function* f = &drive->functions[i].hw;
        if (&drive->functions[i] == fn || f->num_qp == 0) continue;
        if (at < (uint32_t)f->before_first + f->num_qp && f->before_first < at + count) {
            at = (uint32_t)f->before_first + f->num_qp;  // beyond this one, and again past all
            i = 0;
        }
    }
    *before_first = at;
    return at + count <= first_of_all(drive) + drive->hw.num_qp;
}

bool resources_give(struct drive* drive, struct function* fn, struct resources wanted) {
    uint32_t count = wanted.queues ? wanted.queues - 1u : 0, before_first;
    if (!find_row(drive, fn, count, &before_first)) return false;
    fn->own = wanted;
    fn->hw.num_vec = wanted.interrupts;
    show(drive, fn, before_first, count);
    return true;
}

void resources_settle(struct drive* drive) {
    struct function* pf = drive->functions;
    pf->own = drive->primary;
    show(drive, pf, first_of_all(drive), private_queues(drive) + drive->primary.queues);
    // VFs are offline now: they have what is left, in a row.
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) drive->functions[i].hw.num_qp = 0;
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
        if (!resources_give(drive, &drive->functions[i], drive->functions[i].own))
            (void)resources_give(drive, &drive->functions[i], (struct resources){0, 0});
    }
}

void resources_init(struct drive* drive) {
    uint32_t vector = 0;
    if (FUNCTIONS == 1) {
        drive->functions[0].hw = (struct hw_function){.num_qp = drive->hw.num_qp, .num_vec = drive->hw.num_vec};
        return;
    }
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        struct function* fn = &drive->functions[i];
        fn->hw = (struct hw_function){.place = (uint8_t)i,
                                      .number = (uint8_t)hw_number(i),
                                      .num_vec = i ? 0 : drive->hw.num_vec,
                                      .first_vec = (uint16_t)vector};
        fn->events.function = fn->hw.number;
        fn->online = i == 0;
        // Parts of VFs begin at multiples of their length (db_pcie_msix).
        vector = i ? vector + drive->hw.vf_vec : (drive->hw.num_vec + drive->hw.vf_vec - 1u) & ~(drive->hw.vf_vec - 1u);
    }
    resources_settle(drive);
}
