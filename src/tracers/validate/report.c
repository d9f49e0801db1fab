/* SPDX-License-Identifier: MIT */
/*
 * Prints reports: lines that begin with "side:" or with two blanks, written with one write(2), so
 * that those of several threads do not mix.
 *
 *       side: wrong call in PROGRAM (PID): the description has the type U32 (4), the argument has U8 (2)
 *         event: demo:ev
 *         field: "b"
 *         caller: main() in /usr/bin/program+0x1234 (program.c:12)
 *         expected: U32
 *         found: U8
 *         hint: ...
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/inside/hash.h"
#include "tracers/validate/line.h"
#include "tracers/validate/memory.h"
#include "tracers/validate/report.h"

/* Mismatches that have been reported; when the table is full, new ones are not reported. */
#define SITES 1024u

static uintptr_t sites[SITES];
static uint32_t silent;

struct validate_report_text {
	char text[2048];
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void validate_report_print(
		struct validate_report_text *report, const char *format, ...)
{
	size_t capacity = sizeof(report->text) - report->size;
	va_list args;
	int written;

	va_start(args, format);
	written = vsnprintf(report->text + report->size, capacity, format, args);
	va_end(args);
	if (written > 0)
		report->size += (size_t)written < capacity ? (size_t)written : capacity - 1;
}

/*
 * Write to standard error. If its reader has exited, this raises SIGPIPE, for which the program may
 * not be prepared: block the signal, and discard it unless one was pending before.
 */
static void validate_report_write_all(const char *at, size_t left)
{
	const struct timespec now = {.tv_sec = 0};
	sigset_t signals, before, pending;
	ssize_t written = 1;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGPIPE);
	(void)sigemptyset(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &signals, &before);
	(void)sigpending(&pending);
	while (left && written > 0) {
		do
			written = write(STDERR_FILENO, at, left);
		while (written < 0 && errno == EINTR);
		if (written > 0) {
			at += written;
			left -= (size_t)written;
		}
	}
	if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE)) {
		while (sigtimedwait(&signals, NULL, &now) < 0 && errno == EINTR)
			;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void validate_report_flush(const struct validate_report_text *report)
{
	validate_report_write_all(report->text, report->size);
}

/* Hash the path without its indexes: all elements of an array are wrong in the same way. */
static uint64_t validate_report_hash_path(const char *path)
{
	uint64_t hash = HASH_FNV1A_64_BEGIN;
	const char *end;

	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, '\n');
		if (!strncmp(path, "index: ", 7))
			continue;
		hash = hash_fnv1a_64_step(hash_fnv1a_64(hash, path, (size_t)(end - path)), '\n');
	}
	return hash;
}

/* True if this mismatch is new: each event, caller, field and kind of error is reported once. */
static bool validate_report_is_first(
		const void *desc, const void *caller, int code, const struct visit_error *error)
{
	uint64_t hash = validate_report_hash_path(error->where) ^ (uint64_t)(uintptr_t)desc << 7 ^
			(uintptr_t)desc >> 9 ^ (uintptr_t)caller ^
			(uint64_t)(unsigned int)code << 48;
	uintptr_t key = (uintptr_t)(hash * 0x9e3779b97f4a7c15u >> 8 * (8 - sizeof(key))) | 1;
	uint32_t i, at = (uint32_t)(key >> 7) % SITES;
	uintptr_t seen;

	for (i = 0; i < SITES; i++, at = (at + 1) % SITES) {
		seen = 0;
		/* Relaxed: the threads share only this word. */
		if (__atomic_compare_exchange_n(&sites[at], &seen, key, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED))
			return true;
		if (seen == key)
			return false;
	}
	if (!__atomic_exchange_n(&silent, 1, __ATOMIC_RELAXED)) {
		static const char text[] =
				"side: more than 1024 mismatches; further ones are not reported\n";

		validate_report_write_all(text, sizeof(text) - 1);
	}
	return false;
}

