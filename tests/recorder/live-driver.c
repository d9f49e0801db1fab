/* SPDX-License-Identifier: MIT */
/*
 * Runs a live session: reads commands as lines from stdin, and prints an answer per line as JSON on
 * stdout. Arguments are separated by tabs.
 *
 *	live-driver -o DIR -s SOCKET [-p PLACE] [-m LIMIT] [-a] [-u] [-g GENERATION] [-f]
 *	            [DEFINITION]
 *
 *	change active|stopped DEFINITION	statedump
 *	flush MS				snapshot MS
 *	status					messages
 *	close finish|keep
 *
 * A definition is a list of arguments: c=NAME[:discard|overwrite|block[:SIZE]] begins a channel,
 * and x=CONTEXTS before its rules sets the contexts of the channel. r= begins a rule; e=PATTERN
 * f=FILTER x=CONTEXTS belong to the rule. t=[!]KIND:VALUE tracks processes.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/core/live.h"
#include "recorder/core/session.h"
#include "abi/visit.h"

#define CHANNELS 8
#define RULES 64
#define WORDS 64
#define TRACKS 64

struct rule {
	const char *patterns[WORDS];
	const char *contexts[WORDS];
};

struct definition {
	struct session_channel channels[CHANNELS];
	const char *contexts[CHANNELS][WORDS];
	struct session_rule session_rules[CHANNELS][RULES];
	struct rule rules[CHANNELS][RULES];
	size_t nr;
	struct session_track track[TRACKS];
	size_t nr_track;
};

static void put_string(const char *text)
{
	struct visit_buffer buffer;

	visit_buffer_heap(&buffer);
	if (!visit_json_string(&buffer, text, strlen(text)))
		fwrite(buffer.data, 1, buffer.size, stdout);
	visit_buffer_free(&buffer);
}

static void put_member(const char *name, const char *text)
{
	printf("\"%s\":", name);
	put_string(text);
	putchar(',');
}

static void put_number(const char *name, uint64_t value)
{
	printf("\"%s\":%llu,", name, (unsigned long long)value);
}

static void put_error(const struct error *error)
{
	printf("{\"ok\":false,\"kind\":%d,\"code\":%d,\"column\":%u,\"text\":", (int)error->kind,
			error->code, error->column);
	put_string(error->text);
	printf("}\n");
	fflush(stdout);
}

static void die(const char *what)
{
	fprintf(stderr, "live-driver: %s\n", what);
	exit(2);
}

/* ---- definitions ---- */

static void add_channel(struct definition *definition, char *text)
{
	struct session_channel *channel = &definition->channels[definition->nr];
	char *mode = strchr(text, ':'), *size = NULL;

	if (definition->nr == CHANNELS)
		die("too many channels");
	if (mode) {
		*mode++ = 0;
		size = strchr(mode, ':');
		if (size)
			*size++ = 0;
	}
	*channel = (struct session_channel){
			.name = text,
			.ring_size = size ? strtoull(size, NULL, 0) : 0,
			.contexts = definition->contexts[definition->nr],
			.rules = definition->session_rules[definition->nr],
	};
	if (mode && !strcmp(mode, "overwrite"))
		channel->mode = SESSION_OVERWRITE;
	else if (mode && !strcmp(mode, "block"))
		channel->mode = SESSION_BLOCK;
	definition->nr++;
}

static void add_track(struct definition *definition, char *text)
{
	static const char *const classes[] = {"pid", "uid", "gid", "name", "cgroup", "container"};
	struct session_track *track = &definition->track[definition->nr_track];
	char *value;
	size_t i;

	if (definition->nr_track == TRACKS)
		die("too many tracks");
	*track = (struct session_track){.exclude = *text == '!'};
	text += track->exclude;
	value = strchr(text, ':');
	if (!value)
		die("t=KIND:VALUE");
	*value++ = 0;
	for (i = 0; i < SESSION_TRACK_KINDS; i++)
		if (!strcmp(text, classes[i]))
			track->kind = (enum session_track_kind)i;
	track->text = value;
	track->number = strtoull(value, NULL, 0);
	definition->nr_track++;
}

