/* SPDX-License-Identifier: MIT */
/*
 * Options of channels in the order of a command line: the channels, rules and filters that a
 * session gets, and each mistake.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/common/message.h"
#include "recorder/core/session.h"

/* ---- what is printed ---- */

static int printed_file, saved;

static void begin_output(void)
{
	static const struct common_options common = {.color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	fflush(NULL);
	assert_int_equal(dup2(printed_file, STDERR_FILENO), STDERR_FILENO);
}

static void assert_output(const char *expected)
{
	char text[2000];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

/* ---- a command line ---- */

struct word {
	const char *name, *text;
	uint64_t number;
};

#define WORDS_MAX 20

static int make(const struct word *args, bool symbols, struct channel_list **list)
{
	static struct option options[WORDS_MAX];
	static struct option_use uses[WORDS_MAX];
	struct option_uses all = {.items = uses, .count = 0};

	for (; args->name; args++) {
		options[all.count] = (struct option){.name = args->name};
		uses[all.count] = (struct option_use){.option = &options[all.count],
				.text = args->text,
				.number = args->number};
		if (!strcmp(args->name, "mode"))
			uses[all.count].choice = (int)args->number;
		all.count++;
	}
	return command_channels(&all, symbols, list);
}

static void note_words(const char *title, const char *const *args, size_t count)
{
	called(" %s", title);
	for (size_t i = 0; i < count; i++)
		called(" %s", args[i]);
}

static void note_channels(const struct channel_list *list)
{
	size_t count;
	const struct session_channel *channels = channel_list_items(list, &count);

	for (size_t i = 0; i < count; i++) {
		const struct session_channel *channel = &channels[i];

		called("%s %d %d %u %llu %u", channel->name, (int)channel->mode,
				channel->per_thread, channel->threads_max,
				(unsigned long long)channel->ring_size, channel->block_timeout_us);
		note_words("contexts", channel->contexts, channel->nr_contexts);
		for (size_t k = 0; k < channel->nr_rules; k++) {
			const struct session_rule *rule = &channel->rules[k];

			called(" {");
			if (rule->patterns == session_symbols_rule.patterns)
				called(" symbols");
			else
				note_words("-e", rule->patterns, rule->nr_patterns);
			called(" [%s]", rule->filter ? rule->filter : "-");
			note_words("contexts", rule->contexts, rule->nr_contexts);
			called(" }");
		}
		called(";");
	}
}

#define CHECK_CHANNELS(symbols, expected, ...)                              \
	do {                                                                \
		static const struct word args[] = {__VA_ARGS__, {0}};       \
		struct channel_list *list;                                  \
		assert_int_equal(make(args, symbols, &list), COMMAND_DONE); \
		note_channels(list);                                        \
		channel_list_free(list);                                    \
		assert_called(expected);                                    \
	} while (0)

#define CHECK_MISTAKE(printed, ...)                                        \
	do {                                                               \
		static const struct word args[] = {__VA_ARGS__, {0}};      \
		struct channel_list *list;                                 \
		begin_output();                                            \
		assert_int_equal(make(args, false, &list), COMMAND_USAGE); \
		assert_output(printed);                                    \
		channel_list_free(list);                                   \
	} while (0)

static void test_none(void **unused)
{
	static const struct word none[] = {{0}};
	struct channel_list *list;

	(void)unused;
	/* No channels, and the channels that --symbols needs. */
	assert_int_equal(make(none, false, &list), COMMAND_DONE);
	note_channels(list);
	channel_list_free(list);
	assert_called("");
	assert_int_equal(make(none, true, &list), COMMAND_DONE);
	note_channels(list);
	channel_list_free(list);
	assert_called("ring 0 0 0 0 0 contexts { -e [-] contexts } { symbols [-] contexts };");
	channel_list_free(NULL);
}

static void test_channels(void **unused)
{
	(void)unused;
	CHECK_CHANNELS(false, "ring 1 1 0 77 0 contexts vpid vtid { -e [-] contexts };",
			{"mode", NULL, 1}, {"per-thread", NULL, 0}, {"buffer-size", "77", 77},
			{"context", "vpid", 0}, {"context", "vtid", 0});
	CHECK_CHANNELS(true,
			"a 0 0 0 0 0 contexts { -e [-] contexts } { symbols [-] contexts };"
			"b 0 1 9 5 0 contexts { -e [-] contexts };",
			{"channel", "a", 0}, {"channel", "b", 0}, {"per-thread", "9", 9},
			{"buffer-size", "5", 5});
	/* Options before the first name create a channel. */
	CHECK_CHANNELS(false,
			"ring 0 0 0 0 0 contexts { -e x:* [-] contexts };c 0 0 0 0 0 contexts { -e y:* [-] contexts };",
			{"event", "x:*", 0}, {"channel", "c", 0}, {"event", "y:*", 0});
	CHECK_CHANNELS(false, "ring 2 0 0 0 1 contexts { -e [-] contexts };",
			{"mode", NULL, SESSION_BLOCK}, {"block-timeout", "1us", 1000});
	CHECK_CHANNELS(false, "ring 2 0 0 0 3600000000 contexts { -e [-] contexts };",
			{"mode", NULL, SESSION_BLOCK},
			{"block-timeout", "60min", UINT64_C(3600000000999)});
}

static void test_rules(void **unused)
{
	(void)unused;
	/* A filter or a context completes a rule. */
	CHECK_CHANNELS(false,
			"ring 0 0 0 0 0 contexts { -e a:* b:* [x == 1] contexts } { -e c:* [-] contexts vpid ip } { -e d:* [-] contexts };",
			{"event", "a:*", 0}, {"event", "b:*", 0}, {"filter", "x == 1", 0},
			{"event", "c:*", 0}, {"event-context", "vpid", 0},
			{"event-context", "ip", 0}, {"event", "d:*", 0});
	/* A filter before the first event applies to all rules. */
	CHECK_CHANNELS(true,
			"ring 0 0 0 0 0 contexts { -e a:* [(x == 1) && (y == 2)] contexts } { -e b:* [x == 1] contexts } { symbols [-] contexts };",
			{"filter", "x == 1", 0}, {"event", "a:*", 0}, {"filter", "y == 2", 0},
			{"event", "b:*", 0});
	CHECK_CHANNELS(true,
			"ring 0 0 0 0 0 contexts { -e [x == 1] contexts } { symbols [-] contexts };",
			{"filter", "x == 1", 0});
	CHECK_CHANNELS(false,
			"ring 0 0 0 0 0 contexts { -e a:* [y == 2] contexts vpid };c 0 0 0 0 0 contexts { -e b:* [-] contexts };",
			{"event", "a:*", 0}, {"event-context", "vpid", 0}, {"filter", "y == 2", 0},
			{"channel", "c", 0}, {"event", "b:*", 0});
}

#define TIMEOUT(text) "side: `--block-timeout " text "` is not between 1us and 60min\n"
#define THREADS(text) "side: `--per-thread=" text "`: the number of threads is between 1 and 4096\n"

static void test_mistakes(void **unused)
{
	(void)unused;
	assert_int_equal(SESSION_THREADS_MAX, 4096);
	CHECK_MISTAKE("side: there are two channels called `c`\nhint: options before the first `--channel` define the channel ring; each name can be used once\n",
			{"channel", "c", 0}, {"channel", "d", 0}, {"channel", "c", 0});
	CHECK_MISTAKE("side: there are two channels called `ring`\nhint: options before the first `--channel` define the channel ring; each name can be used once\n",
			{"event", "x:*", 0}, {"channel", "ring", 0});
	CHECK_MISTAKE("side: cannot use two filters for the same events: `--filter x == 1` and `--filter y == 2`\nhint: join them with `&&`\n",
			{"filter", "x == 1", 0}, {"filter", "y == 2", 0});
	CHECK_MISTAKE("side: cannot use two filters for the same events: `--filter x == 1` and `--filter y == 2`\nhint: join them with `&&`\n",
			{"event", "a:*", 0}, {"filter", "x == 1", 0}, {"filter", "y == 2", 0});
	CHECK_MISTAKE("side: there is no `-e` before `--event-context vpid`\nhint: write it after the `-e` that it belongs to, or use `--context`\n",
			{"event-context", "vpid", 0});
	CHECK_MISTAKE(THREADS("0"), {"per-thread", "0", 0});
	CHECK_MISTAKE(THREADS("4097"), {"per-thread", "4097", 4097});
	CHECK_CHANNELS(false, "ring 0 1 4096 0 0 contexts { -e [-] contexts };",
			{"per-thread", "4096", 4096});
	CHECK_CHANNELS(false, "ring 0 1 1 0 0 contexts { -e [-] contexts };",
			{"per-thread", "1", 1});
	CHECK_MISTAKE(TIMEOUT("999ns"), {"block-timeout", "999ns", 999});
	CHECK_MISTAKE(TIMEOUT("3600000001us"),
			{"block-timeout", "3600000001us", UINT64_C(3600000001000)});
	CHECK_MISTAKE("side: `--block-timeout` has no effect in the channel `c`: its mode is not block\nhint: write `--mode block`, or leave it out\n",
			{"channel", "c", 0}, {"block-timeout", "1us", 1000});
	/* Texts: those of the channel, of each rule, and of later channels. */
	CHECK_MISTAKE("side: pattern \"[b\", column 1: a set that is not closed by \"]\"\nhint: `side help patterns` explains them\n",
			{"event", "a:*", 0}, {"filter", "x == 1", 0}, {"event", "[b", 0});
	for (int i = 0; i < 3; i++) {
		static const struct word lines[][5] = {{{"filter", "x ==", 0}},
				{{"event", "a:*", 0}, {"filter", "x ==", 0}},
				{{"channel", "c", 0}, {"channel", "d", 0}, {"event", "a:*", 0},
						{"filter", "x ==", 0}}};
		struct channel_list *list;

		begin_output();
		assert_int_equal(make(lines[i], false, &list), COMMAND_USAGE);
		assert_output("side: `--filter`: expected a value, not the end\n  x ==\n      ^\nhint: `side help filters` describes the syntax\n");
		channel_list_free(list);
	}
}

/* Each failing allocation is reported, and nothing is kept. */
static void test_memory(void **unused)
{
	static const struct word args[] = {{"filter", "x == 1", 0}, {"context", "vpid", 0},
			{"event", "a:*", 0}, {"filter", "y == 2", 0}, {"event", "b:*", 0},
			{"event-context", "ip", 0}, {"channel", "c", 0}, {0}};
	size_t before = 0;

	(void)unused;
	for (int round = 0; round < 60; round++) {
		unsigned int i = 0;
		bool has_failed = true;

		before = round == 9 ? resources_memory() : before;
		while (has_failed) {
			struct channel_list *list;
			int status;

			begin_output();
			failing_arm(++i);
			status = make(args, false, &list);
			has_failed = failing_has_failed();
			fflush(NULL);
			assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
			close(saved);
			assert_int_equal(lseek(printed_file, 0, SEEK_END) > 0, has_failed);
			close(printed_file);
			assert_int_equal(status, has_failed ? COMMAND_FAILED : COMMAND_DONE);
			channel_list_free(list);
		}
		assert_true(i > 12);
	}
	assert_true(resources_memory() < before + 1200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_none),
			cmocka_unit_test(test_channels),
			cmocka_unit_test(test_rules),
			cmocka_unit_test(test_mistakes),
			cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
