/* SPDX-License-Identifier: MIT */
/*
 * The code that the borrowed thread and the new thread run, in a form that leaves the program
 * intact if side is killed at any moment.
 *
 * The code is written to unused bytes of the program's own code pages: after the end of a segment,
 * up to the end of its page. The program never executes those bytes, so no other thread can meet
 * the change. The registers of the borrowed thread are written beside the code, so the thread can
 * return without the tracer.
 *
 *       entry   The thread blocks signals and maps the scratch memory, whose state word the tracer
 *               reads. From here on it uses a stack in the scratch memory: nothing below its own
 *               stack pointer is changed, because there may be a red zone, or the small stack of a
 *               coroutine.
 *       busy    It saves errno and the processor state that functions may change, and calls
 *               pthread_create(). Other calls are only those for the attributes, and functions of
 *               an agent that is already loaded: they keep probes from recording these calls as the
 *               program's. Meanwhile it accepts the signal by which the C library changes the ids
 *               of all threads: setuid() waits for it in each thread while it holds the lock of
 *               pthread_create().
 *       spin    The new thread exists. The borrowed thread yields until the tracer stops it and
 *               restores its registers, so that the kernel itself restarts the interrupted system
 *               call.
 *       alone   The tracer did not come: the thread returns by itself, and repeats an interrupted
 *               system call.
 *       failed  No thread was created; continues like spin.
 *
 * If the tracer is killed before `entry`, the thread continues as after a stop. Later, it reaches
 * `alone` by itself, and pending signals are then delivered. One thing differs: a system call that
 * a handler without SA_RESTART would have interrupted is restarted.
 *
 * The new thread executes commands from the scratch memory: calls of the program's functions. After
 * ten seconds without a command, or on request, it unmaps the memory and exits. If the tracer was
 * killed, the code remains in the page, where no thread executes it.
 */
#include <stddef.h>

#include "attach/parts.h"

#if defined(__x86_64__) && defined(__LP64__)

#include <cpuid.h>

/* The assembly below uses these offsets in struct inject_values and struct inject_scratch. */
#define VALUE(name, at) _Static_assert(offsetof(struct inject_values, name) == (at), #name)
VALUE(rax, 0);
VALUE(rsp, 56);
VALUE(r15, 120);
VALUE(rip, 128);
VALUE(flags, 136);
VALUE(mask, 144);
VALUE(blocked, 152);
VALUE(scratch, 160);
VALUE(states, 168);
VALUE(errno_location, 176);
VALUE(attr_init, 184);
VALUE(attr_setdetachstate, 192);
VALUE(attr_setstacksize, 200);
VALUE(attr_destroy, 208);
VALUE(create, 216);
VALUE(pause, 224);
VALUE(own.begin, 240);
VALUE(own.end, 248);
VALUE(own.thread, 256);
VALUE(ids, 264);
_Static_assert(sizeof(struct inject_values) == 272, "values");
#define SCRATCH(name, at) _Static_assert(offsetof(struct inject_scratch, name) == (at), #name)
SCRATCH(state, 0);
SCRATCH(created, 4);
SCRATCH(command, 8);
SCRATCH(done, 12);
SCRATCH(function, 16);
SCRATCH(arguments, 24);
SCRATCH(result, 72);
SCRATCH(id, 80);
SCRATCH(attributes, 88);
SCRATCH(before, 152);
_Static_assert(sizeof(struct inject_scratch) <= INJECT_PAGE, "the processor's state is behind it");

