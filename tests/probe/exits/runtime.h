/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROBE_EXITS_RUNTIME_H
#define TESTS_PROBE_EXITS_RUNTIME_H

/*
 * For the generated programs: each function counts its calls and its returns, without a frame of
 * its own if it ends in a tail call.
 *
 * A function that ends in a tail call is noted as pending; the function that returns for it counts
 * both. The functions that a function must count are between `low` and `high` of the list; each
 * call starts with an empty list after `high`.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <pthread.h>
#include <csetjmp>
#include <stdexcept>
#include <string>
#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#include <coroutine>
#define COROUTINES 1
#endif

#define NI __attribute__((noinline))
#define FUNCTIONS_MAX 4096
#define PROGRAM_FUNCTIONS_MAX 16

static uint64_t sum;
static unsigned long called[FUNCTIONS_MAX], returned[FUNCTIONS_MAX];
static const char *names[FUNCTIONS_MAX];
static thread_local unsigned int pending[256], first, last;

/* Optimizers must not know what a function does, or which of its arguments are used. */
static inline void opaque(uint64_t &value)
{
	__asm__ volatile("" : "+r"(value)::"memory");
}

/*
 * A statically linked unwinder prepares itself at the first exception that is thrown. The C library
 * ends threads with the shared unwinder, which calls functions of the static one: before that
 * exception they abort the program.
 */
static inline void prepare_unwinder(void)
{
	try {
		throw 0;
	} catch (int) {
	}
}

static inline void note(unsigned int which, const char *name)
{
	names[which] = name;
	called[which]++;
}

/*
 * The functions that calls of a program choose from. Not const, so that compilers do not know them.
 */
typedef uint64_t (*volatile functions[PROGRAM_FUNCTIONS_MAX])(uint64_t);
static uint64_t graphs; /* the number that decides */
static inline uint64_t chosen(uint64_t site, uint64_t count)
{
	return ((graphs + site) * UINT64_C(0x9e3779b97f4a7c15) ^
			       graphs * UINT64_C(0xd6e8feb86659fd93)) %
			65521 % count;
}

/* A function of its own, because std::string takes compilers long. */
static NI std::string text_of(uint64_t size)
{
	return std::string(size, 'x');
}
static NI uint64_t length_of(const std::exception &e)
{
	return std::string(e.what()).size();
}

/* For a function that returns itself. */
#define BEGIN(which, x)                              \
	const unsigned int low = first, high = last; \
	note(which, __func__);                       \
	opaque(x)
/* Before each call, also after a handler. */
#define FRESH() (void)(first = last = high)
#define CALL(call) (FRESH(), (call))
static NI void count_pending(unsigned int low, unsigned int high)
{
	for (unsigned int i = low; i < high; i++)
		returned[pending[i]]++;
}
static inline uint64_t end(unsigned int which, unsigned int low, unsigned int high, uint64_t x)
{
	if (low != high)
		count_pending(low, high);
	returned[which]++;
	first = last = low;
	opaque(x);
	return x;
}
#define END(which, x) return end(which, low, high, x)
/* For a function that ends in a tail call. */
#define BEGIN_TAIL(which, x)           \
	note(which, __func__);         \
	pending[last++ % 256] = which; \
	opaque(x)

struct oops {
	uint64_t code;
};
struct cleanup {
	uint64_t value;
	~cleanup() { sum = sum * 31 + value; }
};
/* The exception that ends a thread must not reach a handler that swallows exceptions. */
static thread_local unsigned int swallowing;
struct swallow {
	swallow() { swallowing++; }
	~swallow() { swallowing--; }
};
struct object {
	virtual ~object() {}
	virtual uint64_t act(uint64_t x) = 0;
};

/* A thread that does not return from its function counts no return. */
struct thread_start {
	uint64_t (*function)(uint64_t);
	uint64_t x;
	int state;
};
static void *run_thread(void *argument)
{
	thread_start *start = static_cast<thread_start *>(argument);

	first = last = 0;
	try {
		start->x = start->function(start->x);
		start->state = 1;
	} catch (oops &o) {
		start->x = o.code;
		start->state = 2;
	} catch (std::exception &e) {
		start->x = length_of(e);
		start->state = 3;
	}
	return NULL;
}
static NI uint64_t in_thread(uint64_t (*function)(uint64_t), uint64_t x)
{
	thread_start start = {function, x, 0};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_thread, &start) || pthread_join(thread, NULL))
		abort();
	return start.x + (uint64_t)start.state;
}

static thread_local jmp_buf *target;

#ifdef COROUTINES
struct generator {
	struct promise_type {
		uint64_t value = 0;
		std::exception_ptr error;
		generator get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(uint64_t x)
		{
			value = x;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> handle;
	bool next()
	{
		handle.resume();
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return !handle.done();
	}
};
#endif

static void report()
{
	for (unsigned int i = 0; i < FUNCTIONS_MAX; i++) {
		if (names[i])
			printf("%s %lu %lu\n", names[i], called[i], returned[i]);
	}
	printf("sum %llx\n", (unsigned long long)sum);
	fflush(stdout);
}

#endif
