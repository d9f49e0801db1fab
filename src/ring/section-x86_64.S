/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections that publish a record (x86-64, with rseq).
 *
 * A section is a run of instructions between the labels 1 and 2. If the kernel preempts the thread,
 * moves it to another CPU or delivers a signal within the run, the thread continues at label 4, and
 * the caller tries again. So the run executes on one CPU, exclusively, and its last instruction,
 * the store of the head word, is the commit. The stores before it:
 *
 *	bytes of the record	beyond the head: no reader uses them, and the next record overwrites
 *				them
 *	last_timestamp		may be newer than the last record after an abort or a kill; the next
 *				record is not older, because its section reads last_timestamp
 *	limit			a cache of the consumer's tail; correct on its own
 *
 * A kill leaves the head unchanged, at the end of the last published record.
 *
 * Epoch. A compact or medium record needs the same timestamp bits above the low 27 as the record
 * before it. Two checks ensure that: one against the 24 bits in the head word, which belong to the
 * last published record but repeat after 2^51 ticks, and one against last_timestamp, which is
 * complete but may come from an attempt that was never published. Both together are exact, because
 * an extended section never stores last_timestamp while the head has its epoch by chance: it
 * returns ALIAS, and ring_section_invalidate_cpu() or _thread() first gives the head an epoch that
 * neither has.
 *
 * rseq_cs is cleared after each section: the kernel reads the struct it points to whenever it
 * preempts the thread, and this code may be unmapped by then (dlclose). That costs one store, less
 * than 0.3 ns. After an abort the kernel has cleared it.
 *
 * Overwrite mode. The section never reads the tail. Before the first byte of the record it stores
 *
 *	claim			the end of the furthest record that was begun: everything more than
 *				a ring's size before it may be overwritten
 *
 * and, if the record crosses a sub-buffer boundary, before the head:
 *
 *	block_crossed		the end of the record in all 64 bits, which gives readers the upper
 *				bits of the head
 *	blocks[]		the same, for the sub-buffers after the one in which the record
 *				begins, up to the one in which it ends: the position of the first
 *				record that begins there or later
 *	head			with an epoch that no current timestamp has, so that the next record
 *				becomes extended: a reader can begin there without an earlier record
 *
 * An aborted or killed section leaves marks beyond the head, which readers ignore. The section that
 * moves the head there rewrites all of them. The reader is snapshot.c.
 *
 * Per thread. The number of the ring is the one that this thread has stored under the key of the
 * producer (slots.c), instead of the CPU. Everything else is the same: the section is still
 * necessary where a signal handler publishes as well.
 *
 * If a debugger steps through a section by instructions, each step aborts it. The caller's bound on
 * retries ends that: the record is counted as lost (busy).
 *
 * Arguments as in C: rdi producer, esi event id, rdx payload, rcx size, r8 timestamp; or rdx head,
 * rcx its size, r8 body, r9 its size, and the timestamp on the stack. The code uses only
 * general-purpose registers that a call may clobber, and the red zone. It uses no vector registers,
 * so that a probe may call it without saving them.
 */
#include "ring/rseq.h"
#include "ring/section.h"

#if RING_HAS_SECTION

#define RSEQ_CPU_ID 4		/* In struct rseq. */
#define RSEQ_CS 8
#define RSEQ_SIGNATURE 0x53053053

#define SAVED_PRODUCER -8(%rsp)
#define SAVED_TIMESTAMP -16(%rsp)
#define SAVED_LIMIT -24(%rsp)
#define SAVED_BODY -32(%rsp)
#define SAVED_BODY_SIZE -40(%rsp)
#define SAVED_TARGET -48(%rsp)
/* What the slow path needs, in the slots that a payload of one part does not use. */
#define SAVED_ID -32(%rsp)
#define SAVED_PAYLOAD -40(%rsp)
#define SAVED_SIZE -48(%rsp)
#define STACK_TIMESTAMP 8(%rsp)

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

/*
 * rseq = offset of the struct rseq that the kernel uses for this thread, or of one with a negative
 * cpu_id (rseq.c). It is not in the memory of the producer, which a fork wipes in the child: then a
 * record would overwrite data of the C library at the thread pointer.
 */
