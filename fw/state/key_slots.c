// SPDX-License-Identifier: Apache-2.0
#include "state/key_slots.h"

#include "state/drive.h"
#include "state/function.h"

static uint32_t of_a_vf(const struct drive* drive) {
    uint32_t each = 0;  // no division, which takes microseconds: a reset of the PF asks hundreds of times
    for (uint32_t left = drive->hw.key_slots; left >= drive->hw.num_fn; left -= drive->hw.num_fn) each++;
    return each;
}

/// The first slot of a VF; those of the last VF are the last.
static uint32_t first_of(const struct drive* drive, uint32_t place) {
    return drive->hw.key_slots - (drive->hw.num_fn - place) * of_a_vf(drive);
}

uint32_t key_slots_known(const struct drive* drive, const struct function* fn) {
    if (FUNCTIONS == 1 || fn->hw.place == 0) return drive->hw.key_slots;
    return of_a_vf(drive) + 1u;
}

uint32_t key_slot_of(const struct drive* drive, const struct function* fn, uint32_t number) {
    if (FUNCTIONS == 1) return number;
    if (number >= key_slots_known(drive, fn)) return NO_KEY_SLOT;
    return fn->hw.place && number ? first_of(drive, fn->hw.place) + number - 1u : number;
}

uint32_t key_slot_shown(const struct drive* drive, const struct function* fn, uint32_t slot) {
    if (FUNCTIONS == 1 || fn->hw.place == 0) return slot;
    uint32_t first = first_of(drive, fn->hw.place);
    return slot >= first && slot < first + of_a_vf(drive) ? slot - first + 1u : 0;
}

uint32_t key_slot_own(const struct drive* drive, const struct function* fn, uint32_t number) {
    uint32_t slot = key_slot_of(drive, fn, number);
    bool of_vf = FUNCTIONS > 1 && drive->hw.num_fn > 1 && !fn->hw.place && slot >= first_of(drive, 1);
    return of_vf ? NO_KEY_SLOT : slot;
}

bool key_slot_serves(const struct drive* drive, uint32_t slot, uint32_t nsid) {
    if (FUNCTIONS == 1 || drive->hw.num_fn == 1 || slot < first_of(drive, 1)) return true;
    if (drive->namespaces.of[nsid].shared) return false;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        const struct function* fn = &drive->functions[i];
        if (fn->ns[nsid].attached && (i == 0 || key_slot_shown(drive, fn, slot) == 0)) return false;
    }
    return true;
}
