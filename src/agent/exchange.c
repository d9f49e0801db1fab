/* SPDX-License-Identifier: MIT */
/*
 * Talking with the consumer: open, say, hear, close, each exchange within its time. What the
 * consumer answers is checked as strictly as what it checks of ours.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "wire/raw.h"

#include <sys/mman.h>
#include <sys/prctl.h>

/* Kernel names of processes have at most 15 bytes. */
#define COMM_SIZE 16
#define EXE_SIZE 4096

void agent_print(const char *format, ...)
{
	char line[512];
	va_list arguments;
	int head, size;

	head = snprintf(line, sizeof(line), "side-agent[%d]: ", (int)raw_call(SYS_getpid));
	va_start(arguments, format);
	size = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, arguments);
	va_end(arguments);
	size = size < 0 ? 0 : size;
	size = head + size < (int)sizeof(line) - 1 ? head + size : (int)sizeof(line) - 2;
	line[size++] = '\n';
	raw_call(SYS_write, 2, line, (size_t)size);
}

void agent_hang_up(void)
{
	wire_close(agent.socket);
	agent.socket = -1;
}

/*
 * Has the program locked itself in since it started? A filter that does not expect our system calls
 * would have it killed for them, so nothing is said any more. (A filter that was there at the start,
 * a container's, has let us connect once.)
 */
bool agent_is_sandboxed(void)
{
	return prctl(PR_GET_SECCOMP) != agent.seccomp;
}

/* The process's name as `ps` shows it; in full where the kernel has cut the program's name. */
static void process_names(char comm[EXE_SIZE], char exe[EXE_SIZE])
{
	long size = raw_call(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", exe,
			(size_t)EXE_SIZE - 1);
	const char *base;

	exe[size > 0 ? size : 0] = 0;
	memset(comm, 0, COMM_SIZE + 1);
	prctl(PR_GET_NAME, comm);
	base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	if (strlen(comm) == COMM_SIZE - 1 && !strncmp(comm, base, COMM_SIZE - 1) &&
			strlen(base) < 256)
		memcpy(comm, base, strlen(base) + 1);
	if (!*comm)
		memcpy(comm, "unknown", 8);
}

static ssize_t build_hello(void *message, char *names, uint64_t parent_token)
{
	const union {
		uint16_t word;
		uint8_t first;
	} order = {.word = 1};
	struct wire_hello hello = {
			.pid = (uint32_t)raw_call(SYS_getpid),
			.parent = (uint32_t)raw_call(SYS_getppid),
			.token = agent.token,
			.parent_token = parent_token,
			.word_size = sizeof(void *),
			.procname = names,
			.exe = names + EXE_SIZE,
	};

	if (!order.first)
		hello.features |= WIRE_FEATURE_BIG_ENDIAN;
	if (parent_token)
		hello.features |= WIRE_FEATURE_FORKED;
	process_names(names, names + EXE_SIZE);
	return wire_encode_hello(message, WIRE_MESSAGE_MAX, &hello);
}

/* Keep the patterns of RULE, parsed. They were checked by who sent them; a bad one is a liar. */
static int keep_patterns(const struct wire_rule *rule)
{
	size_t mapped = rule->nr_patterns * sizeof(struct pattern);
	const char *text = rule->patterns;
	struct pattern_error error;
	uint32_t i;

	if (agent.patterns) {
		raw_munmap(agent.patterns, agent.patterns_mapped);
		agent.patterns = NULL;
	}
	agent.nr_patterns = rule->nr_patterns;
	if (!mapped)
		return 0;
	agent.patterns = raw_mmap(
			NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!agent.patterns)
		return -ENOMEM;
	agent.patterns_mapped = mapped;
	for (i = 0; i < rule->nr_patterns; i++) {
		if (pattern_parse(text, &agent.patterns[i], &error))
			return -EPROTO;
		text += strlen(text) + 1;
	}
	return 0;
}

static int accept_config(
		const void *message, size_t size, int *fds, size_t nr_fds, int *doorbell_fd)
{
	struct wire_config config;
	int ret = wire_decode_config(message, size, &config);

	if (ret)
		return ret;
	if (!config.accepted) {
		agent_debug("the recorder refuses: %s", config.reason);
		return -EACCES;
	}
	agent.list_only = config.flags & WIRE_CONFIG_LIST_ONLY;
	if (nr_fds != (agent.list_only ? 0 : WIRE_CONFIG_FDS) ||
			config.nr_channels != !agent.list_only)
		return -EPROTO;
	*doorbell_fd = agent.list_only ? -1 : fds[0];
	config.reason = NULL;
	agent.config = config;
	return 0;
}

static int receive_rules(void *message, uint64_t deadline, int *ring_fd)
{
	struct wire_channel channel;
	struct wire_rule rule;
	size_t nr_fds = 1;
	ssize_t size;
	int ret;

	size = wire_receive(agent.socket, message, WIRE_MESSAGE_MAX, ring_fd, &nr_fds, deadline);
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	ret = wire_decode_channel(message, (size_t)size, &channel);
	if (ret || nr_fds != 1 || channel.nr_rules != 1)
		return ret ? ret : -EPROTO;
	size = wire_receive(agent.socket, message, WIRE_MESSAGE_MAX, NULL, NULL, deadline);
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	ret = wire_decode_rule(message, (size_t)size, &rule);
	return ret ? ret : keep_patterns(&rule);
}

