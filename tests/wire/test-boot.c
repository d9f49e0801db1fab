/* SPDX-License-Identifier: MIT */
/* The static configuration of early boot: what it says, what it refuses, and nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz-boot.h"

static const char whole[] = "# what is wanted\n"
			    "place /run/side/boot\r\n"
			    "\n"
			    "session early\n"
			    "  output /var/log/early\n"
			    "  memory-limit 16M\n"
			    "  event a:*, b\n"
			    "    exclude a:noise\n"
			    "    exclude b:x,b:y\n"
			    "    filter size > 4 && name == \"a,b # no remark\"\n"
			    "    context vpid\n"
			    "    context vtid, procname\n"
			    "session second\n"
			    "channel flight\n"
			    "\tmode overwrite\n"
			    "\tbuffer-size 1000000\n"
			    "\tper-thread 8\n"
			    "\tcontext vpid,vtid\n"
			    "\tevent *\n"
			    "channel last\n"
			    "\tmode block\n"
			    "\tblock-timeout 2ms\n"
			    "\tevent c:d@INFO\n"
			    "\tevent e";

static char *text;
static void *room;
static struct boot_config *config;
static struct boot_error error;

static int read_bytes(const char *bytes, size_t size)
{
	free(text);
	free(room);
	text = malloc(size + 1);
	room = malloc(boot_room(size));
	assert_non_null(text);
	assert_non_null(room);
	memcpy(text, bytes, size);
	return boot_parse(text, size, room, &config, &error);
}

static void assert_words(const struct boot_words *words, const char *expected)
{
	char joined[512] = "";
	const char *word = words->texts;
	uint32_t i;

	for (i = 0; i < words->nr; i++, word += strlen(word) + 1) {
		strcat(joined, i ? " " : "");
		strcat(joined, word);
	}
	assert_string_equal(joined, expected);
}

static void all_is_read(void **state)
{
	const struct boot_session *session;
	const struct boot_channel *channel;

	(void)state;
	assert_int_equal(read_bytes(whole, strlen(whole)), 0);
	assert_string_equal(config->place, "/run/side/boot");
	assert_int_equal(config->nr_sessions, 2);
	session = config->sessions;
	assert_string_equal(session->name, "early");
	assert_string_equal(session->output, "/var/log/early");
	assert_int_equal(session->memory_limit, 16 << 20);
	assert_int_equal(session->nr_channels, 1);
	channel = session->channels;
	assert_string_equal(channel->name, "ring");
	assert_int_equal(channel->mode, BOOT_DISCARD);
	assert_int_equal(channel->ring_size, BOOT_RING_SIZE);
	assert_int_equal(channel->threads_max, 0);
	assert_int_equal(channel->nr_rules, 1);
	assert_words(&channel->rules->patterns, "a:* b !a:noise !b:x !b:y");
	assert_words(&channel->rules->contexts, "vpid vtid procname");
	assert_string_equal(channel->rules->filter, "size > 4 && name == \"a,b # no remark\"");
	assert_int_equal(channel->rules->line, 7);
	assert_int_equal(channel->rules->filter_line, 10);
	session = session->next;
	assert_string_equal(session->name, "second");
	assert_null(session->output);
	assert_null(session->next);
	assert_int_equal(session->nr_channels, 2);
	channel = session->channels;
	assert_string_equal(channel->name, "flight");
	assert_int_equal(channel->mode, BOOT_OVERWRITE);
	assert_int_equal(channel->ring_size, 512 << 10);
	assert_int_equal(channel->threads_max, 8);
	assert_words(&channel->contexts, "vpid vtid");
	assert_int_equal(channel->rules->contexts.nr, 0);
	channel = channel->next;
	assert_int_equal(channel->mode, BOOT_BLOCK);
	assert_int_equal(channel->block_timeout_us, 2000);
	assert_int_equal(channel->nr_rules, 2);
	assert_words(&channel->rules->next->patterns, "e");
	assert_null(channel->rules->next->filter);
}

static void mistakes_have_a_line(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *sentence;
	} cases[] = {
			{"place /p\nsession s\nevent a\nfilter x\nfilter y\n", 5,
					"b.conf:5: the event has two filters; join them with &&, "
					"or write a "
					"second event"},
			{"place /p\nsession s\noutput x\n", 3,
					"b.conf:3: \"x\" is not an absolute path; begin it with a "
					"\"/\""},
			{"place /p\nsession s\n\nevent a\nplace /q\n", 5,
					"b.conf:5: the state directory is given twice; keep one of them"},
			{"place /p\nsession s\n", 0,
					"b.conf: the session s has no event to record; write a "
					"line `event "
					"PATTERN`"},
			{"place /a b\n", 1,
					"b.conf:1: the path /a b has blanks or control characters "
					"in it; "
					"choose another directory"},
	};
	char sentence[600];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(read_bytes(cases[i].text, strlen(cases[i].text)), -EINVAL);
		assert_int_equal(error.line, cases[i].line);
		boot_error_text(sentence, sizeof(sentence), "b.conf", &error);
		assert_string_equal(sentence, cases[i].sentence);
	}
	assert_int_equal(read_bytes("place /p\0x\n", 11), -EINVAL);
	assert_int_equal(read_bytes("place /\033[2J\n", 12), -EINVAL);
	assert_null(strchr(error.text, '\033'));
}

static void files_have_names(void **state)
{
	char path[32];

	(void)state;
	assert_null(boot_file(NULL));
	assert_null(boot_file(""));
	assert_null(boot_file("0"));
	assert_string_equal(boot_file("1"), "/etc/side/boot.conf");
	assert_string_equal(boot_file("/x"), "/x");
	assert_true(boot_path(path, sizeof(path), "/place", "s", NULL));
	assert_string_equal(path, "/place/s");
	assert_true(boot_path(path, sizeof(path), "/place", "s", BOOT_SOCKET));
	assert_string_equal(path, "/place/s/socket");
	assert_false(boot_path(path, 15, "/place", "s", BOOT_SOCKET));
}

/* The same each time. */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void nonsense_does_no_harm(void **state)
{
	static const char *const parts[] = {"place /p\n", "session s\n", "event a:*\n",
			"context vpid\n", "filter x > 1\n", "channel c\n", "mode block\n",
			"exclude a,b\n", "\n", "#\n", "buffer-size 99999999999999999999G\n",
			"per-thread 7\n", "output /o\n", ",", " ", "block-timeout 1s\n",
			"memory-limit 2M\n", "\xff\n"};
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? 2000000 : 20000, round;
	uint64_t seed = 4711;
	char bytes[2048];

	(void)state;
	for (round = 0; round < rounds; round++) {
		size_t size = 0, i, nr = next_random(&seed) % 40;

		if (round & 1) {
			size = sizeof(whole) - 1;
			memcpy(bytes, whole, size);
			for (i = next_random(&seed) % 8; i; i--)
				bytes[next_random(&seed) % size] = (char)next_random(&seed);
			size -= next_random(&seed) % 64;
		}
		for (i = 0; i < nr && !(round & 1); i++) {
			const char *part = parts[next_random(&seed) %
					(sizeof(parts) / sizeof(*parts))];

			memcpy(bytes + size, part, strlen(part));
			size += strlen(part);
		}
		fuzz_boot((const uint8_t *)bytes, size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(all_is_read),
			cmocka_unit_test(mistakes_have_a_line),
			cmocka_unit_test(files_have_names),
			cmocka_unit_test(nonsense_does_no_harm),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	free(room);
	return failed;
}
