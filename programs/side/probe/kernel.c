/* SPDX-License-Identifier: MIT */
/*
 * Decide which sites of a probe the kernel watches.
 *
 * Before any probe is set, side-uprobes' code watches the sites for a moment. So side knows whether
 * the kernel refuses a site, for lack of rights or because of another tracer, while it can still
 * choose breakpoints. If not all sites can be watched together, a search finds those that can. For
 * a program that is not started yet, a process of ours is used: it has the same user, and the files
 * are known.
 *
 * Some sites are left to the process. The kernel's return probes end programs that throw exceptions
 * through the function. A jump beside the site may need its bytes. And side-uprobes would not find
 * the files of a process with another root directory.
 */
#include "kernel.h"

#include "executable.h"
#include "global.h"
#include "base/error.h"
#include "programs/common/message.h"

#include "probe/code/code.h"
#include "probe/uprobe/global.h"
#include "recorder/core/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_RING 65536
#define TRIALS_MAX 48 /* each takes some milliseconds */
/*
 * On kernels that remove uprobes one by one, each removal takes a tenth of a second. Above this
 * number, use breakpoints if possible, and try no more sites.
 */
#define SLOW_MAX 16
#define SLOW_REPORTED 100 /* above this number, print a note that removing takes long */
#define REASONS_MAX 8

bool probe_kernel_can_watch(const struct probe_site *site)
{
	return site->method == PROBE_KERNEL ||
			(site->method == PROBE_BREAKPOINT &&
					code_kernel_emulates(site->bytes, site->nr_bytes));
}

bool probe_kernel_is_permitted(void)
{
	static bool asked, may;
	struct error ignored;

	if (!asked)
		may = global_may(&ignored);
	asked = true;
	return may;
}

bool probe_kernel_would_watch(const struct probe_site *site)
{
	return probe_kernel_can_watch(site) && probe_kernel_is_permitted();
}

/* ---- which sites ---- */

/* Whether the jump of a probe before this one would cover its site. */
static bool is_covered(const struct probe_table *table, const struct probe_table_probe *of)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;
		uint64_t capacity = PROBE_JUMP_BYTES;

		probe_table_probe(table, i, &probe);
		if (probe.site.displaced > capacity)
			capacity = probe.site.displaced;
		if (probe.module == of->module && probe.site.address < of->site.address &&
				of->site.address - probe.site.address < capacity &&
				!probe_kernel_can_watch(&probe.site))
			return true;
	}
	return false;
}

static bool has_backtrace(const struct probe_table *table, uint32_t number)
{
	struct probe_table_event event;

	if (number == PROBE_TABLE_NONE)
		return false;
	probe_table_event(table, number, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++) {
		struct probe_table_field field;

		probe_table_field(table, &event, i, &field);
		if (field.type == PROBE_FIELD_BACKTRACE)
			return true;
	}
	return false;
}

static bool same_module(
		const struct probe_table_module *one, const struct probe_table_module *other)
{
	return one->build_id_size == other->build_id_size &&
			!memcmp(one->build_id, other->build_id, one->build_id_size) &&
			!strcmp(one->path, other->path);
}

static const char *why_left(const struct probe_table *table, const struct probe_table_probe *probe);

/*
 * Another event of the same command uses this site in the process, which then has its own byte
 * there, or its jump would cover the site. The kernel would find the changed bytes in both cases.
 */
static const char *why_not_beside(const struct probe_table *other, const struct probe_table *table,
		const struct probe_table_probe *of)
{
	struct probe_table_module module, others;

	probe_table_module(table, of->module, &module);
	for (uint32_t i = 0; i < probe_table_nr_probes(other); i++) {
		struct probe_table_probe probe;
		uint64_t capacity = PROBE_JUMP_BYTES;
		const char *why;

		probe_table_probe(other, i, &probe);
		if (probe.site.displaced > capacity)
			capacity = probe.site.displaced;
		if (probe.site.address > of->site.address ||
				of->site.address - probe.site.address >= capacity)
			continue;
		probe_table_module(other, probe.module, &others);
		if (!same_module(&module, &others))
			continue;
		why = why_left(other, &probe);
		if (probe.site.address == of->site.address && why && *why)
			return "another probe at this location is not a uprobe";
		if (probe.site.address < of->site.address && !probe_kernel_can_watch(&probe.site))
			return "a nearby jump needs the same byte";
	}
	return "";
}

/* Whether the reason is something that the user requested and could omit. */
static bool is_asked(const struct probe_table *table, const struct probe_table_probe *probe)
{
	return probe_kernel_can_watch(&probe->site) &&
			(probe->exit != PROBE_TABLE_NONE || has_backtrace(table, probe->entry));
}

