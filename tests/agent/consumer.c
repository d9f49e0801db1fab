/* SPDX-License-Identifier: MIT */
#include "consumer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "filter/filter.h"
#include "abi/visit.h"

#define EVENT_SLOTS 256
#define STREAM_MAX ((size_t)4 << 20)
#define CONSUMER_CONNECTIONS 16

/* ---- messages to the agent ---- */

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void damage(struct consumer *consumer, size_t size)
{
	static const unsigned char interesting[] = {0, 1, 2, 0x7f, 0x80, 0xff};
	uint32_t changes = random_next(&consumer->mutate) % 3;

	while (changes--) {
		/* Not the header: its checks are simple, and tests/protocol tests them. */
		size_t at = 16 + random_next(&consumer->mutate) % (size - 16);

		if (random_next(&consumer->mutate) % 2)
			consumer->message[at] = interesting[random_next(&consumer->mutate) %
					sizeof(interesting)];
		else
			consumer->message[at] ^=
					(unsigned char)(1u << random_next(&consumer->mutate) % 8);
	}
}

static void reply(struct consumer *consumer, int fd, ssize_t size, const int *fds, size_t nr_fds)
{
	if (size <= 0)
		abort();
	if (consumer->mutate)
		damage(consumer, (size_t)size);
	wire_send(fd, consumer->message, (size_t)size, fds, nr_fds, wire_deadline(1000));
}

static void make_rings(struct consumer *consumer, uint32_t index,
		const struct consumer_channel *channel, int *ring_fd)
{
	struct consumer_heard *heard = &consumer->heard[index];

	heard->geometry = (struct ring_geometry){
			.rings = channel->placement == RING_PER_THREAD ? 16 : ring_possible_cpus(),
			.event_slots = EVENT_SLOTS,
			.size = consumer->ring_size ? consumer->ring_size : 1 << 20,
			.clock = RING_CLOCK_MONOTONIC,
			.mode = channel->mode,
			.placement = channel->placement,
			.block_timeout_us = channel->mode == RING_MODE_BLOCK ? 1000 : 0,
	};
	if (heard->rings)
		ring_consumer_unmap(heard->rings);
	heard->rings = NULL;
	if (ring_memory_create(&heard->geometry, ring_fd) ||
			ring_consumer_map(*ring_fd, &heard->geometry, &heard->rings))
		abort();
}

static void put_rule(struct consumer *consumer, int fd, uint32_t channel,
		const struct consumer_rule *from)
{
	struct wire_rule rule = {
			.channel = channel,
			.patterns = from->patterns,
			.nr_patterns = from->nr_patterns,
			.contexts = from->contexts,
			.nr_contexts = from->nr_contexts,
	};
	struct filter_error error;
	void *program = NULL;
	size_t size = 0;

	if (from->filter && filter_parse(from->filter, &program, &size, &error)) {
		fprintf(stderr, "%s: column %u: %s\n", from->filter, error.column, error.text);
		abort();
	}
	rule.filter = program;
	rule.filter_size = (uint32_t)size;
	reply(consumer, fd, wire_encode_rule(consumer->message, WIRE_MESSAGE_MAX, &rule), NULL, 0);
	free(program);
}

/* The answer to REFRESH has the rings that exist already. */
static void put_channel(struct consumer *consumer, int fd, uint32_t index,
		const struct consumer_channel *from, bool again)
{
	enum consumer_answer how = again ? consumer->to_refresh : consumer->to_hello;
	struct wire_channel channel = {
			.index = index,
			.name = from->name,
			.nr_rules = from->nr_rules,
			.contexts = from->contexts,
			.nr_contexts = from->nr_contexts,
	};
	uint32_t i;
	int ring = -1;

	if (how == ANSWER_WRONG_FDS)
		ring = open("/dev/null", O_RDWR | O_CLOEXEC);
	else if (!again && how != ANSWER_NO_FDS)
		make_rings(consumer, index, from, &ring);
	reply(consumer, fd, wire_encode_channel(consumer->message, WIRE_MESSAGE_MAX, &channel),
			&ring, ring >= 0);
	/*
	 * Do not use close(): the race detector did not see that this descriptor was opened. It
	 * would report a race with another consumer's thread that opens a descriptor of the same
	 * number. For the same reason, descriptors that it has seen opened (sockets, pipes) are
	 * closed by close().
	 */
	wire_close(ring);
	for (i = 0; i < from->nr_rules; i++)
		put_rule(consumer, fd, index, &from->rules[i]);
}

