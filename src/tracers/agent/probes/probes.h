/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PROBES_PROBES_H
#define SIDE_TRACERS_AGENT_PROBES_PROBES_H

/*
 * Set the probes that the tables of sessions (probe/table/table.h) request in this program.
 *
 *	probes.c          tables, which come and go with the rules of a session; when probes are set and removed
 *	events.c          the events of a table
 *	sites.c           modules in this process; the locations of specs, and the patch at each
 *	results.c         reports to the session what became of the probes of a table
 *	loader.c          libraries that are loaded and unloaded
 *	steps.c           how the fields of an event become the bytes of a record, at one location
 *	record.c          a hit: registers and memory -> record
 *	hit.c             where that is not enough: -> arguments -> event
 *	fetch.c           the value of a field
 *	read.c            memory that may be unmapped
 *	calls.c           the calls that led to a hit
 *	semaphore.c       semaphores of markers
 *	none.c            replaces all of them where the processor has no probes
 *
 * Each table has events of its own, which only its session records. Two sessions that request the same have two. But a
 * location has one patch: it has a list of specs, one for each probe of a table at that location, and each spec is an
 * event. The list changes while the patch is set: a spec is added whole. The memory of a removed spec is given back only
 * when no thread can be in the handler.
 *
 * A patch is set while an event of one of its specs has a callback. This is checked whenever rules or tables change. A
 * stopped session has no rules, so its probes are removed.
 *
 * Everything but hits runs under libside's event lock, in a thread that may wait. Where the caller must not wait (a signal
 * handler), tables are left for the next time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/builder.h>
#include <side/trace.h>

#include "tracers/agent/core/memory.h"
#include "tracers/agent/context/values.h"
#include "protocol/protocol.h"
#include "filter/filter.h"
#include "probe/patch/patch.h"
#include "probe/table/table.h"
#include "probe/unwind/unwind.h"

struct probes_field {
	struct probe_table_field field;
	uint16_t label; /* of an argument */
	uint8_t arg;    /* where it stands: table.h, struct probe_table_nest */
	uint8_t first_member, nr_members;
};

struct agent_session;
struct probes_layout;

/* Why a hit is not recorded: enum patch_unseen, there was no memory for its arguments, or a child of vfork() may enter no section. */
#define PROBES_UNSEEN_MEMORY PATCH_NR_UNSEEN
#define PROBES_UNSEEN_VFORK (PATCH_NR_UNSEEN + 1)
#define PROBES_NR_UNSEEN (PATCH_NR_UNSEEN + 2)

struct probes_event {
	const struct side_event_state *state;
	const uintptr_t *enabled;   /* the state's word */
	uint32_t nr_fields, nr_top; /* nr_top: without members of structures */
	uint32_t scratch;           /* bytes for what its strings and arrays are read into */
	uint32_t entry_event,
			exit_event; /* of the table: the other event of its calls, or PROBE_TABLE_NONE */
	bool wants_calls;
	bool wants_reads; /* of memory that may not be there */
	const struct probes_field *fields;
	const struct probes_layout *entry,
			*exit; /* that were made last: all its places have the same, mostly */
	uint64_t *unseen; /* [PROBES_NR_UNSEEN], atomic: hits that were not seen and are not counted yet */
	struct side_builder *builder;
};

/*
 * How a field becomes bytes of a record, where the recorder is the only one who listens: the same as its plan makes of the
 * argument (agent/plan/), without that argument.
 */
enum probes_step_kind {
	PROBES_STEP_PLAIN, /* as they stand in the hit, at `from` */
	PROBES_STEP_VALUE, /* the lower bytes of what is fetched */
	PROBES_STEP_WIDE,  /* 16 bytes */
	PROBES_STEP_BOOL,
	PROBES_STEP_NAME, /* of the function */
	PROBES_STEP_STRING,
	PROBES_STEP_GATHERED,
	PROBES_STEP_NOTHING, /* of a structure: its members are fields of their own */
};

struct probes_step {
	uint8_t kind;  /* enum probes_step_kind */
	uint8_t size;  /* PROBES_STEP_PLAIN, _VALUE: bytes */
	uint16_t from; /* of others: whether they are guarded (struct probe_table_field) */
};

/* Bytes of a record that are made in a buffer; steps store 8 at a time. */
#define PROBES_RECORD_MAX 512