static void add_rule(struct session_channel *channel, struct definition *definition)
{
	size_t index = (size_t)(channel - definition->channels), nr = channel->nr_rules;

	if (nr == RULES)
		die("too many rules");
	definition->session_rules[index][nr] = (struct session_rule){
			.patterns = definition->rules[index][nr].patterns,
			.contexts = definition->rules[index][nr].contexts,
	};
	channel->nr_rules++;
}

static void add_to_rule(struct definition *definition, size_t index, char what, char *text)
{
	size_t nr = definition->channels[index].nr_rules - 1;
	struct session_rule *rule = &definition->session_rules[index][nr];
	struct rule *texts = &definition->rules[index][nr];

	if (rule->nr_patterns == WORDS || rule->nr_contexts == WORDS)
		die("too many words");
	if (what == 'e')
		texts->patterns[rule->nr_patterns++] = text;
	else if (what == 'f')
		rule->filter = text;
	else if (what == 'x')
		texts->contexts[rule->nr_contexts++] = text;
	else
		die("an unknown word");
}

static void add_word(struct definition *definition, char *word)
{
	/* The last channel; there may be none yet. */
	size_t index = definition->nr ? definition->nr - 1 : 0;
	struct session_channel *channel = &definition->channels[index];

	if (strlen(word) < 2 || word[1] != '=')
		die("not a word of a definition");
	if (*word == 'c')
		add_channel(definition, word + 2);
	else if (*word == 't')
		add_track(definition, word + 2);
	else if (!definition->nr)
		die("no channel yet");
	else if (*word == 'r')
		add_rule(channel, definition);
	else if (*word == 'x' && !channel->nr_rules)
		definition->contexts[index][channel->nr_contexts++] = word + 2;
	else if (channel->nr_rules)
		add_to_rule(definition, index, *word, word + 2);
	else
		die("no rule yet");
}

/* ---- answers ---- */

static void put_process(const struct session_status_process *process)
{
	size_t i;

	putchar('{');
	put_member("procname", process->procname);
	put_member("exe", process->exe);
	put_member("directory", process->directory);
	put_number("number", process->number);
	put_number("peer", (uint64_t)process->peer);
	put_number("pid", process->pid);
	put_number("uid", process->uid);
	put_number("gid", process->gid);
	put_number("control", process->control);
	put_number("signal", process->control_signal);
	put_number("generation", process->generation);
	put_number("ended", process->ended);
	put_number("events", process->events);
	put_number("bytes", process->bytes);
	put_number("lost", process->lost);
	put_number("overwritten", process->overwritten);
	put_number("memory", process->memory);
	printf("\"rings\":[");
	for (i = 0; i < process->nr_rings; i++) {
		printf("%s{", i ? "," : "");
		put_member("channel", process->rings[i].channel);
		put_number("number", process->rings[i].number);
		put_number("bytes", process->rings[i].bytes);
		printf("\"lost\":%llu}", (unsigned long long)process->rings[i].lost);
	}
	printf("],\"losses\":[");
	for (i = 0; i < process->nr_losses; i++) {
		printf("%s{", i ? "," : "");
		put_member("event", process->losses[i].event);
		put_member("reason", process->losses[i].reason);
		put_number("ring", process->losses[i].ring);
		printf("\"count\":%llu}", (unsigned long long)process->losses[i].count);
	}
	printf("]}");
}

static void put_status(struct session *session)
{
	struct session_status status;
	size_t i;

	if (session_status(session, &status))
		die("no memory");
	printf("{\"ok\":true,");
	put_number("active", status.active);
	put_number("generation", status.generation);
	put_number("statedump", status.statedump);
	put_number("snapshots", status.snapshots);
	put_number("memory", status.memory);
	put_number("seen", status.nr_seen);
	put_number("refused", status.nr_refused);
	put_number("untracked", status.nr_untracked);
	put_number("bytes", status.bytes);
	put_number("lost", status.lost);
	put_number("overwritten", status.overwritten);
	printf("\"processes\":[");
	for (i = 0; i < status.nr_processes; i++) {
		if (i)
			putchar(',');
		put_process(&status.processes[i]);
	}
	printf("]}\n");
	session_status_free(&status);
}

static void put_messages(struct session *session)
{
	struct session_message message;
	const char *comma = "";

	printf("{\"ok\":true,\"messages\":[");
	while (session_take_message(session, &message)) {
		fputs(comma, stdout);
		put_string(message.text);
		free(message.text);
		comma = ",";
	}
	printf("]}\n");
}