.macro section_area rseq
	movq	ring_thread@gottpoff(%rip), \rseq
	addq	%fs:RING_THREAD_AWAY(\rseq), \rseq
.endm

/* Enter. The store is the last instruction before label 1. */
.macro section_enter rseq=%rdx
	leaq	3b(%rip), %rax
	movq	%rax, %fs:RSEQ_CS(\rseq)
1:
.endm

/*
 * r10 = control of the ring, data = its data. Jumps to no_ring if `usable` is 0: in a forked child,
 * and if the producer is stopped.
 *
 * cpu: the CPU need not be compared later, because a thread that moves is aborted. A thread that
 * the kernel does not restart, or may not restart, has a negative cpu_id. thread: the word of the
 * thread is key << 32 | ring; with another key, or none, the difference exceeds any number of
 * rings.
 */
.macro section_find_ring placement, no_ring, rseq=%rdx, data=%rdx, usable=%rdx, usable_32=%edx
	.ifc \placement, cpu
	movl	%fs:RSEQ_CPU_ID(\rseq), %eax
	cmpl	RING_PRODUCER_USABLE(%rdi), %eax
	.else
	movq	RING_PRODUCER_SLOT(%rdi), %rax
	movl	RING_PRODUCER_USABLE(%rdi), \usable_32
	movq	%fs:(%rax), %rax
	xorq	RING_PRODUCER_KEY(%rdi), %rax
	cmpq	\usable, %rax
	.endif
	jae	\no_ring
	shlq	$4, %rax
	movq	RING_PRODUCER_LOCATIONS(%rdi,%rax), %r10
	movq	RING_PRODUCER_LOCATIONS+8(%rdi,%rax), \data
.endm

.macro section_copy_32 at
	movq	\at(%rsi,%rcx), %rdx
	movq	\at+8(%rsi,%rcx), %r9
	movq	%rdx, \at(%rdi,%rcx)
	movq	%r9, \at+8(%rdi,%rcx)
	movq	\at+16(%rsi,%rcx), %rdx
	movq	\at+24(%rsi,%rcx), %r9
	movq	%rdx, \at+16(%rdi,%rcx)
	movq	%r9, \at+24(%rdi,%rcx)
.endm

/*
 * Copy rcx bytes from rsi to rdi. Clobbers rdx, r9. Continues after the macro. Every access is
 * within the payload and the record.
 *
 * No string instructions: if the ring is in the cache, rep movsb takes 27 ns for 1 KiB instead of
 * 36, but otherwise 100 ns instead of 65; and rings usually are not (bench/ring, copies).
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
	/* 64 bytes at a time, and the last 64 bytes again. */
.Lcopy_large_\@:
	leaq	-64(%rsi,%rcx), %rsi
	leaq	-64(%rdi,%rcx), %rdi
	negq	%rcx
	addq	$64, %rcx
	.balign 16
.Lcopy_64_\@:
	section_copy_32	0
	section_copy_32	32
	addq	$64, %rcx
	js	.Lcopy_64_\@
	xorl	%ecx, %ecx
	section_copy_32	0
	section_copy_32	32
	jmp	.Lcopied_\@
.Lcopy_more_\@:
	cmpq	$128, %rcx
	ja	.Lcopy_large_\@
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
.macro section_abort exits
	.byte	0x0f, 0xb9, 0x3d
	.long	RSEQ_SIGNATURE
4:
	endbr64
	.ifc \exits, ring_section
	movl	$RING_SECTION_ABORTED, %eax
	ret
	.else
	movl	$RING_SECTION_ABORTED, %r8d
	jmp	\exits
	.endif
.endm

/*
 * One publication. form: compact or extended. clock: tsc or with_timestamp. mode: keep (discard,
 * block) or over(write). placement: cpu or thread.
 *
 * exits: a function of ring_section takes two parts and returns its result. A function of
 * ring_publish takes one part (it is compact) and is usually a complete publication. It returns 0;
 * in all other cases it jumps to ring_publish_one_slow() with its original arguments, except a
 * timestamp: then the clock is read again. So its caller need not save anything.
 *
 * In the run: rax timestamp, r8 bytes of the record << 24, r9 payload (head) until the copy, r10
 * control, r11 head.
 */