static void validate_report_print_caller(struct validate_report_text *report, const void *caller)
{
	char line[VALIDATE_LINE_MAX];
	const char *call, *module;
	struct link_map *map;
	uintptr_t offset;
	Dl_info info;

	if (!caller)
		return;
	/*
	 * `caller` is the return address, which may be in another function if the call does not
	 * return.
	 */
	call = (const char *)caller - 1;
	if (!dladdr1(call, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname) {
		validate_report_print(report, "  caller:   %p\n", caller);
		return;
	}
	offset = (uintptr_t)call - map->l_addr;
	module = *info.dli_fname ? info.dli_fname : program_invocation_name;
	validate_report_print(report, "  caller:   ");
	if (info.dli_sname)
		validate_report_print(report, "%.120s() in ", info.dli_sname);
	validate_report_print(report, "%.300s+0x%zx", module, (size_t)offset);
	/* The name of the executable may be relative to a previous working directory. */
	if (validate_line_find(map->l_name && *map->l_name ? map->l_name : "/proc/self/exe",
			    info.dli_fbase, offset, line))
		validate_report_print(report, " (%s)\n", line);
	else
		validate_report_print(report, " (addr2line -e gives the line)\n");
}

/* Print the names of an event whose description may be malformed. */
static void validate_report_print_event(
		struct validate_report_text *report, const struct side_event_description *desc)
{
	const char *provider = NULL, *event = NULL;

	if (validate_memory_readable(desc, sizeof(*desc))) {
		provider = side_ptr_get(desc->provider_name);
		event = side_ptr_get(desc->event_name);
	}
	validate_report_print(report, "  event:    %.80s:%.80s\n",
			provider && validate_memory_text(provider, 1) ? provider : "?",
			event && validate_memory_text(event, 1) ? event : "?");
}

/* Print the path after the event, which is its first line: one step a line. */
static void validate_report_print_path(
		struct validate_report_text *report, const struct visit_error *error)
{
	const char *line = strchrnul(error->where, '\n'), *end;
	size_t begin = report->size;

	if (!*line)
		return;
	for (line++; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		/* A type that contains itself has an endless path. */
		if (report->size - begin > 160) {
			validate_report_print(report, ", ...");
			break;
		}
		validate_report_print(report, report->size == begin ? "  field:    " : ", ");
		if (!strncmp(line, "field: ", 7))
			line += 7;
		validate_report_print(report, "%.*s", (int)(end - line), line);
	}
	validate_report_print(report, "\n");
}

static bool validate_report_is_label(const char *word)
{
	unsigned int i;

	for (i = 0; i < _NR_SIDE_TYPE_LABEL; i++) {
		if (!strcmp(visit_label_name(i), word))
			return true;
	}
	return false;
}

/*
 * Print the macro of a label: side_arg_u32() for U32. The labels of strings contain their encoding.
 */
static void validate_report_print_macro(struct validate_report_text *report, const char *label)
{
	static const char *const others[][2] = {
			{"STRING_UTF8", "string"},
			{"STRING_UTF16", "string16"},
			{"STRING_UTF32", "string32"},
			{"DYNAMIC", "dynamic_..."},
	};
	size_t i;

	validate_report_print(report, "side_arg_");
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcmp(label, others[i][0])) {
			validate_report_print(report, "%s()", others[i][1]);
			return;
		}
	}
	for (; *label; label++)
		validate_report_print(report, "%c",
				*label >= 'A' && *label <= 'Z' ? *label - 'A' + 'a' : *label);
	validate_report_print(report, "()");
}

