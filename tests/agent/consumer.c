/* SPDX-License-Identifier: MIT */
#include "consumer.h"

#include <errno.h>
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

#include "visit/visit.h"

#define EVENT_SLOTS 256

static unsigned char message[WIRE_MESSAGE_MAX];
static unsigned char stream[4 << 20];
static size_t stream_size;

static void reply(int fd, ssize_t size, const int *fds, size_t nr_fds)
{
	if (size > 0)
		wire_send(fd, message, (size_t)size, fds, nr_fds, wire_deadline(1000));
}

static void make_rings(struct consumer *consumer, int *ring_fd)
{
	consumer->geometry = (struct ring_geometry){
			.rings = ring_possible_cpus(),
			.event_slots = EVENT_SLOTS,
			.size = consumer->ring_size ? consumer->ring_size : 1 << 20,
			.clock = RING_CLOCK_MONOTONIC,
	};
	if (consumer->rings)
		ring_consumer_unmap(consumer->rings);
	consumer->rings = NULL;
	if (ring_memory_create(&consumer->geometry, ring_fd) ||
			ring_consumer_map(*ring_fd, &consumer->geometry, &consumer->rings))
		abort();
}

/* False: the connection is over. */
static bool answer_hello(struct consumer *consumer, int fd, size_t size)
{
	struct wire_config config = {
			.accepted = consumer->to_hello != ANSWER_REFUSE,
			.reason = consumer->to_hello == ANSWER_REFUSE ? "the test says so" : "",
			.max_events = CONSUMER_EVENTS_MAX,
			.max_description = 1 << 20,
			.nr_channels = 1,
	};
	struct wire_channel channel = {.name = "ring", .nr_rules = 1};
	struct wire_rule rule = {
			.patterns = consumer->patterns,
			.nr_patterns = consumer->nr_patterns,
	};
	struct wire_hello hello;
	int doorbell = consumer->doorbell, ring;

	if (wire_decode_hello(message, size, &hello))
		abort();
	consumer->hellos++;
	consumer->parent_token = hello.parent_token;
	switch (consumer->to_hello) {
	case ANSWER_NOTHING: return true;
	case ANSWER_HANG_UP: return false;
	case ANSWER_GARBAGE:
		memset(message, 'x', 100);
		reply(fd, 100, NULL, 0);
		return true;
	case ANSWER_REFUSE:
	case ANSWER_NO_FDS:
		reply(fd, wire_encode_config(message, sizeof(message), &config), NULL, 0);
		return true;
	case ANSWER_WRONG_FDS:
		reply(fd, wire_encode_config(message, sizeof(message), &config), &doorbell, 1);
		reply(fd, wire_encode_channel(message, sizeof(message), &channel), &doorbell, 1);
		reply(fd, wire_encode_rule(message, sizeof(message), &rule), NULL, 0);
		return true;
	case ANSWER_WELL: break;
	}
	make_rings(consumer, &ring);
	reply(fd, wire_encode_config(message, sizeof(message), &config), &doorbell, 1);
	reply(fd, wire_encode_channel(message, sizeof(message), &channel), &ring, 1);
	reply(fd, wire_encode_rule(message, sizeof(message), &rule), NULL, 0);
	close(ring);
	return true;
}

/* Note the names; gather what is refused. */
static uint32_t read_stream(struct consumer *consumer, struct wire_refused *refused)
{
	uint32_t nr_refused = 0;
	size_t at = 0;

	while (at < stream_size) {
		struct wire_event_head head;
		struct visit_owned *owned;
		char *name;

		memcpy(&head, stream + at, sizeof(head));
		at += sizeof(head) + head.contexts_size;
		if (head.id >= CONSUMER_EVENTS_MAX || at + head.size > stream_size ||
				visit_description_decode(stream + at, head.size, &owned, NULL))
			abort();
		at += head.size;
		name = consumer->names[head.id];
		snprintf(name, sizeof(consumer->names[0]), "%s:%s",
				side_ptr_get(owned->desc->provider_name),
				side_ptr_get(owned->desc->event_name));
		visit_owned_free(owned);
		if (consumer->refuse && !strcmp(name, consumer->refuse))
			refused[nr_refused++] = (struct wire_refused){
					.id = head.id,
					.reason = WIRE_REFUSAL_UNSUPPORTED,
			};
		else
			consumer->nr_events++;
	}
	return nr_refused;
}

