/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections that publish a record (x86-64, rseq registered by the C library).
 *
 * A section is a run of instructions between the labels 1 and 2. If the kernel preempts the thread,
 * moves it to another CPU or delivers a signal within the run, it makes the thread continue
 * at label 4, and the caller starts anew. So the run sees one CPU and is alone on it, and the last
 * instruction of the run, the store of the head word, is the commit. Before it:
 *
 *	bytes of the record	beyond the head: nobody looks there, the next record goes there
 *	last_timestamp		may be newer than the last record after an abort or a kill; the next
 *				record's is not older, because its section reads last_timestamp
 *	limit			a cache of the consumer's tail; right in itself
 *
 * A kill leaves the head as it was, at the end of the last published record.
 *
 * Epoch. A compact or medium record needs the same timestamp bits above the low 27 as the record
 * before it. The check is made twice: against the 24 bits in the head word, which belong to the
 * last published record but repeat after 2^51 ticks, and against last_timestamp, which is whole but
 * may come from an attempt that was never published. Both together are exact, since an
 * extended section never stores last_timestamp while the head has its epoch by chance: it returns
 * ALIAS, and ring_section_invalidate() gives the head an epoch of neither first.
 *
 * rseq_cs is cleared after each section: the kernel reads the structure it points to whenever it
 * preempts the thread, and this code may be unmapped by then (dlclose). It costs one store, less
 * than 0.3 ns. After an abort the kernel itself has cleared it.
 *
 * A debugger that steps instruction by instruction through a section makes each step an abort.
 * The caller's bound on retries ends that: the record is counted as lost (busy).
 *
 * Arguments as in C: rdi producer, esi event id, rdx payload, rcx size, r8 timestamp. Only
 * general registers that a call may clobber are used, and the red zone; no vector registers, so that
 * a probe may call this without saving them.
 */
#include "ring/section.h"

#if RING_HAS_SECTION

#define RSEQ_CPU_ID 4		/* In struct rseq. */
#define RSEQ_CS 8
#define RSEQ_SIGNATURE 0x53053053
/* Payloads from here on are copied by rep movsb. */
#define STRING_COPY_FROM 4096

#define SAVED_PRODUCER -8(%rsp)
#define SAVED_TIMESTAMP -16(%rsp)
#define SAVED_LIMIT -24(%rsp)

/* The descriptor of a section, and a list of descriptors for tools. */
.macro section_descriptor
	.pushsection __rseq_cs, "aw"
	.balign 32
3:	.long	0, 0
	.quad	1f, 2f - 1f, 4f
	.popsection
	.pushsection __rseq_cs_ptr_array, "aw"
	.quad	3b
	.popsection
.endm

/* Enter: rdx = offset of struct rseq. The store is the last instruction before label 1. */
.macro section_enter
	leaq	3b(%rip), %rax
	movq	%rax, %fs:RSEQ_CS(%rdx)
1:
.endm

/*
 * r10 = control of the current CPU's ring, rdx = its data. No need to compare the CPU later: a
 * thread that moves is aborted. A thread without rseq has a negative cpu_id.
 */
.macro section_find_ring
	movl	%fs:RSEQ_CPU_ID(%rdx), %eax
	cmpl	RING_PRODUCER_RINGS(%rdi), %eax
	jae	ring_section_no_ring
	shlq	$4, %rax
	movq	RING_PRODUCER_PLACES(%rdi,%rax), %r10
	movq	RING_PRODUCER_PLACES+8(%rdi,%rax), %rdx
.endm

/*
 * rsi, rdi, rcx: copy rcx bytes. Clobbers rdx, r9. Falls out at the end. Every access is
 * within the payload and the record.
 */
.macro section_copy
	cmpq	$16, %rcx
	ja	.Lcopy_more_\@
	cmpl	$8, %ecx
	jb	.Lcopy_below_8_\@
	movq	(%rsi), %rdx
	movq	-8(%rsi,%rcx), %r9
	movq	%rdx, (%rdi)
	movq	%r9, -8(%rdi,%rcx)
	jmp	.Lcopied_\@
.Lcopy_below_8_\@:
	cmpl	$4, %ecx
	jb	.Lcopy_below_4_\@
	movl	(%rsi), %edx
	movl	-4(%rsi,%rcx), %r9d
	movl	%edx, (%rdi)
	movl	%r9d, -4(%rdi,%rcx)
	jmp	.Lcopied_\@
.Lcopy_below_4_\@:
	testl	%ecx, %ecx
	jz	.Lcopied_\@
	movzbl	(%rsi), %edx
	movzbl	-1(%rsi,%rcx), %r9d
	movb	%dl, (%rdi)
	movb	%r9b, -1(%rdi,%rcx)
	shrl	$1, %ecx
	movzbl	(%rsi,%rcx), %edx
	movb	%dl, (%rdi,%rcx)
	jmp	.Lcopied_\@
