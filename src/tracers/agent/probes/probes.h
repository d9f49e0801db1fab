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
 *	loaded.c          reports libraries that no table has to the session, which can make tables
 *	steps.c           how the fields of an event become the bytes of a record, at one location
 *	record.c          a hit: registers and memory -> record
 *	hit.c             where that is not enough: -> arguments -> event
 *	fetch.c           the value of a field
 *	read.c            memory that may be unmapped
 *	calls.c           the calls that led to a hit
 *	semaphore.c       semaphores of markers
 *	none.c            replaces all of them where the processor has no probes
 *
 * Each table has events of its own, which only its session records. Two sessions that request the
 * same have two. But a location has one patch: it has a list of specs, one for each probe of a
 * table at that location, and each spec is an event. The list changes while the patch is set: a
 * spec is added whole. The memory of a removed spec is given back only when no thread can be in the
 * handler.
 *
 * A patch is set while an event of one of its specs has a callback. This is checked whenever rules
 * or tables change. A stopped session has no rules, so its probes are removed.
 *
 * Everything but hits runs under libside's event lock, in a thread that may wait. Where the caller
 * must not wait (a signal handler), tables are left for the next time.
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
	uint16_t label; /* of the argument */
	uint8_t arg;    /* index among the arguments: table.h, struct probe_table_nest */
	uint8_t first_member, nr_members;
};

struct agent_session;
struct base_library;
struct context_origin;
struct probes_layout;

/*
 * Reasons why a hit is not recorded, beside enum patch_unseen: out of memory for its arguments, or
 * the child of a vfork() cannot enter a read section.
 */
#define PROBES_UNSEEN_MEMORY PATCH_NR_UNSEEN
#define PROBES_UNSEEN_VFORK (PATCH_NR_UNSEEN + 1)
#define PROBES_NR_UNSEEN (PATCH_NR_UNSEEN + 2)

struct probes_event {
	const struct side_event_state *state;
	const uintptr_t *enabled;   /* in `state` */
	uint32_t nr_fields, nr_top; /* nr_top: without members of structures */
	uint32_t scratch;           /* bytes for its texts and arrays */
	uint32_t entry_event,
			/* index in the table of the other event of a call, or PROBE_TABLE_NONE */
			exit_event;
	bool wants_calls;
	bool wants_reads; /* reads memory that may be unmapped */
	const struct probes_field *fields;
	const struct probes_layout *entry, *exit; /* the latest ones; most locations share them */
	/* [PROBES_NR_UNSEEN], atomic: unseen hits that are not counted as losses yet */
	uint64_t *unseen;
	struct side_builder *builder;
};

/*
 * How a field becomes bytes of a record if the recorder is the only tracer: the same bytes as its
 * plan makes of the argument (agent/plan/), but without an argument.
 */
enum probes_step_kind {
	PROBES_STEP_PLAIN, /* unchanged from `from` in the hit */
	PROBES_STEP_VALUE, /* the lower bytes of the fetched value */
	PROBES_STEP_TOP,  /* at an entry: the word at the stack pointer, as the program stored it */
	PROBES_STEP_WIDE, /* 16 bytes */
	PROBES_STEP_BOOL,
	PROBES_STEP_NAME, /* the name of the function */
	PROBES_STEP_STRING,
	PROBES_STEP_GATHERED,
	PROBES_STEP_NOTHING, /* a structure: its members are fields of their own */
};

struct probes_step {
	uint8_t kind; /* enum probes_step_kind */
	uint8_t size; /* PROBES_STEP_PLAIN, _VALUE, _TOP: bytes */
	/*
	 * PROBES_STEP_PLAIN: offset in the hit; others: whether they are guarded (struct
	 * probe_table_field)
	 */
	uint16_t from;
};

/* Size of the buffer for a record; steps store 8 bytes at a time. */
#define PROBES_RECORD_MAX 512

