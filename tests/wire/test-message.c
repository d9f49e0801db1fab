/* SPDX-License-Identifier: MIT */
/* Messages: what goes in comes out; what nobody encodes is refused; mutations never do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "fuzz-target.h"

static uint8_t message[WIRE_MESSAGE_MAX];

static const struct wire_hello a_hello = {
		.pid = 4711,
		.parent = 1,
		.token = 0x1122334455667788,
		.parent_token = 7,
		.word_size = 8,
		.features = WIRE_FEATURE_BIG_ENDIAN | WIRE_FEATURE_FORKED,
		.procname = "sqlite3",
		.exe = "/usr/bin/sqlite3",
};

static void hello_travels(void **state)
{
	struct wire_hello out;
	ssize_t size = wire_encode_hello(message, sizeof(message), &a_hello);

	(void)state;
	assert_int_equal(size, 16 + 40 + 8 + 17);
	assert_int_equal(wire_message_type(message, (size_t)size), WIRE_HELLO);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), 0);
	assert_int_equal(out.pid, 4711);
	assert_int_equal(out.parent, 1);
	assert_true(out.token == 0x1122334455667788);
	assert_true(out.parent_token == 7);
	assert_int_equal(out.features, 3);
	assert_string_equal(out.procname, "sqlite3");
	assert_string_equal(out.exe, "/usr/bin/sqlite3");
}

static void config_travels(void **state)
{
	struct wire_config in = {
			.accepted = true,
			.flags = WIRE_CONFIG_LIST_ONLY,
			.instance = 3,
			.clock = 1,
			.ring_memory = 1ull << 33,
			.max_events = 100,
			.max_description = 1000,
			.max_payload = 10000,
			.nr_patterns = 3,
			.reason = "",
			.patterns = "app:*\0!*:x\0\0",
	};
	struct wire_config out;
	ssize_t size = wire_encode_config(message, sizeof(message), &in);

	(void)state;
	assert_int_equal(size, 16 + 48 + 1 + 12);
	assert_int_equal(wire_decode_config(message, (size_t)size, &out), 0);
	assert_true(out.accepted);
	assert_int_equal(out.flags, WIRE_CONFIG_LIST_ONLY);
	assert_int_equal(out.instance, 3);
	assert_int_equal(out.clock, 1);
	assert_true(out.ring_memory == 1ull << 33);
	assert_int_equal(out.max_events, 100);
	assert_int_equal(out.max_description, 1000);
	assert_int_equal(out.max_payload, 10000);
	assert_int_equal(out.nr_patterns, 3);
	assert_memory_equal(out.patterns, "app:*\0!*:x\0", 12);

	in = (struct wire_config){.reason = "there is no memory left"};
	size = wire_encode_config(message, sizeof(message), &in);
	assert_int_equal(wire_decode_config(message, (size_t)size, &out), 0);
	assert_false(out.accepted);
	assert_string_equal(out.reason, "there is no memory left");
	assert_int_equal(out.nr_patterns, 0);
}

static void events_ack_bye_travel(void **state)
{
	static uint8_t bytes[WIRE_EVENTS_BYTES_MAX + 1];
	struct wire_events events = {.token = 1, .sequence = 9, .last = true, .bytes = bytes};
	struct wire_events events_out;
	struct wire_refused refused[2] = {
			{5, WIRE_REFUSAL_TOO_LARGE}, {70000, WIRE_REFUSAL_OUTPUT}};
	struct wire_ack ack = {.accepted = 12, .last = true, .nr_refused = 2, .refused = refused};
	struct wire_ack ack_out;
	struct wire_bye bye = {.token = 4};
	struct wire_bye bye_out;
	ssize_t size;

	(void)state;
	events.size = WIRE_EVENTS_BYTES_MAX;
	bytes[events.size - 1] = 0xa5;
	size = wire_encode_events(message, sizeof(message), &events);
	assert_int_equal(size, WIRE_MESSAGE_MAX);
	assert_int_equal(wire_decode_events(message, (size_t)size, &events_out), 0);
	assert_int_equal(events_out.sequence, 9);
	assert_true(events_out.last);
	assert_int_equal(events_out.size, events.size);
	assert_memory_equal(events_out.bytes, bytes, events.size);
	events.size++;
	assert_int_equal(wire_encode_events(message, sizeof(message), &events), -EMSGSIZE);

	size = wire_encode_ack(message, sizeof(message), &ack);
	assert_int_equal(wire_decode_ack(message, (size_t)size, &ack_out), 0);
	assert_int_equal(ack_out.accepted, 12);
	assert_int_equal(ack_out.nr_refused, 2);
	assert_int_equal(wire_ack_at(&ack_out, 1).id, 70000);
	assert_int_equal(wire_ack_at(&ack_out, 1).reason, WIRE_REFUSAL_OUTPUT);
	refused[0].reason = WIRE_NR_REFUSALS;
	size = wire_encode_ack(message, sizeof(message), &ack);
	assert_int_equal(wire_decode_ack(message, (size_t)size, &ack_out), -EPROTO);

	size = wire_encode_bye(message, sizeof(message), &bye);
	assert_int_equal(wire_decode_bye(message, (size_t)size, &bye_out), 0);
	assert_true(bye_out.token == 4);
}

static void lies_are_refused(void **state)
{
	struct wire_hello out;
	struct wire_hello in = a_hello;
	struct wire_header header;
	ssize_t size = wire_encode_hello(message, sizeof(message), &in);
	char long_name[300];
	ssize_t cut;

	(void)state;
	for (cut = 0; cut < size; cut++)
		assert_int_equal(wire_decode_hello(message, (size_t)cut, &out), -EPROTO);
	assert_int_equal(wire_decode_hello(message, (size_t)size + 1, &out), -EPROTO);
	message[size - 1] = 'x'; /* the last NUL */
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);
	message[size - 1] = 0;
	message[16 + 40 + 2] = 0; /* a NUL within the name */
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);

	wire_encode_hello(message, sizeof(message), &in);
	memcpy(&header, message, sizeof(header));
	header.version++;
	memcpy(message, &header, sizeof(header));
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTONOSUPPORT);

	in.word_size = 5;
	size = wire_encode_hello(message, sizeof(message), &in);
	assert_int_equal(wire_decode_hello(message, (size_t)size, &out), -EPROTO);
	in.token = 0;
	assert_int_equal(wire_encode_hello(message, sizeof(message), &in), -EINVAL);
	in = a_hello;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	in.procname = long_name;
	assert_int_equal(wire_encode_hello(message, sizeof(message), &in), -EINVAL);
	assert_int_equal(wire_encode_hello(message, 20, &a_hello), -EMSGSIZE);
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void mutations_do_no_harm(void **state)
{
	struct wire_config config = {.accepted = true, .nr_patterns = 2, .patterns = "a:b\0c:d"};
	struct wire_refused refused[3] = {{1, 1}, {2, 2}, {3, 3}};
	struct wire_ack ack = {.nr_refused = 3, .refused = refused};
	struct wire_events events = {.token = 2, .bytes = "0123456789", .size = 10};
	struct wire_bye bye = {.token = 3};
	unsigned long rounds = getenv("SIDE_TEST_LONG") ? 20000000 : 300000;
	unsigned long accepted = 0;
	uint64_t seed = 20240229;
	unsigned long i;

	(void)state;
	for (i = 0; i < rounds; i++) {
		uint8_t *copy;
		ssize_t size = 0;
		uint32_t changes = random_next(&seed) % 4;

		switch (i % 5) {
		case 0: size = wire_encode_hello(message, sizeof(message), &a_hello); break;
		case 1: size = wire_encode_config(message, sizeof(message), &config); break;
		case 2: size = wire_encode_events(message, sizeof(message), &events); break;
		case 3: size = wire_encode_ack(message, sizeof(message), &ack); break;
		case 4: size = wire_encode_bye(message, sizeof(message), &bye); break;
		}
		assert_true(size > 0);
		while (changes--) {
			/* Sizes and counts stand behind the header: hit that part often. */
			uint32_t at = random_next(&seed) % (uint32_t)size;
			static const uint8_t interesting[] = {0, 1, 2, 0x7f, 0x80, 0xff};

			if (random_next(&seed) % 2)
				message[at] = interesting[random_next(&seed) % sizeof(interesting)];
			else
				message[at] ^= (uint8_t)(1u << random_next(&seed) % 8);
		}
		/* A block of exactly this size, so that reading past it is noticed. */
		copy = malloc((size_t)size);
		assert_non_null(copy);
		memcpy(copy, message, (size_t)size);
		accepted += fuzz_messages(copy, (size_t)size);
		free(copy);
	}
	/* The untouched quarter at least. */
	assert_true(accepted > rounds / 5 && accepted < rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(hello_travels),
			cmocka_unit_test(config_travels),
			cmocka_unit_test(events_ack_bye_travel),
			cmocka_unit_test(lies_are_refused),
			cmocka_unit_test(mutations_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
