/* SPDX-License-Identifier: MIT */
/*
 * The validator in process: its reports, byte by byte, which descriptions it keeps, which memory it
 * requests from the kernel, and its limits. The test includes its files, with system calls whose
 * results the test sets.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../check.h"
#include "../failing-calls.h"

/* ---- system calls ---- */

static struct {
	ssize_t result; /* of the next call; the others are real */
	int error;
	bool is_set;
	unsigned int calls;
	unsigned long pages;
} reads, writes, masks;

static uintptr_t masked; /* the address of the last call for a mask */
static char printed[65536];
static size_t nr_written;
static size_t most_written; /* in one call */
static unsigned int interrupted;

static ssize_t fake_read(pid_t pid, const struct iovec *to, unsigned long nr_to,
		const struct iovec *from, unsigned long nr, unsigned long flags)
{
	reads.calls++;
	reads.pages = nr;
	if (!reads.is_set)
		return syscall(SYS_process_vm_readv, pid, to, nr_to, from, nr, flags);
	errno = reads.error;
	return reads.result;
}

static long fake_mask(long number, long how, uintptr_t address, void *old, long size)
{
	masks.calls++;
	CHECK(address % 8 == 0 && !old);
	masked = address;
	if (!masks.is_set)
		return syscall(number, how, address, old, size);
	errno = masks.error;
	return masks.result;
}

static ssize_t fake_write(int fd, const void *bytes, size_t size)
{
	CHECK(fd == 2);
	writes.calls++;
	if (interrupted) {
		interrupted--;
		errno = EINTR;
		return -1;
	}
	if (writes.is_set) {
		errno = writes.error;
		/* The reader of the pipe has exited. */
		if (writes.error == EPIPE)
			CHECK(!raise(SIGPIPE));
		return writes.result;
	}
	size = size < most_written ? size : most_written;
	CHECK(size < sizeof(printed) - nr_written);
	memcpy(printed + nr_written, bytes, size);
	nr_written += size;
	printed[nr_written] = '\0';
	return (ssize_t)size;
}

static void forget_calls(void)
{
	memset(&reads, 0, sizeof(reads));
	memset(&writes, 0, sizeof(writes));
	memset(&masks, 0, sizeof(masks));
	most_written = SIZE_MAX;
	nr_written = 0;
	printed[0] = '\0';
}

#define process_vm_readv fake_read
#define syscall fake_mask
#include "tracers/validate/memory.c"
#undef process_vm_readv
#undef syscall

#define write fake_write
#include "tracers/validate/report.c"
#undef write
#include "tracers/validate/copy.c"
#include "tracers/validate/validate.c"

/* ---- memory ---- */

static void memory_reads(void)
{
	char from[8] = "1234567", to[8] = "";

	forget_calls();
	errno = 4711;
	CHECK(!validate_memory_read(NULL, (uintptr_t)from, to, 8) && !strcmp(to, "1234567"));
	CHECK(reads.calls == 1 && validate_memory_read(NULL, 1, to, 0) == 0 && reads.calls == 1);
	CHECK(validate_memory_read(NULL, UINTPTR_MAX - 6, to, 8) == -EFAULT && reads.calls == 1);
	CHECK(validate_memory_read(NULL, 16, to, 8) == -EFAULT && errno == 4711);
	/* Only some of the bytes. */
	reads.is_set = true;
	reads.result = 7;
	CHECK(validate_memory_read(NULL, (uintptr_t)from, to, 8) == -EFAULT);
	reads.result = 0;
	CHECK(validate_memory_read(NULL, (uintptr_t)from, to, 8) == -EFAULT);
	reads.error = EPERM;
	CHECK(validate_memory_read(NULL, (uintptr_t)from, to, 8) == -EFAULT);
	/* The call is forbidden: memory is read directly. */
	reads.result = -1;
	reads.error = EPERM;
	memset(to, 0, 8);
	CHECK(!validate_memory_read(NULL, (uintptr_t)from, to, 8) && !strcmp(to, "1234567"));
	reads.error = EFAULT;
	CHECK(validate_memory_read(NULL, (uintptr_t)from, to, 8) == -EFAULT && errno == 4711);
}