_Static_assert(PROBES_RECORD_MAX <= UINT16_MAX && PROBE_TABLE_FIELDS_MAX <= UINT16_MAX, "of a way");

#define PROBES_NO_PIECE UINT8_MAX

#define PROBES_WORDS_MAX 4 /* behind a name */
#define PROBES_NAME_MAX 256

/* An event at all places at which its records are made alike, which are most: of thousands of them it stays in the cache. */
struct probes_layout {
	const struct side_event_state *state; /* of the event */
	/*
	 * Records that are the name of the function, if the spec has that, and then values of 8 bytes that stand in the hit: how many, and
	 * where.
	 */
	bool named;
	uint8_t nr_behind;
	uint16_t words[PROBES_WORDS_MAX];
	/*
	 * Records of one value that stands in the hit, or two of 8 bytes, or none: how many bytes, else PROBES_NO_PIECE; and where they
	 * stand. Without a second one it is behind the first, or there is none.
	 */
	uint8_t piece;
	uint16_t from, second;
	bool leaves; /* an exit */

	uint16_t nr_steps;               /* as many as fields */
	uint16_t nr_plain;               /* so many at their begin are plain; */
	uint16_t nr_words;               /* and so many are of 8 bytes, too, as registers are */
	uint16_t nr_names;               /* so many are the name of the function */
	uint32_t most;                   /* bytes that the steps may store, but for names */
	const struct probes_step *steps; /* for each field */
	const struct probes_event *event;
};

/*
 * One probe spec at one location. What most hits read of a spec is in one cache line, and the specs of a table are adjacent: a program can
 * have thousands of locations, most of which are not in the cache.
 */
struct probes_spec {
	struct probes_spec *next;                 /* of the place */
	const struct probes_layout *entry, *exit; /* NULL: there is no such event */
	uint16_t name_bytes; /* of the name with its end; 0: it is too long for this structure */
	uint8_t lines; /* cache lines; the struct probes_spec_details is at the end of the last one */
	uint8_t mark; /* a bit among those of a call (patch_hit_marks()); PATCH_MARKS: none was free at the place */
	_Alignas(8) char name[]; /* whole words of it */
} __attribute__((aligned(AGENT_LINE)));

/* Value of `marks`: the spec is removed, and its bits are given back. */
#define PROBES_MARKS_RETURNED UINT8_MAX

/* The members of a spec that most hits do not read. */
struct probes_spec_details {
	struct probes_spec *spec;
	const char *function;
	uint32_t function_bytes;                                /* with its end */
	const struct probe_fetch *entry_fetches, *exit_fetches; /* for each field */
	uint64_t bias; /* from the file's addresses to those here */
	bool wants_all, wants_trap;
	bool kernel; /* the kernel watches it, for the session that requested it */
	bool over;   /* the kernel watches it, or did so in the parent before fork() */

	struct probes_location *location;
	struct probes_spec_details *
			next_same; /* of the same probe of the table, where its module is mapped again */
	uint64_t semaphore;        /* address here; 0: none */
	bool raised;
	/*
	 * For each channel whose filters select calls, its bit plus 1; 0: none yet. The first channel that needs a bit gets the spec's own
	 * one; hits take bits for others. PROBES_MARKS_RETURNED: the spec is removed, so no hit may take a bit. Atomic; hits write it.
	 */
	uint32_t mark_owner; /* the first channel that needs a bit, plus 1; 0: none yet */
	uint8_t marks[WIRE_CHANNELS_MAX];
};

/* A location in the program. */
struct probes_location {
	struct probes_location *next; /* of those with the same hash */
	uint64_t address;
	struct probes_spec *specs; /* the first one is what its probe has as its user */
	struct patch *patch;       /* NULL: not set */
	uint32_t flags;            /* it is set with */
	uint32_t wanted; /* it is to be set with, as long as the bytes behind it are free */
	enum probe_method method;
	int error; /* of the last attempt */
	struct probe_site site;
	uint16_t marks; /* bits that belong to a spec, or to a channel at one; atomic */
	bool left;      /* a spec was just taken away */
	bool goes_on;   /* it is set anew, because others are there now */
	bool watched;   /* wanted by those alone for whom the kernel watches it; */
	bool ready;     /* then a child could set it at once */
	bool over; /* one of those who ask for it has had the kernel watch it, here or where we were forked */
};

