/* SPDX-License-Identifier: MIT */
/*
 * The restartable sections that publish a record (x86-64, with rseq).
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
 * Overwrite mode. The section never looks at the tail. Before the first byte of the record,
 *
 *	claim			where the furthest record ends that was ever begun: what lies a ring's
 *				size and more before it may be overwritten by now
 *
 * and, if the record reaches into another block, before the head:
 *
 *	reached			where it ends, in all 64 bits, so that a reader knows the head's upper ones
 *	blocks[]		the same, of the blocks after the one it begins in, up to the one it ends
 *				in: that is where the first record begins that begins there
 *				or later
 *	head			with an epoch that no timestamp has now, so that the next record becomes
 *				extended: a reader can begin there, knowing nothing that was before it
 *
 * An aborted or killed section leaves marks that are beyond the head, and readers ignore them; the
 * section that moves the head there rewrites all of them. The reader: snapshot.c.
 *
 * Per thread. The ring is the one whose number this thread has noted under the producer's key
 * (slots.c), instead of the CPU's. All the rest is the same: the section is still what makes a record
 * whole where a signal handler publishes as well.
 *
 * A debugger that steps instruction by instruction through a section makes each step an abort.
 * The caller's bound on retries ends that: the record is counted as lost (busy).
 *
 * Arguments as in C: rdi producer, esi event id, rdx payload, rcx size, r8 timestamp; or rdx head,
 * rcx its size, r8 body, r9 its size, and the timestamp on the stack. Only
 * general registers that a call may clobber are used, and the red zone; no vector registers, so that
 * a probe may call this without saving them.
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
/* What the slow way needs, in the places of what one part does without. */
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
 * rseq = offset of the struct rseq that the kernel uses for this thread, or of one with a negative cpu_id (rseq.c). It is
 * not read from the producer's memory, which a fork wipes in the child: then a record would overwrite data of the C library at the thread pointer.
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
 * r10 = control of the ring, data = its data. There is none where rings are 0: in a forked child, and
 * for who must not publish any more.
 *
 * cpu: no need to compare the CPU later: a thread that moves is aborted. A thread that the kernel does not
 * restart, or is not known to, has a negative cpu_id. thread: the thread's word is key << 32 | ring; with
 * another key, or none, it is more than any number of rings.
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
 * rsi, rdi, rcx: copy rcx bytes. Clobbers rdx, r9. Falls out at the end. Every access is
 * within the payload and the record.
 *
 * No string instructions: where the ring is in the cache, rep movsb takes 27 ns for 1 KiB instead of
 * 36, but where it is not, 100 instead of 65; and rings usually are not (bench/ring, copies).
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
	/* By 64, and the last 64 bytes again. */
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
 * One publication. form: compact or extended. clock: tsc or given. mode: keep (discard, block) or
 * over(write). place: cpu or thread.
 *
 * exits: a function of ring_section takes two parts and returns what came of it. One of ring_publish
 * takes one part (it is compact) and is the usual whole of a publication: it returns 0, and goes on to
 * ring_publish_one_slow() with its arguments as they were when anything else came of it, but for a given
 * timestamp, in whose place the clock is read again. So its caller needs to keep nothing.
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
	.ifc \mode, over
	/*
	 * x86 keeps the order: before any byte. Pairs with the last look in ring_snapshot_once().
	 * Words with the position modulo 2^40: the sign of their difference says which is further.
	 */
	leaq	(%r11,%r8), %rdx
	cmpq	RING_CONTROL_CLAIM(%r10), %rdx
	js	.Lclaimed_\@
	movq	%rdx, RING_CONTROL_CLAIM(%r10)
.Lclaimed_\@:
	.endif
	movq	RING_CONTROL_LAST(%r10), %rdx

	.ifc \form, compact
	/* Time must not run back in a ring, and the epoch must be the one of the last record. */
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

	/* In the run, off the straight way. */
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
	jb	\exits\()_full
	subq	$RING_EPOCH_MASK, %rax
	cmpq	RING_PRODUCER_SIZE(%rdi), %rax
	ja	\exits\()_full
	movq	SAVED_LIMIT, %rax
	movq	%rax, RING_CONTROL_LIMIT(%r10)
	jmp	.Lroom_\@
	.else
.Lmarks_\@:
	/* Fewer blocks than there are: a record is at most half a ring. */
	movl	RING_PRODUCER_BLOCK_SHIFT(%rcx), %ecx
	movq	%r11, %rsi
	shrq	%cl, %rsi
	movq	%r8, %rdi
	shrq	%cl, %rdi
	/* rcx = the end of the record in 64 bits: as near to the last such end as the word says. */
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
 * A whole publication of one scalar, whose size is known here: compact or medium, with the TSC (tsc), or as the
 * caller has read that (given). The same stores in the same order as above, but nothing has to be kept on the stack, for
 * the arguments stay where they are: rdi producer, esi event id (below RING_TAG_MEDIUM in a compact record, else at
 * most 0xffff), rcx the scalar, rdx the time that is given; else it is not looked at, and the clock is read into it.
 *
 * What is not plain success goes on to ring_publish_one_slow(). What is rare and takes more than that
 * begins anew in the section above: a look at the consumer's tail, and the marks of a record that
 * reaches into another block of a ring that overwrites.
 *
 * In the run: rax timestamp, r8 where the record goes, r9 offset of struct rseq, r10 control, r11 head.
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
	/* Before any byte, and nobody but us reads it meanwhile: see above. */
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
	/* The order of the stores: as above. */
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
 * The same behind a prefix that the thread keeps ready (struct ring_prefix): rdx prefix, r8 what its stamp
 * must be, rcx the scalar. Nobody changes the prefix within the run, for who could is a signal handler.
 * So one look at the stamp is enough, and the bytes are copied once, from where they have been for long: a
 * copy that is read again at other distances waits for its stores.
 *
 * Returns 0, or 1: nothing was published, for whatever reason; the caller takes another way.
 *
 * In the run: rdx prefix until the clock is read, r8 bytes of the prefix, r9 where the record goes, r10
 * control, r11 head.
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
	/* Into another block: there are marks to make, or somebody to wake. */
	xorq	%r11, %rax
	cmpq	RING_PRODUCER_BLOCK(%rdi), %rax
	jae	.Lother_\@
	movq	SAVED_NEXT, %rax
	.ifc \mode, keep
	/* The sign of the difference says which is further, as with the claim. */
	subq	RING_CONTROL_LIMIT(%r10), %rax
	jns	.Lother_\@
	.else
	/* Before any byte: see above. */
	cmpq	RING_CONTROL_CLAIM(%r10), %rax
	js	.Lclaimed_\@
	movq	%rax, RING_CONTROL_CLAIM(%r10)
.Lclaimed_\@:
	.endif
	movq	%r11, %rax
	shrq	$RING_EPOCH_BITS, %rax
	andq	RING_PRODUCER_MASK(%rdi), %rax
	addq	%rax, %r9
	/* Each access within the prefix and the record. */
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
	/* The order of the stores: as above. */
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

/* Give up before the commit. */
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

/* Names as RING_SECTIONS() in section.h makes them. */
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
section_publish ring_section_parts_tsc_\mode\()_\placement, compact, tsc, \mode, \placement, ring_section
section_publish ring_section_parts_clock_\mode\()_\placement, compact, with_timestamp, \mode, \placement, ring_section
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

	/* r8 = the code; the rest is what ring_publish() was called with. */
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

	/* Each return goes to the address that its call has pushed: compatible with shadow stacks (SHSTK). */
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000002, 4, 2, 0

	.section .note.GNU-stack, "", @progbits