static void readable_pages(void)
{
	char *pages = mmap(NULL, 130 * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK(validate_memory_next_page(0x1000, 0x9000) == 0x2000 &&
			validate_memory_next_page(0x1fff, 0x9000) == 0x2000);
	CHECK(validate_memory_next_page(UINTPTR_MAX - 5, UINTPTR_MAX) == UINTPTR_MAX);
	forget_calls();
	errno = 4711;
	CHECK(validate_memory_readable(pages, 0) && !reads.calls);
	CHECK(validate_memory_readable(pages + PAGE - 1, 1) && reads.calls == 1 &&
			reads.pages == 1);
	CHECK(validate_memory_readable(pages + PAGE - 1, 2) && reads.calls == 2 &&
			reads.pages == 2);
	CHECK(validate_memory_readable(pages, 64 * PAGE) && reads.calls == 3 && reads.pages == 64);
	CHECK(validate_memory_readable(pages, 64 * PAGE + 1) && reads.calls == 5 &&
			reads.pages == 1);
	CHECK(validate_memory_readable(pages, 130 * PAGE) && reads.calls == 8 && reads.pages == 2);
	CHECK(!validate_memory_readable((void *)(UINTPTR_MAX - 3), 5) && reads.calls == 8);
	/* A missing page at each position. */
	for (unsigned int i = 0; i < 130; i += i == 1 || i == 65 ? 61 : 1) {
		CHECK(!mprotect(pages + i * PAGE, PAGE, PROT_NONE));
		CHECK(!validate_memory_readable(pages, 130 * PAGE));
		CHECK(validate_memory_readable(pages, i * PAGE));
		CHECK(validate_memory_readable(pages + (i + 1) * PAGE, (129 - i) * PAGE));
		CHECK(!validate_memory_readable(pages + (i + 1) * PAGE - 1, 1));
		CHECK(!mprotect(pages + i * PAGE, PAGE, PROT_READ | PROT_WRITE));
	}
	CHECK(errno == 4711);
	/* Memory that only the process itself can read: the other call decides. */
	forget_calls();
	reads.is_set = masks.is_set = true;
	reads.result = masks.result = -1;
	reads.error = EFAULT;
	masks.error = EINVAL;
	CHECK(validate_memory_readable(pages, 3 * PAGE) && masks.calls == 3 && reads.calls == 3);
	masks.error = EFAULT;
	CHECK(!validate_memory_readable(pages, 3 * PAGE) && masks.calls == 4 && reads.calls == 4);
	masks.result = 0;
	CHECK(!validate_memory_readable(pages, 3 * PAGE) && masks.calls == 5);
	masks.error = EINVAL;
	CHECK(!validate_memory_readable(pages + 77, 1) && masks.calls == 6);
	CHECK(masked == (uintptr_t)pages + 72);
	/* No byte was read, without an error. */
	reads.result = 0;
	reads.error = EPERM;
	CHECK(!validate_memory_readable(pages, 3 * PAGE) && masks.calls == 7);
	reads.result = -1;
	masks.calls = 5;
	/* The call is forbidden: everything counts as readable. */
	reads.error = EPERM;
	CHECK(validate_memory_readable(pages, 130 * PAGE) && masks.calls == 5);
	/* The first page was read, the second is requested again. */
	reads.result = 1;
	masks.result = -1;
	masks.error = EINVAL;
	reads.calls = 0;
	CHECK(validate_memory_readable(pages, 3 * PAGE) && reads.calls == 2 && masks.calls == 6);
	munmap(pages, 130 * PAGE);
}

static void texts(void)
{
	char *pages = mmap(
			NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + 2 * PAGE;

	CHECK(pages != MAP_FAILED && !mprotect(end, PAGE, PROT_NONE));
	memset(pages, 'x', 2 * PAGE);
	forget_calls();
	for (unsigned int unit = 1; unit <= 4; unit *= 2) {
		CHECK(!validate_memory_text(end - 4 * unit, unit));
		memset(end - unit, 0, unit);
		CHECK(validate_memory_text(end - 4 * unit, unit));
		/* The end is not at a multiple of the unit. */
		if (unit > 1)
			CHECK(!validate_memory_text(end - 4 * unit - 1, unit));
		if (unit > 1) {
			end[-1] = 'x';
			CHECK(!validate_memory_text(end - 4 * unit, unit));
		}
		memset(end - unit, 'x', unit);
	}
	/* Each page is requested once. */
	end[-1] = '\0';
	reads.calls = 0;
	CHECK(validate_memory_text(pages + 7, 1) && reads.calls == 2);
	reads.calls = 0;
	CHECK(validate_memory_text(end - 1, 1) && reads.calls == 1);
	/* At the end of the address space there is no text. */
	reads.is_set = true;
	reads.result = 1;
	CHECK(!validate_memory_text((void *)(UINTPTR_MAX - 2), 4));
	CHECK(!validate_memory_text((void *)(UINTPTR_MAX - 7), 1));
	CHECK(!validate_memory_text((void *)(UINTPTR_MAX - 7), 4));
	munmap(pages, 3 * PAGE);
}

/* ---- reports ---- */

static struct visit_error error_of(const char *what, const char *where)
{
	struct visit_error error;

	memset(&error, 0, sizeof(error));
	snprintf(error.what, sizeof(error.what), "%s", what);
	snprintf(error.where, sizeof(error.where), "%s", where);
	return error;
}

static void lines(void)
{
	struct validate_report_text report = {.size = 0};
	char many[3000];

	memset(many, 'm', sizeof(many));
	validate_report_print(&report, "%s %d", "a", 7);
	CHECK(report.size == 3 && !strcmp(report.text, "a 7"));
	validate_report_print(&report, "%.*s", 2044, many);
	CHECK(report.size == 2047 && report.text[2046] == 'm' && !report.text[2047]);
	validate_report_print(&report, "b");
	CHECK(report.size == 2047);
	report.size = 2046;
	validate_report_print(&report, "c");
	CHECK(report.size == 2047 && report.text[2046] == 'c');
	report.size = 0;
	validate_report_print(&report, "%.*s", 2047, many);
	CHECK(report.size == 2047);
	report.size = 0;
	validate_report_print(&report, "%.*s", 2999, many);
	CHECK(report.size == 2047);
}

static void output(void)
{
	sigset_t signals, before;
	struct timespec now = {.tv_sec = 0};

	forget_calls();
	most_written = 3;
	interrupted = 2;
	validate_report_write_all("1234567", 7);
	CHECK(!strcmp(printed, "1234567") && writes.calls == 5);
	validate_report_write_all("", 0);
	CHECK(writes.calls == 5);
	/* Nothing can be printed any more: the report ends. */
	forget_calls();
	writes.is_set = true;
	validate_report_write_all("1234567", 7);
	CHECK(writes.calls == 1);
	writes.result = -1;
	writes.error = EAGAIN;
	validate_report_write_all("1234567", 7);
	CHECK(writes.calls == 2);
	/*
	 * The signal of a broken pipe is removed, unless it was pending before. The mask does not
	 * change.
	 */
	writes.error = EPIPE;
	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	CHECK(!pthread_sigmask(SIG_BLOCK, &signals, &before));
	validate_report_write_all("1234567", 7);
	CHECK(!sigpending(&signals) && !sigismember(&signals, SIGPIPE));
	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	CHECK(!raise(SIGPIPE));
	validate_report_write_all("1234567", 7);
	CHECK(sigtimedwait(&signals, NULL, &now) == SIGPIPE);
	CHECK(!pthread_sigmask(SIG_SETMASK, &before, &signals) && sigismember(&signals, SIGPIPE));
	validate_report_write_all("1234567", 7);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &signals) && !sigismember(&signals, SIGPIPE));
}