_Static_assert(PROBES_RECORD_MAX <= UINT16_MAX && PROBE_TABLE_FIELDS_MAX <= UINT16_MAX, "of a way");

#define PROBES_NO_PIECE UINT8_MAX

#define PROBES_WORDS_MAX 4 /* after a name */
#define PROBES_NAME_MAX 256

/*
 * An event, for all locations where its records are made in the same way. Usually these are all
 * locations of the event, so the layout stays in the cache when thousands of them are hit.
 */
struct probes_layout {
	const struct side_event_state *state; /* of the event */
	/*
	 * For records that are the function's name (if the spec has it) and then words of the hit:
	 * their number, and their offsets in the hit.
	 */
	bool named;
	uint8_t nr_behind;
	uint16_t words[PROBES_WORDS_MAX];
	/*
	 * For records of at most two words of the hit: the number of bytes, else PROBES_NO_PIECE,
	 * and their offsets in the hit. If `second` is 0, there is no second word, or it follows
	 * the first.
	 */
	uint8_t piece;
	uint16_t from, second;
	bool second_is_top; /* PROBES_STEP_TOP; `second` is not its offset then */
	bool leaves;        /* the exit event */

	uint16_t nr_steps;               /* one for each field */
	uint16_t nr_plain;               /* number of plain steps at the beginning */
	uint16_t nr_words;               /* number of those with 8 bytes each, as registers have */
	uint16_t nr_names;               /* number of steps with the function's name */
	uint32_t most;                   /* bytes that the steps can store, without names */
	const struct probes_step *steps; /* one for each field */
	const struct probes_event *event;
};

/*
 * One probe spec at one location. Most hits read one cache line of a spec. The specs of a table are
 * adjacent: a program can have thousands of locations, most of which are not in the cache.
 */
struct probes_spec {
	struct probes_spec *next;                 /* at the same location */
	const struct probes_layout *entry, *exit; /* NULL: no such event */
	uint16_t name_bytes; /* with the NUL; 0: the name is too long for this structure */
	/* number of cache lines; the pointer to the details is at the end of the last one */
	uint8_t lines;
	/*
	 * a bit among those of a call (patch_hit_marks()); PATCH_MARKS: none was free at the
	 * location
	 */
	uint8_t mark;
	_Alignas(8) char name[]; /* in whole words */
} __attribute__((aligned(AGENT_LINE)));

/* Value of `marks`: the spec is removed, and its bits are given back. */
#define PROBES_MARKS_RETURNED UINT8_MAX

/* The members of a spec that most hits do not read. */
struct probes_spec_details {
	struct probes_spec *spec;
	const char *function;
	uint32_t function_bytes;                                /* with the NUL */
	const struct probe_fetch *entry_fetches, *exit_fetches; /* for each field */
	uint64_t bias; /* difference between addresses here and in the file */
	bool wants_all, wants_trap;
	bool kernel;      /* the kernel watches it, for the session that requested it */
	bool ever_kernel; /* the kernel watches it, or did so in the parent before fork() */

	struct probes_location *location;
	struct probes_spec_details *
			/* the same probe of the table, in another mapping of its module */
			next_same;
	uint64_t semaphore; /* address here; 0: none */
	bool raised;
	/*
	 * For each channel whose filters select calls, its bit plus 1; 0: none yet. The first
	 * channel that needs a bit gets the spec's own one; hits take bits for others.
	 * PROBES_MARKS_RETURNED: the spec is removed, so no hit may take a bit. Atomic; hits write
	 * it.
	 */
	uint32_t mark_owner; /* the first channel that needs a bit, plus 1; 0: none yet */
	uint8_t marks[WIRE_CHANNELS_MAX];
};

