/* SPDX-License-Identifier: MIT */
/*
 * Plays agents of programs: reads lines from stdin, sends messages to a live session and publishes
 * events, and prints an answer per line as JSON on stdout. Arguments are separated by blanks.
 *
 *	hello TOKEN NAME CONTROL SIGNAL		refresh TOKEN GENERATION
 *	foreign TOKEN GENERATION		refresh, as another process
 *	describe TOKEN CHANNEL ID NAME [CONTEXTS]   "live:NAME", with the field u32 "value"
 *	publish TOKEN CHANNEL ID FIRST COUNT [vpid]  values FIRST, FIRST + 1, ...
 *	pile TOKEN CHANNEL ID COUNT		COUNT descriptions in one batch
 *	hang COUNT				connections without a message
 *	flood COUNT				refreshes with unknown tokens
 *	garbage COUNT				REFRESH messages with one flipped bit
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "ring/ring.h"
#include "abi/visit.h"
#include "protocol/protocol.h"

#define INSTANCES 64
#define TIMEOUT_MS 60000

side_static_event(ev_value, "live", "value", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));

struct played {
	uint64_t token;
	struct ring_producer *rings[WIRE_CHANNELS_MAX];
};

static struct played instances[INSTANCES];
static size_t nr_instances;
static unsigned char message[WIRE_MESSAGE_MAX];
static const char *path;

static void die(const char *what)
{
	fprintf(stderr, "live-agent: %s\n", what);
	exit(2);
}

static void put_string(const char *text)
{
	struct visit_buffer buffer;

	visit_buffer_heap(&buffer);
	if (!visit_json_string(&buffer, text, strlen(text)))
		fwrite(buffer.data, 1, buffer.size, stdout);
	visit_buffer_free(&buffer);
}

static int dial(void)
{
	int fd = wire_connect(path, wire_deadline(TIMEOUT_MS));

	if (fd < 0)
		die("cannot connect");
	return fd;
}

static int report(int fd, ssize_t size)
{
	if (size < 0)
		die("an unknown message");
	return wire_send(fd, message, (size_t)size, NULL, 0, wire_deadline(TIMEOUT_MS));
}

static ssize_t hear(int fd, int *fds, size_t *nr_fds)
{
	return wire_receive(fd, message, sizeof(message), fds, nr_fds, wire_deadline(TIMEOUT_MS));
}

static void put_strings(const char *name, const char *strings, uint32_t nr)
{
	uint32_t i;

	printf("\"%s\":[", name);
	for (i = 0; i < nr; i++) {
		if (i)
			putchar(',');
		put_string(strings);
		strings += strlen(strings) + 1;
	}
	putchar(']');
}

static void hear_rule(int fd)
{
	struct wire_rule rule;
	ssize_t size = hear(fd, NULL, NULL);

	if (size <= 0 || wire_decode_rule(message, (size_t)size, &rule))
		die("no rule");
	putchar('{');
	put_strings("patterns", rule.patterns, rule.nr_patterns);
	putchar(',');
	put_strings("contexts", rule.contexts, rule.nr_contexts);
	printf(",\"filter\":%u}", rule.filter_size);
}

static void hear_channel(int fd, struct played *played)
{
	int fds[WIRE_FDS_MAX];
	size_t nr_fds = WIRE_FDS_MAX;
	struct wire_channel channel;
	ssize_t size = hear(fd, fds, &nr_fds);
	uint32_t nr_rules;

	if (size <= 0 || wire_decode_channel(message, (size_t)size, &channel))
		die("no channel");
	if (nr_fds != (played ? 1 : 0) || !played != !channel.ring_memory)
		die("rings where none belong, or none where they do");
	if (played && ring_producer_map(fds[0], &played->rings[channel.index]))
		die("no rings");
	if (nr_fds)
		close(fds[0]);
	printf("%s{\"name\":", channel.index ? "," : "");
	put_string(channel.name);
	printf(",\"rules\":[");
	for (nr_rules = channel.nr_rules; nr_rules; nr_rules--) {
		hear_rule(fd);
		if (nr_rules > 1)
			putchar(',');
	}
	printf("]}");
}

/* If `played` is given, reads the answer to HELLO, otherwise that to REFRESH. */
static bool hear_config(int fd, struct played *played)
{
	int fds[WIRE_FDS_MAX] = {-1};
	size_t nr_fds = WIRE_FDS_MAX;
	struct wire_config config;
	ssize_t size = hear(fd, fds, &nr_fds);
	uint32_t i, nr_channels;
	bool accepted;

	if (size <= 0) {
		printf("{\"hung_up\":true}\n");
		return false;
	}
	if (wire_decode_config(message, (size_t)size, &config))
		die("no configuration");
	if (nr_fds)
		die("a descriptor where none belongs");
	accepted = config.accepted;
	nr_channels = config.nr_channels;
	printf("{\"accepted\":%s,\"generation\":%llu,\"statedump\":%llu,\"unchanged\":%s,"
	       "\"reason\":",
			accepted ? "true" : "false", (unsigned long long)config.generation,
			(unsigned long long)config.statedump,
			config.flags & WIRE_CONFIG_UNCHANGED ? "true" : "false");
	put_string(config.reason);
	printf(",\"channels\":[");
	for (i = 0; i < nr_channels; i++)
		hear_channel(fd, played);
	printf("]}\n");
	return accepted;
}