static void paths_of_sites(void)
{
	CHECK(validate_report_hash_path("p:e\nindex: 5\nx") ==
			validate_report_hash_path("p:e\nindex: 77\nx"));
	CHECK(validate_report_hash_path("p:e\nindex: 5\nx") == validate_report_hash_path("p:e\nx"));
	CHECK(validate_report_hash_path("p:e\nindex: 5") == validate_report_hash_path("p:e"));
	CHECK(validate_report_hash_path("p:e\nindex:\nx") != validate_report_hash_path("p:e\nx"));
	CHECK(validate_report_hash_path("p:e\nindex 5\nx") !=
			validate_report_hash_path("p:e\nindex 6\nx"));
	CHECK(validate_report_hash_path("ab") != validate_report_hash_path("a\nb") &&
			validate_report_hash_path("ab") != validate_report_hash_path("ba"));
	CHECK(validate_report_hash_path("a\nb") != validate_report_hash_path("b\na") &&
			validate_report_hash_path("") != validate_report_hash_path("a"));
	/* The first character counts, whatever follows. */
	CHECK(validate_report_hash_path(
			      "ammmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm") !=
			validate_report_hash_path(
					"bmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"));
	CHECK(validate_report_hash_path(
			      "a\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n") !=
			validate_report_hash_path(
					"b\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"));
	CHECK(validate_report_hash_path("field: \"a\"") !=
			validate_report_hash_path("field: \"b\""));
}

static void first_sites(void)
{
	struct visit_error a = error_of("", "p:e\nfield: \"a\""),
			   b = error_of("", "p:e\nfield: \"b\"");
	const char here[8192] = "";

	forget_calls();
	memset(sites, 0, sizeof(sites));
	silent = 0;
	CHECK(validate_report_is_first(here, here, -EINVAL, &a) &&
			!validate_report_is_first(here, here, -EINVAL, &a));
	CHECK(validate_report_is_first(here, here, -EINVAL, &b) &&
			!validate_report_is_first(here, here, -EINVAL, &b));
	CHECK(validate_report_is_first(here + 512, here, -EINVAL, &a) &&
			!validate_report_is_first(here + 512, here, -EINVAL, &a));
	CHECK(validate_report_is_first(here, here + 1, -EINVAL, &a) &&
			!validate_report_is_first(here, here + 1, -EINVAL, &a));
	CHECK(validate_report_is_first(here, here, -EFAULT, &a) &&
			!validate_report_is_first(here, here, -EFAULT, &a));
	CHECK(!validate_report_is_first(here, here, -EINVAL, &a) && !nr_written);
	/* There is space for 1024. */
	for (unsigned int i = 5; i < 1024; i++)
		CHECK(validate_report_is_first(here, here + 2 * i, -EINVAL, &a));
	CHECK(!validate_report_is_first(here, here, -EINVAL, &a) && !nr_written);
	CHECK(!validate_report_is_first(here, here + 4096, -EINVAL, &a));
	CHECK(!strcmp(printed, "side: more than 1024 mismatches; further ones are not reported\n"));
	nr_written = 0;
	CHECK(!validate_report_is_first(here, here + 4098, -EINVAL, &a) && !nr_written);
	CHECK(!validate_report_is_first(here, here, -EINVAL, &b) && !nr_written);
	memset(sites, 0, sizeof(sites));
	silent = 0;
}

static const char *report_text(struct validate_report_text *report)
{
	report->text[report->size] = '\0';
	return report->text;
}

static void fields_of_reports(void)
{
	static const struct {
		const char *where, *wanted;
	} cases[] = {{"p:e", ""}, {"", ""}, {"p:e\nfield: \"a\"", "  field:    \"a\"\n"},
			{"p:e\nfield: \"a\"\nstruct:\nfield: \"b\"\nindex: 3",
					"  field:    \"a\", struct:, \"b\", index: 3\n"}};
	struct visit_error error;
	struct validate_report_text report;
	char wanted[512];
	size_t at;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		error = error_of("", cases[i].where);
		report.size = 0;
		validate_report_print_path(&report, &error);
		CHECK(!strcmp(report_text(&report), cases[i].wanted));
	}
	/* Steps of ten characters: as long as there are at most 160, the next one is added. */
	error = error_of("", "p:e");
	at = strlen(error.where);
	for (unsigned int i = 0; i < 20; i++)
		at += (size_t)snprintf(error.where + at, sizeof(error.where) - at, "\nstep%04u", i);
	at = (size_t)snprintf(wanted, sizeof(wanted), "  field:    step0000");
	for (unsigned int i = 1; i <= 15; i++)
		at += (size_t)snprintf(wanted + at, sizeof(wanted) - at, ", step%04u", i);
	/* 12 + 8 + 14 * 10 = 160: one more. */
	snprintf(wanted + at, sizeof(wanted) - at, ", ...\n");
	report.size = 0;
	validate_report_print_path(&report, &error);
	CHECK(!strcmp(report_text(&report), wanted));
}

