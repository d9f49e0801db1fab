/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_RULES_H
#define SIDE_TRACERS_AGENT_CORE_RULES_H

/*
 * What a consumer asked for: channels, and the rules (patterns, filters, contexts) of each
 * generation, checked and kept.
 *
 * Callers: exchange.c, boot.c, renew.c, update.c, replaced.c and session-end.c. Hold libside's
 * event lock, or be the only thread of the process (before main(), in a forked child). With the
 * lock, a signal handler may call these functions: they allocate with mmap() and wait for nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/filter.h"
#include "protocol/pattern.h"
#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/recycled-ids.h"

struct agent_batch;
struct agent_session;

struct agent_rule {
	struct agent_rule *next;
	struct pattern *patterns;
	uint32_t nr_patterns;
	bool nothing; /* the rule is for kernel events, and this process has none; or the reverse */
	uint32_t nr_contexts;
	const struct context_spec *contexts; /* of its events, in addition to the channel's */
	const void *filter;                  /* a verified program, or NULL */
	size_t filter_size;
	const struct context_spec *filter_specs; /* the contexts that the filter names */
	uint32_t nr_filter_specs;
	struct filter_contexts filter_contexts; /* and their values: user is a context_set */
	struct filter_contexts hit_contexts;    /* the same for events of probes, with memory */
};

/* What a session wants of its channels, until it sends other rules. */
struct agent_generation {
	struct agent_memory memory;    /* that contains this struct and the rules */
	struct agent_hash hash;        /* of all encoded rules */
	struct agent_generation *next; /* in the list of replaced generations */
	uint64_t grace;                /* for side_tracer_grace_passed() */
	struct agent_batch *batches;   /* that are freed together with the generation */
	struct agent_session *left; /* the session, if the process left it with this generation */
	struct agent_rule *rules[WIRE_CHANNELS_MAX], **ends[WIRE_CHANNELS_MAX];
};

struct agent_rules {
	struct agent_generation *over, **over_end; /* replaced generations, the oldest first */
	/*
	 * The process emits the kernel's events, so only rules for kernel events apply to it. Set
	 * by start.c.
	 */
	bool for_kernel;
};

/*
 * 0, or a negative errno for a message that no honest consumer sends. The channel stays as long as
 * the session.
 */
int agent_take_channel(struct agent_session *session, const struct wire_channel *channel);

/*
 * A generation is created empty, filled with rules, and applied: from then on the rules of the
 * channels are its own.
 */
struct agent_generation *agent_generation_begin(void);
int agent_take_rule(struct agent_generation *generation, const struct wire_rule *rule);
void agent_generation_apply(struct agent_session *session, struct agent_generation *generation);
/* Whether events of the session may have this context. */
bool agent_session_has_context(const struct agent_session *session, enum context_kind kind);
void agent_generation_free(struct agent_generation *generation);

#endif
