/* SPDX-License-Identifier: MIT */
/*
 * Explains lost events: a table from the reasons of sessions (recorder/storage/losses.c) to a
 * sentence and a hint for the user. A reason that is missing in the table is printed unchanged.
 */
#include <string.h>

#include "losses.h"
#include "programs/common/message.h"

#define NOT_DISTINGUISHED "in the traces only"
#define HINT_MAX 256

struct loss_text {
	const char *reason;
	const char *because;
	const char *hint; /* NULL: none, or it depends on the verb */
};

static const struct loss_text known[] = {
		{SESSION_LOST_FULL, "while a ring was full", NULL},
		{SESSION_LOST_TOO_BIG, "due to the size limit of an event", NULL},
		{SESSION_LOST_IN_VFORK,
				"in the child of a vfork(), before it executed a program: it uses its parent's memory and rings",
				NULL},
		{"process in another one's memory",
				"in a process that shares its parent's memory (clone() with CLONE_VM), or whose thread-local storage is not that of the C library",
				NULL},
		{SESSION_LOST_IN_CHILD, "in forked children that had no rings yet", NULL},
		{SESSION_LOST_BY_KIND,
				"of event classes that stayed disabled: the recorder did not answer in time",
				"set `SIDE_TIMEOUT_FACTOR=N` in the program's environment: it then waits N times as long"},
		/* The program that read that buffer prints the hint. */
		{SESSION_LOST_IN_KERNEL, "while a kernel buffer was full", NULL},
		{"invalid arguments", "because their arguments did not match the description",
				"set `SIDE_VALIDATE=1` in the program's environment: it then reports the wrong call"},
		{"no buffer", "because no buffer was free: signal handlers within events, or many threads",
				NULL},
		{"ring busy", "because a ring was busy at each attempt", NULL},
		{"no ring memory",
				"because other programs of this user used all ring memory of the session",
				"use a larger `--memory-limit`, or a smaller `--buffer-size`, so that more programs can record at the same time"},
		{"no ring", "because no ring was left for their thread or CPU", NULL},
		{SESSION_LOST_IMPLAUSIBLE,
				"in counters with impossible values, which the program has overwritten; each counter counts as one event",
				NULL},
		{"other", "in a sandbox that forbids reading the clock", NULL},
		{SESSION_LOST_PROCESS,
				"in processes that are not recorded; each process counts as one event",
				"use a larger `--memory-limit`, so that more processes can be recorded at the same time"},
		{SESSION_LOST_RETURN_FULL,
				"at returns of functions, because too many calls were open at once",
				"leave `--exit` out, or name fewer functions (entries are recorded in any case)"},
		{SESSION_LOST_RETURN_CALLER,
				"at returns to code that may read its return addresses (generated at run time, LuaJIT, Lisp)",
				NULL},
		{SESSION_LOST_RETURN_COPIED,
				"at returns of functions, because the program copies its stack away and back (continuations)",
				"leave `--exit` out (entries are recorded in any case)"},
		{NOT_DISTINGUISHED, "for reasons that only the traces contain",
				"`side report --losses` shows them"},
};

void lost_add(struct lost_sums *losses, const char *reason, uint64_t count)
{
	size_t i = 0;

	while (i < losses->nr && strcmp(losses->reasons[i].reason, reason) != 0)
		i++;
	/* The last element is for losses without a known reason. */
	if (i >= LOST_REASONS_MAX - 1)
		return;
	if (i == losses->nr) {
		losses->reasons[losses->nr].reason = reason;
		losses->reasons[losses->nr++].count = 0;
	}
	losses->reasons[i].count += count;
	losses->total += count;
}

void lost_end(struct lost_sums *losses, uint64_t total)
{
	if (total > losses->total && losses->nr < LOST_REASONS_MAX) {
		losses->reasons[losses->nr].reason = NOT_DISTINGUISHED;
		losses->reasons[losses->nr++].count = total - losses->total;
		losses->total = total;
	}
	for (size_t i = 1; i < losses->nr; i++)
		for (size_t k = i; k && losses->reasons[k].count > losses->reasons[k - 1].count;
				k--) {
			__typeof__(losses->reasons[0]) one = losses->reasons[k];

			losses->reasons[k] = losses->reasons[k - 1];
			losses->reasons[k - 1] = one;
		}
}

void lost_add_summary(
		struct lost_sums *losses, const struct session_summary *summary, uint64_t total)
{
	for (size_t i = 0; i < summary->nr_processes; i++) {
		const struct session_process *process = &summary->processes[i];

		if (process->lost && process->ring_size > losses->ring_size)
			losses->ring_size = process->ring_size;
	}
	for (size_t i = 0; i < summary->nr_losses; i++)
		if (!summary->losses[i].in_bytes)
			lost_add(losses, summary->losses[i].reason, summary->losses[i].count);
	lost_end(losses, total);
}