.macro section_publish name, form, clock, mode, placement, exits
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign 64
\name:
	.cfi_startproc
	endbr64
	section_descriptor
	movq	%rdi, SAVED_PRODUCER
	.ifc \exits, ring_section
	movq	%r8, SAVED_BODY
	movq	%r9, SAVED_BODY_SIZE
	leaq	(%rcx,%r9), %r8
	movq	%rdx, %r9
	.ifc \clock, with_timestamp
	movq	STACK_TIMESTAMP, %rax
	movq	%rax, SAVED_TIMESTAMP
	.endif
	section_area	%rdx
	.else
	.ifc \clock, with_timestamp
	movq	%r8, SAVED_TIMESTAMP
	.endif
	movl	%esi, SAVED_ID
	movq	%rdx, SAVED_PAYLOAD
	movq	%rcx, SAVED_SIZE
	movq	%rdx, %r9
	section_area	%rdx
	.endif
	.ifc \form, compact
	.ifc \exits, ring_section
	addq	$RING_COMPACT_BYTES, %r8
	.else
	leaq	RING_COMPACT_BYTES(%rcx), %r8
	.endif
	cmpl	$RING_TAG_MEDIUM, %esi
	jb	.Lsized_\@
	cmpl	$0xffff, %esi
	ja	.Lbig_id_\@
	addq	$(RING_MEDIUM_BYTES - RING_COMPACT_BYTES), %r8
.Lsized_\@:
	.else
	addq	$RING_EXTENDED_BYTES, %r8
	.endif
	shlq	$RING_EPOCH_BITS, %r8
	section_enter
	section_find_ring \placement, \exits\()_no_ring
	movq	RING_CONTROL_HEAD(%r10), %r11
	.ifc \mode, keep
	movq	RING_CONTROL_LIMIT(%r10), %rax
	subq	%r11, %rax
	cmpq	%r8, %rax
	jb	.Lrefresh_\@
.Lroom_\@:
	.endif
	/* rdi = destination of the record. */
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
	.ifc \mode, over
	/*
	 * x86 keeps the order of stores: the claim before any byte. Pairs with the last check in
	 * ring_snapshot_once(). The positions are modulo 2^40: the sign of their difference tells
	 * which is further.
	 */
	leaq	(%r11,%r8), %rdx
	cmpq	RING_CONTROL_CLAIM(%r10), %rdx
	js	.Lclaimed_\@
	movq	%rdx, RING_CONTROL_CLAIM(%r10)
.Lclaimed_\@:
	.endif
	movq	RING_CONTROL_LAST(%r10), %rdx

	.ifc \form, compact
	/* The time must not decrease in a ring, and the epoch must be that of the last record. */
	.ifc \clock, tsc
	cmpq	%rdx, %rax
	jb	\exits\()_extend
	.else
	cmpq	%rdx, %rax
	cmovbq	%rdx, %rax
	.endif
	xorq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	jnz	\exits\()_extend
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	xorl	%r11d, %edx
	testl	$RING_EPOCH_MASK, %edx
	jnz	\exits\()_extend
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
	/*
	 * The epoch equals the head's by chance, but not that of the last record: make it invalid
	 * first.
	 */
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
	.ifc \exits, ring_section
	leaq	(%rdi,%rcx), %rdx
	movq	%rdx, SAVED_TARGET
	section_copy
	movq	SAVED_TARGET, %rdi
	movq	SAVED_BODY, %rsi
	movq	SAVED_BODY_SIZE, %rcx
	.endif
	section_copy
	addq	%r11, %r8
	.ifc \form, extended
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	andl	$RING_EPOCH_MASK, %edx
	andq	$~RING_EPOCH_MASK, %r8
	orq	%rdx, %r8
	.endif
	.ifc \mode, over
	movq	SAVED_PRODUCER, %rcx
	movq	%r8, %rdx
	xorq	%r11, %rdx
	cmpq	RING_PRODUCER_BLOCK(%rcx), %rdx
	jae	.Lmarks_\@
