# SPDX-License-Identifier: Apache-2.0
# First instruction at address 0. The processor sets the stack pointer to the end of RAM by itself.
#ifndef SERIAL
#define SERIAL 1
#endif
    .section .init, "ax"
    .globl _start
_start:
    j begin
    .globl serial_number
serial_number:
    .word SERIAL                # word 1 of the image: the drive's serial number
    .globl boot_record
boot_record:                    # not cleared by a reset: power cycles, unsafe shutdowns, enabled and not shut down
    .word 0, 0, 0
begin:
    la t0, bss_start            # both 16-byte aligned
    la t1, bss_end
clear:
    sw zero, 0(t0)
    sw zero, 4(t0)
    sw zero, 8(t0)
    sw zero, 12(t0)
    addi t0, t0, 16
    bltu t0, t1, clear
    j main