.Lcopy_string_\@:
	rep movsb
	jmp	.Lcopied_\@
.Lcopy_more_\@:
	cmpq	$STRING_COPY_FROM, %rcx
	jae	.Lcopy_string_\@
	.balign 16
.Lcopy_16_\@:
	movq	(%rsi), %rdx
	movq	8(%rsi), %r9
	addq	$16, %rsi
	movq	%rdx, (%rdi)
	movq	%r9, 8(%rdi)
	addq	$16, %rdi
	subq	$16, %rcx
	cmpq	$16, %rcx
	ja	.Lcopy_16_\@
	movq	-16(%rsi,%rcx), %rdx
	movq	-8(%rsi,%rcx), %r9
	movq	%rdx, -16(%rdi,%rcx)
	movq	%r9, -8(%rdi,%rcx)
.Lcopied_\@:
.endm

/* The kernel demands this signature (the operand of a ud1) before the abort handler. */
.macro section_abort
	.byte	0x0f, 0xb9, 0x3d
	.long	RSEQ_SIGNATURE
4:
	endbr64
	movl	$RING_SECTION_ABORTED, %eax
	ret
.endm

/*
 * One publication. form: compact or extended. clock: tsc or given.
 *
 * In the run: rax timestamp, r8 bytes of the record << 24, r9 payload until the copy, r10
 * control, r11 head.
 */
.macro section_publish name, form, clock
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign 64
\name:
	.cfi_startproc
	endbr64
	section_descriptor
	movq	%rdi, SAVED_PRODUCER
	movq	%rdx, %r9
	movq	RING_PRODUCER_RSEQ(%rdi), %rdx
	.ifc \clock, given
	movq	%r8, SAVED_TIMESTAMP
	.endif
	.ifc \form, compact
	leaq	RING_COMPACT_BYTES(%rcx), %r8
	cmpl	$RING_TAG_MEDIUM, %esi
	jb	.Lsized_\@
	cmpl	$0xffff, %esi
	ja	.Lbig_id_\@
	addq	$(RING_MEDIUM_BYTES - RING_COMPACT_BYTES), %r8
.Lsized_\@:
	.else
	leaq	RING_EXTENDED_BYTES(%rcx), %r8
	.endif
	shlq	$RING_EPOCH_BITS, %r8
	section_enter
	section_find_ring
	movq	RING_CONTROL_HEAD(%r10), %r11
	movq	RING_CONTROL_LIMIT(%r10), %rax
	subq	%r11, %rax
	cmpq	%r8, %rax
	jb	.Lrefresh_\@
.Lroom_\@:
	/* rdi = where the record goes. */
	movq	%r11, %rax
	shrq	$RING_EPOCH_BITS, %rax
	andq	RING_PRODUCER_MASK(%rdi), %rax
	leaq	(%rdx,%rax), %rdi
	.ifc \clock, tsc
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	.else
	movq	SAVED_TIMESTAMP, %rax
	.endif
	movq	RING_CONTROL_LAST(%r10), %rdx

	.ifc \form, compact
	/* Time must not run back in a ring, and the epoch must be the one of the last record. */
	.ifc \clock, tsc
	cmpq	%rdx, %rax
	jb	ring_section_extend
	.else
	cmpq	%rdx, %rax
	cmovbq	%rdx, %rax
	.endif
	xorq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	jnz	ring_section_extend
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	xorl	%r11d, %edx
	testl	$RING_EPOCH_MASK, %edx
	jnz	ring_section_extend
	movl	%eax, %edx
	shll	$RING_TAG_BITS, %edx
	cmpl	$RING_TAG_MEDIUM, %esi
	jae	.Lmedium_\@
	orl	%esi, %edx
	movl	%edx, (%rdi)
	addq	$RING_COMPACT_BYTES, %rdi
.Lpayload_\@:
	.else
	cmpq	%rdx, %rax
	cmovbq	%rdx, %rax
	/* The head's epoch by chance, but not the last record's: make it invalid first. */
	xorq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	jz	.Lno_alias_\@
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	xorl	%r11d, %edx
	testl	$RING_EPOCH_MASK, %edx
	jz	ring_section_alias
.Lno_alias_\@:
	movb	$RING_TAG_EXTENDED, (%rdi)
	movl	%esi, 1(%rdi)
	movq	%rax, 5(%rdi)
	addq	$RING_EXTENDED_BYTES, %rdi
	.endif

	movq	%r9, %rsi
	section_copy
	addq	%r11, %r8
	.ifc \form, extended
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	andl	$RING_EPOCH_MASK, %edx
	andq	$~RING_EPOCH_MASK, %r8
	orq	%rdx, %r8
	.endif
	/* x86 keeps the order of the stores: record, last_timestamp, head. Pairs with ring_consumer_peek(). */
	movq	%rax, RING_CONTROL_LAST(%r10)
	jmp	.Lcommit_\@

	/* In the run, off the straight way. */
	.ifc \form, compact