struct probes_table {
	struct probes_table *next; /* of the session */
	uint64_t number;
	int error;
	const void *bytes;
	size_t size;
	struct probe_table table;
	struct agent_memory memory;    /* of all that follows */
	struct agent_memory lines;     /* of specs */
	struct agent_memory described; /* of builders */
	struct probes_event *events;
	struct side_event_description **descriptions;
	struct side_events_register_handle *handle;
	struct probe_fetch *fetches;
	struct probes_spec_details **
			details; /* for each probe, one for each place where its module is mapped */
	int *errors;             /* for each probe: why it has none */
	bool reported;           /* what has become of it */
	bool inherited;          /* by a fork: the kernel watches nothing for it here */
	bool wants_calls;        /* one of its events */
};

/* ---- sites.c: in hits ---- */

/* A bit of a call that neither a spec of the place nor a channel at one has; PATCH_MARKS: none is free. */
uint8_t probes_mark_take(struct probes_location *location);
void probes_marks_give(struct probes_location *location, uint32_t marks);

/* ---- probes.c ---- */

/* In a thread that loads or unloads. */
void agent_probes_libraries_changed(void);

/* ---- events.c ---- */

int probes_events_make(struct probes_table *table);
void probes_events_free(struct probes_table *table);
/* Is this event of one of these tables? */
bool probes_events_has(
		const struct probes_table *tables, const struct side_event_description *event);
/* The event at the other end of its calls; NULL: there is none. `leaves`: `event` is at the exit. */
const struct side_event_description *probes_events_other(const struct probes_table *tables,
		const struct side_event_description *event, bool leaves);

/* ---- sites.c ---- */

/* What is mapped now: specs for probes of modules that have come, none any more for those that have gone. */
int probes_locations_find(struct probes_table *table);
/* Sets what is wanted and removes what is not, in all places. */
void probes_locations_apply(void);
/* Remove probes whose hits would end the program, and set or remove nothing afterwards; or undo that. */
void probes_locations_limit(enum context_hits hits);
bool probes_locations_any(void);
/* Whether something that is set reads memory that may not be there. */
bool probes_locations_read(void);
/* In a child, where the kernel does not watch what it watches in the parent. Whether that was anything, to be applied. */
bool probes_locations_forked(struct probes_table *table);
/* There is no table, and nothing is set: nobody can be at a place. */
void probes_locations_quiesce(void);
/* No spec of it is left, and nobody is in one after probes_locations_apply(). */
void probes_locations_drop(struct probes_table *table);

/* ---- results.c ---- */

int probes_answer(struct agent_session *session, const struct probes_table *table);

/* ---- loader.c ---- */

void probes_loader_start(void);
/* Nobody has a table any more: the loader's code is as it was. */
void probes_loader_stop(void);

/* ---- steps.c ---- */

/* Of the event at the place of which that is wished. NULL: out of memory. */
const struct probes_layout *probes_steps_make(struct probes_table *table,
		struct probes_event *event, const struct probes_spec_details *details, bool leaves);

/* ---- fetch.c ---- */

/* One hit of one event. */
struct probes_moment {
	const struct patch_hit *hit;
	const struct probes_layout *layout;
	const struct probes_spec_details *details;
	uint64_t unreadable; /* fields, as bits */
	uint64_t length;     /* of the field, if its fetch says it; else the greatest number */
	uint64_t upper;      /* half of a field of 16 bytes */
	char *scratch;
	void *calls_memory; /* NULL: none yet */
	uint32_t field;
	struct patch_reading *reading; /* for probe_read() */
	struct probes_window *window;
};

/* What is not of the stack, of calls: as much of a page as is there, one at a time. */
struct probes_window {
	struct probes_block *block;
	const uint64_t *stack;
	uint64_t from, size;
	struct patch_reading *reading;
	struct unwind_memory memory;
	struct unwind_state state; /* where the walk begins */
};

#define PROBES_ARGS_FEW 10 /* fields whose arguments need no block */

/* What a hit needs until it is over. It is not on the program's stack, which may be small (patch_hit_scratch()). */
struct probes_scratch {
	union {
		_Alignas(64) uint8_t record[PROBES_RECORD_MAX];
		uint8_t values[FILTER_VALUES_BYTES]; /* of a filter, before the record begins */
	};
	struct side_arg args[PROBES_ARGS_FEW];
	struct probes_moment moment;
	struct probes_window window;
};
_Static_assert(sizeof(struct probes_scratch) <= PATCH_SCRATCH_BYTES, "there is room for it");