static int hello_exchange(
		void *message, char *names, uint64_t parent_token, int *ring_fd, int *doorbell_fd)
{
	uint64_t deadline = wire_deadline(AGENT_CONNECT_TIMEOUT_MS);
	int fds[WIRE_FDS_MAX] = {-1, -1, -1, -1};
	size_t nr_fds = WIRE_FDS_MAX;
	ssize_t size;
	int ret;

	size = build_hello(message, names, parent_token);
	if (size < 0)
		return (int)size;
	agent.socket = wire_connect(agent.path, deadline);
	if (agent.socket < 0)
		return agent.socket;
	ret = wire_send(agent.socket, message, (size_t)size, NULL, 0, deadline);
	if (ret)
		return ret;
	size = wire_receive(agent.socket, message, WIRE_MESSAGE_MAX, fds, &nr_fds, deadline);
	if (size <= 0)
		return size ? (int)size : -ECONNRESET;
	ret = accept_config(message, (size_t)size, fds, nr_fds, doorbell_fd);
	if (!ret && !agent.list_only)
		ret = receive_rules(message, deadline, ring_fd);
	while (ret && nr_fds)
		wire_close(fds[--nr_fds]);
	if (ret)
		wire_close(*ring_fd);
	return ret;
}

/* Introduce this process. On success the connection stays open for its first events. */
int agent_hello(uint64_t parent_token, int *ring_fd, int *doorbell_fd)
{
	size_t mapped = WIRE_MESSAGE_MAX + 2 * EXE_SIZE;
	char *memory = raw_mmap(
			NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int ret;

	if (!memory)
		return -ENOMEM;
	ret = hello_exchange(memory, memory + WIRE_MESSAGE_MAX, parent_token, ring_fd, doorbell_fd);
	if (ret)
		agent_hang_up();
	raw_munmap(memory, mapped);
	return ret;
}

static int send_stream(
		int socket, char *message, const char *stream, size_t size, uint64_t deadline)
{
	uint32_t sequence = 0;

	do {
		size_t part = size < WIRE_EVENTS_BYTES_MAX ? size : WIRE_EVENTS_BYTES_MAX;
		struct wire_events events = {
				.token = agent.token,
				.sequence = sequence++,
				.last = part == size,
				.bytes = stream,
				.size = (uint32_t)part,
		};
		ssize_t length = wire_encode_events(message, WIRE_MESSAGE_MAX, &events);
		int ret;

		if (length < 0)
			return (int)length;
		ret = wire_send(socket, message, (size_t)length, NULL, 0, deadline);
		if (ret)
			return ret;
		stream += part;
		size -= part;
	} while (size);
	return 0;
}

static int receive_ack(int socket, char *message, uint64_t deadline,
		void (*refused)(void *user, uint32_t id, uint32_t reason), void *user)
{
	struct wire_ack ack;

	do {
		ssize_t size = wire_receive(
				socket, message, WIRE_MESSAGE_MAX, NULL, NULL, deadline);
		uint32_t i;
		int ret;

		if (size <= 0)
			return size ? (int)size : -ECONNRESET;
		ret = wire_decode_ack(message, (size_t)size, &ack);
		if (ret)
			return ret;
		for (i = 0; i < ack.nr_refused; i++) {
			struct wire_refused one = wire_ack_at(&ack, i);

			refused(user, one.id, one.reason);
		}
	} while (!ack.last);
	return 0;
}

/*
 * Send a stream of descriptions (wire.h) and hear which of them are refused. On the first
 * connection while it is open, else on one of its own. An error means that none is accepted.
 */
int agent_send_events(const void *stream, size_t size,
		void (*refused)(void *user, uint32_t id, uint32_t reason), void *user)
{
	uint64_t deadline = wire_deadline(AGENT_EVENTS_TIMEOUT_MS);
	int socket = agent.socket;
	char *message;
	int ret;

	if (agent_is_sandboxed()) {
		agent.gone = true;
		return -EPERM;
	}
	message = raw_mmap(NULL, WIRE_MESSAGE_MAX, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!message)
		return -ENOMEM;
	if (socket < 0)
		socket = wire_connect(agent.path, deadline);
	ret = socket < 0 ? socket : send_stream(socket, message, stream, size, deadline);
	if (!ret)
		ret = receive_ack(socket, message, deadline, refused, user);
	if (socket != agent.socket || ret)
		wire_close(socket);
	if (socket == agent.socket && ret)
		agent.socket = -1;
	raw_munmap(message, WIRE_MESSAGE_MAX);
	if (ret) {
		agent_debug("no answer about events: error %d", -ret);
		if (ret != -ETIMEDOUT || ++agent.failures >= AGENT_FAILURES_MAX)
			agent.gone = true;
	}
	return ret;
}

/* The listing is complete. Waits until the consumer has taken note, that is, has hung up. */
int agent_bye(void)
{
	uint64_t deadline = wire_deadline(AGENT_EVENTS_TIMEOUT_MS);
	struct wire_bye bye = {.token = agent.token};
	char message[64];
	ssize_t size = wire_encode_bye(message, sizeof(message), &bye);
	int ret;

	if (size < 0 || agent.socket < 0)
		return size < 0 ? (int)size : -ENOTCONN;
	ret = wire_send(agent.socket, message, (size_t)size, NULL, 0, deadline);
	if (!ret)
		wire_receive(agent.socket, message, sizeof(message), NULL, NULL, deadline);
	agent_hang_up();
	return ret;
}