static void hints(void)
{
	static const struct {
		int code;
		const char *expected, *wanted;
	} cases[] = {{-E2BIG, "U8", "set the length to the real number of elements"},
			{-EFAULT, "U8", "the target of a pointer must exist until the call returns"},
			{-ELOOP, "U8", "a value must not contain itself"},
			{-EINVAL, "U8", "pass side_arg_u8(), or change the type of the field"},
			{-EINVAL, "GATHER_VLA",
					"pass side_arg_gather_vla(), or change the type of the field"},
			{-EINVAL, "STRING_UTF8",
					"pass side_arg_string(), or change the type of the field"},
			{-EINVAL, "STRING_UTF16",
					"pass side_arg_string16(), or change the type of the field"},
			{-EINVAL, "STRING_UTF32",
					"pass side_arg_string32(), or change the type of the field"},
			{-EINVAL, "DYNAMIC",
					"pass side_arg_dynamic_...(), or change the type of the field"},
			{-EINVAL, "DYNAMIC_VLA_VISITOR",
					"pass side_arg_dynamic_vla_visitor(), or change the type of the field"},
			{-EINVAL, "NULL", "pass side_arg_null(), or change the type of the field"},
			{-EINVAL, "2 arguments",
					"give one argument for each field, in the order of the fields"},
			{-EINVAL, "at most 255 elements",
					"give the VLA a wider type for its length, or fewer elements"},
			{-EINVAL, "2 elements", "fill the whole array, or describe a VLA"},
			{-EINVAL, "a selector that has an option",
					"add a side_option() for it, or pass a selector that has one"},
			{-EINVAL, "?", "compare the call with the definition of the event"},
			{-EINVAL, "", "compare the call with the definition of the event"}};
	struct visit_error error = error_of("", "");
	struct validate_report_text report;
	char wanted[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(error.expected, sizeof(error.expected), "%s", cases[i].expected);
		snprintf(wanted, sizeof(wanted), "  hint:     %s\n", cases[i].wanted);
		report.size = 0;
		validate_report_print_hint(&report, cases[i].code, &error);
		CHECK(!strcmp(report_text(&report), wanted));
	}
	snprintf(error.hint, sizeof(error.hint), "do this");
	report.size = 0;
	validate_report_print_hint(&report, -E2BIG, &error);
	CHECK(!strcmp(report_text(&report), "  hint:     do this\n"));
	snprintf(error.hint, sizeof(error.hint), "x");
	report.size = 0;
	validate_report_print_hint(&report, -E2BIG, &error);
	CHECK(!strcmp(report_text(&report), "  hint:     x\n"));
	/* Letters become lower case, and nothing else changes. */
	report.size = 0;
	validate_report_print_macro(&report, "@AZ[az_19");
	CHECK(!strcmp(report_text(&report), "side_arg_@az[az_19()"));
}

static void differences(void)
{
	static const struct {
		int code;
		const char *expected, *found, *wanted;
	} cases[] = {{-EINVAL, "", "", ""}, {-EINVAL, "", "x", ""},
			{-EINVAL, "a", "b", "  expected: a\n  found:    b\n"},
			{-EFAULT, "a", "b", "  expected: a\n  found:    b\n"},
			{-EFAULT, "", "", "  expected: a pointer\n  found:    NULL\n"},
			{-ELOOP, "", "",
					"  expected: values that end\n  found:    more levels than that\n"},
			{-ELOOP, "a", "b", "  expected: a\n  found:    b\n"}};
	struct visit_error error = error_of("", "");
	struct validate_report_text report;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(error.expected, sizeof(error.expected), "%s", cases[i].expected);
		snprintf(error.found, sizeof(error.found), "%s", cases[i].found);
		report.size = 0;
		validate_report_print_difference(&report, cases[i].code, &error);
		CHECK(!strcmp(report_text(&report), cases[i].wanted));
	}
}

/* ---- descriptions ---- */

/* Descriptions with the state of an event that is never registered. */
static struct side_event_state_0 state;
static struct side_event_description event;
static struct side_event_field fields[40];
static const void *const callbacks[2];

static void make_event(uint32_t nr_fields)
{
	static char names[40][8];

	memset(&event, 0, sizeof(event));
	memset(&state, 0, sizeof(state));
	memset(fields, 0, sizeof(fields));
	event.struct_size = sizeof(event);
	side_ptr_set(event.provider_name, "prov");
	side_ptr_set(event.event_name, "ev");
	side_enum_set(event.loglevel, SIDE_LOGLEVEL_INFO);
	event.nr_side_type_label = _NR_SIDE_TYPE_LABEL;
	event.nr_side_attr_type = _NR_SIDE_ATTR_TYPE;
	side_ptr_set(event.fields.elements, fields);
	event.fields.length = nr_fields;
	for (uint32_t i = 0; i < nr_fields; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		side_ptr_set(fields[i].field_name, names[i]);
		side_enum_set(fields[i].side_type.type, SIDE_TYPE_U8);
		fields[i].side_type.u.side_integer.integer_size = 1;
	}
	side_ptr_set(event.state, &state.parent);
	state.desc = &event;
	state.callbacks = (const void *)callbacks;
}