/* Before the first hit. */
void probe_fetch_start(void);
/* The value of moment->field. */
uint64_t probe_fetch_value(struct probes_moment *moment, const struct probe_fetch *fetch);
/* Where in a hit a register stands; negative: in none of its words. */
int probe_fetch_offset(unsigned int reg, bool leaves);

static inline struct probes_spec_details **probes_details_of(const struct probes_spec *spec)
{
	return (struct probes_spec_details **)((uintptr_t)spec + (size_t)spec->lines * AGENT_LINE) -
			1;
}

static inline const struct probe_fetch *probes_fetches(const struct probes_moment *moment)
{
	return moment->layout->leaves ? moment->details->exit_fetches
				      : moment->details->entry_fetches;
}

static inline const struct probes_spec *probes_next_spec(struct probes_spec *const *from)
{
	/* Acquire: the content of the spec. Pairs with the release in unlink_spec(). */
	return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

/* ---- record.c ---- */

void probe_hit_entry(const struct patch_hit *hit);
void probe_hit_exit(const struct patch_hit *hit);
/* At the begin of a call whose return will not be seen: it is counted as a loss of each event that would record it. */
/* struct patch_hooks. */
bool probe_hit_is_vforked(void);
void probe_hit_unseen(const struct patch_hit *hit, enum patch_unseen why);
/* Turn the hits of this event that could only be counted into losses in its rings. */
void probe_count_unseen(const struct probes_event *event);
/* Under libside's lock: also in a thread that has been in no section before, which a main() without events is. */
void probe_count_unseen_locked(const struct probes_event *event);
/* Before the first hit. */
void probe_record_start(void);

/* ---- probe-hit.c ---- */

/* Where a probe has hit: all that is not saved there is saved around the call. */
void probe_hit_saved(void (*call)(void));

/* PROBE_CALLS_BYTES that are taken when they are needed. */
struct probes_block {
	void *memory; /* NULL: not yet */
	int index;    /* of what was taken; negative: nothing was */
};

/* NULL: none is free. */
void *probe_hit_memory(struct probes_block *block);

void probe_hit_by_arguments(const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout);
/* moment->field: what stands at that address, or nothing, which is marked. */
void probe_hit_text(struct probes_moment *moment, const struct probe_table_field *field,
		uint64_t address, char *to);
/* Likewise; how many. */
uint64_t probe_hit_several(struct probes_moment *moment, const struct probe_table_field *field,
		uint64_t address, void *to);
/* Addresses of functions that need none but general registers; before the first hit. */
void probe_hit_start(void);
extern uint64_t probe_hit_lost; /* for want of memory to read into */

/* ---- read.c ---- */

/* `stack`: the page that it points into is there. `reading` is of the hit, NULL at first, for patch_read(). */
bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack,
		struct patch_reading **reading);
/* Likewise, with the program's return addresses where side has replaced them. */
bool probe_read_as_program(struct probes_moment *moment, void *to, uint64_t from, size_t size);
/* Up to size - 1 bytes and a NUL, as far as they can be read, as the program reads them; false: not even the first byte. */
bool probe_read_string(struct probes_moment *moment, char *to, uint64_t from, size_t size);
#define PROBE_PAGES_MAX 128
#define PROBE_PAGES_MEMORY (PROBE_PAGES_MAX * 17)
/* Whether so many pages from there can be read, which is at most PROBE_PAGES_MAX; `memory` is of PROBE_PAGES_MEMORY. */
bool probe_are_there(uint64_t from, size_t nr, void *memory);
bool probe_is_first_thread(void);

/* ---- calls.c ---- */

#define PROBE_CALLS_BYTES 4096 /* a page of the stack */

/* What is mapped now, if somebody wants to see calls; before their probes are set. */
void probe_calls_update(bool wanted);
/* What hits may still read: it is given back when those that did are over. */
bool probe_calls_has_retired(void);
void probe_calls_free_retired(void);
/*
 * Return addresses, from that of the function at whose begin the hit is, or that is returned to; how many. What is in other
 * memory than the thread's own stack is read into the block.
 */
uint32_t probe_calls(uint64_t *to, uint32_t most, const struct patch_hit *hit, bool leaves,
		struct probes_block *block, struct probes_window *window);

/* ---- semaphore.c ---- */

/* One more, or one less: atomically, and not where nothing is mapped. Whether it was done. */
bool probe_semaphore_change(uint64_t address, bool raise);

#endif
