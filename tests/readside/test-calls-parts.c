/* SPDX-License-Identifier: MIT */
/*
 * The parts that follow code: the effect of one instruction on a state (calls-step.c), the common
 * state of two paths (calls-memory.c), how far a function is followed (calls-flow.c), and the
 * verdict about arguments (calls-compare.c). The instructions are assembled into this program. Each
 * expected value follows from the manual of the processor.
 */
#include "programs/readside/calls.h"

#include "../failing-calls.h"
#include "../check.h"

#include <side/trace.h>

#define CODE(name, text)                                                         \
	extern const uint8_t name[] __attribute__((visibility("hidden")));       \
	extern const uint8_t name##_end[] __attribute__((visibility("hidden"))); \
	__asm__(".pushsection .rodata\n" #name ":\n" text "\n" #name "_end:\n.popsection\n")
#define RUN(state, name, text)                     \
	do {                                       \
		CODE(name, text);                  \
		run_code(state, name, name##_end); \
	} while (0)
#define FIRST_BYTES 0x4142434445464748

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R15 = 15 };

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint64_t known_number __attribute__((visibility("hidden")));
extern uint64_t changing_number __attribute__((visibility("hidden")));
const uint64_t known_number = FIRST_BYTES;
uint64_t changing_number = 3;

static struct image *image;
static int file;
/* This program is loaded at this distance from the addresses in its file. */
static uint64_t base;

static uint64_t file_address(const void *at)
{
	return (uint64_t)(uintptr_t)at - base;
}

static void open_image(void)
{
	struct error error;
	size_t nr;

	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	CHECK(!image_open(file, true, &image, &error));
	CHECK(image_segments(image, &nr)[0].offset == 0);
	base = (uint64_t)(uintptr_t)__ehdr_start - image_segments(image, &nr)[0].address;
}

static struct calls_state *new_state(void)
{
	struct calls_state *state = calls_state_new(256, 64);

	CHECK(state);
	return state;
}

static void run_code(struct calls_state *state, const uint8_t *code, const uint8_t *end)
{
	struct calls_step step;

	for (const uint8_t *at = code; at < end; at += step.length) {
		calls_step(at, (size_t)(end - at), file_address(at), state, image, &step);
		CHECK(step.goes == GOES_ON && step.length);
	}
}

static bool is_value(
		struct calls_value value, enum known_value kind, unsigned int mask, int64_t number)
{
	bool same = value.kind == kind && value.mask == mask && value.number == number;

	if (!same)
		fprintf(stderr, "found kind %u, mask 0x%x, number 0x%llx\n", value.kind, value.mask,
				(unsigned long long)value.number);
	return same;
}

#define IS(value, kind, mask, number) CHECK(is_value(value, kind, mask, number))
#define REGISTER(number) (state->registers[number])
#define IS_NUMBER(register, number) IS(REGISTER(register), KNOWN_BYTES, 0xff, number)
#define IS_UNKNOWN(register) IS(REGISTER(register), KNOWN_BYTES, 0, 0)
#define FRAME(at, size) calls_load(state, at, size)

/* ---- registers ---- */

static void test_registers(void)
{
	struct calls_state *state = new_state();

	IS(REGISTER(RSP), KNOWN_STACK, 0, 0);
	IS(REGISTER(RDI), KNOWN_FIRST, 0, 0);
	IS_UNKNOWN(RAX);
	RUN(state, moves,
			"movl $-2, %eax\n movq $-3, %rcx\n movabsq $0x1122334455667788, %rdx\n movl $15, %r15d\n movq %rdi, %rbx");
	IS_NUMBER(RAX, 0xfffffffe);
	IS_NUMBER(RCX, -3);
	IS_NUMBER(RDX, 0x1122334455667788);
	IS_NUMBER(R15, 15);
	IS(REGISTER(RBX), KNOWN_FIRST, 0, 0);
	/* Half of an address is unknown, but the upper half of a register is zero. */
	RUN(state, halves, "movl %edi, %ebx\n movw $5, %ax\n movb $1, %dh\n movl %ecx, %r15d");
	IS(REGISTER(RBX), KNOWN_BYTES, 0xf0, 0);
	IS_UNKNOWN(RAX);
	IS_UNKNOWN(RDX);
	IS_NUMBER(R15, 0xfffffffd);
	RUN(state, bytes_high,
			"movl $0x8234, %eax\n movl $0x8234, %ebx\n movzbl %ah, %ecx\n movzbl %bh, %edx\n movzbl %al, %esi\n"
			"movl $0x7f80, %ebp\n movzbl %bpl, %edi\n");
	IS(REGISTER(RCX), KNOWN_BYTES, 0xf0, 0);
	IS(REGISTER(RDX), KNOWN_BYTES, 0xf0, 0);
	IS_NUMBER(RSI, 0x34);
	IS_NUMBER(RDI, 0x80);
	RUN(state, bytes_low, "movl $0x12345, %ebx\n movzbl %bl, %ecx\n movl %ds, %eax");
	IS_NUMBER(RCX, 0x45);
	IS(REGISTER(RAX), KNOWN_BYTES, 0xf0, 0);
	RUN(state, extends,
			"movl $0x80, %eax\n movsbl %al, %ecx\n movsbq %al, %rdx\n movl $0x7f, %eax\n movsbl %al, %ebx\n"
			"movl $0x80000000, %eax\n movslq %eax, %rsi\n movswl %ax, %ebp\n");
	IS_NUMBER(RCX, 0xffffff80);
	IS_NUMBER(RDX, -128);
	IS_NUMBER(RBX, 0x7f);
	IS_NUMBER(RSI, INT32_MIN);
	IS_NUMBER(RBP, 0);
	free(state);
	state = new_state();
	RUN(state, extends_unknown,
			"movl $3, %ecx\n movzwl %ax, %ecx\n movl $3, %edx\n movslq %eax, %rdx");
	IS_UNKNOWN(RDX);
	IS(REGISTER(RCX), KNOWN_BYTES, 0xf0, 0);
	free(state);
}

static void test_sums(void)
{
	struct calls_state *state = new_state();

	RUN(state, sums,
			"movq $40, %rax\n addq $2, %rax\n movl $7, %ecx\n subl $9, %ecx\n movq $40, %rdx\n subq $50, %rdx\n"
			"subq $24, %rsp\n movq %rsp, %rbx\n addq $8, %rbx\n addq %rcx, %rbx\n movq $5, %rsi\n addq %rsp, %rsi");
	IS_NUMBER(RAX, 42);
	IS_NUMBER(RCX, 0xfffffffe);
	IS_NUMBER(RDX, -10);
	IS(REGISTER(RSP), KNOWN_STACK, 0, -24);
	IS(REGISTER(RBX), KNOWN_STACK, 0, -16 + 0xfffffffel);
	IS(REGISTER(RSI), KNOWN_STACK, 0, -19);
	/* The first argument plus zero is the first argument. */
	RUN(state, sums_first,
			"movq %rdi, %rax\n addq $0, %rax\n movq %rdi, %rcx\n addq $1, %rcx\n movq $9, %rdx\n subq %rdi, %rdx");
	IS(REGISTER(RAX), KNOWN_FIRST, 0, 0);
	IS_UNKNOWN(RCX);
	IS_UNKNOWN(RDX);
	RUN(state, sums_frame,
			"movq %rsp, %rax\n addq %r8, %rax\n movq %rsp, %rcx\n subq %rsp, %rcx\n movq %r8, %rdx\n addq %rsp, %rdx\n"
			"movl %r8d, %esi\n addl $1, %esi\n movw $3, %bp\n");
	IS(REGISTER(RAX), KNOWN_ABOVE, 0, INT32_MIN);
	IS(REGISTER(RCX), KNOWN_ABOVE, 0, INT32_MIN);
	IS(REGISTER(RDX), KNOWN_ABOVE, 0, INT32_MIN);
	IS(REGISTER(RSI), KNOWN_BYTES, 0xf0, 0);
	IS_UNKNOWN(RBP);
	RUN(state, sums_above,
			"addq $16, %rax\n movq %r8, %rcx\n addq %r9, %rcx\n movl $1, %esi\n addl %r8d, %esi");
	IS(REGISTER(RAX), KNOWN_ABOVE, 0, INT32_MIN + 16l);
	IS_UNKNOWN(RCX);
	IS(REGISTER(RSI), KNOWN_BYTES, 0xf0, 0);
	RUN(state, sums_memory, "movl $3, (%rsp)\n addl $4, (%rsp)\n movl $100, 4(%rsp)\n");
	IS(FRAME(-24, 4), KNOWN_BYTES, 0xf, 7);
	IS(FRAME(-24, 8), KNOWN_BYTES, 0xff, 100l << 32 | 7);
	/* A register xor itself is zero. */
	RUN(state, zeros,
			"xorl %r8d, %r8d\n xorq %rax, %rcx\n movl $3, (%rsp)\n movl $9, %edx\n xorl (%rsp), %edx\n movl $9, %esi\n xorl $9, %esi");
	IS_NUMBER(8, 0);
	IS_UNKNOWN(RCX);
	IS(REGISTER(RDX), KNOWN_BYTES, 0xf0, 0);
	IS(REGISTER(RSI), KNOWN_BYTES, 0xf0, 0);
	free(state);
}

#define VECTOR(number, part) (state->vectors[number][part])

static void test_vectors(void)
{
	struct calls_state *state = new_state();

	RUN(state, clears,
			"pxor %xmm0, %xmm0\n xorps %xmm15, %xmm15\n vpxor %ymm14, %ymm14, %ymm14\n vxorps %xmm13, %xmm12, %xmm12\n"
			"vpxor %xmm1, %xmm2, %xmm2\n xorpd %xmm3, %xmm3\n vpxor %ymm4, %ymm5, %ymm4");
	for (unsigned int part = 0; part < 2; part++) {
		IS(VECTOR(0, part), KNOWN_BYTES, 0xff, 0);
		IS(VECTOR(15, part), KNOWN_BYTES, 0xff, 0);
		IS(VECTOR(14, part), KNOWN_BYTES, 0xff, 0);
		IS(VECTOR(12, part), KNOWN_BYTES, 0, 0);
		IS(VECTOR(2, part), KNOWN_BYTES, 0, 0);
		IS(VECTOR(3, part), KNOWN_BYTES, 0xff, 0);
		IS(VECTOR(4, part), KNOWN_BYTES, 0, 0);
	}
	RUN(state, vector_moves,
			"movabsq $0x1122334455667788, %rax\n movq %rax, %xmm0\n movd %eax, %xmm3\n movq %xmm0, %rbx\n movd %xmm3, %ecx\n"
			"subq $64, %rsp\n movups %xmm0, (%rsp)\n movq $9, 8(%rsp)\n movups (%rsp), %xmm6\n movq %xmm6, 24(%rsp)\n movd %xmm6, 32(%rsp)\n"
			"movaps %xmm6, %xmm7\n movaps %xmm7, 40(%rsp)\n");
	IS(VECTOR(0, 0), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(VECTOR(0, 1), KNOWN_BYTES, 0xff, 0);
	IS(VECTOR(3, 0), KNOWN_BYTES, 0xff, 0x55667788);
	IS(VECTOR(3, 1), KNOWN_BYTES, 0xff, 0);
	IS_NUMBER(RBX, 0x1122334455667788);
	IS_NUMBER(RCX, 0x55667788);
	IS(VECTOR(6, 0), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(VECTOR(6, 1), KNOWN_BYTES, 0xff, 9);
	IS(VECTOR(7, 1), KNOWN_BYTES, 0xff, 9);
	IS(FRAME(-40, 8), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(FRAME(-32, 8), KNOWN_BYTES, 0xf, 0x55667788);
	IS(FRAME(-24, 8), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(FRAME(-16, 8), KNOWN_BYTES, 0xff, 9);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	/* Of wider ones only the writes are modelled. */
	RUN(state, wide,
			"pxor %xmm0, %xmm0\n pxor %xmm15, %xmm15\n vmovups (%rsp), %zmm0\n vmovups (%rsp), %zmm15\n pxor %xmm1, %xmm1\n"
			"vmovups (%rsp), %ymm1\n pxor %xmm8, %xmm8\n vmovups (%rsp), %ymm8\n paddd %xmm0, %xmm7");
	IS(VECTOR(0, 0), KNOWN_BYTES, 0, 0);
	IS(VECTOR(15, 1), KNOWN_BYTES, 0, 0);
	IS(VECTOR(1, 0), KNOWN_BYTES, 0, 0);
	IS(VECTOR(8, 1), KNOWN_BYTES, 0, 0);
	IS(VECTOR(7, 0), KNOWN_BYTES, 0, 0);
	RUN(state, wide_edges,
			"vpxor %ymm0, %ymm0, %ymm0\n vpxor %ymm15, %ymm15, %ymm15\n vmovups (%rsp), %ymm15\n");
	IS(VECTOR(0, 1), KNOWN_BYTES, 0xff, 0);
	IS(VECTOR(15, 0), KNOWN_BYTES, 0, 0);
	RUN(state, wide_store, "vmovups %ymm0, (%rsp)");
	IS(FRAME(-64, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-40, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-32, 8), KNOWN_BYTES, 0xf, 0x55667788);
	RUN(state, widest_store, "movq $1, (%rsp)\n movq $2, 56(%rsp)\n vmovups %zmm0, (%rsp)");
	IS(FRAME(-64, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	free(state);
}

/* Vector instructions change vectors only, not what follows the registers in a state. */
static void test_vectors_alone(void)
{
	struct calls_state *state = calls_state_new(8 * CALLS_POINTERS, 0),
			   *same = calls_state_new(8 * CALLS_POINTERS, 0);

	CHECK(state && same);
	for (int i = 1; i <= CALLS_POINTERS; i++)
		calls_store(state, -8 * i, 8, (struct calls_value){KNOWN_STACK, 0, i});
	for (unsigned int i = 0; i < 16; i++)
		VECTOR(i, 0) = VECTOR(i, 1) = calls_constant(i, 8);
	memcpy(same, state, calls_state_size(state));
	RUN(state, vectors_alone,
			"paddd %xmm1, %xmm0\n paddd %xmm1, %xmm15\n vpaddd %ymm1, %ymm1, %ymm7");
	for (unsigned int i = 0; i < 16; i++)
		for (unsigned int part = 0; part < 2; part++) {
			CHECK(VECTOR(i, part).mask == (i == 0 || i == 7 || i == 15 ? 0 : 0xff));
			VECTOR(i, part) = same->vectors[i][part];
		}
	CHECK(!memcmp(state, same, calls_state_size(state)));
	free(state);
	free(same);
}

/* ---- memory ---- */

static void test_addresses(void)
{
	struct calls_state *state = new_state();

	RUN(state, addresses,
			"subq $64, %rsp\n movl $3, %ecx\n leaq -8(%rsp), %rax\n leaq (%rsp,%rcx,4), %rdx\n leaq 5(%rcx,%rcx,8), %rbx\n"
			"leaq (%rsp,%r8,4), %rsi\n leal (%rsp), %ebp\n leaq known_number(%rip), %r9\n leaq 7(,%rcx,2), %r10\n leaq (%rsp,%rdi), %r11");
	IS(REGISTER(RAX), KNOWN_STACK, 0, -72);
	IS(REGISTER(RDX), KNOWN_STACK, 0, -52);
	IS_NUMBER(RBX, 32);
	IS(REGISTER(RSI), KNOWN_ABOVE, 0, INT32_MIN);
	IS(REGISTER(RBP), KNOWN_BYTES, 0xf0, 0);
	IS_NUMBER(9, (int64_t)file_address(&known_number));
	IS_NUMBER(10, 13);
	IS(REGISTER(11), KNOWN_ABOVE, 0, INT32_MIN);
	/* Constants of the file are read in segments that are not writable. */
	RUN(state, constants,
			"movq known_number(%rip), %rax\n movl known_number+4(%rip), %ecx\n movq changing_number(%rip), %rdx\n movq %fs:0x28, %rbx\n"
			"movq (%r9), %rsi\n movzbl 1(%r9), %ebp");
	IS_NUMBER(RAX, FIRST_BYTES);
	IS_NUMBER(RCX, 0x41424344);
	IS_UNKNOWN(RDX);
	IS_UNKNOWN(RBX);
	IS_NUMBER(RSI, FIRST_BYTES);
	IS_NUMBER(RBP, 0x47);
	free(state);
}

static void test_constants(void)
{
	size_t nr;
	const struct image_segment *segments = image_segments(image, &nr);
	const struct image_segment *first = &segments[0];
	uint8_t bytes[8];

	CHECK(nr >= 2 && !first->writable);
	CHECK(calls_read_constant(image, first->address, bytes, 4) && !memcmp(bytes, "\177ELF", 4));
	CHECK(calls_read_constant(image, first->address + first->memory_size - 1, bytes, 1));
	CHECK(!calls_read_constant(image, first->address + first->memory_size - 1, bytes, 8) ||
			segments[1].address == first->address + first->memory_size);
	for (size_t i = 0; i < nr; i++)
		CHECK(calls_read_constant(image, segments[i].address, bytes, 1) !=
				segments[i].writable);
	CHECK(!calls_read_constant(
			image, segments[nr - 1].address + segments[nr - 1].memory_size, bytes, 1));
}

static void test_stores(void)
{
	struct calls_state *state = new_state();

	RUN(state, stores,
			"subq $128, %rsp\n movq $1, (%rsp)\n movq $2, 56(%rsp)\n movq $3, 64(%rsp)\n movq $0, 8(%rsp,%r8,8)");
	IS(FRAME(-128, 8), KNOWN_BYTES, 0xff, 1);
	/* A loop that clears one argument of 64 bytes: not the next one. */
	IS(FRAME(-72, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-64, 8), KNOWN_BYTES, 0xff, 3);
	RUN(state, stores_16, "movq $4, 16(%rsp)\n movq $5, 24(%rsp)\n movq $0, 8(%rsp,%r8,4)");
	IS(FRAME(-112, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-104, 8), KNOWN_BYTES, 0xff, 5);
	/* A value other than zero may be written anywhere after it. */
	RUN(state, stores_any, "movq $7, 32(%rsp,%r8,8)");
	IS(FRAME(-104, 8), KNOWN_BYTES, 0xff, 5);
	IS(FRAME(-64, 8), KNOWN_BYTES, 0, 0);
	RUN(state, stores_half, "movq $8, 64(%rsp)\n movl $0, 40(%rsp,%r8,8)");
	IS(FRAME(-64, 8), KNOWN_BYTES, 0, 0);
	CHECK(!state->escaped);
	/* An address with an unknown offset: the whole frame. */
	RUN(state, stores_all, "movq %rsp, %rax\n addq %r8, %rax\n movq $0, (%rax)");
	IS(FRAME(-128, 8), KNOWN_BYTES, 0, 0);
	CHECK(!state->escaped);
	/* Other memory does not change the frame, until the frame's address is stored. */
	RUN(state, stores_other, "movq $6, (%rsp)\n movq $1, (%r9)");
	IS(FRAME(-128, 8), KNOWN_BYTES, 0xff, 6);
	CHECK(!state->escaped);
	RUN(state, stores_escape, "movq %rsp, (%r9)");
	IS(FRAME(-128, 8), KNOWN_BYTES, 0xff, 6);
	CHECK(state->escaped);
	RUN(state, stores_escaped, "movq $1, (%r9)");
	IS(FRAME(-128, 8), KNOWN_BYTES, 0, 0);
	free(state);
	state = new_state();
	RUN(state, stores_pointer,
			"subq $64, %rsp\n movq %rsp, %rax\n addq %r8, %rax\n movq %rsp, (%rax)");
	CHECK(state->escaped);
	RUN(state, stores_wide,
			"movq $1, (%rsp)\n movq $2, 8(%rsp)\n movq $3, 16(%rsp)\n fstpt (%rsp)\n incl 16(%rsp)");
	IS(FRAME(-64, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-56, 8), KNOWN_BYTES, 0xfc, 0);
	IS(FRAME(-48, 8), KNOWN_BYTES, 0xf0, 0);
	free(state);
}

static void test_stack(void)
{
	struct calls_state *state = new_state();

	RUN(state, pushes, "pushq $5\n pushq %rdi\n popq %rbx\n pushq %rsp");
	IS(REGISTER(RSP), KNOWN_STACK, 0, -16);
	IS(REGISTER(RBX), KNOWN_FIRST, 0, 0);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0xff, 5);
	IS(FRAME(-16, 8), KNOWN_STACK, 0, -8);
	RUN(state, leaves, "movq %rsp, %rbp\n movq $77, (%rbp)\n subq $100, %rsp\n leave");
	IS_NUMBER(RBP, 77);
	IS(REGISTER(RSP), KNOWN_STACK, 0, -8);
	RUN(state, leaves_first, "pushq %rdi\n movq %rsp, %rbp\n leave");
	IS(REGISTER(RBP), KNOWN_FIRST, 0, 0);
	IS(REGISTER(RSP), KNOWN_STACK, 0, -8);
	IS_UNKNOWN(RAX);
	RUN(state, leaves_again, "movl $1, %ebp\n leave");
	IS_UNKNOWN(RSP);
	RUN(state, leaves_unknown, "leave");
	IS_UNKNOWN(RBP);
	IS_UNKNOWN(RSP);
	RUN(state, pops_unknown, "movl $1, %eax\n popq %rax");
	IS_UNKNOWN(RAX);
	IS_UNKNOWN(RSP);
	free(state);
	state = new_state();
	RUN(state, pushes_half, "pushq $5\n pushw $5");
	IS_UNKNOWN(RSP);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	RUN(state, pushes_unknown, "pushq $3");
	IS_UNKNOWN(RSP);
	free(state);
}

/* Copies and fills with a repetition count. */
static void test_repeats(void)
{
	struct calls_state *state = new_state();

	RUN(state, copies,
			"subq $192, %rsp\n movq $11, 64(%rsp)\n movq %rdi, 72(%rsp)\n leaq 64(%rsp), %rsi\n movq %rsp, %rdi\n movl $2, %ecx\n rep movsq");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0xff, 11);
	IS(FRAME(-184, 8), KNOWN_FIRST, 0, 0);
	IS(REGISTER(RSI), KNOWN_STACK, 0, -112);
	IS(REGISTER(RDI), KNOWN_STACK, 0, -176);
	IS_NUMBER(RCX, 0);
	RUN(state, copies_small,
			"movabsq $0x1122334455667788, %rax\n movq %rax, 64(%rsp)\n movq %rax, 72(%rsp)\n leaq 64(%rsp), %rsi\n leaq 128(%rsp), %rdi\n"
			"movl $11, %ecx\n rep movsb\n movl $3, %ecx\n leaq 64(%rsp), %rsi\n rep movsl");
	IS(FRAME(-64, 8), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(FRAME(-56, 4), KNOWN_BYTES, 0xf, (int64_t)0x88667788);
	IS(FRAME(-53, 8), KNOWN_BYTES, 0xff, 0x1122334455667788);
	IS(FRAME(-45, 8), KNOWN_BYTES, 0xf, 0x55667788);
	IS(REGISTER(RDI), KNOWN_STACK, 0, -41);
	RUN(state, fills,
			"movl $0x21, %eax\n leaq 96(%rsp), %rdi\n movl $3, %ecx\n rep stosq\n movl $-1, %eax\n movl $1, %ecx\n rep stosl\n movl $1, %ecx\n rep stosb");
	IS(FRAME(-96, 8), KNOWN_BYTES, 0xff, 0x21);
	IS(FRAME(-80, 8), KNOWN_BYTES, 0xff, 0x21);
	IS(FRAME(-72, 4), KNOWN_BYTES, 0xf, 0xffffffff);
	IS(REGISTER(RDI), KNOWN_STACK, 0, -67);
	IS_NUMBER(RCX, 0);
	/*
	 * Compilers make no copy with a negative count, or one above 4,096: nothing is known
	 * afterwards.
	 */
	RUN(state, fills_most,
			"movl $4096, %ecx\n leaq 128(%rsp), %rdi\n movl $1, %eax\n rep stosb");
	IS_NUMBER(RCX, 0);
	IS(REGISTER(RDI), KNOWN_STACK, 0, -64 + 4096);
	IS(FRAME(56, 8), KNOWN_BYTES, 0xff, 0x0101010101010101);
	IS(FRAME(-192, 8), KNOWN_BYTES, 0xff, 11);
	RUN(state, fills_none, "xorl %ecx, %ecx\n leaq 128(%rsp), %rdi\n rep stosb");
	IS(REGISTER(RDI), KNOWN_STACK, 0, -64);
	RUN(state, fills_more,
			"movl $4097, %ecx\n leaq 128(%rsp), %rdi\n movl $1, %eax\n rep stosb");
	IS_UNKNOWN(RDI);
	IS_UNKNOWN(RCX);
	IS(FRAME(-192, 8), KNOWN_BYTES, 0, 0);
	RUN(state, fills_negative,
			"movq $1, (%rsp)\n movq $-1, %rcx\n leaq 128(%rsp), %rdi\n rep stosb");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0, 0);
	/* To other memory, as long as no memory has an address of the frame. */
	RUN(state, fills_elsewhere,
			"movq $1, (%rsp)\n movl $2, %ecx\n movq %r8, %rdi\n rep stosb\n movl $2, %ecx\n movq %r8, %rsi\n leaq 8(%rsp), %rdi\n");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0xff, 1);
	RUN(state, copies_elsewhere, "rep movsb");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0, 0);
	state->escaped = true;
	RUN(state, fills_escaped, "movq $1, (%rsp)\n movl $2, %ecx\n movq %r8, %rdi\n rep stosb");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0, 0);
	state->escaped = false;
	/* Once, without a count. */
	RUN(state, copies_once,
			"movq $1, (%rsp)\n movq $2, 8(%rsp)\n movl $1, %ecx\n movq %rsp, %rdi\n leaq 8(%rsp), %rsi\n movsq");
	IS(FRAME(-192, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-184, 8), KNOWN_BYTES, 0xff, 2);
	IS_NUMBER(RCX, 1);
	IS_UNKNOWN(RDI);
	free(state);
}

/* ---- locations ---- */

static struct calls_step step_of(const uint8_t *code, size_t size)
{
	struct calls_step step;

	calls_step(code, size, 0x1000, NULL, image, &step);
	return step;
}

static bool goes(const char *code, size_t size, enum calls_goes where, uint64_t target,
		uint64_t slot)
{
	struct calls_step step = step_of((const uint8_t *)code, size);

	return step.goes == where && step.target == target && step.slot == slot &&
			step.length == size && !step.frame;
}

#define GOES(code, ...) CHECK(goes(code, sizeof(code) - 1, __VA_ARGS__))

static void test_goes(void)
{
	CODE(frames, "pushq %rax\n subq $32, %rsp\n subq $-32, %rsp\n subq $32, %rax\n subq %rax, %rsp\n addq $32, %rsp\n subq $0, %rsp");
	static const int64_t expected[] = {8, 32, 0, 0, 0, 0, 0};
	const uint8_t *at = frames;

	GOES("\xe8\x10\0\0\0", GOES_CALL, 0x1015, 0);
	GOES("\xff\x15\x20\0\0\0", GOES_CALL, 0, 0x1026);
	GOES("\xff\xd0", GOES_CALL, 0, 0);
	GOES("\xeb\xfe", GOES_TO, 0x1000, 0);
	GOES("\xff\x25\x20\0\0\0", GOES_AWAY, 0, 0x1026);
	GOES("\xff\xe0", GOES_AWAY, 0, 0);
	GOES("\x75\x02", GOES_MAYBE, 0x1004, 0);
	GOES("\xc3", GOES_AWAY, 0, 0);
	GOES("\x0f\x0b", GOES_AWAY, 0, 0);
	GOES("\x0f\xb9\xc0", GOES_AWAY, 0, 0);
	GOES("\x0f\xff\xc0", GOES_AWAY, 0, 0);
	GOES("\xf4", GOES_AWAY, 0, 0);
	GOES("\xcc", GOES_AWAY, 0, 0);
	GOES("\x90", GOES_ON, 0, 0);
	CHECK(step_of((const uint8_t *)"\x06", 1).goes == GOES_NOT &&
			!step_of((const uint8_t *)"\x06", 1).length);
	CHECK(step_of((const uint8_t *)"\xe8\x10", 2).goes == GOES_NOT);
	for (size_t i = 0; at < frames_end; i++) {
		struct calls_step step = step_of(at, 16);

		CHECK(step.frame == expected[i]);
		at += step.length;
	}
}

static void test_called(void)
{
	static const uint8_t argument_registers[] = {RDI, RSI, RDX, RCX, 8, 9};
	static const bool lost[16] = {[RAX] = true,
			[RCX] = true,
			[RDX] = true,
			[RSI] = true,
			[RDI] = true,
			[8] = true,
			[9] = true,
			[10] = true,
			[11] = true};
	struct calls_state *state = new_state();

	for (unsigned int i = 0; i < 16; i++) {
		if (i != RSP)
			REGISTER(i) = calls_constant(i + 1, 8);
		VECTOR(i, 0) = VECTOR(i, 1) = calls_constant(5, 8);
	}
	calls_store(state, -8, 8, calls_constant(9, 8));
	REGISTER(RAX) = (struct calls_value){KNOWN_STACK, 0, -8}; /* is not an argument */
	calls_called(state);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0xff, 9);
	for (unsigned int i = 0; i < 16; i++) {
		if (lost[i])
			IS_UNKNOWN(i);
		else if (i != RSP)
			IS_NUMBER(i, i + 1);
		IS(VECTOR(i, 0), KNOWN_BYTES, 0, 0);
		IS(VECTOR(i, 1), KNOWN_BYTES, 0, 0);
	}
	for (unsigned int i = 0; i < sizeof(argument_registers); i++) {
		calls_store(state, -8, 8, calls_constant(9, 8));
		REGISTER(argument_registers[i]) =
				(struct calls_value){i % 2 ? KNOWN_ABOVE : KNOWN_STACK, 0, -8};
		calls_called(state);
		IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	}
	calls_store(state, -8, 8, calls_constant(9, 8));
	state->escaped = true;
	calls_called(state);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	free(state);
}

/* ---- known values ---- */

static void test_frame(void)
{
	struct calls_state *state = calls_state_new(32, 16);
	const struct calls_value first = {KNOWN_FIRST, 0, 0};

	CHECK(state && state->below == 32 && state->above == 16);
	CHECK(calls_state_size(state) == sizeof(*state) + 96);
	IS(calls_constant(5, 2), KNOWN_BYTES, 3, 5);
	IS(calls_constant(5, 8), KNOWN_BYTES, 0xff, 5);
	CHECK(calls_is_constant(&(struct calls_value){KNOWN_BYTES, 0x7f, 0}, 7));
	CHECK(!calls_is_constant(&(struct calls_value){KNOWN_BYTES, 0x7f, 0}, 8));
	CHECK(!calls_is_constant(&(struct calls_value){KNOWN_STACK, 0xff, 0}, 8));
	/* At both ends of the frame, and one byte beyond. */
	calls_store(state, -32, 8, calls_constant(0x0102030405060708, 8));
	calls_store(state, 8, 8, calls_constant(0x1112131415161718, 8));
	IS(FRAME(-32, 8), KNOWN_BYTES, 0xff, 0x0102030405060708);
	IS(FRAME(8, 8), KNOWN_BYTES, 0xff, 0x1112131415161718);
	IS(FRAME(-33, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(9, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(15, 1), KNOWN_BYTES, 1, 0x11);
	IS(FRAME(16, 1), KNOWN_BYTES, 0, 0);
	calls_store(state, -33, 4, calls_constant(7, 4));
	IS(FRAME(-32, 8), KNOWN_BYTES, 0xf8, 0x0102030405000000);
	calls_store(state, 13, 4, calls_constant(7, 4));
	IS(FRAME(8, 8), KNOWN_BYTES, 0x1f, 0x1415161718);
	calls_store(state, -32, 4, (struct calls_value){KNOWN_BYTES, 5, 0xa1b2c3d4});
	IS(FRAME(-32, 4), KNOWN_BYTES, 5, 0xb200d4);
	/* Addresses: only whole ones, at the offset where they were stored. */
	calls_store(state, -16, 8, first);
	IS(FRAME(-16, 8), KNOWN_FIRST, 0, 0);
	IS(FRAME(-16, 4), KNOWN_BYTES, 0, 0);
	IS(FRAME(-15, 8), KNOWN_BYTES, 0, 0);
	calls_store(state, 0, 4, first);
	IS(FRAME(0, 8), KNOWN_BYTES, 0, 0);
	CHECK(state->nr_pointers == 1);
	calls_forget(state, -24, -16);
	calls_forget(state, -8, 0);
	calls_forget(state, -12, -12);
	calls_forget(state, -10, -14);
	CHECK(state->nr_pointers == 1);
	calls_forget(state, -24, -15);
	CHECK(!state->nr_pointers);
	calls_store(state, -16, 8, first);
	calls_forget(state, -9, 0);
	CHECK(!state->nr_pointers);
	calls_store(state, -32, 8, calls_constant(1, 8));
	calls_store(state, 8, 8, calls_constant(1, 8));
	calls_forget(state, -31, 15);
	IS(FRAME(-32, 8), KNOWN_BYTES, 1, 1);
	IS(FRAME(8, 8), KNOWN_BYTES, 0x80, 0);
	calls_store(state, -16, 8, first);
	calls_forget_all(state);
	CHECK(!state->nr_pointers && !memchr(state->bytes + 48, 1, 48));
	calls_store(state, 15, 1, calls_constant(1, 1));
	calls_forget(state, -100, 100);
	CHECK(!memchr(state->bytes + 48, 1, 48));
	free(state);
}

static void test_pointers(void)
{
	struct calls_state *state = calls_state_new(8 * (CALLS_POINTERS + 1), 0);
	struct calls_state *other = calls_state_new(8 * (CALLS_POINTERS + 1), 0);
	const struct calls_value first = {KNOWN_FIRST, 0, 0}, stack = {KNOWN_STACK, 0, -4};

	CHECK(state && other);
	for (int i = 1; i <= CALLS_POINTERS + 1; i++)
		calls_store(state, -8 * i, 8, first);
	CHECK(state->nr_pointers == CALLS_POINTERS && CALLS_POINTERS == 192);
	IS(FRAME(-8 * 192, 8), KNOWN_FIRST, 0, 0);
	IS(FRAME(-8 * 193, 8), KNOWN_BYTES, 0, 0);
	memcpy(other, state, calls_state_size(state));
	CHECK(!calls_meet(state, other));
	/* There is no space for one more address: it may be anywhere. */
	calls_forget(other, -8, 0);
	calls_store(other, -8 * 193, 8, stack);
	CHECK(calls_meet(state, other) && state->nr_pointers == 192 && !state->escaped);
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-8 * 193, 8), KNOWN_ABOVE, 0, -state->below);
	calls_forget(state, -8 * 193, -8 * 192);
	calls_store(state, -8, 8, stack);
	CHECK(state->nr_pointers == 192 && calls_meet(state, other));
	CHECK(state->nr_pointers == 192 && state->escaped);
	IS(FRAME(-8, 8), KNOWN_ABOVE, 0, -state->below);
	IS(FRAME(-8 * 193, 8), KNOWN_BYTES, 0, 0);
	CHECK(!calls_meet(state, other));
	free(state);
	free(other);
}

/*
 * Two paths to one location: the state of the first, the state of the second, the common state, and
 * whether it has less.
 */
static void test_meeting(void)
{
	static const struct {
		struct calls_value one, other, both;
		bool less;
	} cases[] = {
			{{KNOWN_BYTES, 0xff, 5}, {KNOWN_BYTES, 0xff, 5}, {KNOWN_BYTES, 0xff, 5},
					false},
			{{KNOWN_BYTES, 0xff, 0x0102030405060708},
					{KNOWN_BYTES, 0xff, 0x0902030405060700},
					{KNOWN_BYTES, 0x7e, 0x0002030405060700}, true},
			{{KNOWN_BYTES, 0xff, 0x0102}, {KNOWN_BYTES, 0x01, 0x02},
					{KNOWN_BYTES, 0x01, 0x02}, true},
			{{KNOWN_BYTES, 0x01, 0x02}, {KNOWN_BYTES, 0xff, 0x0102},
					{KNOWN_BYTES, 0x01, 0x02}, false},
			{{KNOWN_STACK, 0, -8}, {KNOWN_STACK, 0, -8}, {KNOWN_STACK, 0, -8}, false},
			{{KNOWN_STACK, 0, -8}, {KNOWN_STACK, 0, -16}, {KNOWN_ABOVE, 0, -16}, true},
			{{KNOWN_STACK, 0, -16}, {KNOWN_STACK, 0, -8}, {KNOWN_ABOVE, 0, -16}, true},
			{{KNOWN_STACK, 0, -8}, {KNOWN_ABOVE, 0, -24}, {KNOWN_ABOVE, 0, -24}, true},
			{{KNOWN_ABOVE, 0, -16}, {KNOWN_STACK, 0, -8}, {KNOWN_ABOVE, 0, -16}, false},
			{{KNOWN_ABOVE, 0, -16}, {KNOWN_STACK, 0, -16}, {KNOWN_ABOVE, 0, -16},
					false},
			{{KNOWN_ABOVE, 0, -16}, {KNOWN_ABOVE, 0, -24}, {KNOWN_ABOVE, 0, -256},
					true},
			{{KNOWN_BYTES, 0xff, 5}, {KNOWN_STACK, 0, -8}, {KNOWN_ABOVE, 0, -256},
					true},
			{{KNOWN_STACK, 0, -8}, {KNOWN_BYTES, 0, 0}, {KNOWN_ABOVE, 0, -256}, true},
			{{KNOWN_FIRST, 0, 0}, {KNOWN_FIRST, 0, 0}, {KNOWN_FIRST, 0, 0}, false},
			{{KNOWN_FIRST, 0, 0}, {KNOWN_BYTES, 0xff, 5}, {KNOWN_BYTES, 0, 0}, true},
			{{KNOWN_BYTES, 0xff, 5}, {KNOWN_FIRST, 0, 0}, {KNOWN_BYTES, 0, 0}, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* In the first and the last register, and in both parts of a vector. */
		for (unsigned int part = 0; part < 4; part++) {
			struct calls_state *state = new_state(), *other = new_state();
			struct calls_value *one = part < 2 ? &state->registers[15 * part]
							   : &state->vectors[15][part - 2];
			struct calls_value *two = part < 2 ? &other->registers[15 * part]
							   : &other->vectors[15][part - 2];

			*one = cases[i].one;
			*two = cases[i].other;
			CHECK(calls_meet(state, other) == cases[i].less);
			IS(*one, cases[i].both.kind, cases[i].both.mask, cases[i].both.number);
			free(state);
			free(other);
		}
	}
}

static void test_meeting_frames(void)
{
	struct calls_state *state = new_state(), *other = new_state();
	const struct calls_value first = {KNOWN_FIRST, 0, 0}, stack = {KNOWN_STACK, 0, -4};

	calls_store(state, -256, 8, calls_constant(0x0101, 8));
	calls_store(other, -256, 8, calls_constant(0x0201, 8));
	calls_store(state, 63, 1, calls_constant(7, 1));
	calls_store(other, 32, 8, calls_constant(7, 8));
	CHECK(calls_meet(state, other));
	IS(FRAME(-256, 8), KNOWN_BYTES, 0xfd, 1);
	IS(FRAME(63, 1), KNOWN_BYTES, 0, 0);
	IS(FRAME(32, 8), KNOWN_BYTES, 0, 0);
	CHECK(!calls_meet(state, other));
	calls_store(state, -8, 8, first);
	calls_store(state, -16, 8, stack);
	calls_store(other, -24, 8, first);
	calls_store(other, -32, 8, stack);
	CHECK(calls_meet(state, other));
	IS(FRAME(-8, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-16, 8), KNOWN_ABOVE, 0, -256);
	IS(FRAME(-24, 8), KNOWN_BYTES, 0, 0);
	IS(FRAME(-32, 8), KNOWN_ABOVE, 0, -256);
	CHECK(!calls_meet(state, other));
	other->escaped = true;
	CHECK(calls_meet(state, other) && state->escaped);
	CHECK(!calls_meet(state, other));
	free(other);
	/* If the path to the location is unknown, only the frame's registers remain. */
	free(state);
	state = new_state();
	REGISTER(RBP) = (struct calls_value){KNOWN_STACK, 0, -8};
	REGISTER(RDI) = calls_unknown;
	REGISTER(RSP).number = -48;
	state->escaped = true;
	CHECK(!calls_leave_frame(state));
	IS(REGISTER(RBP), KNOWN_STACK, 0, -8);
	IS(REGISTER(RSP), KNOWN_STACK, 0, -48);
	calls_store(state, -8, 1, calls_constant(1, 1));
	VECTOR(15, 1) = VECTOR(0, 0) = calls_constant(1, 8);
	CHECK(calls_leave_frame(state));
	IS(FRAME(-8, 1), KNOWN_BYTES, 0, 0);
	IS(VECTOR(15, 1), KNOWN_BYTES, 0, 0);
	IS(VECTOR(0, 0), KNOWN_BYTES, 0, 0);
	calls_store(state, -8, 8, first);
	CHECK(calls_leave_frame(state) && !state->nr_pointers);
	REGISTER(RBP).number = -9;
	CHECK(calls_leave_frame(state));
	IS_UNKNOWN(RBP);
	REGISTER(15) = calls_constant(1, 1);
	CHECK(calls_leave_frame(state));
	IS_UNKNOWN(15);
	REGISTER(0) = first;
	CHECK(calls_leave_frame(state));
	state->escaped = false;
	CHECK(calls_leave_frame(state) && state->escaped);
	free(state);
}

int main(void)
{
	open_image();
	test_registers();
	test_sums();
	test_vectors();
	test_vectors_alone();
	test_addresses();
	test_constants();
	test_stores();
	test_stack();
	test_repeats();
	test_goes();
	test_called();
	test_frame();
	test_pointers();
	test_meeting();
	test_meeting_frames();
	image_close(image);
	close(file);
	return 0;
}