static void reported_descriptions(void)
{
	static const struct {
		enum validate_use use;
		int code;
		const char *kind, *use_text, *hint;
	} cases[] = {{VALIDATE_HIDDEN, -ELOOP, "wrong", " (no tracer gets it)",
				     "a type must not contain itself"},
			{VALIDATE_UNUSED, -ENOTSUP, "wrong", " (its calls are not checked)",
					"the program was built with newer headers; update the tracer"},
			{VALIDATE_WRONG, -E2BIG, "wrong", "",
					"make the description smaller: lists of this length are a mistake or an attack"},
			{VALIDATE_DOUBTED, -EFAULT, "doubtful", "",
					"everything that a description points to must exist while it is registered"},
			{VALIDATE_WRONG, -EINVAL, "wrong", "",
					"use the macros of <side/trace.h>, or side/builder.h, which check"}};
	struct visit_error error = error_of("what", "prov:ev\nfield: \"f\"");
	char wanted[1024];

	make_event(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		forget_calls();
		errno = 4711;
		validate_report_description(&event, cases[i].use, cases[i].code, &error);
		snprintf(wanted, sizeof(wanted),
				"side: %s description in %s (%d): what\n  event:    prov:ev\n  field:    \"f\"\n  address:  %p%s\n  hint:     %s\n",
				cases[i].kind, program_invocation_short_name, (int)getpid(),
				(void *)&event, cases[i].use_text, cases[i].hint);
		CHECK(!strcmp(printed, wanted) && writes.calls == 1 && errno == 4711);
	}
	/* Names that cannot be read. */
	snprintf(error.hint, sizeof(error.hint), "hint");
	side_ptr_set(event.provider_name, (const char *)16);
	side_ptr_set(event.event_name, NULL);
	forget_calls();
	validate_report_description(&event, VALIDATE_WRONG, -EINVAL, &error);
	CHECK(strstr(printed, "  event:    ?:?\n") && strstr(printed, "  hint:     hint\n"));
	side_ptr_set(event.provider_name, NULL);
	side_ptr_set(event.event_name, (const char *)16);
	snprintf(error.hint, sizeof(error.hint), "m");
	forget_calls();
	validate_report_description(&event, VALIDATE_WRONG, -EINVAL, &error);
	CHECK(strstr(printed, "  event:    ?:?\n") && strstr(printed, "  hint:     m\n"));
	forget_calls();
	validate_report_description(
			(const struct side_event_description *)16, VALIDATE_WRONG, -EINVAL, &error);
	CHECK(strstr(printed, "  event:    ?:?\n") && strstr(printed, "  address:  0x10\n"));
	forget_calls();
	validate_report_dropped(1);
	snprintf(wanted, sizeof(wanted),
			"side: 1 call of %s (%d) was passed to no tracer: the errors are reported above\n",
			program_invocation_short_name, (int)getpid());
	CHECK(!strcmp(printed, wanted));
	forget_calls();
	validate_report_dropped(2);
	snprintf(wanted, sizeof(wanted),
			"side: 2 calls of %s (%d) were passed to no tracer: the errors are reported above\n",
			program_invocation_short_name, (int)getpid());
	CHECK(!strcmp(printed, wanted) && errno == 4711);
}

/* The caller is the return address of a call. */
static void callers(void)
{
	struct validate_report_text report = {.size = 0};
	struct link_map *map;
	char wanted[512];
	Dl_info info;

	validate_report_print_caller(&report, NULL);
	CHECK(!report.size);
	validate_report_print_caller(&report, (const void *)16);
	CHECK(!strcmp(report_text(&report), "  caller:   0x10\n"));
	CHECK(dladdr1((const char *)(uintptr_t)puts, &info, (void **)&map, RTLD_DL_LINKMAP));
	report.size = 0;
	validate_report_print_caller(&report, (const char *)(uintptr_t)puts + 1);
	snprintf(wanted, sizeof(wanted), "  caller:   %s() in %s+0x%zx (", info.dli_sname,
			info.dli_fname, (size_t)((uintptr_t)puts - map->l_addr));
	CHECK(info.dli_sname && !strncmp(report_text(&report), wanted, strlen(wanted)));
	CHECK(!strcmp(report.text + report.size - 2, ")\n"));
	/* A function that begins at the address has not called. */
	report.size = 0;
	validate_report_print_caller(&report, (const char *)(uintptr_t)puts);
	snprintf(wanted, sizeof(wanted), "  caller:   %s() in ", info.dli_sname);
	CHECK(strncmp(report_text(&report), wanted, strlen(wanted)) != 0);
}

static void reported_calls(void)
{
	struct visit_error error = error_of("what", "prov:ev\nfield: \"f\"");
	char wanted[1024];

	make_event(1);
	snprintf(error.expected, sizeof(error.expected), "an egg");
	snprintf(error.found, sizeof(error.found), "a hen");
	snprintf(error.hint, sizeof(error.hint), "wait");
	for (unsigned int is_dropped = 0; is_dropped < 2; is_dropped++) {
		memset(sites, 0, sizeof(sites));
		forget_calls();
		errno = 4711;
		validate_report_call(&event, (const void *)16, is_dropped, -EINVAL, &error);
		snprintf(wanted, sizeof(wanted),
				"side: wrong call in %s (%d): what\n  event:    prov:ev\n  field:    \"f\"\n  caller:   0x10\n  expected: an egg\n  found:    a hen\n%s  hint:     wait\n",
				program_invocation_short_name, (int)getpid(),
				is_dropped ? "  tracers:  do not get this call, which could crash them\n"
					   : "");
		CHECK(!strcmp(printed, wanted) && writes.calls == 1 && errno == 4711);
		/* It is reported once for each description and each caller. */
		CHECK(!validate_report_is_first(&event, (const void *)16, -EINVAL, &error));
		CHECK(validate_report_is_first((const void *)16, &event, -EINVAL, &error));
		validate_report_call(&event, (const void *)16, is_dropped, -EINVAL, &error);
		CHECK(!strcmp(printed, wanted) && writes.calls == 1 && errno == 4711);
	}
	memset(sites, 0, sizeof(sites));
}

static int state_of(struct visit_error *error)
{
	memset(error, 'x', sizeof(*error));
	return validate_check_state(&event, error);
}

