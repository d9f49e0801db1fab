/* SPDX-License-Identifier: MIT */
/*
 * Begin and end events that belong together.
 *
 * An end closes the latest open begin of the same key, so calls may nest. The key is the value of
 * an expression, or the thread where that is recorded, or else the process. An event that both
 * patterns match ends one pair and begins the next.
 */
#ifndef SIDE_ANALYSIS_REPORT_PAIR_H
#define SIDE_ANALYSIS_REPORT_PAIR_H

#include "base/text-list.h"
#include "analysis/missing.h"
#include "analysis/report-identity.h"
#include "analysis/where.h"

struct error;

#define PAIR_RULES_MAX 64

/* What is remembered of a begin. */
struct pair_open {
	int64_t ns;
	uint64_t number; /* For the user of the pairs, as the rest. */
	uint32_t scope;
	uint32_t group;
	uint32_t process;
	int64_t thread;
	int32_t cpu;
	uint32_t trace;
};

struct pair_rule {
	const char *begin_text, *end_text;
	struct pattern *begin, *end; /* One each. */
	uint64_t unfinished;         /* Begins that no end closed: those that were given up, too. */
	uint64_t unbegun;            /* Ends without a begin. */
	uint64_t no_key;             /* Begins and ends in which the expression has no value. */
	uint64_t not_kept;           /* Of the unfinished: too many were open at a time. */
	uint64_t negative;           /* Ended before they began (clocks); counted as 0. */
	uint64_t no_thread; /* Begins and ends whose thread is not known, though threads are the key. */
	uint64_t across_loss; /* Pairs during which events were lost. */
};

/* Which rules a class of events has a part in. */
struct pair_class {
	uint64_t begins, ends; /* Bits of the rules. */
	struct where_bound *key;
	bool has_call; /* Its first field is the number of a call, as in probes with `--exit`. */
};

struct pair_slot;

struct report_pairs {
	struct pair_rule rules[PAIR_RULES_MAX];
	unsigned int rule_count;
	struct where key;
	bool has_key;
	bool by_call; /* If threads are not recorded, the number of a call identifies the thread. */
	bool across;  /* The key means the same in all processes. */
	struct pair_slot *slots;
	uint32_t capacity, used;
	uint32_t open; /* Begins that wait. */
};

/*
 * BEGIN and END one after the other in `pairs_text`, which lives as long as the pairs; `key` may be NULL. 0 or a negative errno; the kind is
 * ERROR_USAGE for an invalid text. pairs_free() in both cases.
 */
int pairs_create(struct report_pairs *pairs, const struct text_list *pairs_text, const char *key,
		bool across, struct error *error);
void pairs_free(struct report_pairs *pairs);

/* `missing`: what `--key` names and no event has, or NULL. 0 or -ENOMEM. Needs no pair_class_free() if it has no part in any rule. */
int pair_class_make(const struct report_pairs *pairs, struct pair_class *class,
		const struct ctf_item *item, const struct view_event *event,
		struct missing *missing);
void pair_class_free(struct pair_class *class);

/* A key, made once for a record. */
struct pair_key {
	uint64_t high, low;
	bool there;
	bool no_thread;
};
struct pair_key pairs_key(const struct report_pairs *pairs, const struct pair_class *class,
		const struct ctf_item *item, uint32_t process, int64_t thread);

/* 0 or -ENOMEM. What is not kept is counted. */
int pairs_begin(struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		const struct pair_open *open);
/* True: *open is the begin that belongs to it. Else it is counted. */
bool pairs_end(struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		struct pair_open *open);
/* The latest open begin under the key, which stays. */
bool pairs_top(const struct report_pairs *pairs, unsigned int rule, const struct pair_key *key,
		struct pair_open *open);
/* Whether anything is open under the key. */
bool pairs_is_open(const struct report_pairs *pairs, unsigned int rule, const struct pair_key *key);

/* Printed where pairs are, if no_thread is not 0. */
#define PAIRS_NO_THREAD                                                                           \
	"threads are not known: pairs of different threads may be mixed; record with `--context " \
	"vtid`, or give `--key`"

/* At the end: what is still open becomes unfinished. */
void pairs_finish(struct report_pairs *pairs);

/* The length of a pair. Counts pairs that end before they begin. */
uint64_t pair_duration(struct pair_rule *rule, int64_t begin, int64_t end);

#endif /* SIDE_ANALYSIS_REPORT_PAIR_H */
