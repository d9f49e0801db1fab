/* SPDX-License-Identifier: MIT */
/* The static configuration of early boot: its meaning, its errors, and random bytes. */
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
			    "state-directory /run/side/boot\r\n"
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
static void *space;
static struct boot_config *config;
static struct boot_error error;

static int read_bytes(const char *bytes, size_t size)
{
	free(text);
	free(space);
	text = malloc(size + 1);
	space = malloc(boot_buffer_size(size));
	assert_non_null(text);
	assert_non_null(space);
	memcpy(text, bytes, size);
	return boot_parse(text, size, space, &config, &error);
}

static void assert_words(const struct boot_strings *strings, const char *expected)
{
	char joined[512] = "";
	const char *word = strings->texts;
	uint32_t i;

	for (i = 0; i < strings->nr; i++, word += strlen(word) + 1) {
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
	assert_string_equal(config->state_dir, "/run/side/boot");
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

/* Each error with its complete message. */
static const struct {
	const char *text, *sentence;
} refused[] = {
		{"", "b: the file has no session; write `state-directory DIR`, `session NAME` and `event PATTERN`"},
		{"#only\n", "b: the file has no session; write `state-directory DIR`, `session NAME` and `event PATTERN`"},
		{"session s\n", "b:1: the state directory for the rings is missing; write a line `state-directory /run/side/boot` first"},
		{"place\n", "b:1: missing value after \"place\"; write it in the same line"},
		{"place   \n", "b:1: missing value after \"place\"; write it in the same line"},
		{"place /p\nplace /q\n",
				"b:2: the state directory is given twice; keep one of them"},
		{"place p\n", "b:1: \"p\" is not an absolute path; begin it with a \"/\""},
		{"place /p\nsession s\nplace /q\n",
				"b:3: the state directory is given twice; keep one of them"},
		{"place /a\x7f\n",
				"b:1: the path /a? has blanks or control characters in it; choose another directory"},
		{"nope x\n", "b:1: unknown keyword \"nope\"; known keywords: state-directory, session, output, memory-limit, channel, mode, buffer-size, per-thread, block-timeout, context, event, exclude and filter"},
		{"placex /p\n", "b:1: unknown keyword \"placex\"; known keywords: state-directory, session, output, memory-limit, channel, mode, buffer-size, per-thread, block-timeout, context, event, exclude and filter"},
		{"place /p\nsession\n",
				"b:2: missing value after \"session\"; write it in the same line"},
		{"place /p\nsession .s\n",
				"b:2: \".s\" is not a valid name of a session; use 1 to 64 letters, digits, \"_\", \".\" and \"-\""},
		{"place /p\nsession s s\n",
				"b:2: \"s s\" is not a valid name of a session; use 1 to 64 letters, digits, \"_\", \".\" and \"-\""},
		{"place /p\nsession s\nsession s\n",
				"b:3: there are two sessions s; give one of them another name"},
		{"place /p\nsession s\nevent a\nsession t\n",
				"b: the session t has no event to record; write a line `event PATTERN`"},
		{"output /o\n", "b:1: output belongs to a session; write a line `session NAME` before it"},
		{"memory-limit 1M\n",
				"b:1: memory-limit belongs to a session; write a line `session NAME` before it"},
		{"channel c\n", "b:1: channel belongs to a session; write a line `session NAME` before it"},
		{"mode block\n",
				"b:1: mode belongs to a session; write a line `session NAME` before it"},
		{"buffer-size 1M\n",
				"b:1: buffer-size belongs to a session; write a line `session NAME` before it"},
		{"per-thread 1\n",
				"b:1: per-thread belongs to a session; write a line `session NAME` before it"},
		{"block-timeout 1s\n",
				"b:1: block-timeout belongs to a session; write a line `session NAME` before it"},
		{"context vpid\n",
				"b:1: context belongs to a session; write a line `session NAME` before it"},
		{"event a\n", "b:1: event belongs to a session; write a line `session NAME` before it"},
		{"exclude a\n", "b:1: exclude belongs to an event; write a line `event PATTERN` before it"},
		{"filter a\n", "b:1: filter belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\noutput /a\noutput /b\n",
				"b:4: the session's output is given twice; keep one of them"},
		{"place /p\nsession s\noutput o\n",
				"b:3: \"o\" is not an absolute path; begin it with a \"/\""},
		{"place /p\nsession s\nmemory-limit 1048575\n",
				"b:3: \"1048575\" is not between 1048576 and 1125899906842624 bytes; use a size between them"},
		{"place /p\nsession s\nmemory-limit 1023K\n",
				"b:3: \"1023K\" is not between 1048576 and 1125899906842624 bytes; use a size between them"},
		{"place /p\nsession s\nmemory-limit 1048577G\n",
				"b:3: \"1048577G\" is not between 1048576 and 1125899906842624 bytes; use a size between them"},
		{"place /p\nsession s\nmemory-limit 2T\n",
				"b:3: \"2T\" has an unknown unit; use a size like 256K or 1M"},
		{"place /p\nsession s\nmemory-limit 2MB\n",
				"b:3: \"2MB\" has an unknown unit; use a size like 256K or 1M"},
		{"place /p\nsession s\nmemory-limit x\n",
				"b:3: \"x\" is not a size, or too large; use a size like 256K or 1M"},
		{"place /p\nsession s\nmemory-limit 18446744073709551616\n",
				"b:3: \"18446744073709551616\" is not a size, or too large; use a size like 256K or 1M"},
		{"place /p\nsession s\nmemory-limit -1\n",
				"b:3: \"-1\" is not a size, or too large; use a size like 256K or 1M"},
		{"place /p\nsession s\nchannel -c\n",
				"b:3: \"-c\" is not a valid name of a channel; use 1 to 32 letters, digits, \"_\" and \"-\""},
		{"place /p\nsession s\nchannel a.b\n",
				"b:3: \"a.b\" is not a valid name of a channel; use 1 to 32 letters, digits, \"_\" and \"-\""},
		{"place /p\nsession s\nchannel a\nchannel a\n",
				"b:4: there are two channels a; give one of them another name"},
		{"place /p\nsession s\nchannel a\n",
				"b: the channel a of the session s has no event to record; write a line `event PATTERN`"},
		{"place /p\nsession s\nchannel a\nevent x\nchannel b\n",
				"b: the channel b of the session s has no event to record; write a line `event PATTERN`"},
		{"place /p\nsession s\nmode never\n",
				"b:3: \"never\" is not a mode; use discard, overwrite or block"},
		{"place /p\nsession s\nevent a\nmode block\n",
				"b:4: mode belongs to a channel, not to an event; write it before the channel's first event"},
		{"place /p\nsession s\nevent a\nbuffer-size 1M\n",
				"b:4: buffer-size belongs to a channel, not to an event; write it before the channel's first event"},
		{"place /p\nsession s\nevent a\nper-thread 1\n",
				"b:4: per-thread belongs to a channel, not to an event; write it before the channel's first event"},
		{"place /p\nsession s\nevent a\nblock-timeout 1s\n",
				"b:4: block-timeout belongs to a channel, not to an event; write it before the channel's first event"},
		{"place /p\nsession s\nbuffer-size 65535\n",
				"b:3: \"65535\" is not between 65536 and 1073741824 bytes; use a size between them"},
		{"place /p\nsession s\nbuffer-size 2G\n",
				"b:3: \"2G\" is not between 65536 and 1073741824 bytes; use a size between them"},
		{"place /p\nsession s\nbuffer-size 1025M\n",
				"b:3: \"1025M\" is not between 65536 and 1073741824 bytes; use a size between them"},
		{"place /p\nsession s\nper-thread 0\n",
				"b:3: \"0\" is not a number from 1 to 4096; set how many threads have rings at one time, like 64"},
		{"place /p\nsession s\nper-thread 4097\n",
				"b:3: \"4097\" is not a number from 1 to 4096; set how many threads have rings at one time, like 64"},
		{"place /p\nsession s\nper-thread 4x\n",
				"b:3: \"4x\" is not a number from 1 to 4096; set how many threads have rings at one time, like 64"},
		{"place /p\nsession s\nper-thread\n",
				"b:3: missing value after \"per-thread\"; write it in the same line"},
		{"place /p\nsession s\nblock-timeout 0s\n",
				"b:3: 0s is not between 1us and 1h; use a time between 1us and 1h"},
		{"place /p\nsession s\nblock-timeout 3601s\n",
				"b:3: 3601s is not between 1us and 1h; use a time between 1us and 1h"},
		{"place /p\nsession s\nblock-timeout 61min\n",
				"b:3: 61min is not between 1us and 1h; use a time between 1us and 1h"},
		{"place /p\nsession s\nblock-timeout 3600000001us\n",
				"b:3: \"3600000001us\" is not a time, or too long; use a time like 10ms or 1s"},
		{"place /p\nsession s\nblock-timeout 3600001ms\n",
				"b:3: 3600001ms is not between 1us and 1h; use a time between 1us and 1h"},
		{"place /p\nsession s\nblock-timeout 1\n",
				"b:3: \"1\" has an unknown unit; use us, ms, s or min"},
		{"place /p\nsession s\nblock-timeout 1h\n",
				"b:3: \"1h\" has an unknown unit; use us, ms, s or min"},
		{"place /p\nsession s\nblock-timeout s\n",
				"b:3: \"s\" is not a time, or too long; use a time like 10ms or 1s"},
		{"place /p\nsession s\ncontext nope\n",
				"b:3: the context \"nope\": unknown context \"nope\": use vpid, vtid, procname, thread_name, cpu_id, ip, uid, gid, cgroup, net_ns, perf:thread:NAME, $app.PROVIDER:NAME or others; `side help contexts` lists them"},
		{"place /p\nsession s\ncontext vpid,,vtid\n",
				"b:3: there is an empty element in the list; remove the comma, or add what is missing"},
		{"place /p\nsession s\ncontext ,vpid\n",
				"b:3: there is an empty element in the list; remove the comma, or add what is missing"},
		{"place /p\nsession s\ncontext vpid,\n",
				"b:3: there is an empty element in the list; remove the comma, or add what is missing"},
		{"place /p\nsession s\nevent a:\n",
				"b:3: the pattern \"a:\": column 3: missing event name after the \":\"; `side help patterns` describes them"},
		{"place /p\nsession s\nevent a, ,b\n",
				"b:3: there is an empty element in the list; remove the comma, or add what is missing"},
		{"place /p\nsession s\nevent a\nexclude b:\n",
				"b:4: the pattern \"!b:\": column 4: missing event name after the \":\"; `side help patterns` describes them"},
		{"place /p\nsession s\nevent a\nexclude ,\n",
				"b:4: there is an empty element in the list; remove the comma, or add what is missing"},
		{"place /p\nsession s\nexclude a\n",
				"b:3: exclude belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\nfilter a\n",
				"b:3: filter belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\nchannel c\nfilter a\n",
				"b:4: filter belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\nevent a\nchannel c\nexclude a\n",
				"b:5: exclude belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\nevent a\nsession t\nfilter a\n",
				"b:5: filter belongs to an event; write a line `event PATTERN` before it"},
		{"place /p\nsession s\nevent a\nfilter x\nfilter y\n",
				"b:5: the event has two filters; join them with &&, or write a second event"},
		{"place /p\nsession s\nevent a\nnope\n",
				"b:4: unknown keyword \"nope\"; known keywords: state-directory, session, output, memory-limit, channel, mode, buffer-size, per-thread, block-timeout, context, event, exclude and filter"},
		{"place /p\nsession s\nevent\n",
				"b:3: missing value after \"event\"; write it in the same line"},
};

static void each_mistake_is_refused(void **state)
{
	unsigned int failed = 0;
	char sentence[600];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(read_bytes(refused[i].text, strlen(refused[i].text)), -EINVAL);
		assert_null(config);
		boot_error_text(sentence, sizeof(sentence), "b", &error);
		if (!strcmp(sentence, refused[i].sentence))
			continue;
		print_message("<%zu>%s</>\n", i, sentence);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void numbers_are_read(void **state)
{
	enum { OF_MEMORY, OF_RING, OF_THREADS, OF_TIMEOUT };
	static const struct {
		const char *text;
		unsigned int where;
		uint64_t number;
	} cases[] = {
			{"place /p\nsession s\nmemory-limit 1M\nevent a\n", OF_MEMORY,
					UINT64_C(1048576)},
			{"place /p\nsession s\nmemory-limit 1048576\nevent a\n", OF_MEMORY,
					UINT64_C(1048576)},
			{"place /p\nsession s\nmemory-limit 1m\nevent a\n", OF_MEMORY,
					UINT64_C(1048576)},
			{"place /p\nsession s\nmemory-limit 1024k\nevent a\n", OF_MEMORY,
					UINT64_C(1048576)},
			{"place /p\nsession s\nmemory-limit 1024K\nevent a\n", OF_MEMORY,
					UINT64_C(1048576)},
			{"place /p\nsession s\nmemory-limit 1g\nevent a\n", OF_MEMORY,
					UINT64_C(1073741824)},
			{"place /p\nsession s\nmemory-limit 1048576G\nevent a\n", OF_MEMORY,
					UINT64_C(1125899906842624)},
			{"place /p\nsession s\nbuffer-size 65536\nevent a\n", OF_RING,
					UINT64_C(65536)},
			{"place /p\nsession s\nbuffer-size 64K\nevent a\n", OF_RING,
					UINT64_C(65536)},
			{"place /p\nsession s\nbuffer-size 131071\nevent a\n", OF_RING,
					UINT64_C(65536)},
			{"place /p\nsession s\nbuffer-size 131072\nevent a\n", OF_RING,
					UINT64_C(131072)},
			{"place /p\nsession s\nbuffer-size 1G\nevent a\n", OF_RING,
					UINT64_C(1073741824)},
			{"place /p\nsession s\nbuffer-size 1024M\nevent a\n", OF_RING,
					UINT64_C(1073741824)},
			{"place /p\nsession s\nper-thread 1\nevent a\n", OF_THREADS, UINT64_C(1)},
			{"place /p\nsession s\nper-thread 4096\nevent a\n", OF_THREADS,
					UINT64_C(4096)},
			{"place /p\nsession s\nper-thread 007\nevent a\n", OF_THREADS, UINT64_C(7)},
			{"place /p\nsession s\nblock-timeout 1us\nevent a\n", OF_TIMEOUT,
					UINT64_C(1)},
			{"place /p\nsession s\nblock-timeout 3600000000us\nevent a\n", OF_TIMEOUT,
					UINT64_C(3600000000)},
			{"place /p\nsession s\nblock-timeout 3600000ms\nevent a\n", OF_TIMEOUT,
					UINT64_C(3600000000)},
			{"place /p\nsession s\nblock-timeout 3600s\nevent a\n", OF_TIMEOUT,
					UINT64_C(3600000000)},
			{"place /p\nsession s\nblock-timeout 60min\nevent a\n", OF_TIMEOUT,
					UINT64_C(3600000000)},
			{"place /p\nsession s\nblock-timeout 3ms\nevent a\n", OF_TIMEOUT,
					UINT64_C(3000)},
			{"place /p\nsession s\nblock-timeout 2min\nevent a\n", OF_TIMEOUT,
					UINT64_C(120000000)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct boot_channel *channel;
		uint64_t numbers[4];

		assert_int_equal(read_bytes(cases[i].text, strlen(cases[i].text)), 0);
		channel = config->sessions->channels;
		numbers[OF_MEMORY] = config->sessions->memory_limit;
		numbers[OF_RING] = channel->ring_size;
		numbers[OF_THREADS] = channel->threads_max;
		numbers[OF_TIMEOUT] = channel->block_timeout_us;
		assert_int_equal(numbers[cases[i].where], cases[i].number);
	}
}

/* ---- limits: the last permitted value is read, and one more is refused ---- */

static char many[400000];

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(many + strlen(many), sizeof(many) - strlen(many), format, list);
	va_end(list);
}

static void expect(const char *sentence)
{
	int ret = read_bytes(many, strlen(many));

	assert_int_equal(ret, sentence ? -EINVAL : 0);
	if (sentence)
		assert_string_equal(error.text, sentence);
}

static void limits_hold(void **state)
{
	char name[128];

	(void)state;
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		strcpy(many, "place /p\n");
		for (unsigned int i = 0; i < 8 + beyond; i++)
			add("session s%u\nevent a\n", i);
		expect(beyond ? "more than 8 sessions" : NULL);
		strcpy(many, "place /p\nsession s\n");
		for (unsigned int i = 0; i < 32 + beyond; i++)
			add("channel c%u\nevent a\n", i);
		expect(beyond ? "a session has at most 32 channels" : NULL);
		strcpy(many, "place /p\nsession s\n");
		for (unsigned int i = 0; i < 1024 + beyond; i++)
			add("event a%u\n", i);
		expect(beyond ? "a channel has at most 1024 rules" : NULL);
		/* The patterns of one rule, of which some are excluded. */
		strcpy(many, "place /p\nsession s\nevent a");
		for (unsigned int i = 1; i < 512; i++)
			add(",a%u", i);
		add("\nexclude b");
		for (unsigned int i = 1; i < 512 + beyond; i++)
			add(",b%u", i);
		expect(beyond ? "more than 1024 in one list" : NULL);
		strcpy(many, "place /p\nsession s\ncontext vpid");
		for (unsigned int i = 1; i < 64 + beyond; i++)
			add(",vpid");
		add("\nevent a\n");
		expect(beyond ? "more than 64 in one list" : NULL);
		/* Names: of 64 and 32 letters. */
		memset(name, 'n', sizeof(name));
		name[64 + beyond] = 0;
		snprintf(many, sizeof(many), "place /p\nsession %s\nevent a\n", name);
		assert_int_equal(read_bytes(many, strlen(many)), beyond ? -EINVAL : 0);
		name[32 + beyond] = 0;
		snprintf(many, sizeof(many), "place /p\nsession s\nchannel %s\nevent a\n", name);
		assert_int_equal(read_bytes(many, strlen(many)), beyond ? -EINVAL : 0);
		/* PLACE/s/socket has 105 bytes. */
		memset(name, 'p', sizeof(name));
		*name = '/';
		name[96 + beyond] = 0;
		snprintf(many, sizeof(many), "place %s\nsession s\nevent a\n", name);
		expect(beyond ? "state directory and session together are too long for a socket's name"
			      : NULL);
		/* Bytes of the file. */
		strcpy(many, "place /p\nsession s\nevent a\n");
		while (strlen(many) < 65536 + beyond)
			add("#");
		expect(beyond ? "the file has more than 65536 bytes" : NULL);
	}
}

static void printable(void **state)
{
	static const char bad[] = "place /p\nse\001s\177 x~\n";
	char sentence[64];

	(void)state;
	assert_int_equal(read_bytes(bad, strlen(bad)), -EINVAL);
	assert_string_equal(error.text, "unknown keyword \"se?s?\"");
	error.hint[0] = 0;
	boot_error_text(sentence, sizeof(sentence), "\002", &error);
	assert_string_equal(sentence, "?:2: unknown keyword \"se?s?\"");
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
	assert_true(boot_path(path, 16, "/place", "s", BOOT_SOCKET));
	assert_false(boot_path(path, 15, "/place", "s", BOOT_SOCKET));
}

/* Returns the same sequence in each run. */
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
			cmocka_unit_test(each_mistake_is_refused),
			cmocka_unit_test(numbers_are_read),
			cmocka_unit_test(limits_hold),
			cmocka_unit_test(printable),
			cmocka_unit_test(files_have_names),
			cmocka_unit_test(nonsense_does_no_harm),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	free(space);
	return failed;
}