/*
 * Returns why the kernel should not watch this site; "": it can be tried; NULL: the site needs no
 * breakpoint, or has a trap of its own.
 */
static const char *why_left(const struct probe_table *table, const struct probe_table_probe *probe)
{
	if (probe->site.method < PROBE_BREAKPOINT || (probe->flags & PROBE_ENTRY_TRAP))
		return NULL;
	if (!probe_kernel_can_watch(&probe->site))
		return "the kernel would single-step the instruction there, which costs more";
	if (probe->exit != PROBE_TABLE_NONE)
		return "the probe records the return, and a return probe of the kernel ends a program whose exception leaves the function";
	if (has_backtrace(table, probe->entry))
		return "a backtrace is recorded, which the kernel cannot provide";
	/*
	 * Next to a site in Go code there is none, and a Go program has tens of thousands of them.
	 */
	if (probe->site.method == PROBE_KERNEL)
		return "";
	return is_covered(table, probe) ? "a nearby jump needs the same byte" : "";
}

bool probe_kernel_has_sites(const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;
		const char *why;

		probe_table_probe(table, i, &probe);
		why = why_left(table, &probe);
		if (why && !*why)
			return true;
	}
	return false;
}

/* ---- search for sites that work ---- */

struct probe_kernel_choice {
	const struct probe_table *table;
	const struct probe_table_view *others; /* tables of the same command */
	size_t nr_others;
	pid_t pid;      /* the process in which sites are watched for the trial */
	bool *chosen;   /* for each probe */
	uint32_t *list; /* indexes of the chosen probes */
	uint32_t nr;    /* number of items in `list` */
	unsigned int trials;
	bool slow; /* the kernel removes uprobes one by one */
	struct kernel_refusal_reason {
		uint32_t locations;
		bool asked; /* the reason is something that the user requested and could omit */
		bool left;  /* the site is not probed: a breakpoint cannot be there either */
		char text[ERROR_TEXT_SIZE];
	} reasons[REASONS_MAX];
};

/* With too many reasons, the last entry counts all others. */
static void probe_kernel_add_refusal(
		struct probe_kernel_choice *choice, uint32_t index, bool asked, const char *why)
{
	struct kernel_refusal_reason *reason = choice->reasons;
	struct probe_table_probe probe;
	bool left;

	probe_table_probe(choice->table, index, &probe);
	left = probe.site.method == PROBE_KERNEL;
	while (reason < choice->reasons + REASONS_MAX - 1 && reason->locations &&
			(reason->left != left || strcmp(reason->text, why) != 0))
		reason++;
	if (!reason->locations) {
		snprintf(reason->text, sizeof(reason->text), "%s", why);
		reason->asked = asked;
		reason->left = left;
	}
	reason->locations++;
}

static void refuse_all(struct probe_kernel_choice *choice, uint32_t first, uint32_t count,
		bool asked, const char *why)
{
	for (uint32_t i = first; i < first + count; i++) {
		choice->chosen[choice->list[i]] = false;
		probe_kernel_add_refusal(choice, choice->list[i], asked, why);
	}
}

static void refuse_list(
		struct probe_kernel_choice *choice, uint32_t first, uint32_t count, const char *why)
{
	refuse_all(choice, first, count, false, why);
}

/* Make the list again, after some sites were refused. */
static void probe_kernel_collect_chosen(struct probe_kernel_choice *choice)
{
	choice->nr = 0;
	for (uint32_t i = 0; i < probe_table_nr_probes(choice->table); i++)
		if (choice->chosen[i])
			choice->list[choice->nr++] = i;
}

static void choose_all(struct probe_kernel_choice *choice)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(choice->table); i++) {
		struct probe_table_probe probe;
		const char *why;

		probe_table_probe(choice->table, i, &probe);
		why = why_left(choice->table, &probe);
		for (size_t k = 0; k < choice->nr_others && why && !*why &&
				probe.site.method != PROBE_KERNEL;
				k++)
			why = why_not_beside(&choice->others[k].table, choice->table, &probe);
		choice->chosen[i] = why && !*why;
		if (why && *why)
			probe_kernel_add_refusal(choice, i, is_asked(choice->table, &probe), why);
	}
	probe_kernel_collect_chosen(choice);
}

/* ---- the trial ---- */

/*
 * Whether this path leads to the file that the process has loaded, not to one that has replaced it.
 */
static bool probe_kernel_is_loaded(pid_t pid, const char *file)
{
	struct stat status;

	return !stat(file, &status) && session_has_mapped(pid, &status, file) > 0;
}