/* `known`: the generation in a REFRESH; NULL: the answer to HELLO. */
static void send_config(struct consumer *consumer, int fd, const uint64_t *known)
{
	const struct consumer_rule rule = {
			.patterns = consumer->patterns, .nr_patterns = consumer->nr_patterns};
	const struct consumer_channel ring = {.name = "ring", .rules = &rule, .nr_rules = 1};
	const struct consumer_channel *channels =
			consumer->nr_channels ? consumer->channels : &ring;
	enum consumer_answer how = known ? consumer->to_refresh : consumer->to_hello;
	bool refuse = how == ANSWER_REFUSE;
	struct wire_config config = {
			.accepted = !refuse,
			.reason = refuse ? "the test says so" : "",
			.flags = consumer->list_only ? WIRE_CONFIG_LIST_ONLY : 0,
			.instance = 7,
			.max_events = CONSUMER_EVENTS_MAX,
			.max_description = 1 << 20,
			.nr_channels = consumer->nr_channels ? consumer->nr_channels : 1,
			.frequency = 1000000000,
			.offset_s = 1234,
			.generation = consumer->generation ? consumer->generation : 1,
			.statedump = consumer->statedump,
	};
	bool unchanged = known && !refuse && *known == config.generation;
	uint32_t i;

	if (unchanged)
		config.flags |= WIRE_CONFIG_UNCHANGED;
	if (consumer->list_only || refuse || unchanged)
		config.nr_channels = 0;
	reply(consumer, fd, wire_encode_config(consumer->message, WIRE_MESSAGE_MAX, &config), NULL,
			0);
	for (i = 0; i < config.nr_channels; i++)
		put_channel(consumer, fd, i, &channels[i], known != NULL);
}

/* ---- messages of the agent ---- */

/* Returns false if the connection has ended. */
static bool answer_hello(struct consumer *consumer, int fd, size_t size)
{
	struct wire_hello hello;

	if (wire_decode_hello(consumer->message, size, &hello))
		abort();
	consumer->hellos++;
	consumer->parent_token = hello.parent_token;
	consumer->token = hello.token;
	switch (consumer->to_hello) {
	case ANSWER_NOTHING: return true;
	case ANSWER_HANG_UP: return false;
	case ANSWER_GARBAGE:
		memset(consumer->message, 'x', 100);
		wire_send(fd, consumer->message, 100, NULL, 0, wire_deadline(1000));
		return true;
	default: send_config(consumer, fd, NULL); return !consumer->mutate;
	}
}

/* Only the last process that sent HELLO is known. */
static bool answer_refresh(struct consumer *consumer, int fd, size_t size)
{
	enum consumer_answer before = consumer->to_refresh;
	struct wire_refresh refresh;

	if (wire_decode_refresh(consumer->message, size, &refresh))
		abort();
	consumer->refreshes++;
	switch (consumer->to_refresh) {
	case ANSWER_NOTHING: return true;
	case ANSWER_HANG_UP: return false;
	case ANSWER_GARBAGE:
		memset(consumer->message, 'x', 100);
		wire_send(fd, consumer->message, 100, NULL, 0, wire_deadline(1000));
		return true;
	default: break;
	}
	if (refresh.token != consumer->token)
		consumer->to_refresh = ANSWER_REFUSE;
	send_config(consumer, fd, &refresh.generation);
	consumer->to_refresh = before;
	return !consumer->mutate;
}

static void note_contexts(char to[64], const char *names, uint32_t nr)
{
	to[0] = 0;
	while (nr--) {
		strcat(to, names);
		if (nr)
			strcat(to, ",");
		names += strlen(names) + 1;
	}
}

/* Stores the names, and collects the refused ids. */
static uint32_t read_stream(struct consumer *consumer, struct wire_refused *refused)
{
	uint32_t nr_refused = 0;
	size_t at = 0;

	while (at < consumer->stream_size) {
		const char *names;
		struct consumer_heard *heard;
		struct wire_event_head head;
		struct visit_owned *owned;
		char *name;

		memcpy(&head, consumer->stream + at, sizeof(head));
		at += sizeof(head);
		names = (const char *)consumer->stream + at;
		at += head.contexts_size;
		if (head.id >= CONSUMER_EVENTS_MAX || head.channel >= CONSUMER_CHANNELS_MAX ||
				at + head.size > consumer->stream_size ||
				!wire_strings_valid(names, head.nr_contexts, head.contexts_size) ||
				visit_description_decode(
						consumer->stream + at, head.size, &owned, NULL))
			abort();
		at += head.size;
		heard = &consumer->heard[head.channel];
		name = heard->names[head.id];
		snprintf(name, sizeof(heard->names[0]), "%s:%s",
				side_ptr_get(owned->desc->provider_name),
				side_ptr_get(owned->desc->event_name));
		note_contexts(heard->contexts[head.id], names, head.nr_contexts);
		visit_owned_free(owned);
		if (consumer->refuse && !strcmp(name, consumer->refuse)) {
			refused[nr_refused++] = (struct wire_refused){
					.id = head.id,
					.channel = head.channel,
					.reason = WIRE_REFUSAL_UNSUPPORTED,
			};
			continue;
		}
		heard->nr_events++;
		consumer->nr_events++;
	}
	return nr_refused;
}