.Lmarked_\@:
	.endif
	/*
	 * x86 keeps the order of the stores: record, marks, last_timestamp, head. Pairs with
	 * ring_consumer_peek() and ring_snapshot_once().
	 */
	movq	%rax, RING_CONTROL_LAST(%r10)
	jmp	.Lcommit_\@

	/* Within the run, but outside the usual path. */
	.ifc \form, compact
.Lmedium_\@:
	orl	$RING_TAG_MEDIUM, %edx
	movl	%edx, (%rdi)
	movw	%si, RING_COMPACT_BYTES(%rdi)
	addq	$RING_MEDIUM_BYTES, %rdi
	jmp	.Lpayload_\@
	.endif
	.ifc \mode, keep
.Lrefresh_\@:
	/*
	 * Read the consumer's tail. If it gives more space than the ring has, it is invalid: full.
	 * x86 keeps the order of loads: the record is written after the consumer has read the old
	 * bytes. Pairs with the release in ring_consumer_release().
	 */
	movq	RING_CONTROL_TAIL(%r10), %rax
	shlq	$RING_EPOCH_BITS, %rax
	addq	RING_PRODUCER_SIZE(%rdi), %rax
	orq	$RING_EPOCH_MASK, %rax
	movq	%rax, SAVED_LIMIT
	subq	%r11, %rax
	cmpq	%r8, %rax
	jb	\exits\()_full
	subq	$RING_EPOCH_MASK, %rax
	cmpq	RING_PRODUCER_SIZE(%rdi), %rax
	ja	\exits\()_full
	movq	SAVED_LIMIT, %rax
	movq	%rax, RING_CONTROL_LIMIT(%r10)
	jmp	.Lroom_\@
	.else
.Lmarks_\@:
	/* Not all sub-buffers: a record is at most half a ring. */
	movl	RING_PRODUCER_BLOCK_SHIFT(%rcx), %ecx
	movq	%r11, %rsi
	shrq	%cl, %rsi
	movq	%r8, %rdi
	shrq	%cl, %rdi
	/*
	 * rcx = the end of the record in 64 bits: the value nearest to block_crossed that has these
	 * bits.
	 */
	movq	RING_CONTROL_BLOCK_CROSSED(%r10), %rcx
	movq	%rcx, %rdx
	shlq	$RING_EPOCH_BITS, %rdx
	movq	%r8, %r9
	subq	%rdx, %r9
	sarq	$RING_EPOCH_BITS, %r9
	addq	%r9, %rcx
	movq	%rcx, RING_CONTROL_BLOCK_CROSSED(%r10)
.Lmark_\@:
	incl	%esi
	movl	%esi, %edx
	andl	$(RING_BLOCKS - 1), %edx
	shll	$4, %edx
	movq	%rcx, RING_CONTROL_BLOCKS(%r10,%rdx)
	movl	%esi, %edx
	xorl	%edi, %edx
	testl	$(RING_BLOCKS - 1), %edx
	jnz	.Lmark_\@
	xorq	$RING_EPOCH_FLIP, %r8
	jmp	.Lmarked_\@
	.endif

.Lcommit_\@:
	movq	%r8, RING_CONTROL_HEAD(%r10)
2:
	movq	SAVED_PRODUCER, %rdx
	section_area	%rcx
	movq	$0, %fs:RSEQ_CS(%rcx)
	xorl	%eax, %eax
	.ifc \mode, keep
	xorq	%r8, %r11
	cmpq	RING_PRODUCER_BLOCK(%rdx), %r11
	.endif
	.ifc \exits, ring_publish
	.ifc \mode, keep
	jae	.Lcrossed_\@
	.endif
	ret
	.ifc \mode, keep
.Lcrossed_\@:
	movl	$RING_SECTION_CROSSED, %r8d
	jmp	ring_publish_go_slow
	.endif
.Lbig_id_\@:
	movl	$RING_SECTION_EXTEND, %r8d
	jmp	ring_publish_go_slow
	.else
	.ifc \mode, keep
	setae	%al
	.endif
	ret
	.ifc \form, compact