static bool answer_events(struct consumer *consumer, int fd, size_t size)
{
	struct wire_refused refused[CONSUMER_EVENTS_MAX];
	struct wire_ack ack = {.last = true, .refused = refused};
	struct wire_events events;

	if (wire_decode_events(message, size, &events) ||
			stream_size + events.size > sizeof(stream))
		abort();
	memcpy(stream + stream_size, events.bytes, events.size);
	stream_size += events.size;
	if (!events.last)
		return true;
	consumer->batches++;
	ack.nr_refused = read_stream(consumer, refused);
	stream_size = 0;
	if (consumer->to_events == ANSWER_NOTHING)
		return true;
	if (consumer->to_events == ANSWER_HANG_UP)
		return false;
	reply(fd, wire_encode_ack(message, sizeof(message), &ack), NULL, 0);
	return true;
}

static void serve(struct consumer *consumer, int fd)
{
	for (;;) {
		struct pollfd polls[2] = {{.fd = fd, .events = POLLIN},
				{.fd = consumer->stop[0], .events = POLLIN}};
		bool go_on = true;
		ssize_t size;

		if (poll(polls, 2, -1) < 0 || polls[1].revents)
			return;
		size = wire_receive(fd, message, sizeof(message), NULL, NULL, 0);
		if (size == -EAGAIN)
			continue;
		if (size <= 0)
			return;
		pthread_mutex_lock(&consumer->lock);
		switch (wire_message_type(message, (size_t)size)) {
		case WIRE_HELLO: go_on = answer_hello(consumer, fd, (size_t)size); break;
		case WIRE_EVENTS: go_on = answer_events(consumer, fd, (size_t)size); break;
		default: abort();
		}
		pthread_mutex_unlock(&consumer->lock);
		if (!go_on)
			return;
	}
}

static void *consumer_thread(void *argument)
{
	struct consumer *consumer = argument;

	for (;;) {
		struct pollfd polls[2] = {{.fd = consumer->listener, .events = POLLIN},
				{.fd = consumer->stop[0], .events = POLLIN}};
		int fd;

		if (poll(polls, 2, -1) < 0 || polls[1].revents)
			return NULL;
		fd = accept4(consumer->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		stream_size = 0;
		serve(consumer, fd);
		close(fd);
	}
}

void consumer_start(struct consumer *consumer)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	pthread_mutex_init(&consumer->lock, NULL);
	strcpy(consumer->dir, "/tmp/side-agent-test-XXXXXX");
	assert_non_null(mkdtemp(consumer->dir));
	snprintf(consumer->path, sizeof(consumer->path), "%s/s", consumer->dir);
	memcpy(address.sun_path, consumer->path, strlen(consumer->path));
	consumer->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(consumer->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(consumer->listener, 8), 0);
	assert_int_equal(ring_doorbell_create(&consumer->doorbell), 0);
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
	close(consumer->stop[1]);
	pthread_join(consumer->thread, NULL);
	close(consumer->stop[0]);
	close(consumer->listener);
	close(consumer->doorbell);
	if (consumer->rings)
		ring_consumer_unmap(consumer->rings);
	unlink(consumer->path);
	rmdir(consumer->dir);
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

uint64_t consumer_lost(struct consumer *consumer, uint32_t slot, enum ring_loss reason)
{
	struct lost_sum sum = {
			.slot = slot == UINT32_MAX ? EVENT_SLOTS - 1 : slot,
			.reason = reason,
	};
	uint32_t cpu;

	consumer_sync(consumer);
	for (cpu = 0; cpu < consumer->geometry.rings; cpu++)
		ring_consumer_lost_each(consumer->rings, cpu, add_lost, &sum);
	consumer_sync(consumer);
	return sum.sum;
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

uint64_t consumer_drain(struct consumer *consumer, size_t payload,
		void (*visit)(void *user, uint32_t cpu, uint32_t id, const unsigned char *payload),
		void *user)
{
	uint64_t nr = 0;
	uint32_t cpu;

	consumer_sync(consumer);
	for (cpu = 0; cpu < consumer->geometry.rings; cpu++) {
		struct ring_span span;

		while (ring_consumer_peek(consumer->rings, cpu, &span) > 0) {
			const unsigned char *at = span.data;
			const unsigned char *end = at + span.size;

			while (at < end) {
				uint32_t id;

				at += read_header(at, &id);
				assert_true(at + payload <= end);
				if (visit)
					visit(user, cpu, id, at);
				at += payload;
				nr++;
			}
			assert_true(at == end);
			ring_consumer_release(consumer->rings, cpu, &span);
		}
	}
	consumer_sync(consumer);
	return nr;
}
