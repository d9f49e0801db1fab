/* SPDX-License-Identifier: MIT */
/*
 * Memory for the code of watched returns (x86-64-trampoline.c) inside this object, and an entry for
 * it in this object's .eh_frame. gates.c and gates-unwind.c complete both at run time.
 *
 * Every unwinder of the process finds unwind data through the program headers of loaded objects. So
 * an unwinder that is linked statically, is loaded later or is of another origin finds this entry
 * too, without registration.
 */
#include "gates-size.h"

	.section .bss.side_gates, "aw", @nobits
	.p2align 12
	.globl patch_gates
	.hidden patch_gates
	.type patch_gates, @object
patch_gates:
	.skip GATES_PAGE
	/* The name that debuggers show. */
	.type side_return, @function
side_return:
	.skip GATES_BYTES - GATES_PAGE
	.size side_return, . - side_return
	.size patch_gates, GATES_BYTES

	/*
	 * S: unwinders look the address up unchanged, see gates-unwind.c. In the file the entry
	 * covers one byte that is never executed, because debuggers read the file and get better
	 * data for this code (debugger.c). The rules for that byte reserve space: linkers remove
	 * nops at the end of an entry.
	 */
	.section .eh_frame, "a", @unwind
.Ldescription:
	.long .Ldescription_end - .Ldescription_begin
.Ldescription_begin:
	.long 0
	.byte 1
	.asciz "zRS"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte 0x1b /* addresses: 4 bytes, relative to themselves */
	.byte 0x0c, 7, 0
	.p2align 3
.Ldescription_end:
	.long .Lentry_end - .Lentry_begin
.Lentry_begin:
	.long .Lentry_begin - .Ldescription
	.long patch_gates + GATES_PAGE - 1 - .
	.long 1
	.byte 0
	.byte 0x16, 16 /* the return address is the value of an expression of this length */
	.uleb128 GATES_RULES_BYTES - 4
	.skip GATES_RULES_BYTES - 4, 0x96 /* nop */
	.p2align 3
.Lentry_end:

	.section .note.GNU-stack, "", @progbits