/* clang-format off */
__asm__(".pushsection .rodata.inject_code, \"a\", @progbits\n"
	".p2align 4\n"
	"inject_code_begin:\n"
	".fill 272, 1, 0\n"
	"inject_code_entry:\n"
	"	movq inject_code_begin+160(%rip), %rbx\n"
	/* rt_sigprocmask(SIG_SETMASK, &blocked, NULL, 8) */
	"	movl $14, %eax\n"
	"	movl $2, %edi\n"
	"	leaq inject_code_begin+152(%rip), %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"inject_code_masked:\n"
	/* mmap(scratch, 64 KiB, READ | WRITE, PRIVATE | ANONYMOUS | FIXED_NOREPLACE, -1, 0) */
	"	movl $9, %eax\n"
	"	movq %rbx, %rdi\n"
	"	movl $65536, %esi\n"
	"	movl $3, %edx\n"
	"	movl $0x100022, %r10d\n"
	"	movq $-1, %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	cmpq %rbx, %rax\n"
	"	jne inject_code_unmapped\n"
	"	leaq 65536(%rbx), %rsp\n"
	"	movl $1, (%rbx)\n"
	"	movl inject_code_begin+168(%rip), %eax\n"
	"	movl inject_code_begin+172(%rip), %edx\n"
	"	xsave64 4096(%rbx)\n"
	"	cld\n"
	/* rt_sigprocmask(SIG_UNBLOCK, &ids, NULL, 8) */
	"	movl $14, %eax\n"
	"	movl $1, %edi\n"
	"	leaq inject_code_begin+264(%rip), %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	leaq 80(%rbx), %r15\n"
	"	movq inject_code_begin+240(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	leaq 152(%rbx), %rdi\n"
	"	call *%rax\n"
	"	movq %rax, %r15\n"
	"1:	call *inject_code_begin+176(%rip)\n"
	"	movq %rax, %r13\n"
	"	movl (%rax), %r12d\n"
	"	leaq 88(%rbx), %rbp\n"
	"	movq %rbp, %rdi\n"
	"	call *inject_code_begin+184(%rip)\n"
	"	movq %rbp, %rdi\n"
	"	movl $1, %esi\n"
	"	call *inject_code_begin+192(%rip)\n"
	"	movq %rbp, %rdi\n"
	"	movl $262144, %esi\n"
	"	call *inject_code_begin+200(%rip)\n"
	"	movq %r15, %rdi\n"
	"	movq %rbp, %rsi\n"
	"	leaq inject_code_thread(%rip), %rdx\n"
	"	movq %rbx, %rcx\n"
	"	call *inject_code_begin+216(%rip)\n"
	"	movl %eax, 4(%rbx)\n"
	"	movl %eax, %r14d\n"
	"	movq %rbp, %rdi\n"
	"	call *inject_code_begin+208(%rip)\n"
	"	movq inject_code_begin+248(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	movq 152(%rbx), %rdi\n"
	"	movl %r14d, %esi\n"
	"	call *%rax\n"
	"1:	movl %r12d, (%r13)\n"
	/* rt_sigprocmask(SIG_BLOCK, &ids, NULL, 8) */
	"	movl $14, %eax\n"
	"	xorl %edi, %edi\n"
	"	leaq inject_code_begin+264(%rip), %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	movl inject_code_begin+168(%rip), %eax\n"
	"	movl inject_code_begin+172(%rip), %edx\n"
	"	xrstor64 4096(%rbx)\n"
	"	movq inject_code_begin+56(%rip), %rsp\n"
	"	movl $4096, %r12d\n"
	"	testl %r14d, %r14d\n"
	"	jnz inject_code_refused\n"
	"	movl $2, (%rbx)\n"
	"inject_code_spin:\n"
	"1:	movl $24, %eax\n" /* sched_yield */
	"	syscall\n"
	"	decl %r12d\n"
	"	jnz 1b\n"
	"inject_code_alone:\n"
	/* rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8) */
	"	movl $14, %eax\n"
	"	movl $2, %edi\n"
	"	leaq inject_code_begin+144(%rip), %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	/*
	 * Restore the overflow flag by an addition that overflows if it was set, and the other
	 * flags by SAHF.
	 */
	"	movl inject_code_begin+136(%rip), %eax\n"
	"	addb $127, %al\n"
	"	sahf\n"
	"	movq inject_code_begin(%rip), %rax\n"
	"	movq inject_code_begin+8(%rip), %rbx\n"
	"	movq inject_code_begin+16(%rip), %rcx\n"
	"	movq inject_code_begin+24(%rip), %rdx\n"
	"	movq inject_code_begin+32(%rip), %rsi\n"
	"	movq inject_code_begin+40(%rip), %rdi\n"
	"	movq inject_code_begin+48(%rip), %rbp\n"
	"	movq inject_code_begin+56(%rip), %rsp\n"
	"	movq inject_code_begin+64(%rip), %r8\n"
	"	movq inject_code_begin+72(%rip), %r9\n"
	"	movq inject_code_begin+80(%rip), %r10\n"
	"	movq inject_code_begin+88(%rip), %r11\n"
	"	movq inject_code_begin+96(%rip), %r12\n"
	"	movq inject_code_begin+104(%rip), %r13\n"
	"	movq inject_code_begin+112(%rip), %r14\n"
	"	movq inject_code_begin+120(%rip), %r15\n"
	"	jmp *inject_code_begin+128(%rip)\n"
	/* munmap(scratch, 64 KiB); the errno is in r14. */
	"inject_code_refused:\n"
	"	movl $11, %eax\n"
	"	movq %rbx, %rdi\n"
	"	movl $65536, %esi\n"
	"	syscall\n"
	"	jmp inject_code_failed\n"
	"inject_code_unmapped:\n"
	"	movq %rax, %r14\n"
	"	negq %r14\n"
	"	movl $4096, %r12d\n"
	"inject_code_failed:\n"
	"1:	movl $24, %eax\n"
	"	syscall\n"
	"	decl %r12d\n"
	"	jnz 1b\n"
	"	jmp inject_code_alone\n"
	"inject_code_failed_end:\n"

	/* The new thread: void *(void *scratch). */
	"inject_code_thread:\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	subq $8, %rsp\n"
	"	movq %rdi, %rbx\n"
	/* prctl(PR_SET_NAME, name) */
	"	movl $157, %eax\n"
	"	movl $15, %edi\n"
	"	leaq inject_code_name(%rip), %rsi\n"
	"	syscall\n"
	/*
	 * close_range(3, ~0, UNSHARE): the thread must not keep descriptors of the program open, or
	 * take their numbers.
	 */
	"	movl $436, %eax\n"
	"	movl $3, %edi\n"
	"	movl $-1, %esi\n"
	"	movl $2, %edx\n"
	"	syscall\n"
	"	movq inject_code_begin+256(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	call *%rax\n"
	"1:	movl $100000, %r12d\n"
	"2:	movl 8(%rbx), %eax\n"
	"	cmpl 12(%rbx), %eax\n"
	"	jne 3f\n"
	"	movl $35, %eax\n" /* nanosleep */
	"	leaq inject_code_begin+224(%rip), %rdi\n"
	"	xorl %esi, %esi\n"
	"	syscall\n"
	"	decl %r12d\n"
	"	jnz 2b\n"
	"	jmp 4f\n"
	"3:	cmpq $0, 16(%rbx)\n"
	"	je 4f\n"
	"	movq 24(%rbx), %rdi\n"
	"	movq 32(%rbx), %rsi\n"
	"	movq 40(%rbx), %rdx\n"
	"	movq 48(%rbx), %rcx\n"
	"	movq 56(%rbx), %r8\n"
	"	movq 64(%rbx), %r9\n"
	"	xorl %eax, %eax\n"
	"	call *16(%rbx)\n"
	"	movq %rax, 72(%rbx)\n"
	"	movl 8(%rbx), %eax\n"
	"	movl %eax, 12(%rbx)\n"
	"	jmp 1b\n"
	"4:	movl $11, %eax\n"
	"	movq %rbx, %rdi\n"
	"	movl $65536, %esi\n"
	"	syscall\n"
	"	addq $8, %rsp\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"inject_code_name:\n"
	/* the digits are replaced by the number of the tracer */
	"	.asciz \"side-attach0000\"\n"
	"inject_code_end:\n"
	".popsection\n");