static void validate_report_print_hint(
		struct validate_report_text *report, int code, const struct visit_error *error)
{
	validate_report_print(report, "  hint:     ");
	if (error->hint[0])
		validate_report_print(report, "%s\n", error->hint);
	else if (code == -E2BIG) {
		validate_report_print(report, "set the length to the real number of elements\n");
	} else if (code == -EFAULT) {
		validate_report_print(report,
				"the target of a pointer must exist until the call returns\n");
	} else if (code == -ELOOP) {
		validate_report_print(report, "a value must not contain itself\n");
	} else if (validate_report_is_label(error->expected)) {
		validate_report_print(report, "pass ");
		validate_report_print_macro(report, error->expected);
		validate_report_print(report, ", or change the type of the field\n");
	} else if (strstr(error->expected, "argument")) {
		validate_report_print(report,
				"give one argument for each field, in the order of the fields\n");
	} else if (!strncmp(error->expected, "at most ", 8)) {
		validate_report_print(report,
				"give the VLA a wider type for its length, or fewer elements\n");
	} else if (strstr(error->expected, "element")) {
		validate_report_print(report, "fill the whole array, or describe a VLA\n");
	} else if (strstr(error->expected, "selector")) {
		validate_report_print(report,
				"add a side_option() for it, or pass a selector that has one\n");
	} else {
		validate_report_print(
				report, "compare the call with the definition of the event\n");
	}
}

/* Print what was expected and found: from the error, or derived from its code. */
static void validate_report_print_difference(
		struct validate_report_text *report, int code, const struct visit_error *error)
{
	const char *expected = error->expected, *found = error->found;

	if (!*expected && code == -EFAULT) {
		expected = "a pointer";
		found = "NULL";
	} else if (!*expected && code == -ELOOP) {
		expected = "values that end";
		found = "more levels than that";
	} else if (!*expected) {
		return;
	}
	validate_report_print(report, "  expected: %s\n  found:    %s\n", expected, found);
}

void validate_report_call(const struct side_event_description *desc, const void *caller,
		bool is_dropped, int code, const struct visit_error *error)
{
	struct validate_report_text report = {.size = 0};
	int saved = errno;

	if (validate_report_is_first(desc, caller, code, error)) {
		validate_report_print(&report, "side: wrong call in %.100s (%d): %s\n",
				program_invocation_short_name, (int)getpid(), error->what);
		validate_report_print_event(&report, desc);
		validate_report_print_path(&report, error);
		validate_report_print_caller(&report, caller);
		validate_report_print_difference(&report, code, error);
		if (is_dropped)
			validate_report_print(&report,
					"  tracers:  do not get this call, which could crash them\n");
		validate_report_print_hint(&report, code, error);
		validate_report_flush(&report);
	}
	errno = saved;
}

void validate_report_dropped(uint32_t nr)
{
	struct validate_report_text report = {.size = 0};
	int saved = errno;

	validate_report_print(&report,
			"side: %u call%s of %.100s (%d) %s passed to no tracer: the errors are reported above\n",
			(unsigned int)nr, nr == 1 ? "" : "s", program_invocation_short_name,
			(int)getpid(), nr == 1 ? "was" : "were");
	validate_report_flush(&report);
	errno = saved;
}

static const char *validate_report_description_hint(int code)
{
	switch (code) {
	case -ELOOP: return "a type must not contain itself";
	case -E2BIG:
		return "make the description smaller: lists of this length are a mistake or an attack";
	case -EFAULT:
		return "everything that a description points to must exist while it is registered";
	case -ENOTSUP: return "the program was built with newer headers; update the tracer";
	default: return "use the macros of <side/trace.h>, or side/builder.h, which check";
	}
}

void validate_report_description(const struct side_event_description *desc, enum validate_use use,
		int code, const struct visit_error *error)
{
	static const char *const uses[] = {
			[VALIDATE_HIDDEN] = " (no tracer gets it)",
			[VALIDATE_UNUSED] = " (its calls are not checked)",
			[VALIDATE_WRONG] = "",
			[VALIDATE_DOUBTED] = "",
	};
	struct validate_report_text report = {.size = 0};
	int saved = errno;

	validate_report_print(&report, "side: %s description in %.100s (%d): %s\n",
			use == VALIDATE_DOUBTED ? "doubtful" : "wrong",
			program_invocation_short_name, (int)getpid(), error->what);
	validate_report_print_event(&report, desc);
	validate_report_print_path(&report, error);
	validate_report_print(&report, "  address:  %p%s\n  hint:     %s\n", (const void *)desc,
			uses[use],
			error->hint[0] ? error->hint : validate_report_description_hint(code));
	validate_report_flush(&report);
	errno = saved;
}
