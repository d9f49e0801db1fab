/* SPDX-License-Identifier: MIT */
/*
 * Parses names of contexts. Does not depend on the machine: a name has the same meaning
 * everywhere.
 */
#include "protocol/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <linux/perf_event.h>

struct named {
	const char *name;
	enum context_kind kind;
	enum context_type type;
	const char *sentence; /* NULL: an alias of the preceding entry */
};

/* Aliases have no sentence and follow the entry that they mean. */
static const struct named named[] = {
		{"vpid", CONTEXT_VPID, CONTEXT_S32, "process id, as the process itself sees it"},
		{"vtid", CONTEXT_VTID, CONTEXT_S32, "thread id, as the process itself sees it"},
		{"tid", CONTEXT_TID, CONTEXT_S32, "thread id in the namespace that /proc shows"},
		{"procname", CONTEXT_PROCNAME, CONTEXT_STRING,
				"name of the process: that of its main thread"},
		{"thread_name", CONTEXT_THREAD_NAME, CONTEXT_STRING, "name of the thread"},
		{"cpu_id", CONTEXT_CPU_ID, CONTEXT_U32, "processor on which the event started"},
		{"ip", CONTEXT_IP, CONTEXT_POINTER, "address of the code that emitted the event"},
		{"uid", CONTEXT_UID, CONTEXT_U32, "real user id of the thread"},
		{"vuid", CONTEXT_UID, CONTEXT_U32, NULL},
		{"euid", CONTEXT_EUID, CONTEXT_U32, "effective user id of the thread"},
		{"veuid", CONTEXT_EUID, CONTEXT_U32, NULL},
		{"suid", CONTEXT_SUID, CONTEXT_U32, "saved user id of the thread"},
		{"vsuid", CONTEXT_SUID, CONTEXT_U32, NULL},
		{"gid", CONTEXT_GID, CONTEXT_U32, "real group id of the thread"},
		{"vgid", CONTEXT_GID, CONTEXT_U32, NULL},
		{"egid", CONTEXT_EGID, CONTEXT_U32, "effective group id of the thread"},
		{"vegid", CONTEXT_EGID, CONTEXT_U32, NULL},
		{"sgid", CONTEXT_SGID, CONTEXT_U32, "saved group id of the thread"},
		{"vsgid", CONTEXT_SGID, CONTEXT_U32, NULL},
		{"cgroup_ns", CONTEXT_CGROUP_NS, CONTEXT_U64, "inode of the cgroup namespace"},
		{"ipc_ns", CONTEXT_IPC_NS, CONTEXT_U64, "inode of the IPC namespace"},
		{"mnt_ns", CONTEXT_MNT_NS, CONTEXT_U64, "inode of the mount namespace"},
		{"net_ns", CONTEXT_NET_NS, CONTEXT_U64, "inode of the network namespace"},
		{"pid_ns", CONTEXT_PID_NS, CONTEXT_U64, "inode of the PID namespace"},
		{"time_ns", CONTEXT_TIME_NS, CONTEXT_U64, "inode of the time namespace"},
		{"user_ns", CONTEXT_USER_NS, CONTEXT_U64, "inode of the user namespace"},
		{"uts_ns", CONTEXT_UTS_NS, CONTEXT_U64, "inode of the UTS namespace"},
		{"cgroup", CONTEXT_CGROUP, CONTEXT_STRING, "path of the control group"},
		{"backtrace", CONTEXT_BACKTRACE, CONTEXT_ADDRESSES,
				"calls that led to the event, innermost first (`backtrace:N`: at most N addresses)"},
		{"perf:thread:", CONTEXT_PERF, CONTEXT_U64,
				"a counter of the thread: cpu-cycles, page-faults, raw:rHEX, ..."},
		{"$app.PROVIDER:NAME", CONTEXT_APP, CONTEXT_APPLICATION,
				"a value that the application provides by <side/context.h>"},
};

#define NR_NAMED (sizeof(named) / sizeof(named[0]))
#define NR_PLAIN (NR_NAMED - 2) /* without the last two, which are prefixes */

#define PERF_PREFIX "perf:thread:"
#define BACKTRACE_PREFIX "backtrace:"
#define APP_PREFIX "$app."
#define APP_OTHER_PREFIX "app:"

/* Cache counters: cache, operation and result. */
#define CACHE(cache, operation, result)                                         \
	PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##operation << 8 | \
			PERF_COUNT_HW_CACHE_RESULT_##result << 16

