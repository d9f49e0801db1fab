/* SPDX-License-Identifier: MIT */
/*
 * Pairs of begin and end events.
 *
 * An end closes the latest open begin with the same key, so that pairs can nest. The key is the
 * value of an expression; without an expression it is the thread, or the process if threads are not
 * recorded. An event that matches both patterns ends one pair and begins the next.
 */
#ifndef SIDE_ANALYSIS_REPORT_PAIR_H
#define SIDE_ANALYSIS_REPORT_PAIR_H

#include "base/text-list.h"
#include "analysis/missing.h"
#include "analysis/report-identity.h"
#include "analysis/where.h"

struct error;

#define PAIR_RULES_MAX 64

/* What is kept of a begin. */
struct pair_open {
	int64_t ns;
	uint64_t number; /* this and the remaining members belong to the user of the pairs */
	uint32_t scope;
	uint32_t group;
	uint32_t process;
	int64_t thread;
	int32_t cpu;
	uint32_t trace;
};

struct pair_rule {
	const char *begin_text, *end_text;
	struct pattern *begin, *end; /* one pattern each */
	uint64_t unfinished;         /* begins without an end, discarded ones included */
	uint64_t unbegun;            /* ends without a begin */
	uint64_t no_key;             /* begins and ends in which the expression has no value */
	uint64_t not_kept; /* unfinished pairs that were not followed, because too many were open */
	uint64_t negative; /* pairs that end before they begin (clocks); their duration is 0 */
	/* begins and ends without a known thread, although the thread is the key */
	uint64_t no_thread;
	uint64_t across_loss; /* pairs during which events were lost */
};

/* The rules that an event class matches. */
struct pair_class {
	uint64_t begins, ends; /* one bit for each rule */
	struct where_bound *key;
	bool has_call; /* its first field is the number of a call, as in probes with `--exit` */
};

struct pair_slot;

struct report_pairs {
	struct pair_rule rules[PAIR_RULES_MAX];
	unsigned int rule_count;
	struct where key;
	bool has_key;
	bool by_call; /* the number of a call identifies the thread if threads are not recorded */
	bool across;  /* a key means the same in all processes */
	struct pair_slot *slots;
	uint32_t capacity, used;
	uint32_t open; /* open begins */
};

/*
 * Parses BEGIN, END, BEGIN, END, …, which must live as long as the pairs. `key` may be NULL. 0 or a
 * negative errno; the kind is ERROR_USAGE for an invalid text. Call pairs_free() in both cases.
 */
int pairs_create(struct report_pairs *pairs, const struct text_list *pairs_text, const char *key,
		bool across, struct error *error);
void pairs_free(struct report_pairs *pairs);

/*
 * Finds out which rules a class matches. `missing` may be NULL. 0 or -ENOMEM. A class that matches
 * no rule needs no pair_class_free().
 */
int pair_class_make(const struct report_pairs *pairs, struct pair_class *class,
		const struct ctf_item *item, const struct view_event *event,
		struct missing *missing);
void pair_class_free(struct pair_class *class);

/* The key of a record, which all rules share. */
struct pair_key {
	uint64_t high, low;
	bool there;
	bool no_thread;
};
struct pair_key pairs_key(const struct report_pairs *pairs, const struct pair_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread);

/* 0 or -ENOMEM. A begin that cannot be kept is counted. */
int pairs_begin(struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		const struct pair_open *open);
/*
 * True: *ret_open is the matching begin, which is removed. False: the end is counted as one without
 * a begin.
 */
bool pairs_end(struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		struct pair_open *ret_open);
/* Copies the latest open begin under the key, which stays open. */
bool pairs_top(const struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		struct pair_open *ret_open);
/* Whether a begin is open under the key. */
bool pairs_is_open(const struct report_pairs *pairs, unsigned int rule, const struct pair_key *key);

/* The note for pairs of which `no_thread` is not 0. */
#define PAIRS_NO_THREAD                                                                           \
	"threads are not known: pairs of different threads may be mixed; record with `--context " \
	"vtid`, or give `--key`"

/* Counts all open begins as unfinished. After the last event. */
void pairs_finish(struct report_pairs *pairs);

/* The duration of a pair in ns. Counts pairs that end before they begin, and returns 0 for them. */
uint64_t pair_duration(struct pair_rule *rule, int64_t begin, int64_t end);

#endif /* SIDE_ANALYSIS_REPORT_PAIR_H */
