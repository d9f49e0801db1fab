/* SPDX-License-Identifier: MIT */
/*
 * Traces for other programs. export.c walks through the trace and passes each item to one of the
 * formats (struct export_ops), which writes into a buffer.
 */
#ifndef SIDE_EXPORT_EXPORT_H
#define SIDE_EXPORT_EXPORT_H

#include "export/export-options.h"
#include "analysis/report-pair.h"
#include "analysis/view-tree-line.h"
#include "analysis/report-walk.h"
#include "analysis/report-identity.h"

struct error;
struct export;
struct export_class;

/* A begin or an end of a pair (--pair). */
struct export_slice {
	bool call;      /* of a function, whose name this is */
	bool unmatched; /* a call without a return, or a return without an entry */
	uint32_t part;  /* the number of the thread in the process, if `thread` is unknown */
	unsigned int rule;
	bool end;
	bool nested;   /* it fits into the track of its thread: there is one rule, and no key */
	uint32_t lane; /* otherwise, begins that are open at the same time have different lanes */
	const char *name; /* of the begin … */
	uint32_t process;
	int64_t thread;
};

/* The functions of a format. Each returns 0 or a negative errno. */
struct export_ops {
	int (*start)(struct export *export);
	/* `slice` is NULL for an event that is not part of a pair. */
	int (*event)(struct export *export, const struct ctf_item *item, struct walk_class *class,
			const struct export_slice *slice);
	/* `class` is NULL for a loss that the packets counted. */
	int (*loss)(struct export *export, const struct ctf_item *item,
			const struct walk_class *class);
	/* Ends a slice without an event. NULL: the format has no calls. */
	int (*leave)(struct export *export, const struct export_slice *slice, int64_t ns);
	int (*finish)(struct export *export);
	void (*free)(struct export *export);
	void (*free_class)(void *format);
};

/* The state of an event class. */
struct export_class {
	const struct export_ops *ops;
	struct identity_class identity;
	struct pair_class pair;
	struct view_tree_class tree;
	uint32_t process; /* the process of the current record … */
	int64_t thread;   /* … and its thread; -1: unknown */
	void *format;     /* belongs to the format */
};

struct export
{
	const struct export_options *options;
	const struct export_ops *ops;
	struct report_walk walk;
	struct identity identity;
	struct report_pairs pairs;
	struct keys lane_keys; /* keys of rule and process */
	struct export_lanes *lanes;
	struct export_calls *calls;
	struct symbols *symbols;   /* NULL: addresses are written in hexadecimal */
	struct view_out addresses; /* the text of one address */
	int fd;
	const char *path; /* for messages */
	struct view_out out;
	void *state; /* belongs to the format */
	uint64_t lost;
	int write_error;
};

extern const struct export_ops export_perfetto, export_chrome, export_csv, export_tables;

/*
 * An export into one file (perfetto, chrome, csv) or, if options->output is a directory, into
 * tables (csv).
 *
 * The caller calls export_prepare(), export_write(), and export_free() in any case. The functions
 * return 0 or a negative errno and set the error; the kind is ERROR_USAGE for an invalid option.
 */

/*
 * Parses the options and checks the directory. Afterwards the caller opens the output, and can drop
 * its privileges. The options, the directory and the user of the listener must live as long as the
 * export.
 */
int export_prepare(struct export *export, const struct export_options *options, const char *dir,
		const struct analysis_listener *listener, struct error *error);
/*
 * Reads the trace and writes it to the descriptor, which the caller closes; -1 for tables. `path`
 * names the output in messages. -EPIPE: the reader of the output has closed it.
 */
int export_write(struct export *export, int fd, const char *path, struct error *error);
void export_free(struct export *export);

/*
 * Whether the output is a directory, into which CSV is written as tables: it exists, or the path
 * ends with a slash.
 */