.Lbig_id_\@:
	movl	$RING_SECTION_EXTEND, %eax
	ret
	.endif
	.endif
	.ifc \exits, ring_section
	section_abort ring_section
	.else
	section_abort ring_publish_go_slow
	.endif
	.cfi_endproc
	.size	\name, . - \name
.endm

/*
 * A whole publication of one scalar of a fixed size: compact or medium, with the TSC (tsc), or with
 * a TSC value that the caller has read (with_timestamp). It makes the same stores in the same order
 * as section_publish. It saves nothing on the stack, because the arguments stay in their registers:
 * rdi producer, esi event id (below RING_TAG_MEDIUM in a compact record, else at most 0xffff), rcx
 * the scalar, rdx the timestamp. With tsc, rdx is unused and the clock is read into it.
 *
 * If it does not simply succeed, it jumps to ring_publish_one_slow(). Two rare cases start again in
 * section_publish, above: reading the consumer's tail, and the marks of a record that crosses a
 * sub-buffer boundary of a ring that overwrites.
 *
 * In the run: rax timestamp, r8 destination of the record, r9 offset of struct rseq, r10 control,
 * r11 head.
 */
.macro section_scalar name, form, clock, mode, placement, size
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.ifc \form, compact
	.set	.Lheader_\@, RING_COMPACT_BYTES
	.else
	.set	.Lheader_\@, RING_MEDIUM_BYTES
	.endif
	.set	.Lword_\@, (.Lheader_\@ + \size) << RING_EPOCH_BITS
	.balign 64
\name:
	.cfi_startproc
	section_descriptor
	section_area	%r9
	section_enter %r9
	section_find_ring \placement, .Lno_ring_\@, %r9, %r8, %r11, %r11d
	movq	RING_CONTROL_HEAD(%r10), %r11
	.ifc \mode, keep
	movq	RING_CONTROL_LIMIT(%r10), %rax
	subq	%r11, %rax
	cmpq	$.Lword_\@, %rax
	jb	.Lother_\@
	.else
	leaq	.Lword_\@(%r11), %rax
	xorq	%r11, %rax
	cmpq	RING_PRODUCER_BLOCK(%rdi), %rax
	jae	.Lother_\@
	/* Before any byte; no other thread reads it during the run: see section_publish. */
	leaq	.Lword_\@(%r11), %rax
	cmpq	RING_CONTROL_CLAIM(%r10), %rax
	js	.Lclaimed_\@
	movq	%rax, RING_CONTROL_CLAIM(%r10)
.Lclaimed_\@:
	.endif
	movq	%r11, %rax
	shrq	$RING_EPOCH_BITS, %rax
	andq	RING_PRODUCER_MASK(%rdi), %rax
	addq	%rax, %r8
	.ifc \clock, tsc
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	RING_CONTROL_LAST(%r10), %rdx
	cmpq	%rdx, %rax
	jb	.Lextend_\@
	.else
	movq	%rdx, %rax
	movq	RING_CONTROL_LAST(%r10), %rdx
	cmpq	%rdx, %rax
	cmovbq	%rdx, %rax
	.endif
	xorq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	jnz	.Lextend_\@
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	xorl	%r11d, %edx
	testl	$RING_EPOCH_MASK, %edx
	jnz	.Lextend_\@
	movl	%eax, %edx
	shll	$RING_TAG_BITS, %edx
	.ifc \form, compact
	orl	%esi, %edx
	movl	%edx, (%r8)
	.else
	orl	$RING_TAG_MEDIUM, %edx
	movl	%edx, (%r8)
	movw	%si, RING_COMPACT_BYTES(%r8)
	.endif
	.if	\size == 1
	movzbl	(%rcx), %edx
	movb	%dl, .Lheader_\@(%r8)
	.elseif	\size == 2
	movzwl	(%rcx), %edx
	movw	%dx, .Lheader_\@(%r8)
	.elseif	\size == 4
	movl	(%rcx), %edx
	movl	%edx, .Lheader_\@(%r8)
	.elseif	\size == 8
	movq	(%rcx), %rdx
	movq	%rdx, .Lheader_\@(%r8)
	.elseif	\size == 16
	movq	(%rcx), %rdx
	movq	%rdx, .Lheader_\@(%r8)
	movq	8(%rcx), %rdx
	movq	%rdx, .Lheader_\@+8(%r8)
	.endif
	/* The order of the stores: as in section_publish. */
	movq	%rax, RING_CONTROL_LAST(%r10)
	leaq	.Lword_\@(%r11), %rdx
	movq	%rdx, RING_CONTROL_HEAD(%r10)