/* clang-format on */

#define LABEL(name) extern const uint8_t name[] __attribute__((visibility("hidden")))
LABEL(inject_code_begin);
LABEL(inject_code_entry);
LABEL(inject_code_masked);
LABEL(inject_code_spin);
LABEL(inject_code_refused);
LABEL(inject_code_failed);
LABEL(inject_code_thread);
LABEL(inject_code_name);
LABEL(inject_code_end);

uint64_t inject_code_states(void)
{
	uint32_t a, b, c, d, low, high;
	uint64_t states;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	/*
	 * Without the protection keys (PKRU): restoring them could change the program's access
	 * rights.
	 */
	states = (((uint64_t)high << 32) | low) & ~UINT64_C(0x200);
	if (!__get_cpuid_count(13, 0, &a, &b, &c, &d) || b > INJECT_SCRATCH_SIZE / 2)
		return 0;
	return states;
}

struct inject_code inject_code_get(void)
{
	return (struct inject_code){
			.bytes = inject_code_begin,
			.size = (size_t)(inject_code_end - inject_code_begin),
			.entry = (size_t)(inject_code_entry - inject_code_begin),
			.masked = (size_t)(inject_code_masked - inject_code_begin),
			.spin = (size_t)(inject_code_spin - inject_code_begin),
			.refused = (size_t)(inject_code_refused - inject_code_begin),
			.failed = (size_t)(inject_code_failed - inject_code_begin),
			.thread = (size_t)(inject_code_thread - inject_code_begin),
			.name = (size_t)(inject_code_name - inject_code_begin),
	};
}

#else

uint64_t inject_code_states(void)
{
	return 0;
}

struct inject_code inject_code_get(void)
{
	return (struct inject_code){.bytes = NULL};
}
#endif