static const struct loss_text *loss_find_reason(const char *reason)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].reason, reason))
			return &known[i];
	return NULL;
}

static const char *loss_hint_full(enum lost_verb verb)
{
	switch (verb) {
	case LOST_OF_RECORD:
		return "use a larger `--buffer-size`, or select fewer events with `-e`";
	case LOST_OF_TRACE: return "use a larger `--buffer-size`, or probe fewer locations";
	case LOST_OF_ATTACH:
	case LOST_OF_ANSWER: return "use a larger `--buffer-size`";
	case LOST_OF_SESSION:
		return "use a channel with a larger `--buffer-size`, or select fewer events";
	case LOST_OF_RECOVER: break;
	}
	return NULL;
}

/* Replaces hints with options that verbs with answers lack: `--memory-limit` and `--exit`. */
static const char *loss_hint_of_answer(const char *reason, const char *hint)
{
	if (!strcmp(reason, SESSION_LOST_PROCESS) || !strcmp(reason, "no ring memory"))
		return "use a smaller `--buffer-size`, so that more processes can be recorded at the same time";
	if (!strcmp(reason, SESSION_LOST_RETURN_FULL) ||
			!strcmp(reason, SESSION_LOST_RETURN_COPIED))
		return NULL;
	return hint;
}

/* Returns NULL, or a text, which may be in `text`. */
static const char *loss_hint(
		const struct lost_sums *losses, const char *reason, char text[HINT_MAX])
{
	const struct loss_text *description = loss_find_reason(reason);
	const char *hint = description ? description->hint : NULL;
	char size[FORMAT_NUMBER_MAX];

	if (losses->verb == LOST_OF_RECOVER)
		return NULL;
	if (!strcmp(reason, SESSION_LOST_FULL))
		hint = loss_hint_full(losses->verb);
	else if ((!strcmp(reason, SESSION_LOST_IN_VFORK) ||
				 !strcmp(reason, "process in another one's memory")) &&
			losses->verb == LOST_OF_TRACE)
		hint = "use `side trace --global`: the kernel watches these processes, too";
	if (losses->verb == LOST_OF_ANSWER)
		hint = loss_hint_of_answer(reason, hint);
	if (!hint || strcmp(reason, SESSION_LOST_FULL) != 0 || !losses->ring_size)
		return hint;
	snprintf(text, HINT_MAX, "%s (it was %s)", hint, format_size(losses->ring_size, size));
	return text;
}

static void loss_print_reason(const char *reason)
{
	const struct loss_text *description = loss_find_reason(reason);
	char shown[256];

	if (description)
		fputs(description->because, stderr);
	else
		fprintf(stderr, "(%s)", format_printable(reason, shown, sizeof(shown)));
	fputc('\n', stderr);
}

/* Prints each hint once, because several reasons can have the same hint. */
static void loss_print_hints(const struct lost_sums *losses)
{
	for (size_t i = 0; i < losses->nr; i++) {
		char text[HINT_MAX], earlier[HINT_MAX];
		const char *hint = loss_hint(losses, losses->reasons[i].reason, text);
		bool is_known = false;

		for (size_t k = 0; hint && k < i && !is_known; k++) {
			const char *other = loss_hint(losses, losses->reasons[k].reason, earlier);

			is_known = other && !strcmp(hint, other);
		}
		if (hint && !is_known)
			fprintf(stderr, "%s %s\n", message_hint_label(), hint);
	}
}

void lost_print(const struct lost_sums *losses)
{
	char number[FORMAT_NUMBER_MAX];

	if (!losses->total)
		return;
	fprintf(stderr, "%s %s %s lost%s", message_label(true),
			format_number(losses->total, number),
			losses->total == 1 ? "event was" : "events were",
			losses->nr == 1 ? " " : ":\n");
	for (size_t i = 0; i < losses->nr; i++) {
		if (losses->nr > 1)
			fprintf(stderr, "  %s ", format_number(losses->reasons[i].count, number));
		loss_print_reason(losses->reasons[i].reason);
	}
	loss_print_hints(losses);
}

void lost_json(FILE *out, const struct lost_sums *losses)
{
	fputc('[', out);
	for (size_t i = 0; i < losses->nr; i++) {
		char text[HINT_MAX];
		const char *hint = loss_hint(losses, losses->reasons[i].reason, text);

		fprintf(out, "%s{\"reason\":", i ? "," : "");
		print_json_string(out, losses->reasons[i].reason);
		fprintf(out, ",\"count\":%llu", (unsigned long long)losses->reasons[i].count);
		if (hint)
			print_json_hint(out, hint);
		else
			fputs(",\"hint\":null,\"mend\":null", out);
		fputc('}', out);
	}
	fputc(']', out);
}