2:
	movq	$0, %fs:RSEQ_CS(%r9)
	.ifc \mode, keep
	xorq	%rdx, %r11
	cmpq	RING_PRODUCER_BLOCK(%rdi), %r11
	jae	.Lcrossed_\@
	.endif
	xorl	%eax, %eax
	ret

	.ifc \mode, keep
.Lcrossed_\@:
	movl	$RING_SECTION_CROSSED, %r8d
	jmp	.Lslow_\@
	.endif
.Lother_\@:
	movq	$0, %fs:RSEQ_CS(%r9)
	.ifc \clock, tsc
	movq	%rcx, %rdx
	movl	$\size, %ecx
	jmp	ring_publish_\mode\()_\placement
	.else
	movq	%rdx, %r8
	movq	%rcx, %rdx
	movl	$\size, %ecx
	jmp	ring_publish_with_timestamp_\mode\()_\placement
	.endif
.Lno_ring_\@:
	movl	$RING_SECTION_NO_RING, %r8d
	jmp	.Lleave_\@
.Lextend_\@:
	movl	$RING_SECTION_EXTEND, %r8d
.Lleave_\@:
	movq	$0, %fs:RSEQ_CS(%r9)
.Lslow_\@:
	movq	%rcx, %rdx
	movl	$\size, %ecx
	jmp	ring_publish_one_slow
	section_abort .Lslow_\@
	.cfi_endproc
	.size	\name, . - \name
.endm

/*
 * Like section_scalar, behind a prefix that the thread has prepared (struct ring_prefix): rdx
 * prefix, r8 the stamp that it must have, rcx the scalar. Only a signal handler of this thread
 * could change the prefix, so it does not change within the run. Therefore one check of the stamp
 * is enough, and the bytes are copied only once, directly from the prefix: an intermediate copy
 * that is read at other offsets would stall on its stores.
 *
 * Returns 0, or 1 if nothing was published, for any reason; the caller then uses another function.
 *
 * In the run: rdx prefix until the clock is read, r8 bytes of the prefix, r9 destination of the
 * record, r10 control, r11 head.
 */
#define SAVED_NEXT -8(%rsp)	/* The head word behind the record. */

.macro section_prefixed name, form, mode, size
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.ifc \form, compact
	.set	.Lheader_\@, RING_COMPACT_BYTES
	.else
	.set	.Lheader_\@, RING_MEDIUM_BYTES
	.endif
	.balign 64
\name:
	.cfi_startproc
	section_descriptor
	section_area	%r9
	section_enter %r9
	section_find_ring cpu, .Lother_\@, %r9, %r9
	cmpq	%r8, (%rdx)
	jne	.Lother_\@
	movq	RING_PREFIX_SIZE(%rdx), %r8
	leaq	-RING_PREFIX_MIN(%r8), %rax
	cmpq	$(RING_PREFIX_MAX - RING_PREFIX_MIN), %rax
	ja	.Lother_\@
	movq	RING_CONTROL_HEAD(%r10), %r11
	leaq	(.Lheader_\@ + \size)(%r8), %rax
	shlq	$RING_EPOCH_BITS, %rax
	addq	%r11, %rax
	movq	%rax, SAVED_NEXT
	/* It crosses a sub-buffer boundary: marks are needed, or the consumer must be woken. */
	xorq	%r11, %rax
	cmpq	RING_PRODUCER_BLOCK(%rdi), %rax
	jae	.Lother_\@
	movq	SAVED_NEXT, %rax
	.ifc \mode, keep
	/* The sign of the difference tells which is further, as with the claim. */
	subq	RING_CONTROL_LIMIT(%r10), %rax
	jns	.Lother_\@
	.else
	/* Before any byte: see section_publish. */
	cmpq	RING_CONTROL_CLAIM(%r10), %rax
	js	.Lclaimed_\@
	movq	%rax, RING_CONTROL_CLAIM(%r10)