/* A location in the program. */
struct probes_location {
	struct probes_location *next; /* with the same hash */
	uint64_t address;
	struct probes_spec *specs; /* the first one is the patch's user */
	struct patch *patch;       /* NULL: not set */
	uint32_t flags;            /* of the patch */
	/* flags for the patch, as long as the bytes after it are free; UNWANTED: no patch */
	uint32_t wanted;
	enum probe_method method;
	int error; /* of the last attempt */
	struct probe_site site;
	uint16_t marks;     /* bits that belong to a spec, or to a channel at one; atomic */
	bool specs_removed; /* a spec was removed since the last round */
	bool is_replaced;   /* the patch is replaced, because its specs have changed */
	bool watched;       /* only specs that the kernel watches request it */
	bool ready;         /* with `watched`: a forked child can set it at once */
	/* The kernel watches a spec of it, or did so in the parent before fork(). */
	bool ever_kernel;
};

struct probes_table {
	struct probes_table *next; /* of the session */
	uint64_t number;
	int error;
	const void *bytes;
	size_t size;
	struct probe_table table;
	struct agent_memory memory;    /* for all members below */
	struct agent_memory lines;     /* for specs */
	struct agent_memory described; /* for builders */
	struct probes_event *events;
	struct side_event_description **descriptions;
	struct side_events_register_handle *handle;
	struct probe_fetch *fetches;
	struct probes_spec_details *
			*details; /* for each probe, one for each mapping of its module */
	int *errors;              /* for each probe: why it has no spec */
	bool reported;            /* the session knows the state of its probes */
	bool inherited;           /* by a fork: here the kernel watches nothing for the table */
	bool wants_calls;         /* an event of it has a backtrace */
};

/* ---- sites.c: in hits ---- */

/*
 * Take a bit of a call that neither a spec at the location nor a channel has. Returns PATCH_MARKS
 * if none is free. probes_marks_give() gives bits back.
 */
uint8_t probes_mark_take(struct probes_location *location);
void probes_marks_give(struct probes_location *location, uint32_t marks);

/* ---- probes.c ---- */

/* Called in a thread that loads or unloads a library. */
void agent_probes_libraries_changed(void);

/* ---- events.c ---- */

int probes_events_make(struct probes_table *table);
void probes_events_free(struct probes_table *table);
/* Whether the event belongs to one of these tables. */
bool probes_events_has(
		const struct probes_table *tables, const struct side_event_description *event);
/*
 * Returns the event at the other end of the event's calls; NULL: there is none. `leaves`: `event`
 * is the exit event.
 */
const struct side_event_description *probes_events_other(const struct probes_table *tables,
		const struct side_event_description *event, bool leaves);

/* ---- loaded.c ---- */

/*
 * Report libraries that are mapped since the last call, and in no table of the session, if the
 * session requests that. Returns true if it has sent new tables.
 */
bool probes_loaded_report(struct agent_session *session);

/* ---- sites.c ---- */

/* Whether a table of the list has probes for the library. */
bool probes_locations_know(const struct probes_table *tables, const struct base_library *library);
/*
 * Find the mapped modules: add specs for modules that were loaded, and remove those for modules
 * that were unloaded. Returns 0 or a negative errno.
 */
int probes_locations_find(struct probes_table *table);
/* Set and remove patches at all locations, as their specs request. */
void probes_locations_apply(void);
/*
 * Remove probes whose hits would end the program, and set or remove nothing afterwards; or undo
 * that.
 */
void probes_locations_limit(enum context_hits hits);
bool probes_locations_any(void);
/* Whether a patch reads memory that may be unmapped. */
bool probes_locations_read(void);
/*
 * Called in a forked child: the kernel watches nothing for the table here. Returns true if it
 * watched something in the parent; probes_locations_apply() then sets the patches.
 */
bool probes_locations_forked(struct probes_table *table);
/* Free all locations. No table may exist, no patch may be set, and no thread may be in a hit. */
void probes_locations_quiesce(void);
/*
 * Remove the specs of the table. After probes_locations_apply(), no thread can be in one of them.
 */
void probes_locations_drop(struct probes_table *table);

/* ---- results.c ---- */

int probes_answer(struct agent_session *session, const struct probes_table *table);