static void refuse_unloaded(struct probe_kernel_choice *choice)
{
	uint32_t nr = probe_table_nr_modules(choice->table);

	for (uint32_t i = 0; i < nr; i++) {
		struct probe_table_module module;
		char why[512];

		probe_table_module(choice->table, i, &module);
		if (probe_kernel_is_loaded(choice->pid, module.path))
			continue;
		snprintf(why, sizeof(why), "%.400s is not loaded, or has been replaced since",
				module.path);
		for (uint32_t at = 0; at < choice->nr; at++) {
			struct probe_table_probe probe;

			probe_table_probe(choice->table, choice->list[at], &probe);
			if (probe.module == i)
				refuse_list(choice, at, 1, why);
		}
	}
	probe_kernel_collect_chosen(choice);
}

static bool try_table(pid_t pid, int table, struct error *error)
{
	const struct global_options options = {.tables = &table,
			.nr_tables = 1,
			.backend = -1,
			.process = pid,
			.ring_size = TRIAL_RING};
	struct global *global = NULL;
	int ret = global_open(&options, &global, error);

	if (!ret)
		ret = global_watch(global, true, error);
	if (!ret)
		ret = global_watch(global, false, error);
	global_close(global);
	return !ret;
}

static bool try_some(struct probe_kernel_choice *choice, uint32_t first, uint32_t count,
		struct error *error)
{
	bool *some = calloc(probe_table_nr_probes(choice->table) + 1u, sizeof(*some));
	bool works;
	int table;

	choice->trials++;
	for (uint32_t i = first; some && i < first + count; i++)
		some[choice->list[i]] = true;
	error_set_no_memory(error);
	table = some ? probe_kernel_copy(choice->table, some, PROBE_KERNEL_ALONE) : -1;
	free(some);
	works = table >= 0 && try_table(choice->pid, table, error);
	if (table >= 0)
		close(table);
	return works;
}

/*
 * Try all of them together; if that fails, try both halves, until the sites that cannot be watched
 * are found.
 */
static void probe_kernel_try_list(
		struct probe_kernel_choice *choice, uint32_t first, uint32_t count)
{
	struct error error;

	if (!count || try_some(choice, first, count, &error))
		return;
	if (count == 1 || error.kind == ERROR_PERMISSION || choice->trials >= TRIALS_MAX) {
		refuse_list(choice, first, count, error.text);
		return;
	}
	probe_kernel_try_list(choice, first, count / 2);
	probe_kernel_try_list(choice, first + count / 2, count - count / 2);
}

static bool can_trap(const struct probe_kernel_choice *choice, uint32_t at)
{
	struct probe_table_probe probe;

	probe_table_probe(choice->table, choice->list[at], &probe);
	return probe.site.method == PROBE_BREAKPOINT;
}

static void refuse_slow(struct probe_kernel_choice *choice)
{
	uint32_t could = 0;

	for (uint32_t at = 0; at < choice->nr; at++)
		could += can_trap(choice, at);
	for (uint32_t at = 0; at < choice->nr && could > SLOW_MAX; at++)
		if (can_trap(choice, at))
			refuse_list(choice, at, 1,
					"the kernel has no uprobe_multi (Linux 6.6 has it), and would remove so many uprobes one by one, each in up to a tenth of a second");
	probe_kernel_collect_chosen(choice);
}

static void probe_kernel_try_all_backends(struct probe_kernel_choice *choice)
{
	struct error error;
	uint32_t tried;

	if (!choice->nr)
		return;
	if (!global_may(&error)) {
		refuse_list(choice, 0, choice->nr, error.text);
		probe_kernel_collect_chosen(choice);
		return;
	}
	choice->slow = !global_is_quick();
	if (choice->slow)
		refuse_slow(choice);
	tried = choice->slow && choice->nr > SLOW_MAX ? SLOW_MAX : choice->nr;
	probe_kernel_try_list(choice, 0, tried);
	probe_kernel_collect_chosen(choice);
	/* The halves succeeded separately; try them together. */
	tried = choice->nr < tried ? choice->nr : tried;
	if (tried && choice->trials > 1 && !try_some(choice, 0, tried, &error))
		refuse_list(choice, 0, choice->nr, error.text);
	probe_kernel_collect_chosen(choice);
}

/* ---- the result ---- */

static const char never_reported[] = "`--no-uprobe` is given";

const char *probe_kernel_refusal(bool never, bool contexts, const char *filter)
{
	if (never)
		return never_reported;
	return contexts || (filter && strchr(filter, '$'))
			? "the probe records or filters contexts of the process, which the kernel cannot read"
			: NULL;
}