bool export_is_directory(const char *path);
/* Sets "cannot write PATH: REASON". Returns the code. */
int export_set_write_error(struct error *error, int code, const char *path);
/*
 * After export_write(): pairs of different threads may be mixed, because threads are not recorded
 * (PAIRS_NO_THREAD).
 */
bool export_lacks_threads(const struct export *export);

/* ---- export-calls.c: calls of functions as slices ---- */

/* 0 or -ENOMEM. */
int export_calls_start(struct export *export);
/* 1: the event is an entry or a return, and was written. 0: it is not. */
int export_calls_take(struct export *export, const struct ctf_item *item, struct walk_class *class);
/* Ends all calls that are open. After the last event. */
int export_calls_finish(struct export *export);
void export_calls_free(struct export_calls *calls);

/* ---- export-ctf.c: an export into a new CTF trace (ctf1, ctf2), in the same steps ---- */

struct export_ctf;

/* *ret_ctf is NULL if it fails. */
int export_ctf_prepare(struct export_ctf **ret_ctf, const struct export_options *options,
		const char *dir, const struct analysis_listener *listener, struct error *error);
/* Writes into the directory options->output, which the caller has created. */
int export_ctf_write(struct export_ctf *ctf, struct error *error);
/* The walk has the number of events and the reader. */
const struct report_walk *export_ctf_walk(const struct export_ctf *ctf);
/* Accepts NULL. */
void export_ctf_free(struct export_ctf *ctf);

/*
 * Where the values of a record are written. Addresses become texts: a symbol, or a hexadecimal
 * number.
 */
struct view_sink export_sink(struct export *export, struct view_out *out,
		const struct walk_class *class, const struct ctf_item *item);

/* Writes the whole buffer. 0 or a negative errno, which is also in write_error. */
int export_flush(struct export *export);

/*
 * Numbers of processes and threads for viewers. An unknown thread gets a number for its CPU. Such
 * numbers are larger than all numbers that Linux uses.
 */
#define EXPORT_MADE_UP 10000000
int64_t export_pid(const struct export *export, uint32_t process);
int64_t export_tid(const struct ctf_item *item, int64_t thread);
void export_process_name(const struct export *export, uint32_t process, char *text, size_t size);

/* export-values.c */

/* Invalid UTF-8 becomes U+0080 to U+00FF, as in `side view --json`. */
void export_put_utf8(struct view_out *out, const char *text, size_t size);

/* Protocol buffers. */
void proto_number(struct view_out *out, unsigned int field, uint64_t number);
void proto_bytes(struct view_out *out, unsigned int field, const char *bytes, size_t size);
void proto_text(struct view_out *out, unsigned int field, const char *text, size_t size);
void proto_double(struct view_out *out, unsigned int field, double number);
/* A nested message: all that is written until proto_end() with the same offset. */
size_t proto_begin(struct view_out *out, unsigned int field);
void proto_end(struct view_out *out, size_t begin_offset);

/* Names that are written once, and are numbers from then on. */
struct export_names {
	struct keys keys;
	unsigned int field; /* field number in InternedData */
};
/* The number of a name. The definition of a new name goes to `fresh`. 0: too many names. */
uint64_t export_intern(
		struct export_names *names, struct view_out *fresh, const char *text, size_t size);

struct export_annotations {
	struct view_out *out;
	struct view_sink sink; /* for addresses */
	struct view_out *fresh;
	struct export_names *names;
};
/* Writes all fields and contexts of an event as DebugAnnotations of a TrackEvent. */
void export_annotate(struct export_annotations *to, const struct walk_class *class,
		const struct ctf_item *item);
/* Writes a dynamic value. The fields of a structure become `field` of the current message. */
void export_annotate_dynamic(
		struct export_annotations *to, unsigned int field, const struct ctf_value *list);
void export_annotate_number(struct export_annotations *to, const char *name, uint64_t number);
void export_annotate_text(
		struct export_annotations *to, const char *name, const char *text, size_t size);

#endif /* SIDE_EXPORT_EXPORT_H */