.Lmedium_\@:
	orl	$RING_TAG_MEDIUM, %edx
	movl	%edx, (%rdi)
	movw	%si, RING_COMPACT_BYTES(%rdi)
	addq	$RING_MEDIUM_BYTES, %rdi
	jmp	.Lpayload_\@
	.endif
.Lrefresh_\@:
	/*
	 * Look at the consumer's tail. Room that is more than the ring says that the tail is
	 * nonsense: full. Loads are in order on x86: the record's bytes are written after the
	 * consumer has read what stood there. Pairs with the release in ring_consumer_release().
	 */
	movq	RING_CONTROL_TAIL(%r10), %rax
	shlq	$RING_EPOCH_BITS, %rax
	addq	RING_PRODUCER_SIZE(%rdi), %rax
	orq	$RING_EPOCH_MASK, %rax
	movq	%rax, SAVED_LIMIT
	subq	%r11, %rax
	cmpq	%r8, %rax
	jb	ring_section_full
	subq	$RING_EPOCH_MASK, %rax
	cmpq	RING_PRODUCER_SIZE(%rdi), %rax
	ja	ring_section_full
	movq	SAVED_LIMIT, %rax
	movq	%rax, RING_CONTROL_LIMIT(%r10)
	jmp	.Lroom_\@

.Lcommit_\@:
	movq	%r8, RING_CONTROL_HEAD(%r10)
2:
	movq	SAVED_PRODUCER, %rdx
	xorl	%eax, %eax
	xorq	%r8, %r11
	cmpq	RING_PRODUCER_BLOCK(%rdx), %r11
	movq	RING_PRODUCER_RSEQ(%rdx), %rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	setae	%al
	ret
	.ifc \form, compact
.Lbig_id_\@:
	movl	$RING_SECTION_EXTEND, %eax
	ret
	.endif
	section_abort
	.cfi_endproc
	.size	\name, . - \name
.endm

/* Give up before the commit. */
.macro section_exit name, code
	.type	\name, @function
\name:
	.cfi_startproc
	movl	$\code, %eax
	movq	SAVED_PRODUCER, %rdx
	movq	RING_PRODUCER_RSEQ(%rdx), %rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	.text

section_publish ring_section_compact_tsc, compact, tsc
section_publish ring_section_compact_clock, compact, given
section_publish ring_section_extended_tsc, extended, tsc
section_publish ring_section_extended_clock, extended, given

	.globl	ring_section_invalidate
	.hidden	ring_section_invalidate
	.type	ring_section_invalidate, @function
	.balign 16
ring_section_invalidate:
	.cfi_startproc
	endbr64
	section_descriptor
	movq	%rdi, SAVED_PRODUCER
	movq	RING_PRODUCER_RSEQ(%rdi), %rdx
	section_enter
	section_find_ring
	/*
	 * An epoch that is neither the timestamp's (the next attempt's) nor last_timestamp's. The
	 * latter counts, for the timestamp may be old by now, and an attempt aborted since then may
	 * have left a newer last_timestamp whose epoch must not become the head's.
	 */
	movq	RING_CONTROL_LAST(%r10), %rax
	xorq	%rax, %rsi
	shrq	$RING_TIME_BITS, %rax
	shrq	$RING_TIME_BITS, %rsi
	andl	$RING_EPOCH_MASK, %esi
	movl	$RING_EPOCH_FLIP, %edx
	movl	$(RING_EPOCH_FLIP >> 1), %r9d
	cmpl	%edx, %esi
	cmovel	%r9d, %edx
	xorl	%edx, %eax
	andl	$RING_EPOCH_MASK, %eax
	movq	RING_CONTROL_HEAD(%r10), %r11
	andq	$~RING_EPOCH_MASK, %r11
	orq	%rax, %r11
	movq	%r11, RING_CONTROL_HEAD(%r10)
2:
	movq	RING_PRODUCER_RSEQ(%rdi), %rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	xorl	%eax, %eax
	ret
	section_abort
	.cfi_endproc
	.size	ring_section_invalidate, . - ring_section_invalidate

section_exit ring_section_full, RING_SECTION_FULL
section_exit ring_section_no_ring, RING_SECTION_NO_RING
section_exit ring_section_extend, RING_SECTION_EXTEND
section_exit ring_section_alias, RING_SECTION_ALIAS

#endif /* RING_HAS_SECTION */

	.section .note.GNU-stack, "", @progbits