static bool answer_events(struct consumer *consumer, int fd, size_t size)
{
	struct wire_refused refused[CONSUMER_EVENTS_MAX];
	struct wire_ack ack = {.last = true, .refused = refused};
	struct wire_events events;

	if (wire_decode_events(consumer->message, size, &events) ||
			consumer->stream_size + events.size > STREAM_MAX)
		abort();
	memcpy(consumer->stream + consumer->stream_size, events.bytes, events.size);
	consumer->stream_size += events.size;
	if (!events.last)
		return true;
	consumer->batches++;
	ack.nr_refused = read_stream(consumer, refused);
	consumer->stream_size = 0;
	if (consumer->to_events == ANSWER_NOTHING)
		return true;
	if (consumer->to_events == ANSWER_HANG_UP)
		return false;
	reply(consumer, fd, wire_encode_ack(consumer->message, WIRE_MESSAGE_MAX, &ack), NULL, 0);
	return true;
}

/* Handles one message. Returns false if the connection has ended. */
static bool serve(struct consumer *consumer, int fd)
{
	ssize_t size = wire_receive(fd, consumer->message, WIRE_MESSAGE_MAX, NULL, NULL, 0);
	bool go_on = true;

	if (size == -EAGAIN)
		return true;
	if (size <= 0)
		return false;
	pthread_mutex_lock(&consumer->lock);
	switch (wire_message_type(consumer->message, (size_t)size)) {
	case WIRE_HELLO: go_on = answer_hello(consumer, fd, (size_t)size); break;
	case WIRE_REFRESH: go_on = answer_refresh(consumer, fd, (size_t)size); break;
	case WIRE_EVENTS: go_on = answer_events(consumer, fd, (size_t)size); break;
	case WIRE_BYE:
		consumer->byes++;
		go_on = false;
		break;
	default: abort();
	}
	pthread_mutex_unlock(&consumer->lock);
	return go_on;
}

/*
 * A program may have several connections: one that it has just opened, and one on which another
 * thread sends descriptions.
 */
static void *consumer_thread(void *argument)
{
	struct consumer *consumer = argument;
	struct pollfd polls[2 + CONSUMER_CONNECTIONS] = {
			{.fd = consumer->listener, .events = POLLIN},
			{.fd = consumer->stop[0], .events = POLLIN}};
	int speaking = -1; /* the connection on which a part of the descriptions has arrived */
	nfds_t nr = 2, i;

	while (poll(polls, nr, -1) >= 0 && !polls[1].revents) {
		for (i = nr; i-- > 2;) {
			int fd = polls[i].fd;

			if (!polls[i].revents || (speaking >= 0 && speaking != fd))
				continue;
			if (!serve(consumer, fd)) {
				close(fd);
				polls[i] = polls[--nr];
				consumer->stream_size = 0;
			}
			speaking = consumer->stream_size ? fd : -1;
		}
		if (polls[0].revents && nr < 2 + CONSUMER_CONNECTIONS) {
			int fd = accept4(consumer->listener, NULL, NULL, SOCK_CLOEXEC);

			if (fd >= 0)
				polls[nr++] = (struct pollfd){.fd = fd, .events = POLLIN};
		}
	}
	while (nr > 2)
		close(polls[--nr].fd);
	return NULL;
}