.Lclaimed_\@:
	.endif
	movq	%r11, %rax
	shrq	$RING_EPOCH_BITS, %rax
	andq	RING_PRODUCER_MASK(%rdi), %rax
	addq	%rax, %r9
	/* Each access is within the prefix and the record. */
	cmpl	$8, %r8d
	jb	.Lsmall_\@
	movq	RING_PREFIX_TEXT(%rdx), %rax
	movq	%rax, .Lheader_\@(%r9)
	movq	RING_PREFIX_TEXT-8(%rdx,%r8), %rax
	movq	%rax, .Lheader_\@-8(%r9,%r8)
	cmpl	$16, %r8d
	jbe	.Lprefix_\@
	movq	RING_PREFIX_TEXT+8(%rdx), %rax
	movq	%rax, .Lheader_\@+8(%r9)
	movq	RING_PREFIX_TEXT-16(%rdx,%r8), %rax
	movq	%rax, .Lheader_\@-16(%r9,%r8)
	jmp	.Lprefix_\@
.Lsmall_\@:
	movl	RING_PREFIX_TEXT(%rdx), %eax
	movl	%eax, .Lheader_\@(%r9)
	movl	RING_PREFIX_TEXT-4(%rdx,%r8), %eax
	movl	%eax, .Lheader_\@-4(%r9,%r8)
.Lprefix_\@:
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	RING_CONTROL_LAST(%r10), %rdx
	cmpq	%rdx, %rax
	jb	.Lother_\@
	xorq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	jnz	.Lother_\@
	movq	%rax, %rdx
	shrq	$RING_TIME_BITS, %rdx
	xorl	%r11d, %edx
	testl	$RING_EPOCH_MASK, %edx
	jnz	.Lother_\@
	movl	%eax, %edx
	shll	$RING_TAG_BITS, %edx
	.ifc \form, compact
	orl	%esi, %edx
	movl	%edx, (%r9)
	.else
	orl	$RING_TAG_MEDIUM, %edx
	movl	%edx, (%r9)
	movw	%si, RING_COMPACT_BYTES(%r9)
	.endif
	.if	\size == 4
	movl	(%rcx), %edx
	movl	%edx, .Lheader_\@(%r9,%r8)
	.else
	movq	(%rcx), %rdx
	movq	%rdx, .Lheader_\@(%r9,%r8)
	.endif
	/* The order of the stores: as in section_publish. */
	movq	%rax, RING_CONTROL_LAST(%r10)
	movq	SAVED_NEXT, %rdx
	movq	%rdx, RING_CONTROL_HEAD(%r10)
2:
	section_area	%r9
	movq	$0, %fs:RSEQ_CS(%r9)
	xorl	%eax, %eax
	ret
.Lother_\@:
	section_area	%r9
	movq	$0, %fs:RSEQ_CS(%r9)
.Lnothing_\@:
	movl	$1, %eax
	ret
	section_abort .Lnothing_\@
	.cfi_endproc
	.size	\name, . - \name
.endm

/* Return before the commit. */
.macro section_exit name, code
	.type	\name, @function
\name:
	.cfi_startproc
	movl	$\code, %eax
	movq	SAVED_PRODUCER, %rdx
	section_area	%rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

.macro publish_exit name, code
	.type	\name, @function
\name:
	.cfi_startproc
	movl	$\code, %r8d
	movq	SAVED_PRODUCER, %rdx
	section_area	%rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	jmp	ring_publish_go_slow
	.cfi_endproc
	.size	\name, . - \name
.endm

	.text