static struct played *find(const char *token)
{
	size_t i;

	/* The last instance with this token. */
	for (i = nr_instances; i--;)
		if (instances[i].token == strtoull(token, NULL, 0))
			return &instances[i];
	die("no such token");
	return NULL;
}

static void do_hello(char **words)
{
	struct played *played = &instances[nr_instances];
	struct wire_hello hello = {
			.pid = (uint32_t)getpid(),
			.parent = 1,
			.token = strtoull(words[0], NULL, 0),
			.word_size = sizeof(void *),
			.control = (uint32_t)atoi(words[2]),
			.control_signal = (uint32_t)atoi(words[3]),
			.procname = words[1],
			.exe = "/played",
	};
	int fd = dial();

	if (nr_instances == INSTANCES)
		die("too many instances");
	played->token = hello.token;
	report(fd, wire_encode_hello(message, sizeof(message), &hello));
	if (hear_config(fd, played))
		nr_instances++;
	close(fd);
}

static void do_refresh(char **words)
{
	struct wire_refresh refresh = {
			.token = strtoull(words[0], NULL, 0),
			.generation = strtoull(words[1], NULL, 0),
	};
	int fd = dial();

	report(fd, wire_encode_refresh(message, sizeof(message), &refresh));
	hear_config(fd, NULL);
	close(fd);
}