static void kernel_decide(const struct probe_target *target, const char *refusal,
		struct probe_kernel_choice *choice)
{
	const char *why = refusal ? refusal
			: target->pid && probe_has_other_root(target->pid)
			? "the process has another root directory"
			: NULL;

	choose_all(choice);
	if (why)
		refuse_all(choice, 0, choice->nr, refusal && why != never_reported, why);
	probe_kernel_collect_chosen(choice);
	if (target->pid)
		refuse_unloaded(choice);
	probe_kernel_try_all_backends(choice);
}

static const char left_out[] =
		"%s of the locations got no probe: only a uprobe is possible there, and the kernel cannot set it: %s";
static const char trapped[] = "%s of the locations got a breakpoint instead of a uprobe: %s";

static void probe_kernel_print_choice(const struct probe_kernel_choice *choice)
{
	char number[FORMAT_NUMBER_MAX];

	if (choice->nr)
		message_detail("the kernel watches %s of the locations (uprobe), where a jump is not possible",
				format_number(choice->nr, number));
	if (choice->slow && choice->nr > SLOW_REPORTED)
		message_note("at the end the kernel removes %s uprobes one by one, in up to a tenth of a second each: it has no uprobe_multi (Linux 6.6 has)",
				format_number(choice->nr, number));
	for (const struct kernel_refusal_reason *reason = choice->reasons;
			reason < choice->reasons + REASONS_MAX && reason->locations; reason++) {
		/* A user without the right to use uprobes need not know what else prevents them. */
		bool shown = reason->left || (reason->asked && probe_kernel_is_permitted());

		(shown ? message_note : message_detail)(reason->left ? left_out : trapped,
				format_number(reason->locations, number), reason->text);
	}
}

static void kernel_close_table(int *table)
{
	if (*table >= 0)
		close(*table);
	*table = -1;
}

/* Make the tables of the choice. */
static int make_tables(const struct probe_kernel_choice *choice, bool starts, int *table,
		struct probe_kernel *kernel)
{
	int marked;

	if (!choice->nr)
		return COMMAND_DONE;
	kernel->table = probe_kernel_copy(choice->table, choice->chosen, PROBE_KERNEL_ALONE);
	if (starts)
		kernel->others = probe_kernel_copy(
				choice->table, choice->chosen, PROBE_KERNEL_OTHERS);
	marked = probe_kernel_copy(choice->table, choice->chosen, PROBE_KERNEL_MARKED);
	if (kernel->table < 0 || marked < 0 || (starts && kernel->others < 0)) {
		kernel_close_table(&kernel->table);
		kernel_close_table(&kernel->others);
		kernel_close_table(&marked);
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	close(*table);
	*table = marked;
	return COMMAND_DONE;
}

int probe_kernel_choose(const struct probe_target *target, const char *refusal, int *table,
		const struct probe_table_view *others, size_t nr_others,
		struct probe_kernel *kernel)
{
	struct probe_kernel_choice *choice = calloc(1, sizeof(*choice));
	struct probe_table_view view;
	uint32_t nr;
	int status;

	*kernel = (struct probe_kernel){.table = -1, .others = -1};
	if (!choice)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	status = probe_table_view_open(*table, &view);
	if (status) {
		free(choice);
		return status;
	}
	nr = probe_table_nr_probes(&view.table);
	choice->table = &view.table;
	choice->others = others;
	choice->nr_others = nr_others;
	choice->pid = target->pid ? target->pid : getpid();
	choice->chosen = calloc(nr + 1u, sizeof(*choice->chosen));
	choice->list = calloc(nr + 1u, sizeof(*choice->list));
	if (choice->chosen && choice->list) {
		kernel_decide(target, refusal, choice);
		status = make_tables(choice, !target->pid, table, kernel);
		if (!status)
			probe_kernel_print_choice(choice);
	} else {
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	}
	probe_table_view_close(&view);
	free(choice->chosen);
	free(choice->list);
	free(choice);
	return status;
}

int probe_kernel_args(pid_t pid, const int *tables, size_t nr, char ***ret_args)
{
	static const struct global_arguments arguments;
	char text[24];
	int status = probe_global_args(&arguments, 0, tables, nr, ret_args);

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!status && !probe_global_add(ret_args, "--process", text))
		status = message_error(COMMAND_FAILED, NULL, "out of memory");
	return status;
}

void probe_kernel_check_exit(int status)
{
	if (WIFSIGNALED(status))
		message_error(COMMAND_LOST, NULL,
				"hits of uprobes are missing at the end of the trace: " SESSION_UPROBES_PROGRAM
				" was killed by signal %d (%s)",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
}