/* The names that RING_SECTIONS() in section.h declares. */
.macro section_scalars form, mode, placement
section_scalar ring_scalar_\form\()_\mode\()_\placement\()_1, \form, tsc, \mode, \placement, 1
section_scalar ring_scalar_\form\()_\mode\()_\placement\()_2, \form, tsc, \mode, \placement, 2
section_scalar ring_scalar_\form\()_\mode\()_\placement\()_4, \form, tsc, \mode, \placement, 4
section_scalar ring_scalar_\form\()_\mode\()_\placement\()_8, \form, tsc, \mode, \placement, 8
section_scalar ring_timed_\form\()_\mode\()_\placement\()_0, \form, with_timestamp, \mode, \placement, 0
section_scalar ring_timed_\form\()_\mode\()_\placement\()_4, \form, with_timestamp, \mode, \placement, 4
section_scalar ring_timed_\form\()_\mode\()_\placement\()_8, \form, with_timestamp, \mode, \placement, 8
section_scalar ring_timed_\form\()_\mode\()_\placement\()_16, \form, with_timestamp, \mode, \placement, 16
.endm

.macro section_prefixes mode
section_prefixed ring_prefixed_compact_\mode\()_4, compact, \mode, 4
section_prefixed ring_prefixed_compact_\mode\()_8, compact, \mode, 8
section_prefixed ring_prefixed_medium_\mode\()_4, medium, \mode, 4
section_prefixed ring_prefixed_medium_\mode\()_8, medium, \mode, 8
.endm

section_prefixes keep
section_prefixes over

.macro section_set mode, placement
section_publish ring_publish_\mode\()_\placement, compact, tsc, \mode, \placement, ring_publish
section_publish ring_publish_with_timestamp_\mode\()_\placement, compact, with_timestamp, \mode, \placement, ring_publish
section_publish ring_section_two_part_tsc_\mode\()_\placement, compact, tsc, \mode, \placement, ring_section
section_publish ring_section_two_part_clock_\mode\()_\placement, compact, with_timestamp, \mode, \placement, ring_section
section_publish ring_section_extended_tsc_\mode\()_\placement, extended, tsc, \mode, \placement, ring_section
section_publish ring_section_extended_clock_\mode\()_\placement, extended, with_timestamp, \mode, \placement, ring_section
section_scalars compact, \mode, \placement
section_scalars medium, \mode, \placement
.endm

section_set keep, cpu
section_set keep, thread
section_set over, cpu
section_set over, thread

.macro section_invalidate name, placement
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign 16
\name:
	.cfi_startproc
	endbr64
	section_descriptor
	movq	%rdi, SAVED_PRODUCER
	section_area	%rdx
	section_enter
	section_find_ring \placement, ring_section_no_ring
	/*
	 * Choose an epoch that differs from that of the timestamp (of the next attempt) and that of
	 * last_timestamp. The latter is necessary because the timestamp may be old by now: an
	 * attempt aborted since then may have left a newer last_timestamp, whose epoch the head
	 * must not get.
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
	section_area	%rdx
	movq	$0, %fs:RSEQ_CS(%rdx)
	xorl	%eax, %eax
	ret
	section_abort ring_section
	.cfi_endproc
	.size	\name, . - \name
.endm

section_invalidate ring_section_invalidate_cpu, cpu
section_invalidate ring_section_invalidate_thread, thread

section_exit ring_section_full, RING_SECTION_FULL
section_exit ring_section_no_ring, RING_SECTION_NO_RING
section_exit ring_section_extend, RING_SECTION_EXTEND
section_exit ring_section_alias, RING_SECTION_ALIAS

publish_exit ring_publish_full, RING_SECTION_FULL
publish_exit ring_publish_no_ring, RING_SECTION_NO_RING
publish_exit ring_publish_extend, RING_SECTION_EXTEND

	/* r8 = the code; the saved values are the arguments of ring_publish(). */
	.type	ring_publish_go_slow, @function
ring_publish_go_slow:
	.cfi_startproc
	movq	SAVED_PRODUCER, %rdi
	movl	SAVED_ID, %esi
	movq	SAVED_PAYLOAD, %rdx
	movq	SAVED_SIZE, %rcx
	jmp	ring_publish_one_slow
	.cfi_endproc
	.size	ring_publish_go_slow, . - ring_publish_go_slow

#endif /* RING_HAS_SECTION */

	/*
	 * Each return goes to the address that its call pushed: compatible with shadow stacks
	 * (SHSTK).
	 */
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000002, 4, 2, 0

	.section .note.GNU-stack, "", @progbits