static void states(void)
{
	static char unaligned[sizeof(struct side_event_state_0) + 8];
	struct visit_error error;
	char wanted[128];

	make_event(0);
	forget_calls();
	CHECK(!state_of(&error));
	side_ptr_set(event.state, NULL);
	CHECK(state_of(&error) == -EFAULT && !error.where[0]);
	CHECK(!strcmp(error.what, "the state is missing, misaligned or unreadable"));
	CHECK(!strcmp(error.hint, "give the event a struct side_event_state_0"));
	side_ptr_set(event.state, (struct side_event_state *)(void *)(unaligned + 1));
	CHECK(state_of(&error) == -EFAULT);
	side_ptr_set(event.state, (struct side_event_state *)4096);
	CHECK(state_of(&error) == -EFAULT);
	side_ptr_set(event.state, &state.parent);
	state.parent.version = 1;
	CHECK(state_of(&error) == -ENOTSUP);
	CHECK(!strcmp(error.what, "the state has version 1, only 0 is known"));
	state.parent.version = 0;
	state.desc = NULL;
	CHECK(state_of(&error) == -EINVAL);
	CHECK(!strcmp(error.what, "the state is that of another description, at (nil)"));
	state.desc = &event;
	state.callbacks = (const void *)4096;
	CHECK(state_of(&error) == -EFAULT);
	snprintf(wanted, sizeof(wanted), "the state's list of callbacks is at %p", (void *)4096);
	CHECK(!strcmp(error.what, wanted));
	CHECK(!strcmp(error.hint, "let it begin with &side_empty_callback"));
	CHECK(validate_is_deadly(-EFAULT) && validate_is_deadly(-E2BIG) &&
			validate_is_deadly(-ELOOP));
	CHECK(!validate_is_deadly(-EINVAL) && !validate_is_deadly(-ENOTSUP) &&
			!validate_is_deadly(-ENOMEM));
}

/* ---- copies ---- */

static enum side_visitor_status no_elements(const struct side_tracer_visitor_ctx *ctx, void *app)
{
	(void)ctx;
	(void)app;
	return SIDE_VISITOR_STATUS_OK;
}

static struct side_type_vla_visitor visitors[9];

static void add_visitors(uint32_t nr)
{
	static struct side_type u8;

	side_enum_set(u8.type, SIDE_TYPE_U8);
	u8.u.side_integer.integer_size = 1;
	for (uint32_t i = 0; i < nr; i++) {
		memset(&fields[i].side_type, 0, sizeof(fields[i].side_type));
		side_enum_set(fields[i].side_type.type, SIDE_TYPE_VLA_VISITOR);
		side_ptr_set(fields[i].side_type.u.side_vla_visitor, &visitors[i]);
		side_ptr_set(visitors[i].elem_type, &u8);
		side_ptr_set(visitors[i].length_type, &u8);
		side_ptr_set(visitors[i].visitor, (side_visitor_func)(((uintptr_t)i + 1) << 32));
	}
}

static void copied_functions(void)
{
	const struct validate_copy *copy, *other;
	struct visit_error error;

	for (uint32_t nr = 0; nr <= 9; nr++) {
		size_t before = 0, nr_copied = 0;

		make_event(nr);
		add_visitors(nr);
		CHECK(!validate_copy_get(&event, &copy, &error) && copy->nr_visitors == nr);
		for (uint32_t i = 0; i < nr; i++) {
			const struct side_event_field *field =
					side_array_at(&copy->owned->desc->fields, i);

			CHECK(side_ptr_get(side_ptr_get(field->side_type.u.side_vla_visitor)
							      ->visitor) ==
					side_ptr_get(visitors[i].visitor));
			nr_copied++;
		}
		CHECK(nr_copied == nr);
		/* The same description has the same copy, and nothing is kept twice. */
		for (unsigned int i = 0; i < 40; i++) {
			before = i == 20 ? mallinfo2().uordblks : before;
			CHECK(!validate_copy_get(&event, &other, &error) && other == copy);
		}
		CHECK(mallinfo2().uordblks == before);
		if (!nr)
			continue;
		/* Only the last function is another one. */
		side_ptr_set(visitors[nr - 1].visitor, (side_visitor_func)((uintptr_t)77 << 32));
		CHECK(!validate_copy_get(&event, &other, &error) && other != copy);
		side_ptr_set(visitors[nr - 1].visitor, no_elements);
		CHECK(!validate_copy_get(&event, &copy, &error) && other != copy);
	}
	/* Other bytes of the same size. */
	make_event(1);
	CHECK(!validate_copy_get(&event, &copy, &error));
	side_ptr_set(event.event_name, "eV");
	CHECK(!validate_copy_get(&event, &other, &error) && other != copy);
}

/*
 * Freed blocks that the C library keeps for each thread count as used, so only later rounds are
 * compared.
 */
#define ROUNDS 20

static int get_copies(unsigned int failing, bool *has_failed, struct visit_error *error)
{
	const struct validate_copy *copy;
	size_t before = 0;
	int ret = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		before = i == ROUNDS / 2 ? mallinfo2().uordblks : before;
		memset(error, 'x', sizeof(*error));
		failing_arm(failing);
		ret = validate_copy_get(&event, &copy, error);
		*has_failed = failing_has_failed();
		CHECK(!ret == !!copy);
	}
	CHECK(mallinfo2().uordblks == before);
	return ret;
}

static void copies_without_memory(void)
{
	const struct validate_copy *copy;
	struct visit_error error;
	bool has_failed;

	make_event(9);
	add_visitors(9);
	CHECK(!validate_copy_get(&event, &copy, &error));
	for (unsigned int call = 1;; call++) {
		int ret = get_copies(call, &has_failed, &error);

		if (!has_failed) {
			CHECK(!ret && call > 6);
			break;
		}
		CHECK(ret == -ENOMEM);
		if (call == 1)
			CHECK(!strcmp(error.what, "out of memory: cannot read it"));
	}
	/* A description that cannot be copied is not kept either. */
	for (unsigned int i = 9; i--;) {
		side_enum_set(fields[i].side_type.type, 77);
		CHECK(get_copies(0, &has_failed, &error) == -ENOTSUP);
	}
}

static void free_copies(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		while (copies[i]) {
			struct validate_copy *next = copies[i]->next;

			validate_copy_free(copies[i]);
			copies[i] = next;
		}
	}
}

/* ---- findings, events ---- */

static unsigned int nr_reports(void)
{
	unsigned int nr = 0;

	for (const char *at = printed; (at = strstr(at, "side: ")); at += 6)
		nr++;
	return nr;
}

