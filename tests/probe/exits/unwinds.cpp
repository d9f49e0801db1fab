/* SPDX-License-Identifier: MIT */
/*
 * Prints what an unwinder that goes through watched functions sees and does: unwinds exceptions | tails | loop | backtrace | plugin FILE.
 * With PLUGIN: a library with such an unwinder, for a program in C.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <unwind.h>

#define NI __attribute__((noinline))

extern "C" NI int thrower(int x)
{
	if (x % 3 == 1)
		throw std::runtime_error("one");
	if (x % 3 == 2)
		throw x;
	return x;
}

#ifdef PLUGIN
/* Calls back into the program, whose functions an exception leaves. */
extern "C" int run_with(int (*callback)(int))
{
	int sum = 0;

	for (int i = 0; i < 9; i++) {
		try {
			sum += callback(i);
		} catch (std::exception &e) {
			sum += 100;
		} catch (int x) {
			sum += 1000 * x;
		}
	}
	return sum;
}
#else

static volatile int sink;

extern "C" NI int middle(int x)
{
	volatile int y = thrower(x);

	return y + 1;
}
extern "C" NI int outer(int x)
{
	try {
		volatile int y = middle(x);

		return y + 1;
	} catch (int thrown) {
		if (thrown % 2)
			throw;
		return thrown + 10;
	}
}

static void exceptions()
{
	for (int i = 0; i < 12; i++) {
		try {
			printf("%d\n", outer(i));
		} catch (std::exception &e) {
			printf("caught %s\n", e.what());
		} catch (int x) {
			printf("caught %d\n", x);
		}
	}
}

/* Each of these ends in a jump to the next one. */
struct base {
	virtual int act(int x) = 0;
};
struct derived : base {
	NI int act(int x) override { return thrower(x); }
};
static derived object;
static base *const volatile some_object = &object;
static std::function<int(int)> some_function = thrower;
static int (*const volatile some_pointer)(int) = thrower;
extern "C" NI int tail_direct(int x)
{
	return thrower(x);
}
extern "C" NI int tail_two(int x)
{
	return tail_direct(x + 1);
}
extern "C" NI int tail_three(int x)
{
	return tail_two(x + 2);
}
extern "C" NI int tail_virtual(int x)
{
	return some_object->act(x);
}
extern "C" NI int tail_function(int x)
{
	return some_function(x);
}
extern "C" NI int tail_pointer(int x)
{
	return some_pointer(x);
}

static void tails()
{
	static int (*const table[])(int) = {tail_direct, tail_two, tail_three, tail_virtual,
			tail_function, tail_pointer};

	for (int i = 0; i < 30; i++) {
		try {
			printf("%d\n", table[i % 6](i));
			sink++;
		} catch (std::exception &e) {
			printf("caught %s\n", e.what());
		} catch (int x) {
			printf("caught %d\n", x);
		}
	}
}

/* Until its standard input ends; the result of every call is the same as without probes. */
static void loop()
{
	static int (*const table[])(int) = {tail_direct, tail_two, tail_three, tail_virtual,
			tail_function, tail_pointer};
	static const int added[] = {0, 1, 3, 0, 0, 0};
	unsigned long wrong = 0;
	struct pollfd input = {0, POLLIN, 0};

	puts("begins");
	for (int i = 0; i % 1000 || !poll(&input, 1, 1); i = (i + 1) % 1000000) {
		int x = i + added[i % 6], got = -1;

		try {
			got = table[i % 6](i);
		} catch (std::exception &e) {
			got = -2;
		} catch (int thrown) {
			got = -3 - thrown;
		}
		wrong += got != (x % 3 == 1 ? -2 : x % 3 == 2 ? -3 - x : x);
	}
	printf("%lu wrong\n", wrong);
}

/* Compared by the starts of functions: no frame of the probes' own code may be among them. */
extern "C" int main(int argc, char **argv);
extern "C" int level_one(int x);
extern "C" int level_two(int x);
extern "C" int level_three(int x);
static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *)
{
	static const struct {
		void *begin;
		const char *name;
	} known[] = {{(void *)&level_one, "level_one"}, {(void *)&level_two, "level_two"},
			{(void *)&level_three, "level_three"}, {(void *)&main, "main"}};
	int before = 0;
	uintptr_t ip = _Unwind_GetIPInfo(context, &before) - !before;
	void *begin = _Unwind_FindEnclosingFunction((void *)ip);

	for (auto &each : known) {
		if (each.begin == begin)
			puts(each.name);
	}
	return _URC_NO_REASON;
}
extern "C" NI int level_one(int x)
{
	_Unwind_Backtrace(step, NULL);
	return x + sink;
}
extern "C" NI int level_two(int x)
{
	volatile int y = level_one(x);

	return y;
}
extern "C" NI int level_three(int x)
{
	volatile int y = level_two(x);

	return y;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "exceptions"))
		exceptions();
	else if (!strcmp(what, "tails"))
		tails();
	else if (!strcmp(what, "loop"))
		loop();
	else if (!strcmp(what, "backtrace"))
		sink = level_three(1);
	else
		return 2;
	return 0;
}
#endif
