/* SPDX-License-Identifier: MIT */
/*
 * Functions that read return addresses, or whose callees do:
 *
 *	return-readers setjmp | callers | backtrace | table
 *
 * The output must be the same when the returns of all of them are watched. Also compiled without
 * unwind data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NI __attribute__((noinline))

/* ---- a setjmp() of its own, which also keeps what it reads in different ways ---- */

int my_setjmp(long *) __attribute__((returns_twice));
int my_setjmp_by_pop(long *) __attribute__((returns_twice));
int my_setjmp_by_register(long *) __attribute__((returns_twice));
int my_setjmp_behind_frame(long *) __attribute__((returns_twice));
void my_longjmp(long *, int) __attribute__((noreturn));

#define SAVE                                                                                  \
	" mov %rbx,(%rdi)\n mov %r12,16(%rdi)\n mov %r13,24(%rdi)\n mov %r14,32(%rdi)\n mov " \
	"%r15,40(%rdi)\n"
#define FUNCTION(name, text)                                                                    \
	".globl " name "\n.type " name ",@function\n.p2align 4\n" name ":\n" text ".size " name \
	",.-" name "\n"
__asm__(".text\n" FUNCTION("my_setjmp",
		SAVE " mov %rbp,8(%rdi)\n lea 8(%rsp),%rax\n mov %rax,48(%rdi)\n mov (%rsp),%rax\n "
		     "mov %rax,56(%rdi)\n"
		     " xor %eax,%eax\n ret\n") FUNCTION("my_setjmp_by_pop",
		SAVE " mov %rbp,8(%rdi)\n pop %rdx\n mov %rsp,48(%rdi)\n mov %rdx,56(%rdi)\n xor "
		     "%eax,%eax\n jmp *%rdx\n") FUNCTION("my_setjmp_by_register",
		SAVE
		" mov %rbp,8(%rdi)\n mov %rsp,%rdx\n mov (%rdx),%rax\n add $8,%rdx\n mov "
		"%rdx,48(%rdi)\n"
		" mov %rax,56(%rdi)\n xor %eax,%eax\n ret\n") FUNCTION("my_setjmp_behind_frame",
		SAVE " mov %rbp,8(%rdi)\n push %rbp\n mov %rsp,%rbp\n lea 16(%rbp),%rax\n mov "
		     "%rax,48(%rdi)\n"
		     " mov 8(%rbp),%rax\n mov %rax,56(%rdi)\n xor %eax,%eax\n leave\n ret\n")
				FUNCTION("my_longjmp",
						" mov %esi,%eax\n mov (%rdi),%rbx\n mov "
						"8(%rdi),%rbp\n mov 16(%rdi),%r12\n mov "
						"24(%rdi),%r13\n"
						" mov 32(%rdi),%r14\n mov 40(%rdi),%r15\n mov "
						"48(%rdi),%rsp\n jmp *56(%rdi)\n"));

static long buffer[8];

NI void thrower(int x)
{
	if (x % 5 > 2)
		my_longjmp(buffer, x);
}

#define GUARD(name, setjmp)                \
	NI int name(int x)                 \
	{                                  \
		int back = setjmp(buffer); \
                                           \
		if (back)                  \
			return -back;      \
		thrower(x);                \
		return x;                  \
	}
GUARD(guard_plain, my_setjmp)
GUARD(guard_pop, my_setjmp_by_pop)
GUARD(guard_register, my_setjmp_by_register)
GUARD(guard_frame, my_setjmp_behind_frame)

static void test_setjmp(void)
{
	for (int i = 0; i < 20; i++)
		printf("%d %d %d %d\n", guard_plain(i), guard_pop(i), guard_register(i),
				guard_frame(i));
}

/* ---- who has called the caller ---- */

extern char begin_of_program[] __asm__("__executable_start"), end_of_program[] __asm__("etext");

static const char *where(const void *address)
{
	return (const char *)address >= begin_of_program && (const char *)address < end_of_program
			? "program"
			: "elsewhere";
}

#pragma GCC diagnostic ignored "-Wframe-address"
NI const void *callers_caller(void)
{
	return __builtin_return_address(1);
}

NI void *own_caller(void)
{
	return __builtin_return_address(0);
}

NI const char *asks_above(int x)
{
	const void *volatile got = callers_caller();

	return x ? where(got) : "";
}

NI const char *asks(int x)
{
	const void *volatile got = own_caller();

	return x ? where(got) : "";
}

static void test_callers(void)
{
	for (int i = 1; i < 4; i++)
		printf("%s %s\n", asks_above(i), asks(i));
}

/* ---- backtrace(), which loads the unwinder when it is called first ---- */

#ifdef BACKTRACE
NI int level_one(int x)
{
	void *frames[64];
	int nr = backtrace(frames, 64);

	for (int i = 0; i < nr; i++) {
		Dl_info info;

		if (dladdr((char *)frames[i] - 1, &info) && info.dli_sname &&
				(!strncmp(info.dli_sname, "level_", 6) ||
						!strcmp(info.dli_sname, "main")))
			puts(info.dli_sname);
	}
	return x + nr;
}

NI int level_two(int x)
{
	volatile int got = level_one(x);

	return got;
}

NI int level_three(int x)
{
	volatile int got = level_two(x);

	return got;
}

static void test_backtrace(void)
{
	for (int i = 0; i < 2; i++)
		level_three(i);
}
#else
static void test_backtrace(void) {}
#endif

/* ---- a runtime that finds its frames by return addresses, as OCaml's does ---- */

#ifdef TABLE
struct descriptor {
	uintptr_t address;
	int number;
};
__attribute__((visibility("default"))) struct descriptor caml_frametable[8];
static int nr_descriptors;

static int find(uintptr_t address)
{
	for (int i = 0; i < nr_descriptors; i++)
		if (caml_frametable[i].address == address)
			return caml_frametable[i].number;
	return -1;
}

/* A call from the same location finds its caller's return address before it is watched. */
NI int camlModule__collect_1(int learn)
{
	uintptr_t address = (uintptr_t)__builtin_return_address(0);

	if (learn) {
		caml_frametable[nr_descriptors].address = address;
		caml_frametable[nr_descriptors].number = nr_descriptors;
		return nr_descriptors++;
	}
	return find(address);
}

NI int camlModule__build_2(int learn)
{
	volatile int got = camlModule__collect_1(learn);

	return got + 1;
}

static void test_table(void)
{
	for (int i = 0; i < 4; i++)
		printf("%d\n", camlModule__build_2(i == 0));
}

#else
static void test_table(void) {}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "setjmp"))
		test_setjmp();
	else if (!strcmp(what, "callers"))
		test_callers();
	else if (!strcmp(what, "backtrace"))
		test_backtrace();
	else if (!strcmp(what, "table"))
		test_table();
	else
		return 2;
	return 0;
}
