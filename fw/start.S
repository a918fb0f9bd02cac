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
#if FUNCTIONS > 1
    la sp, stack_top            # the rings are behind it
#endif
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
#if FUNCTIONS > 1
# Prologues and epilogues of all functions, once (-msave-restore): so many of s0 to s11, and ra, in whole 16 bytes.
    .section .text.save_restore, "ax"
    .globl __riscv_save_0, __riscv_save_1, __riscv_save_2, __riscv_save_3, __riscv_save_4, __riscv_save_5, __riscv_save_6
    .globl __riscv_save_7, __riscv_save_8, __riscv_save_9, __riscv_save_10, __riscv_save_11, __riscv_save_12
    .globl __riscv_restore_0, __riscv_restore_1, __riscv_restore_2, __riscv_restore_3, __riscv_restore_4
    .globl __riscv_restore_5, __riscv_restore_6, __riscv_restore_7, __riscv_restore_8, __riscv_restore_9
    .globl __riscv_restore_10, __riscv_restore_11, __riscv_restore_12
__riscv_save_12:
    addi sp, sp, -64
    li t1, 0                    # of 64 bytes so many are not needed
    sw s11, 12(sp)
    j save_11
__riscv_save_11:
__riscv_save_10:
__riscv_save_9:
__riscv_save_8:
    addi sp, sp, -64
    li t1, 16
save_11:
    sw s10, 16(sp)
    sw s9, 20(sp)
    sw s8, 24(sp)
    sw s7, 28(sp)
    j save_7
__riscv_save_7:
__riscv_save_6:
__riscv_save_5:
__riscv_save_4:
    addi sp, sp, -64
    li t1, 32
save_7:
    sw s6, 32(sp)
    sw s5, 36(sp)
    sw s4, 40(sp)
    sw s3, 44(sp)
    sw s2, 48(sp)
    sw s1, 52(sp)
    sw s0, 56(sp)
    sw ra, 60(sp)
    add sp, sp, t1
    jr t0
__riscv_save_3:
__riscv_save_2:
__riscv_save_1:
__riscv_save_0:
    addi sp, sp, -16
    sw s2, 0(sp)
    sw s1, 4(sp)
    sw s0, 8(sp)
    sw ra, 12(sp)
    jr t0
__riscv_restore_12:
    lw s11, 12(sp)
    addi sp, sp, 16
__riscv_restore_11:
__riscv_restore_10:
__riscv_restore_9:
__riscv_restore_8:
    lw s10, 0(sp)
    lw s9, 4(sp)
    lw s8, 8(sp)
    lw s7, 12(sp)
    addi sp, sp, 16
__riscv_restore_7:
__riscv_restore_6:
__riscv_restore_5:
__riscv_restore_4:
    lw s6, 0(sp)
    lw s5, 4(sp)
    lw s4, 8(sp)
    lw s3, 12(sp)
    addi sp, sp, 16
__riscv_restore_3:
__riscv_restore_2:
__riscv_restore_1:
__riscv_restore_0:
    lw s2, 0(sp)
    lw s1, 4(sp)
    lw s0, 8(sp)
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
#endif