/* ---- loader.c ---- */

void probes_loader_start(void);
/*
 * Restore the loader's code when no table is left. Returns false if a thread that loads a library
 * may be waiting for the event lock: try again without it.
 */
bool probes_loader_stop(void);
/* In a forked child. */
void probes_loader_forked(void);

/* ---- steps.c ---- */

/* Returns the layout of the event at the location of `details`. NULL: out of memory. */
const struct probes_layout *probes_steps_make(struct probes_table *table,
		struct probes_event *event, const struct probes_spec_details *details, bool leaves);

/* ---- fetch.c ---- */

/* One hit of one event. */
struct probes_event_hit {
	const struct patch_hit *hit;
	const struct probes_layout *layout;
	const struct probes_spec_details *details;
	uint64_t unreadable; /* a bit for each unreadable field */
	/* of the field, if its fetch computes it; otherwise the largest number */
	uint64_t length;
	uint64_t upper; /* upper half of a field of 16 bytes */
	char *scratch;
	void *calls_memory; /* NULL: none yet */
	uint32_t field;
	struct patch_reading *reading; /* for probe_read() */
	struct probes_window *window;
};

/* Memory outside the thread's stack that a backtrace reads: up to one page at a time. */
struct probes_window {
	struct probes_block *block;
	const uint64_t *stack;
	uint64_t from, size;
	struct patch_reading *reading;
	struct unwind_memory memory;
	struct unwind_walk_state walk;
};

#define PROBES_ARGS_FEW 10 /* number of arguments that need no block */

/*
 * Memory for one hit. It is not on the program's stack, which may be small (patch_hit_scratch()).
 */
struct probes_scratch {
	union {
		_Alignas(64) uint8_t record[PROBES_RECORD_MAX];
		uint8_t values[FILTER_VALUES_BYTES]; /* of a filter, before the record begins */
	};
	struct side_arg args[PROBES_ARGS_FEW];
	struct probes_event_hit event_hit;
	struct probes_window window;
};
_Static_assert(sizeof(struct probes_scratch) <= PATCH_SCRATCH_BYTES, "there is room for it");

/* Call before the first hit. */
void probe_fetch_start(void);
/* Returns the value of event_hit->field. */
uint64_t probe_fetch_value(struct probes_event_hit *event_hit, const struct probe_fetch *fetch);
/*
 * Returns the offset of a register in struct patch_hit; negative: it has no word of its own there.
 */
int probe_fetch_offset(unsigned int reg, bool leaves);

static inline struct probes_spec_details **probes_details_of(const struct probes_spec *spec)
{
	return (struct probes_spec_details **)((uintptr_t)spec + (size_t)spec->lines * AGENT_LINE) -
			1;
}

static inline const struct probe_fetch *probes_fetches(const struct probes_event_hit *event_hit)
{
	return event_hit->layout->leaves ? event_hit->details->exit_fetches
					 : event_hit->details->entry_fetches;
}