static void put_result(int result, uint64_t number)
{
	printf("{\"ok\":%s,\"result\":%d,\"number\":%llu}\n", result ? "false" : "true", result,
			(unsigned long long)number);
}

/* ---- commands ---- */

static void change(struct session *session, bool active, char **words)
{
	struct definition *definition = calloc(1, sizeof(*definition));
	struct error error;
	uint64_t generation;

	while (definition && *words)
		add_word(definition, *words++);
	if (!definition)
		die("no memory");
	if (session_change(session, definition->channels, definition->nr, active, definition->track,
			    definition->nr_track, &generation, &error))
		put_error(&error);
	else
		put_result(0, generation);
	free(definition);
}

static void close_session(struct session *session, bool finish)
{
	struct error error;

	session_close(session, finish, &error);
	if (error.kind)
		put_error(&error);
	else
		put_result(0, 0);
	fflush(stdout);
	exit(0);
}

static void obey(struct session *session, char **words)
{
	const char *word = words[0], *argument = words[0] && words[1] ? words[1] : "";
	uint32_t number = 0;
	int ret;

	if (!word)
		die("an empty line");
	if (!strcmp(word, "change")) {
		change(session, !strcmp(argument, "active"), words + 2);
	} else if (!strcmp(word, "statedump")) {
		put_result(0, session_statedump(session));
	} else if (!strcmp(word, "flush")) {
		put_result(session_flush(session, (unsigned int)atoi(argument)), 0);
	} else if (!strcmp(word, "snapshot")) {
		char name[SESSION_SNAPSHOT_NAME_MAX];
		uint64_t recorded;

		ret = session_snapshot(
				session, (unsigned int)atoi(argument), &number, name, &recorded);
		put_result(ret, number);
	} else if (!strcmp(word, "status")) {
		put_status(session);
	} else if (!strcmp(word, "messages")) {
		put_messages(session);
	} else if (!strcmp(word, "close")) {
		close_session(session, !strcmp(argument, "finish"));
	} else {
		die("an unknown command");
	}
	fflush(stdout);
}

/*
 * stdin may contain several lines: none of them may stay in a buffer of this program while it
 * sleeps.
 */
static bool read_line(char *line, size_t capacity)
{
	size_t size = 0;

	while (size + 1 < capacity && read(STDIN_FILENO, line + size, 1) == 1 && line[size] != '\n')
		size++;
	if (!size)
		return false;
	line[size] = 0;
	return true;
}

static void serve(struct session *session)
{
	static char line[65536];
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			{.fd = session_fd(session), .events = POLLIN}};
	struct error error;

	for (;;) {
		char *words[512] = {NULL}, *remainder = NULL, *word;
		size_t nr = 0;

		poll(fds, 2, 500);
		if (session_turn(session, 0, &error))
			die(error.text);
		if (!fds[0].revents)
			continue;
		if (!read_line(line, sizeof(line)))
			close_session(session, true);
		for (word = strtok_r(line, "\t", &remainder); word && nr < 511;
				word = strtok_r(NULL, "\t", &remainder))
			words[nr++] = word;
		obey(session, words);
	}
}

int main(int argc, char **argv)
{
	static struct definition definition;
	struct session_options options = {.mode = SESSION_RECORD};
	struct session_live live = {.socket = NULL};
	struct error error;
	struct session *session;
	int option;

	while ((option = getopt(argc, argv, "o:s:p:m:aug:f")) != -1)
		switch (option) {
		case 'o': options.output = optarg; break;
		case 's': live.socket = optarg; break;
		case 'p': live.state_dir = optarg; break;
		case 'm': options.memory_limit = strtoull(optarg, NULL, 0); break;
		case 'a': live.active = true; break;
		case 'u': live.any_user = true; break;
		case 'g': live.generation = strtoull(optarg, NULL, 0); break;
		case 'f': options.force = true; break;
		default: return 2;
		}
	while (optind < argc)
		add_word(&definition, argv[optind++]);
	options.channels = definition.channels;
	options.nr_channels = definition.nr;
	live.track = definition.track;
	live.nr_track = definition.nr_track;
	if (session_open(&options, &live, &session, &error)) {
		put_error(&error);
		return 1;
	}
	put_result(0, session_generation(session));
	fflush(stdout);
	serve(session);
}