static const struct perf_counter {
	const char *name;
	uint32_t type;
	uint64_t config;
} perf_counters[] = {
		{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
		{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
		{"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
		{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
		{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
		{"stalled-cycles-frontend", PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
		{"stalled-cycles-backend", PERF_TYPE_HARDWARE,
				PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		{"L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS)},
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS)},
		{"L1-dcache-stores", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS)},
		{"L1-dcache-store-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, MISS)},
		{"L1-dcache-prefetches", PERF_TYPE_HW_CACHE, CACHE(L1D, PREFETCH, ACCESS)},
		{"L1-dcache-prefetch-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, PREFETCH, MISS)},
		{"L1-icache-loads", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, ACCESS)},
		{"L1-icache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS)},
		{"L1-icache-prefetches", PERF_TYPE_HW_CACHE, CACHE(L1I, PREFETCH, ACCESS)},
		{"L1-icache-prefetch-misses", PERF_TYPE_HW_CACHE, CACHE(L1I, PREFETCH, MISS)},
		{"LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS)},
		{"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS)},
		{"LLC-stores", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS)},
		{"LLC-store-misses", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, MISS)},
		{"LLC-prefetches", PERF_TYPE_HW_CACHE, CACHE(LL, PREFETCH, ACCESS)},
		{"LLC-prefetch-misses", PERF_TYPE_HW_CACHE, CACHE(LL, PREFETCH, MISS)},
		{"dTLB-loads", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS)},
		{"dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS)},
		{"dTLB-stores", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, ACCESS)},
		{"dTLB-store-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS)},
		{"dTLB-prefetches", PERF_TYPE_HW_CACHE, CACHE(DTLB, PREFETCH, ACCESS)},
		{"dTLB-prefetch-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, PREFETCH, MISS)},
		{"iTLB-loads", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, ACCESS)},
		{"iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS)},
		{"branch-loads", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS)},
		{"branch-load-misses", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS)},
		{"node-loads", PERF_TYPE_HW_CACHE, CACHE(NODE, READ, ACCESS)},
		{"node-load-misses", PERF_TYPE_HW_CACHE, CACHE(NODE, READ, MISS)},
		{"node-stores", PERF_TYPE_HW_CACHE, CACHE(NODE, WRITE, ACCESS)},
		{"node-store-misses", PERF_TYPE_HW_CACHE, CACHE(NODE, WRITE, MISS)},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
		{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
};

#define NR_PERF (sizeof(perf_counters) / sizeof(perf_counters[0]))

const char *context_name(size_t index)
{
	size_t i;

	for (i = 0; i < NR_NAMED; i++)
		if (named[i].sentence && !index--)
			return named[i].name;
	return NULL;
}

const char *context_description(size_t index)
{
	size_t i;

	for (i = 0; i < NR_NAMED; i++)
		if (named[i].sentence && !index--)
			return named[i].sentence;
	return NULL;
}

const char *context_perf_name(size_t index)
{
	return index < NR_PERF ? perf_counters[index].name : NULL;
}

bool context_same(const struct context_spec *one, const struct context_spec *other)
{
	if (one->kind != other->kind)
		return false;
	if (one->kind == CONTEXT_PERF)
		return one->perf_type == other->perf_type && one->perf_config == other->perf_config;
	return one->kind != CONTEXT_APP || !strcmp(one->name, other->name);
}

/* ---- errors ---- */

/* A piece of text that is not terminated by a NUL. */
struct text_slice {
	const char *text;
	size_t size;
};

static __attribute__((format(printf, 3, 4))) int refuse(
		struct context_error *error, size_t at, const char *format, ...)
{
	va_list arguments;

	error->column = (unsigned int)at + 1;
	error->hint[0] = '\0';
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Add a suggestion to an error that has its text. */
static int suggest(struct context_error *error, const char *prefix, const char *name)
{
	snprintf(error->hint, sizeof(error->hint), "did you mean `%s%s`?", prefix, name);
	return -EINVAL;
}

/* A name for the user: at most a line, without control characters. */
struct shown {
	char text[44];
};

static struct shown context_spec_format(struct text_slice piece)
{
	struct shown shown;
	size_t i;

	for (i = 0; i < piece.size && i < 40; i++) {
		unsigned char c = (unsigned char)piece.text[i];

		shown.text[i] = c < 32 || c >= 127 ? '?' : (char)c;
	}
	memcpy(shown.text + i, i < piece.size ? "..." : "", i < piece.size ? 4 : 1);
	return shown;
}

static unsigned char context_spec_to_lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '_' ? '-' : c);
}

#define DISTANCE_MAX 32

/*
 * Edit distance: insertions, deletions, changes, and swaps of two neighbours. Ignores case and
 * underscores. Longer names have the largest distance.
 */
static unsigned int context_spec_edit_distance(struct text_slice one, const char *other)
{
	unsigned int rows[3][DISTANCE_MAX + 1];
	size_t other_size = strlen(other);
	size_t i, j;

	if (one.size > DISTANCE_MAX || other_size > DISTANCE_MAX)
		return DISTANCE_MAX;
	for (j = 0; j <= other_size; j++)
		rows[0][j] = (unsigned int)j;
	for (i = 1; i <= one.size; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i - 1) % 3];

		row[0] = (unsigned int)i;
		for (j = 1; j <= other_size; j++) {
			unsigned char a = context_spec_to_lower(one.text[i - 1]),
				      b = context_spec_to_lower(other[j - 1]);
			unsigned int best = above[j - 1] + (a != b);

			best = above[j] + 1 < best ? above[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a == context_spec_to_lower(other[j - 2]) &&
					context_spec_to_lower(one.text[i - 2]) == b) {
				unsigned int swapped = rows[(i - 2) % 3][j - 2] + 1;

				best = swapped < best ? swapped : best;
			}
			row[j] = best;
		}
	}
	return rows[one.size % 3][other_size];
}

/* The nearest name so far. */
struct guess {
	const char *name;
	unsigned int distance;
};

static void guess_consider(struct guess *guess, struct text_slice wrong, const char *name)
{
	unsigned int d = context_spec_edit_distance(wrong, name);

	if (d < guess->distance)
		*guess = (struct guess){name, d};
}

/* A third of the letters may be wrong, but not all of a short name. */
static struct guess guess_new(struct text_slice wrong)
{
	return (struct guess){NULL, (unsigned int)(wrong.size / 3) + 2};
}

/* ---- parsing ---- */

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Set the field's name: characters that CTF does not allow become underscores. */
static void context_spec_make_field(
		struct context_spec *spec, const char *prefix, const char *remainder)
{
	size_t size = strlen(prefix);

	memcpy(spec->field, prefix, size);
	for (; *remainder && size < CONTEXT_NAME_MAX; remainder++)
		spec->field[size++] = is_letter_or_digit(*remainder) ? *remainder : '_';
	spec->field[size] = 0;
}

static bool piece_is(struct text_slice piece, const char *text)
{
	return strlen(text) == piece.size && !memcmp(piece.text, text, piece.size);
}

static bool piece_begins(struct text_slice piece, const char *text)
{
	size_t size = strlen(text);

	return piece.size >= size && !memcmp(piece.text, text, size);
}

/* All functions below get the whole text of this context, and report columns in it. */

static int parse_raw(struct text_slice text, size_t at, struct context_spec *spec,
		struct context_error *error)
{
	size_t begin = at + strlen("raw:");
	uint64_t config = 0;
	size_t i;

	if (begin >= text.size || text.text[begin] != 'r')
		return refuse(error, begin,
				"a raw counter is written \"raw:r\" and its number in hexadecimal digits");
	for (i = begin + 1; i < text.size && text.text[i] != ':'; i++) {
		unsigned char c = context_spec_to_lower(text.text[i]);
		unsigned int digit = c <= '9' ? c - (unsigned int)'0' : c - (unsigned int)'a' + 10;

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return refuse(error, i, "not a hexadecimal digit");
		if (config >> 60)
			return refuse(error, i, "a number of more than 64 bits");
		config = config << 4 | digit;
	}
	if (i == begin + 1)
		return refuse(error, i, "missing number after \"raw:r\"");
	if (i + 1 == text.size)
		return refuse(error, i + 1, "missing label after the colon");
	for (; i < text.size; i++)
		if (!is_letter_or_digit(text.text[i]) && !strchr(":._-", text.text[i]))
			return refuse(error, i,
					"a label may have only letters, digits and \".\", \"_\", \"-\", \":\"");
	spec->perf_type = PERF_TYPE_RAW;
	spec->perf_config = config;
	return 0;
}

static int parse_perf(
		struct text_slice text, struct context_spec *ret_spec, struct context_error *error)
{
	size_t at = strlen(PERF_PREFIX);
	struct text_slice name = {text.text + at, text.size - at};
	struct guess guess = guess_new(name);
	size_t i;
	int ret;

	for (i = 0; i < NR_PERF; i++) {
		if (piece_is(name, perf_counters[i].name))
			break;
		guess_consider(&guess, name, perf_counters[i].name);
	}
	if (i < NR_PERF) {
		ret_spec->perf_type = perf_counters[i].type;
		ret_spec->perf_config = perf_counters[i].config;
	} else if (piece_begins(name, "raw:")) {
		ret = parse_raw(text, at, ret_spec, error);
		if (ret)
			return ret;
	} else if (!name.size) {
		return refuse(error, at,
				"missing counter after \"perf:thread:\": use cpu-cycles, instructions, cache-misses, page-faults or others");
	} else if (guess.name) {
		refuse(error, at, "unknown counter \"%s\"", context_spec_format(name).text);
		return suggest(error, PERF_PREFIX, guess.name);
	} else {
		return refuse(error, at,
				"unknown counter \"%s\": use cpu-cycles, instructions, cache-misses, page-faults, raw:rHEX or others",
				context_spec_format(name).text);
	}
	ret_spec->kind = CONTEXT_PERF;
	ret_spec->type = CONTEXT_U64;
	memcpy(ret_spec->name, text.text, text.size);
	context_spec_make_field(ret_spec, "perf_thread_", ret_spec->name + at);
	return 0;
}

/* "backtrace:N"; the plain name has the default depth. */
static int parse_backtrace(
		struct text_slice text, struct context_spec *ret_spec, struct context_error *error)
{
	size_t at = strlen(BACKTRACE_PREFIX), i;
	unsigned int depth = 0;

	for (i = at; i < text.size && depth <= CONTEXT_BACKTRACE_MAX; i++) {
		if (text.text[i] < '0' || text.text[i] > '9')
			return refuse(error, i, "not a number of addresses");
		depth = depth * 10 + (unsigned int)(text.text[i] - '0');
	}
	if (!depth || depth > CONTEXT_BACKTRACE_MAX)
		return refuse(error, at,
				"\"%s\" is not a number of addresses: a backtrace has 1 to %d",
				context_spec_format(
						(struct text_slice){text.text + at, text.size - at})
						.text,
				CONTEXT_BACKTRACE_MAX);
	ret_spec->kind = CONTEXT_BACKTRACE;
	ret_spec->type = CONTEXT_ADDRESSES;
	ret_spec->depth = (uint8_t)depth;
	/* One name for each depth: "backtrace:032" is "backtrace:32". */
	snprintf(ret_spec->name, sizeof(ret_spec->name), BACKTRACE_PREFIX "%u", depth);
	snprintf(ret_spec->field, sizeof(ret_spec->field), "backtrace");
	return 0;
}

static int parse_application(struct text_slice text, size_t prefix_size,
		struct context_spec *ret_spec, struct context_error *error)
{
	struct text_slice remainder = {text.text + prefix_size, text.size - prefix_size};
	size_t colon = 0;
	size_t i;

	for (i = 0; i < remainder.size; i++) {
		if (remainder.text[i] == ':' && !colon && i) {
			colon = i;
			continue;
		}
		if (remainder.text[i] == ':' && !i)
			return refuse(error, prefix_size, "missing provider before the colon");
		if (!is_letter_or_digit(remainder.text[i]) && !strchr("._-", remainder.text[i]))
			return refuse(error, prefix_size + i,
					"the name of an application's context may have only letters, digits and \".\", \"_\", \"-\"");
	}
	if (!colon)
		return refuse(error, prefix_size + remainder.size,
				"an application's context is written \"$app.PROVIDER:NAME\"");
	if (colon + 1 == remainder.size)
		return refuse(error, prefix_size + remainder.size, "missing name after the colon");
	/* Check the longer form: with "$app." before it and a NUL behind. */
	if (remainder.size + strlen(APP_PREFIX) > CONTEXT_NAME_MAX)
		return refuse(error, 0, "more than %d bytes of provider and name",
				CONTEXT_NAME_MAX - (int)strlen(APP_PREFIX));
	ret_spec->kind = CONTEXT_APP;
	ret_spec->type = CONTEXT_APPLICATION;
	ret_spec->provider_at = (uint8_t)strlen(APP_PREFIX);
	ret_spec->provider_size = (uint8_t)colon;
	ret_spec->label_at = (uint8_t)(ret_spec->provider_at + colon + 1);
	memcpy(ret_spec->name, APP_PREFIX, ret_spec->provider_at);
	memcpy(ret_spec->name + ret_spec->provider_at, remainder.text, remainder.size);
	context_spec_make_field(ret_spec, "app_", ret_spec->name + ret_spec->provider_at);
	return 0;
}

static int refuse_unknown(struct text_slice text, struct context_error *error)
{
	struct guess guess = guess_new(text);
	size_t i;

	for (i = 0; i < NR_PLAIN; i++)
		guess_consider(&guess, text, named[i].name);
	if (guess.name) {
		refuse(error, 0, "unknown context \"%s\"", context_spec_format(text).text);
		return suggest(error, "", guess.name);
	}
	for (i = 0; i < NR_PERF; i++) {
		if (!piece_is(text, perf_counters[i].name))
			continue;
		refuse(error, 0, "unknown context \"%s\"", context_spec_format(text).text);
		return suggest(error, PERF_PREFIX, perf_counters[i].name);
	}
	return refuse(error, 0,
			"unknown context \"%s\": use vpid, vtid, procname, thread_name, cpu_id, ip, uid, gid, cgroup, net_ns, perf:thread:NAME, $app.PROVIDER:NAME or others",
			context_spec_format(text).text);
}

static int parse_piece(
		struct text_slice text, struct context_spec *ret_spec, struct context_error *error)
{
	size_t i;

	memset(ret_spec, 0, sizeof(*ret_spec));
	if (!text.size)
		return refuse(error, 0, "not the name of a context");
	if (text.size > CONTEXT_NAME_MAX)
		return refuse(error, CONTEXT_NAME_MAX, "more than %d bytes", CONTEXT_NAME_MAX);
	if (piece_begins(text, PERF_PREFIX))
		return parse_perf(text, ret_spec, error);
	if (piece_begins(text, BACKTRACE_PREFIX))
		return parse_backtrace(text, ret_spec, error);
	if (piece_begins(text, APP_PREFIX))
		return parse_application(text, strlen(APP_PREFIX), ret_spec, error);
	if (piece_begins(text, APP_OTHER_PREFIX))
		return parse_application(text, strlen(APP_OTHER_PREFIX), ret_spec, error);
	if (piece_begins(text, "perf:cpu:")) {
		refuse(error, 0, "only counters of the thread (perf:thread:NAME) are possible");
		return suggest(error, PERF_PREFIX,
				context_spec_format(
						(struct text_slice){text.text + 9, text.size - 9})
						.text);
	}
	if (piece_begins(text, "perf:"))
		return refuse(error, 5, "a counter is written \"perf:thread:NAME\"");
	for (i = 0; i < NR_PLAIN; i++)
		if (piece_is(text, named[i].name))
			break;
	if (i == NR_PLAIN)
		return refuse_unknown(text, error);
	while (!named[i].sentence)
		i--;
	ret_spec->kind = named[i].kind;
	ret_spec->type = named[i].type;
	ret_spec->depth = named[i].kind == CONTEXT_BACKTRACE ? CONTEXT_BACKTRACE_DEFAULT : 0;
	memcpy(ret_spec->name, named[i].name, strlen(named[i].name) + 1);
	memcpy(ret_spec->field, named[i].name, strlen(named[i].name) + 1);
	return 0;
}

int context_parse(const char *text, struct context_spec *ret_spec, struct context_error *error)
{
	return parse_piece((struct text_slice){text, strlen(text)}, ret_spec, error);
}

static int context_spec_add_field(struct text_slice text, struct context_spec *specs, int nr_specs,
		size_t max_specs, struct context_error *error)
{
	struct context_spec spec;
	int ret = parse_piece(text, &spec, error);
	int i;

	if (ret)
		return ret;
	for (i = 0; i < nr_specs; i++)
		if (context_same(&specs[i], &spec))
			return nr_specs;
	if ((size_t)nr_specs == max_specs)
		return refuse(error, 0, "more than %zu contexts", max_specs);
	specs[nr_specs] = spec;
	return nr_specs + 1;
}

int context_parse_list(const char *text, struct context_spec *ret_specs, size_t max_specs,
		struct context_error *error)
{
	const char *at = text;
	int nr_specs = 0;

	for (;;) {
		size_t size, whole;
		int ret;

		at += strspn(at, " \t");
		whole = size = strcspn(at, ",");
		while (size && (at[size - 1] == ' ' || at[size - 1] == '\t'))
			size--;
		ret = context_spec_add_field((struct text_slice){at, size}, ret_specs, nr_specs,
				max_specs, error);
		if (ret < 0) {
			error->column += (unsigned int)(at - text);
			return ret;
		}
		nr_specs = ret;
		at += whole;
		if (!*at)
			return nr_specs;
		at++;
	}
}

bool context_perf_is_hardware(const struct context_spec *spec)
{
	return spec->kind == CONTEXT_PERF && spec->perf_type != PERF_TYPE_SOFTWARE;
}