static void do_foreign(char **words)
{
	pid_t child = fork();

	if (!child) {
		do_refresh(words);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static size_t make_kind(unsigned char *out, size_t space, const char *name, char *const *words)
{
	struct side_event_description description = ev_value;
	char contexts[1024];
	struct wire_event_head head = {
			.channel = (uint16_t)atoi(words[0]),
			.id = (uint32_t)strtoul(words[1], NULL, 0),
	};
	struct visit_buffer buffer;
	size_t i;

	for (i = 3; words[i]; i++) {
		head.nr_contexts++;
		head.contexts_size +=
				(uint32_t)sprintf(contexts + head.contexts_size, "%s", words[i]) +
				1;
	}
	side_ptr_set(description.event_name, name);
	visit_buffer_fixed(&buffer, out, space);
	if (visit_buffer_append(&buffer, &head, sizeof(head)) ||
			visit_buffer_append(&buffer, contexts, head.contexts_size) ||
			visit_description_encode(&description, &buffer, NULL))
		die("no description");
	space = buffer.size;
	head.size = (uint32_t)(space - sizeof(head) - head.contexts_size);
	memcpy(out, &head, sizeof(head));
	visit_buffer_free(&buffer);
	return space;
}

static void send_kinds(uint64_t token, const unsigned char *bytes, size_t size)
{
	uint32_t sequence = 0, accepted = 0, refused = 0, reason = 0;
	struct wire_ack ack = {0};
	size_t at = 0;
	int fd = dial();

	while (at < size) {
		size_t part = size - at < 60000 ? size - at : 60000;
		struct wire_events events = {
				.token = token,
				.sequence = sequence++,
				.last = at + part == size,
				.bytes = bytes + at,
				.size = (uint32_t)part,
		};

		if (report(fd, wire_encode_events(message, sizeof(message), &events)))
			break;
		at += part;
	}
	while (!ack.last) {
		ssize_t length = hear(fd, NULL, NULL);

		if (length <= 0 || wire_decode_ack(message, (size_t)length, &ack))
			break;
		accepted += ack.accepted;
		refused += ack.nr_refused;
		if (ack.nr_refused)
			reason = wire_ack_at(&ack, 0).reason;
	}
	printf("{\"accepted\":%u,\"refused\":%u,\"reason\":%u,\"whole\":%s}\n", accepted, refused,
			reason, ack.last ? "true" : "false");
	close(fd);
}

static void do_describe(char **words)
{
	unsigned char kind[4096];

	send_kinds(strtoull(words[0], NULL, 0), kind,
			make_kind(kind, sizeof(kind), words[3], words + 1));
}

static void do_pile(char **words)
{
	uint32_t first = (uint32_t)strtoul(words[2], NULL, 0);
	uint32_t count = (uint32_t)strtoul(words[3], NULL, 0), i;
	unsigned char *bytes = malloc((size_t)count * 512);
	size_t size = 0;

	for (i = 0; bytes && i < count; i++) {
		char id[16], name[32];
		char *own[] = {words[1], id, NULL, NULL};

		snprintf(id, sizeof(id), "%u", first + i);
		snprintf(name, sizeof(name), "pile_%u", first + i);
		size += make_kind(bytes + size, 512, name, own);
	}
	send_kinds(strtoull(words[0], NULL, 0), bytes, size);
	free(bytes);
}

static void do_publish(char **words)
{
	struct ring_producer *rings = find(words[0])->rings[atoi(words[1])];
	uint32_t id = (uint32_t)strtoul(words[2], NULL, 0);
	uint32_t value = (uint32_t)strtoul(words[3], NULL, 0);
	unsigned int count = (unsigned int)atoi(words[4]), failed = 0;
	int32_t vpid = (int32_t)getpid();

	for (; count; count--, value++)
		failed += (words[5] ? ring_publish_two_part(rings, id, &vpid, sizeof(vpid), &value,
						      sizeof(value))
				    : ring_publish(rings, id, &value, sizeof(value))) != 0;
	printf("{\"failed\":%u}\n", failed);
}

static void do_hang(char **words)
{
	unsigned int count = (unsigned int)atoi(words[0]), made = 0;

	/* The connections stay open until this program exits. */
	for (; count; count--)
		made += wire_connect(path, wire_deadline(TIMEOUT_MS)) >= 0;
	printf("{\"made\":%u}\n", made);
}

static void do_flood(char **words)
{
	unsigned int count = (unsigned int)atoi(words[0]), refused = 0;

	for (; count; count--) {
		struct wire_refresh refresh = {.token = 0xf100d0000 + count, .generation = 1};
		struct wire_config config;
		int fd = dial();
		ssize_t size;

		report(fd, wire_encode_refresh(message, sizeof(message), &refresh));
		size = hear(fd, NULL, NULL);
		refused += size > 0 && !wire_decode_config(message, (size_t)size, &config) &&
				!config.accepted;
		close(fd);
	}
	printf("{\"refused\":%u}\n", refused);
}

static void do_garbage(char **words)
{
	unsigned int count = (unsigned int)atoi(words[0]);

	while (count--) {
		struct wire_refresh refresh = {.token = 1 + count, .generation = count};
		int fd = dial();
		ssize_t size = wire_encode_refresh(message, sizeof(message), &refresh);

		message[(unsigned int)rand() % (unsigned int)size] ^=
				(unsigned char)(1 << rand() % 8);
		report(fd, size);
		close(fd);
	}
	printf("{}\n");
}

static const struct {
	const char *name;
	void (*run)(char **words);
	size_t nr_words;
} verbs[] = {
		{"hello", do_hello, 4},
		{"refresh", do_refresh, 2},
		{"foreign", do_foreign, 2},
		{"describe", do_describe, 4},
		{"publish", do_publish, 5},
		{"pile", do_pile, 4},
		{"hang", do_hang, 1},
		{"flood", do_flood, 1},
		{"garbage", do_garbage, 1},
};

int main(int argc, char **argv)
{
	char line[1024];

	if (argc != 2)
		return 2;
	path = argv[1];
	while (fgets(line, sizeof(line), stdin)) {
		char *words[32] = {NULL}, *remainder = NULL, *word;
		size_t nr = 0, i;

		for (word = strtok_r(line, " \n", &remainder); word && nr < 31;
				word = strtok_r(NULL, " \n", &remainder))
			words[nr++] = word;
		for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
			if (nr && !strcmp(words[0], verbs[i].name) && nr > verbs[i].nr_words)
				break;
		if (i == sizeof(verbs) / sizeof(verbs[0]))
			die("an unknown line");
		verbs[i].run(words + 1);
		fflush(stdout);
	}
	return 0;
}