void consumer_start(struct consumer *consumer)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	pthread_mutex_init(&consumer->lock, NULL);
	consumer->message = malloc(WIRE_MESSAGE_MAX);
	consumer->stream = malloc(STREAM_MAX);
	assert_true(consumer->message && consumer->stream);
	strcpy(consumer->dir, "/tmp/side-agent-test-XXXXXX");
	assert_non_null(mkdtemp(consumer->dir));
	snprintf(consumer->path, sizeof(consumer->path), "%s/s", consumer->dir);
	memcpy(address.sun_path, consumer->path, strlen(consumer->path));
	consumer->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(consumer->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(consumer->listener, 8), 0);
	assert_int_equal(pipe(consumer->stop), 0);
	assert_int_equal(pthread_create(&consumer->thread, NULL, consumer_thread, consumer), 0);
}

void consumer_sync(struct consumer *consumer)
{
	pthread_mutex_lock(&consumer->lock);
	pthread_mutex_unlock(&consumer->lock);
}

void consumer_stop(struct consumer *consumer)
{
	uint32_t i;

	close(consumer->stop[1]);
	pthread_join(consumer->thread, NULL);
	close(consumer->stop[0]);
	close(consumer->listener);
	for (i = 0; i < CONSUMER_CHANNELS_MAX; i++)
		if (consumer->heard[i].rings)
			ring_consumer_unmap(consumer->heard[i].rings);
	free(consumer->message);
	free(consumer->stream);
	unlink(consumer->path);
	rmdir(consumer->dir);
}

static bool find_id(struct consumer *consumer, uint32_t channel, const char *name, uint32_t *id)
{
	consumer_sync(consumer);
	for (*id = 0; *id < CONSUMER_EVENTS_MAX; ++*id)
		if (!strcmp(consumer->heard[channel].names[*id], name))
			return true;
	return false;
}

uint32_t consumer_id(struct consumer *consumer, uint32_t channel, const char *name)
{
	uint32_t id;

	if (!find_id(consumer, channel, name, &id))
		fail_msg("%s was not described", name);
	return id;
}

bool consumer_knows(struct consumer *consumer, uint32_t channel, const char *name)
{
	uint32_t id;

	return find_id(consumer, channel, name, &id);
}

struct lost_sum {
	uint32_t slot;
	enum ring_loss reason;
	uint64_t sum;
};

static int add_lost(void *data, uint32_t cpu, uint32_t slot, const uint64_t *counts)
{
	struct lost_sum *sum = data;

	(void)cpu;
	if (slot == sum->slot)
		sum->sum += counts[sum->reason];
	return 0;
}

uint64_t consumer_lost_in(
		struct consumer *consumer, uint32_t channel, uint32_t slot, enum ring_loss reason)
{
	struct consumer_heard *heard = &consumer->heard[channel];
	struct lost_sum sum = {
			.slot = slot == UINT32_MAX ? EVENT_SLOTS - 1 : slot,
			.reason = reason,
	};
	uint32_t ring;

	consumer_sync(consumer);
	for (ring = 0; ring < heard->geometry.rings; ring++)
		ring_consumer_lost_each(heard->rings, ring, add_lost, &sum);
	consumer_sync(consumer);
	return sum.sum;
}

uint64_t consumer_lost(struct consumer *consumer, uint32_t slot, enum ring_loss reason)
{
	return consumer_lost_in(consumer, 0, slot, reason);
}

/* docs/spec/recording.md section 1, little-endian hosts. */
static size_t read_header(const unsigned char *record, uint32_t *id)
{
	uint32_t tag = record[0] & 31;
	uint16_t medium;

	if (tag < 30) {
		*id = tag;
		return 4;
	}
	if (tag == 30) {
		memcpy(&medium, record + 4, sizeof(medium));
		*id = medium;
		return 6;
	}
	memcpy(id, record + 1, sizeof(*id));
	return 13;
}

uint64_t consumer_drain_channel(struct consumer *consumer, uint32_t channel, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user)
{
	struct consumer_heard *heard = &consumer->heard[channel];
	uint64_t nr = 0;
	uint32_t ring;

	consumer_sync(consumer);
	for (ring = 0; ring < heard->geometry.rings; ring++) {
		struct ring_span span;

		while (ring_consumer_peek(heard->rings, ring, &span) > 0) {
			const unsigned char *at = span.data;
			const unsigned char *end = at + span.size;

			while (at < end) {
				uint32_t id;

				at += read_header(at, &id);
				assert_true(at + payload <= end);
				if (visit)
					visit(user, ring, id, at);
				at += payload;
				nr++;
			}
			assert_true(at == end);
			ring_consumer_release(heard->rings, ring, &span);
		}
	}
	consumer_sync(consumer);
	return nr;
}

uint64_t consumer_drain(struct consumer *consumer, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user)
{
	return consumer_drain_channel(consumer, 0, payload, visit, user);
}