static inline const struct probes_spec *probes_next_spec(struct probes_spec *const *from)
{
	/* Acquire: the content of the spec. Pairs with the release in unlink_spec(). */
	return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

/* ---- record.c ---- */

void probe_hit_entry(const struct patch_hit *hit);
void probe_hit_exit(const struct patch_hit *hit);
/*
 * Called at the beginning of a call whose return will not be seen: count a loss for each event that
 * would record it.
 */
/* For struct patch_hooks. */
bool probe_hit_is_vforked(void);
void probe_hit_unseen(const struct patch_hit *hit, enum patch_unseen why);
/* Turn the hits of this event that could only be counted into losses in its rings. */
void probe_count_unseen(const struct probes_event *event);
/*
 * Call under libside's lock; the thread may never have been in a read section, as in a program
 * without events of its own.
 */
void probe_count_unseen_locked(const struct probes_event *event);
/* Call before the first hit. */
void probe_record_start(void);

/* ---- hit.c ---- */

/* Run call() with all registers saved that the hit did not save. */
void probe_hit_saved(void (*call)(void));

/* PROBE_CALLS_BYTES of memory, which are taken when they are first needed. */
struct probes_block {
	void *memory; /* NULL: not yet */
	int index;    /* of the block that was taken; negative: none */
};

/* Returns NULL if no block is free. */
void *probe_hit_memory(struct probes_block *block);
/* Gives back what probe_hit_memory() has taken. */
void probe_hit_give_memory(struct probes_block *block);

void probe_hit_by_arguments(const struct patch_hit *hit, const struct probes_spec *spec,
		const struct probes_layout *layout);
/*
 * event_hit->field: read the text at the address. If it cannot be read, the text is empty and the
 * field is marked.
 */
void probe_hit_text(struct probes_event_hit *event_hit, const struct probe_table_field *field,
		uint64_t address, char *to);
/* event_hit->field: read the array at the address. Returns the number of elements. */
uint64_t probe_hit_several(struct probes_event_hit *event_hit,
		const struct probe_table_field *field, uint64_t address, void *to);
/* Call before the first hit. */
void probe_hit_start(void);
extern uint64_t probe_hit_lost; /* hits lost because no block was free */

/* ---- read.c ---- */

/*
 * Read memory that may be unmapped. `stack`: its page is mapped. `reading` is of the hit, NULL at
 * first, for patch_read().
 */
bool probe_read(void *to, uint64_t from, size_t size, const uint64_t *stack,
		struct patch_reading **reading);
/* The same for an event, which may interrupt a hit of the thread: by a system call only. */
bool probe_read_by_call(void *to, uint64_t from, size_t size);
/* As probe_read(), but with the program's return addresses where side has replaced them. */
bool probe_read_as_program(
		struct probes_event_hit *event_hit, void *to, uint64_t from, size_t size);
/*
 * Read a text of up to size - 1 bytes as the program would read it, and add a NUL. Stops at the
 * first byte that cannot be read. Returns false if not even the first byte can be read.
 */
bool probe_read_string(struct probes_event_hit *event_hit, char *to, uint64_t from, size_t size);
#define PROBE_PAGES_MAX 128
#define PROBE_PAGES_MEMORY (PROBE_PAGES_MAX * 17)
/*
 * Whether `nr` pages, at most PROBE_PAGES_MAX, can be read; `memory` has PROBE_PAGES_MEMORY bytes.
 */
bool probe_are_there(uint64_t from, size_t nr, void *memory);
bool probe_is_first_thread(void);

/* ---- calls.c ---- */

#define PROBE_CALLS_BYTES 4096 /* one page of the stack */

/*
 * Update the snapshot of the mapped modules, if an event has a backtrace (`wanted`). Call before
 * its probes are set or its callback is registered. Waits for nothing.
 */
void probe_calls_update(bool wanted);
/* Whether there is a snapshot, or memory of a former one. */
bool probe_calls_is_used(void);
/*
 * Retired memory that hits may still read: free it when those hits are over. Memory that an event
 * may still read is freed by a later call.
 */
bool probe_calls_has_retired(void);
void probe_calls_free_retired(void);
/*
 * Store return addresses, from the one of the function whose entry was hit, or to which it returns.
 * Returns their number. Memory outside the thread's own stack is read into the block.
 */
uint32_t probe_calls(uint64_t *to, uint32_t most, const struct patch_hit *hit, bool leaves,
		struct probes_block *block, struct probes_window *window);

/* The same for an event's context (context_walk). Returns 0 until modules have rows. */
uint32_t probe_calls_of_event(
		const struct context_origin *origin, uint64_t *ret_addresses, uint32_t most);

/* ---- semaphore.c ---- */

/*
 * Add or subtract one atomically, without a fault if nothing is mapped. Returns whether it was
 * done.
 */
bool probe_semaphore_change(uint64_t address, bool raise);

#endif
