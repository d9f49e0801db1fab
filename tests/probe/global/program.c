/* SPDX-License-Identifier: MIT */
/*
 * A program for global probes: calls with known arguments, in as many processes as requested, and a
 * marker with a semaphore. It does not use SIDE, and prints at its end what it has called.
 *
 *	program ROUNDS [CHILDREN] [wait]
 *
 * wait: for a line of standard input before each round, and end when standard input ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct order {
	int32_t id;
	uint16_t table;
	int8_t mood;
	const char *dish;
	double hours;
	int64_t list[3];
};

int64_t orders_taken;
void serve(int64_t number);
int32_t cook(const struct order *order, int32_t guests, const char *guest_name);
static volatile int64_t sink;

/* As <sys/sdt.h> makes it. */
__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.popsection\n");
volatile uint16_t served_semaphore __attribute__((section(".probes"), used));

static const int16_t prices[] = {0, 5, -70, 800, -9000};

__attribute__((noinline)) void serve(int64_t number)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, served_semaphore\n"
			 ".asciz \"kitchen\"\n.asciz \"served\"\n.asciz \"-8@%0 4@$7\"\n"
			 "994: .balign 4\n.popsection\n" ::"r"(number));
	/* An operand that is computed from two registers. */
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, 0\n"
			 ".asciz \"kitchen\"\n.asciz \"priced\"\n.asciz \"-2@2(%0,%1,2)\"\n"
			 "994: .balign 4\n.popsection\n" ::"r"(prices),
			"r"(number & 3));
	sink += number;
}

__attribute__((noinline)) int32_t cook(
		const struct order *order, int32_t guests, const char *guest_name)
{
	sink += order->id + guests + *guest_name;
	orders_taken += guests;
	return order->id * 10 - guests;
}

/*
 * Returns the last one. Kernels take its first instruction for a nop: with a uprobe there, the
 * function returns another value.
 */
int64_t exchange(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e);
__asm__(".text\n.globl exchange\n.type exchange, @function\nexchange:\n.cfi_startproc\n"
	"xchg %rax, %r8\nret\n.cfi_endproc\n.size exchange, . - exchange\n");

/* Instructions on which kernels set no uprobe. */
static int64_t counted;
void locked(int64_t *counter);
void segmented(void);
__asm__(".text\n.globl locked\n.type locked, @function\nlocked:\n.cfi_startproc\n"
	"lock incq (%rdi)\nret\n.cfi_endproc\n.size locked, . - locked\n"
	".globl segmented\n.type segmented, @function\nsegmented:\n.cfi_startproc\n"
	"cs nopw 0(%rax, %rax, 1)\nret\n.cfi_endproc\n.size segmented, . - segmented\n");

__attribute__((noinline)) int64_t deep(int64_t depth);

/* Volatile, so that no compiler makes a loop of it. */
static int64_t (*volatile again)(int64_t depth) = deep;

int64_t deep(int64_t depth)
{
	sink += depth;
	return depth ? again(depth - 1) + depth : 0;
}

/* Values of every type, at their limits, computed from a number. */
struct load {
	int8_t s8;
	uint8_t u8;
	int16_t s16;
	uint16_t u16;
	int32_t s32;
	uint32_t u32;
	int64_t s64;
	uint64_t u64;
	float f32;
	double f64;
	char inside[8];
	const char *text, *nothing;
	const struct load *next;
	uint16_t row[4];
};

int64_t carry(int64_t number, int32_t half, uint8_t byte, const struct load *load, const char *text,
		uint64_t all);
const char *name_of(int64_t number);
int8_t small_of(int64_t number);

__attribute__((noinline)) int64_t carry(int64_t number, int32_t half, uint8_t byte,
		const struct load *load, const char *text, uint64_t all)
{
	sink += number + half + byte + load->s8 + *text + (int64_t)all;
	return (int64_t)((uint64_t)-number << 40) - 1;
}

__attribute__((noinline)) const char *name_of(int64_t number)
{
	static const char *const names[] = {"", "one", "two words", "drei \xc3\xa4\xc3\xb6"};

	sink += number;
	return names[number & 3];
}

__attribute__((noinline)) int8_t small_of(int64_t number)
{
	sink += number;
	return (int8_t)(number * 50 - 100);
}

static void carry_all(int64_t number)
{
	char text[200];
	struct load inner = {.s8 = (int8_t)number, .s64 = INT64_MAX - number, .text = "inner"};
	const struct load load = {.s8 = (int8_t)(INT8_MIN + number),
			.u8 = (uint8_t)(UINT8_MAX - number),
			.s16 = (int16_t)(INT16_MIN + number),
			.u16 = (uint16_t)(UINT16_MAX - number),
			.s32 = (int32_t)(INT32_MIN + number),
			.u32 = (uint32_t)(UINT32_MAX - number),
			.s64 = INT64_MIN + number,
			.u64 = UINT64_MAX - (uint64_t)number,
			.f32 = (float)number + 0.5f,
			.f64 = -(double)number - 0.25,
			.inside = "inside",
			.text = name_of(number),
			.next = &inner,
			.row = {1, 2, (uint16_t)(65535 - number), 4}};

	memset(text, 'a' + (int)number, sizeof(text));
	text[number * 40] = '\0';
	sink += carry(-number, (int32_t)(INT32_MIN + number), (uint8_t)(200 + number), &load, text,
			UINT64_MAX - (uint64_t)number);
	sink += small_of(number);
}

static void work(int rounds)
{
	static const struct order order = {.id = -3,
			.table = 65535,
			.mood = -7,
			.dish = "soup of the day",
			.hours = 1.5,
			.list = {7, -8, 9}};

	for (int i = 0; i < rounds; i++) {
		sink += cook(&order, i, "guest");
		serve(i);
	}
	sink += deep(3);
	if (exchange(1, 2, 3, 4, rounds) != rounds)
		abort();
	locked(&counted);
	segmented();
	for (int i = 0; i < 4; i++)
		carry_all(i);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, children = argc > 2 ? atoi(argv[2]) : 0;
	char line[16];

	for (int i = 0; i < children; i++) {
		if (!fork()) {
			work(rounds);
			_exit(0);
		}
	}
	if (argc > 3 && !strcmp(argv[3], "wait")) {
		while (fgets(line, sizeof(line), stdin)) {
			work(rounds);
			printf("%ld %d\n", (long)orders_taken, served_semaphore);
			fflush(stdout);
		}
		return 0;
	}
	work(rounds);
	while (wait(NULL) > 0)
		;
	printf("%ld %d\n", (long)orders_taken, served_semaphore);
	return 0;
}
