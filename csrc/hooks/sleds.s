/* SPDX-License-Identifier: BSD-3-Clause */
/* The targets of a function's sleds: the calls of __fentry__ at its start and of __return__ before its end, which gcc
   writes with -p -mfentry -minstrument-return=call. With -fxray-instrument clang writes room for such calls, and a
   table of the room, from which funwrap/xray.c makes the calls. vtrace-cc lets the assembler append this file to each
   object of gcc, so that any compiler command can link the object; libvtrace-inside.a has the file too, for clang's
   objects and for code generated at link time. The linker keeps one copy for each program and library. All symbols are
   hidden: the calls need no jump through the PLT.

   The copy owns struct vt_sleds of core.h, through which each call jumps. libvtrace.so.1 fills the structure when the
   module is loaded, or at its first call if that comes earlier. Without libvtrace.so.1 nothing is recorded. In this
   file no instruction changes a register except the flags, which are dead at all sleds. */

    .ifndef .Lvt_sleds /* the compiler may name the file twice, and defines the symbol for sources in assembler */
    .set .Lvt_sleds, 1
    .hidden __fentry__, __return__, vt_module_sleds
    .weak __fentry__, __return__, vt_module_sleds, vt_sleds_attach
    .weak __start_xray_instr_map, __stop_xray_instr_map
    .hidden __start_xray_instr_map, __stop_xray_instr_map

    .section .text.vt_sleds,"axG",@progbits,vt_sleds,comdat
    .balign 16
    .type __fentry__, @function
__fentry__:
    .cfi_startproc
    jmp *.Lvt_enter(%rip)
    .cfi_endproc
    .size __fentry__, .-__fentry__

    .balign 16
    .type __return__, @function
__return__:
    .cfi_startproc
    jmp *.Lvt_leave(%rip)
    .cfi_endproc
    .size __return__, .-__return__

/* A function that lets libvtrace.so.1 fill vt_module_sleds, and then jumps to `next` if one is given. */
    .macro vt_attach name, next
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    cmpq $0, vt_sleds_attach@GOTPCREL(%rip)
    je 1f
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    leaq vt_module_sleds(%rip), %rbx
    call *vt_sleds_attach@GOTPCREL(%rip)
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .ifnb \next
    jmp *\next(%rip)
    .endif
1:  ret
    .cfi_endproc
    .endm

    vt_attach .Lvt_first_enter, .Lvt_ask_enter
    vt_attach .Lvt_first_leave, .Lvt_ask_leave
    vt_attach .Lvt_begin

    .section .data.vt_sleds,"awG",@progbits,vt_sleds,comdat
    .balign 64
    .type vt_module_sleds, @object
vt_module_sleds:
    .long .Lvt_end-vt_module_sleds
    .long 0
.Lvt_enter:
    .quad .Lvt_first_enter
.Lvt_leave:
    .quad .Lvt_first_leave
.Lvt_ask_enter:
    .quad .Lvt_first_enter
.Lvt_ask_leave:
    .quad .Lvt_first_leave
    .quad __fentry__
    .quad __return__
    .quad __start_xray_instr_map
    .quad __stop_xray_instr_map
.Lvt_end:
    .size vt_module_sleds, .-vt_module_sleds

    .section .init_array.00101,"awG",@init_array,vt_sleds,comdat
    .balign 8
    .quad .Lvt_begin

    .text /* in which each source begins: the assembler reads this file first */
    .endif