static void number_of_findings(void)
{
	struct findings found = {.desc = &event};
	struct visit_error error = error_of("what", "prov:ev");

	make_event(1);
	forget_calls();
	for (unsigned int i = 0; i < 10; i++)
		validate_report_finding(&found, VISIT_REMARK, NULL, &error);
	CHECK(!nr_reports() && !found.nr);
	for (unsigned int i = 0; i < 31; i++)
		validate_report_finding(&found, VISIT_WARNING, NULL, &error);
	CHECK(nr_reports() == 31 && strstr(printed, "side: doubtful ") &&
			!strstr(printed, "side: wrong "));
	validate_report_finding(&found, VISIT_ERROR, NULL, &error);
	CHECK(nr_reports() == 32 && strstr(printed, "side: wrong "));
	validate_report_finding(&found, VISIT_ERROR, NULL, &error);
	CHECK(nr_reports() == 32);
}

static void registered_events(void)
{
	const size_t most = 1 << 20;
	struct side_event_description **events = mmap(NULL, (most + 1) * sizeof(*events), PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char wanted[128];

	CHECK(events != MAP_FAILED);
	forget_calls();
	CHECK(validate_hide_unreadable(events, (uint32_t)most, NULL) && !nr_written);
	CHECK(!validate_hide_unreadable(events, (uint32_t)most + 1, NULL));
	snprintf(wanted, sizeof(wanted),
			": the list of 1048577 events at %p is not completely readable\n",
			(void *)events);
	CHECK(strstr(printed, wanted) && strstr(printed, "  event:    ?:?\n") &&
			strstr(printed, "  hint:     pass the number of events that the list has\n"));
	munmap(events, (most + 1) * sizeof(*events));
	forget_calls();
	CHECK(!validate_hide_unreadable(events, 1, NULL) && nr_reports() == 1);
	make_event(1);
	forget_calls();
	CHECK(validate_hide_unreadable(NULL, 0, &event) && !nr_written);
	/* Wrong, but readable: tracers get it. */
	side_enum_set(fields[0].side_type.type, 77);
	CHECK(validate_hide_unreadable(NULL, 0, &event) && nr_reports() == 1 &&
			strstr(printed, " (its calls are not checked)"));
	forget_calls();
	side_ptr_set(event.fields.elements, (const struct side_event_field *)4096);
	CHECK(!validate_hide_unreadable(NULL, 0, &event) &&
			strstr(printed, " (no tracer gets it)"));
	make_event(1);
	event.struct_size++;
	forget_calls();
	CHECK(validate_hide_unreadable(NULL, 0, &event) && nr_reports() == 1);
	snprintf(wanted, sizeof(wanted),
			": the description has %zu bytes, not %zu: it is newer, or damaged\n",
			sizeof(event) + 1, sizeof(event));
	CHECK(strstr(printed, wanted) && strstr(printed, "side: doubtful "));
	make_event(1);
	add_visitors(1);
	side_ptr_set(visitors[0].visitor, NULL);
	forget_calls();
	CHECK(validate_hide_unreadable(NULL, 0, &event) && nr_reports() == 1);
	CHECK(strstr(printed, ": the function of a VLA visitor is NULL\n") &&
			strstr(printed, "  field:    \"f0\"\n") &&
			strstr(printed, "  hint:     set its member visitor\n"));
	/* Each of them is reported. */
	make_event(3);
	add_visitors(3);
	side_ptr_set(visitors[0].visitor, NULL);
	side_ptr_set(visitors[2].visitor, NULL);
	forget_calls();
	CHECK(validate_hide_unreadable(NULL, 0, &event) && nr_reports() == 2);
	CHECK(strstr(printed, "  field:    \"f0\"\n") && strstr(printed, "  field:    \"f2\"\n"));
}

/* All elements of the list must exist. */
static void lists_of_events(void)
{
	const size_t in_page = PAGE / sizeof(struct side_event_description *);
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct side_event_description **events = (struct side_event_description **)(void *)pages;

	CHECK(pages != MAP_FAILED && !mprotect(pages + PAGE, PAGE, PROT_NONE));
	forget_calls();
	CHECK(validate_hide_unreadable(events, (uint32_t)in_page, NULL) && !nr_written);
	CHECK(!validate_hide_unreadable(events, (uint32_t)in_page + 1, NULL) && nr_reports() == 1);
	munmap(pages, 2 * PAGE);
}

/* ---- calls ---- */

static bool check_fields_call(uint32_t nr_wrong, uint32_t nr, bool others)
{
	const struct validate_copy *copy;
	struct side_arg args[40];
	struct side_arg_vec vec;
	struct visit_error error;

	make_event(nr);
	CHECK(!validate_copy_get(&event, &copy, &error));
	memset(args, 0, sizeof(args));
	memset(&vec, 0, sizeof(vec));
	for (uint32_t i = 0; i < nr; i++)
		side_enum_set(args[i].type, i < nr_wrong ? SIDE_TYPE_S8 : SIDE_TYPE_U8);
	side_ptr_set(vec.sav, args);
	vec.len = nr;
	forget_calls();
	memset(sites, 0, sizeof(sites));
	return validate_check_arguments(copy, &vec, NULL, NULL, others);
}

static void number_of_mismatches(void)
{
	dropped = 0;
	CHECK(check_fields_call(0, 40, true) && !nr_written);
	CHECK(check_fields_call(1, 40, true) && nr_reports() == 1);
	CHECK(!strstr(printed, "  tracers:  "));
	/* 15 values of other types are harmless, and the call is compared completely. */
	CHECK(check_fields_call(15, 40, true) && nr_reports() == 15 && !dropped);
	CHECK(!check_fields_call(16, 40, true) && nr_reports() == 16);
	CHECK((uint32_t)dropped == 1 && dropped >> 32 == (uint32_t)getpid());
	CHECK(strstr(printed, "  tracers:  do not get this call, which could crash them\n"));
	CHECK(!check_fields_call(40, 40, true) && nr_reports() == 16 && (uint32_t)dropped == 2);
	CHECK(!check_fields_call(40, 40, false) && nr_reports() == 16 && (uint32_t)dropped == 2);
	CHECK(!strstr(printed, "  tracers:  "));
	/* The count of another process, the parent of this one, does not count. */
	dropped = ((uint64_t)getpid() + 1) << 32 | 5;
	forget_calls();
	validate_exit();
	CHECK(!nr_written);
	validate_count_dropped();
	CHECK(dropped == ((uint64_t)getpid() << 32 | 1));
	validate_count_dropped();
	CHECK(dropped == ((uint64_t)getpid() << 32 | 2));
	validate_exit();
	CHECK(strstr(printed, "side: 2 calls of "));
	dropped = 0;
}

static void harmless(void)
{
	struct side_type type;
	struct visit_location location = {.type = &type};
	struct visit_error error = error_of("", "");

	memset(&type, 0, sizeof(type));
	snprintf(error.expected, sizeof(error.expected), "U8");
	for (unsigned int label = 0; label < _NR_SIDE_TYPE_LABEL; label++) {
		side_enum_set(type.type, label);
		CHECK(validate_is_harmless(&location, -EINVAL, &error) ==
				(label <= SIDE_TYPE_STRING_UTF32));
	}
	side_enum_set(type.type, SIDE_TYPE_U8);
	CHECK(!validate_is_harmless(&location, -EFAULT, &error));
	location.depth = 1;
	CHECK(!validate_is_harmless(&location, -EINVAL, &error));
	location.depth = 0;
	location.dynamic = true;
	CHECK(!validate_is_harmless(&location, -EINVAL, &error));
	location.dynamic = false;
	location.type = NULL;
	CHECK(!validate_is_harmless(&location, -EINVAL, &error));
	location.type = &type;
	CHECK(validate_is_harmless(&location, -EINVAL, &error));
	error.expected[0] = '\0';
	CHECK(!validate_is_harmless(&location, -EINVAL, &error));
}

static void kinds_of_calls(void)
{
	const struct validate_copy *copy;
	struct side_arg_dynamic_struct variadic;
	struct side_arg_vec vec;
	struct visit_error error;

	memset(&variadic, 0, sizeof(variadic));
	memset(&vec, 0, sizeof(vec));
	make_event(0);
	CHECK(!validate_copy_get(&event, &copy, &error));
	forget_calls();
	CHECK(validate_check_arguments(copy, &vec, NULL, NULL, false) && !nr_written);
	CHECK(!validate_check_arguments(copy, &vec, &variadic, NULL, false));
	CHECK(strstr(printed,
			": a variadic call of a non-variadic event\n  event:    prov:ev\n  expected: side_event()\n  found:    side_event_variadic()\n  hint:     call side_event(), or define the event as a variadic one\n"));
	event.flags = SIDE_EVENT_FLAG_VARIADIC;
	CHECK(!validate_copy_get(&event, &copy, &error));
	forget_calls();
	CHECK(validate_check_arguments(copy, &vec, &variadic, NULL, false) && !nr_written);
	CHECK(!validate_check_arguments(copy, &vec, NULL, NULL, false));
	CHECK(strstr(printed,
			": a non-variadic call of a variadic event\n  event:    prov:ev\n  expected: side_event_variadic()\n  found:    side_event()\n  hint:     call side_event_variadic(), or define the event as a non-variadic one\n"));
}

/* A list of 2^20 - 1 elements in one field is the longest that is compared. */
static void number_of_parts(void)
{
	const size_t most = (1 << 20) - 1;
	struct side_arg *elements = mmap(NULL, (most + 2) * sizeof(*elements),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct validate_copy *copy;
	struct side_arg_dynamic_vla list;
	struct side_arg_vec vec;
	struct visit_error error;
	struct side_arg arg;

	CHECK(elements != MAP_FAILED);
	for (size_t i = 0; i < most + 2; i++)
		side_enum_set(elements[i].type, SIDE_TYPE_DYNAMIC_NULL);
	make_event(1);
	memset(&fields[0].side_type, 0, sizeof(fields[0].side_type));
	side_enum_set(fields[0].side_type.type, SIDE_TYPE_DYNAMIC);
	CHECK(!validate_copy_get(&event, &copy, &error));
	memset(&list, 0, sizeof(list));
	memset(&vec, 0, sizeof(vec));
	memset(&arg, 0, sizeof(arg));
	side_ptr_set(list.sav, elements);
	side_enum_set(arg.type, SIDE_TYPE_DYNAMIC_VLA);
	side_ptr_set(arg.u.side_dynamic.side_dynamic_vla, &list);
	side_ptr_set(vec.sav, &arg);
	vec.len = 1;
	forget_calls();
	memset(sites, 0, sizeof(sites));
	list.len = (uint32_t)most;
	CHECK(validate_check_arguments(copy, &vec, NULL, NULL, false) && !nr_written);
	list.len++;
	CHECK(!validate_check_arguments(copy, &vec, NULL, NULL, false));
	CHECK(strstr(printed, ": more than 1048576 elements or fields: is the length right?\n"));
	CHECK(strstr(printed, "  expected: at most 1048576\n  found:    1048577\n"));
	munmap(elements, (most + 2) * sizeof(*elements));
}

int main(void)
{
	memory_reads();
	readable_pages();
	texts();
	lines();
	output();
	paths_of_sites();
	first_sites();
	fields_of_reports();
	hints();
	differences();
	reported_descriptions();
	callers();
	reported_calls();
	states();
	copied_functions();
	copies_without_memory();
	number_of_findings();
	registered_events();
	lists_of_events();
	number_of_mismatches();
	harmless();
	kinds_of_calls();
	number_of_parts();
	free_copies();
	return 0;
}
