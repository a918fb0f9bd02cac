// SPDX-License-Identifier: Apache-2.0
// Where the registers stand. For the files of this folder alone.
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#include "db_csd.h"
#include "db_csd_near.h"
#include "db_csd_slots.h"
#include "db_ssd_fw.h"
#include "db_vcsd.h"
#include "db_vcsd_ssds.h"
#include "doorbell_facts.h"

#define HW ((volatile db_ssd_fw_t*)FW_REGISTERS)
#define CSD ((volatile db_csd_t*)FW_EXTENSION)
#define VCSD ((volatile db_vcsd_t*)FW_EXTENTS)
#define NEAR ((volatile db_csd_near_t*)FW_NEAR)
#define SLOTS ((volatile db_csd_slots_t*)FW_SLOTS)
#define SSDS ((volatile db_vcsd_ssds_t*)FW_SSDS)

#endif
