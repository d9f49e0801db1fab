/* SPDX-License-Identifier: MIT */
/*
 * The shim is preloaded instead of the agent in programs of another word size or with another C
 * library.
 *
 * Beside the agent, it checks whether the agent was loaded, because a memory limit may prevent
 * that. It is also part of libside.a, for static programs, which have no loader.
 *
 * It only reports to the recorder or `side run` that this program is not recorded, and why. It needs
 * no library and no symbol, so every loader can load it. Its constructor makes system calls only,
 * and waits at most 100 ms for the recorder. The path in LD_PRELOAD makes the loader choose between
 * the agent and the shim: layout.py.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/environment/environment.h"

/* The same values as in src/protocol/protocol.h; test-start.py compares them. */
#define SHIM_MAGIC 0x45444953u
#define SHIM_VERSION 5
#define SHIM_UNRECORDED 16
#define SHIM_WORD_SIZE 1
#define SHIM_C_LIBRARY 2
#define SHIM_MEMORY 4
#define SHIM_LOADER 7
#define SHIM_STATIC 8

#define SHIM_VARIABLE "SIDE_AGENT_SOCKET"
#define SHIM_REPORT_VARIABLE "SIDE_REPORT_SOCKET"
#define SHIM_PATH_SIZE 108
#define SHIM_NAME_SIZE 4096
#define SHIM_WAIT_MS 100
#define SHIM_NONBLOCK_SEQPACKET_CLOEXEC (5 | 04000 | 02000000)

#ifdef __x86_64__
enum {
	SHIM_POLL = 7,
	SHIM_CLOSE = 3,
	SHIM_SOCKET = 41,
	SHIM_CONNECT = 42,
	SHIM_SENDTO = 44,
	SHIM_READLINK = 89,
	SHIM_PRCTL = 157,
	SHIM_PRLIMIT = 302
};
#define SHIM_IS_64 1

/*
 * The fifth argument is 0. Only sendto() has a sixth one, the length of the address, and ignores it
 * without an address.
 */
static long shim_call(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
			 : "rcx", "r11", "memory");
	return result;
}
#else
enum {
	SHIM_POLL = 168,
	SHIM_CLOSE = 6,
	SHIM_SOCKET = 359,
	SHIM_CONNECT = 362,
	SHIM_SENDTO = 369,
	SHIM_READLINK = 85,
	SHIM_PRCTL = 172,
	SHIM_PRLIMIT = 340
};
#define SHIM_IS_64 0

/* The fifth and the sixth argument are 0; the compiler uses the register of the sixth. */
static long shim_call(long number, long a, long b, long c, long d)
{
	long result;

	__asm__ volatile("pushl %%ebp\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "int $0x80\n\t"
			 "popl %%ebp"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(0)
			 : "memory");
	return result;
}
#endif

/* Symbols of the agent and of the GNU C library. */
extern void side_agent_start(void) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

struct shim_message {
	uint32_t magic;
	uint16_t version, type;
	uint32_t size, reserved;
	uint32_t reason, name_size; /* including the terminating zero */
	uint32_t elapsed_ms, body_reserved;
	char name[SHIM_NAME_SIZE];
};

struct shim_poll {
	int fd;
	short events, revents;
};

static void shim_send(const char *path, size_t size, const struct shim_message *message)
{
	struct {
		uint16_t family;
		char path[SHIM_PATH_SIZE];
	} address = {.family = 1};
	struct shim_poll poll = {.events = 1};
	size_t i;

	if (!size || size >= SHIM_PATH_SIZE)
		return;
	for (i = 0; i < size; i++)
		address.path[i] = path[i];
	poll.fd = (int)shim_call(SHIM_SOCKET, 1, SHIM_NONBLOCK_SEQPACKET_CLOEXEC, 0, 0);
	if (poll.fd < 0)
		return;
	if (!shim_call(SHIM_CONNECT, poll.fd, (long)&address, sizeof(address), 0) &&
			shim_call(SHIM_SENDTO, poll.fd, (long)message, (long)message->size,
					0x4000 /* MSG_NOSIGNAL */) > 0)
		/* The recorder closes the connection when it has read the message. */
		(void)shim_call(SHIM_POLL, (long)&poll, 1, SHIM_WAIT_MS, 0);
	(void)shim_call(SHIM_CLOSE, poll.fd, 0, 0, 0);
}

static uint32_t shim_reason(void)
{
	uint64_t limit[2] = {~0ull};

#ifdef LIBSIDE_STATIC
	return SHIM_STATIC;
#endif
	if (!SHIM_IS_64)
		return SHIM_WORD_SIZE;
	if (!&gnu_get_libc_version)
		return SHIM_C_LIBRARY;
	(void)shim_call(SHIM_PRLIMIT, 0, 9 /* RLIMIT_AS */, 0, (long)limit);
	return limit[0] != ~0ull ? SHIM_MEMORY : SHIM_LOADER;
}

/* `at`: paths of sockets, separated by colons, or NULL. */
static void shim_send_each(const char *at, const struct shim_message *message)
{
	while (at && *at) {
		size_t length = 0;

		while (at[length] && at[length] != ':')
			length++;
		shim_send(at, length, message);
		at += length + (at[length] == ':');
	}
}

static __attribute__((constructor, used)) void shim_loaded(void)
{
	static struct shim_message message = {
			.magic = SHIM_MAGIC, .version = SHIM_VERSION, .type = SHIM_UNRECORDED};
	const char *recorders = environment_get(SHIM_VARIABLE);
	const char *runs = environment_get(SHIM_REPORT_VARIABLE);
	long size;

#ifdef LIBSIDE_STATIC
	if (environment_has_interpreter())
		return;
#endif
	/* In a sandbox, make no system call: it could end the program. */
	if ((!recorders && !runs) || &side_agent_start ||
			shim_call(SHIM_PRCTL, 21 /* PR_GET_SECCOMP */, 0, 0, 0))
		return;
	size = shim_call(SHIM_READLINK, (long)"/proc/self/exe", (long)message.name,
			SHIM_NAME_SIZE - 1, 0);
	if (size <= 0) {
		message.name[0] = '?';
		size = 1;
	}
	message.reason = shim_reason();
	message.name_size = (uint32_t)size + 1;
	message.size = (uint32_t)(offsetof(struct shim_message, name) + message.name_size);
	shim_send_each(recorders, &message);
	shim_send_each(runs, &message);
}
