/* SPDX-License-Identifier: MIT */
/*
 * Which places of a probe the kernel watches. It is tried before anything is set: the places are watched for a moment, so what the kernel
 * or its rights refuse, or what somebody has put there, is known while breakpoints can still be chosen.
 *
 * Returns are left to the process: the kernel's way of seeing them ends programs that throw exceptions through the function. So is a place
 * that a jump beside it needs, and all of a process that sees another root directory, where side-uprobes would not find the files.
 */
#include "probe-kernel.h"

#include "probe-global.h"
#include "say.h"

#include "probe/code/code.h"
#include "probe/global/global.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIAL_RING 65536

bool probe_kernel_could(const struct probe_site *site)
{
	return site->method == PROBE_BREAKPOINT &&
			code_kernel_emulates(site->bytes, site->nr_bytes);
}

bool probe_kernel_would(const struct probe_site *site)
{
	static bool asked, may;
	struct global_error ignored;

	if (!probe_kernel_could(site))
		return false;
	if (!asked)
		may = global_may(&ignored);
	asked = true;
	return may;
}

/* ---- which ---- */

/* A jump before it would stand on it. */
static bool is_covered(const struct probe_table *table, const struct probe_table_probe *of)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;
		uint64_t room = PROBE_JUMP_BYTES;

		probe_table_probe(table, i, &probe);
		if (probe.site.displaced > room)
			room = probe.site.displaced;
		if (probe.module == of->module && probe.site.address < of->site.address &&
				of->site.address - probe.site.address < room &&
				!probe_kernel_could(&probe.site))
			return true;
	}
	return false;
}

static bool is_chosen(const struct probe_table *table, const struct probe_table_probe *probe)
{
	return probe_kernel_could(&probe->site) && probe->exit == PROBE_TABLE_NONE &&
			!(probe->flags & PROBE_ENTRY_TRAP) && !is_covered(table, probe);
}

uint32_t probe_kernel_count(const struct probe_table *table)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;

		probe_table_probe(table, i, &probe);
		count += is_chosen(table, &probe);
	}
	return count;
}

/* ---- tables ---- */

static int64_t copy_event(
		struct probe_table_writer *writer, const struct probe_table *table, uint32_t index)
{
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	struct probe_table_event event;

	probe_table_event(table, index, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++)
		probe_table_field(table, &event, i, &fields[i]);
	event.fields = fields;
	return probe_table_add_event(writer, &event);
}

static void get_fetches(const struct probe_table *table, uint32_t number, uint32_t first,
		struct probe_fetch fetches[PROBE_TABLE_FIELDS_MAX])
{
	struct probe_table_event event;

	if (number == PROBE_TABLE_NONE)
		return;
	probe_table_event(table, number, &event);
	for (uint32_t i = 0; i < event.nr_fields; i++)
		probe_table_fetch(table, first, i, &fetches[i]);
}

static int64_t copy_probe(struct probe_table_writer *writer, const struct probe_table *table,
		const struct probe_table_probe *of)
{
	struct probe_table_probe probe = *of;
	struct probe_fetch entry[PROBE_TABLE_FIELDS_MAX], exit[PROBE_TABLE_FIELDS_MAX];

	get_fetches(table, probe.entry, probe.first_entry_fetch, entry);
	get_fetches(table, probe.exit, probe.first_exit_fetch, exit);
	probe.entry_fetches = entry;
	probe.exit_fetches = exit;
	return probe_table_add_probe(writer, &probe);
}

/* All of it, in which the chosen are marked; or the chosen alone. A memfd, or a negative errno. */
static int copy_table(const struct probe_table *table, bool alone)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	int64_t ret = writer ? 0 : -1;

	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_modules(table); i++) {
		struct probe_table_module module;

		probe_table_module(table, i, &module);
		ret = probe_table_add_module(writer, &module);
	}
	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_events(table); i++)
		ret = copy_event(writer, table, i);
	for (uint32_t i = 0; ret >= 0 && i < probe_table_nr_probes(table); i++) {
		struct probe_table_probe probe;
		bool chosen;

		probe_table_probe(table, i, &probe);
		chosen = is_chosen(table, &probe);
		if (alone && !chosen)
			continue;
		/* The recorder in the process counts listeners. */
		if (alone)
			probe.semaphore = 0;
		else if (chosen)
			probe.flags |= PROBE_ENTRY_KERNEL;
		ret = copy_probe(writer, table, &probe);
	}
	if (ret >= 0)
		ret = probe_table_memfd(writer);
	probe_table_writer_free(writer);
	return (int)ret;
}

/* ---- whether ---- */

static bool sees_our_files(pid_t pid)
{
	struct stat own, others;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return !stat("/", &own) && !stat(path, &others) && own.st_dev == others.st_dev &&
			own.st_ino == others.st_ino;
}

/* The file at this path is the one that the process executes, and not one that has replaced it. */
static bool is_mapped(pid_t pid, const char *file)
{
	char path[64], *line = NULL;
	size_t room = 0;
	struct stat status;
	bool found = false;
	FILE *maps;

	if (stat(file, &status))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !found && getline(&line, &room, maps) > 0) {
		char rights[8];
		uint64_t inode;

		found = sscanf(line, "%*x-%*x %7s %*x %*x:%*x %" SCNu64, rights, &inode) == 2 &&
				rights[2] == 'x' && inode == status.st_ino;
	}
	free(line);
	if (maps)
		(void)fclose(maps);
	return found;
}

static bool are_mapped(pid_t pid, const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct probe_table_module module;
		struct probe_table_probe probe;

		probe_table_probe(table, i, &probe);
		probe_table_module(table, probe.module, &module);
		if (is_chosen(table, &probe) && !is_mapped(pid, module.path))
			return false;
	}
	return true;
}

static bool try_it(pid_t pid, int table, char *why, size_t room)
{
	const struct global_options options = {.tables = &table,
			.nr_tables = 1,
			.way = -1,
			.process = pid,
			.ring_size = TRIAL_RING};
	struct global_error error = {.text = ""};
	struct global *global = NULL;
	int ret = global_open(&options, &global, &error);

	if (!ret)
		ret = global_watch(global, true, &error);
	if (!ret)
		ret = global_watch(global, false, &error);
	global_close(global);
	if (ret)
		snprintf(why, room, "%s", error.text);
	return !ret;
}

/* ---- all together ---- */

const char *probe_kernel_not(bool never, bool contexts, const char *filter)
{
	if (never)
		return "`--no-uprobe` says so";
	return contexts || (filter && strchr(filter, '$'))
			? "contexts of the process are recorded or asked for, which the kernel "
			  "does not know"
			: NULL;
}

static void decide(pid_t pid, const char * not, const struct probe_table *table,
		struct probe_kernel *kernel)
{
	kernel->places = probe_kernel_count(table);
	if (!kernel->places)
		return;
	if (not )
		snprintf(kernel->why, sizeof(kernel->why), "%s", not );
	else if (!sees_our_files(pid))
		snprintf(kernel->why, sizeof(kernel->why),
				"the process has another root directory");
	else if (!are_mapped(pid, table))
		snprintf(kernel->why, sizeof(kernel->why),
				"a file of the process is not loaded, or has been replaced since");
	else
		kernel->table = copy_table(table, true);
	if (kernel->table < 0 || try_it(pid, kernel->table, kernel->why, sizeof(kernel->why)))
		return;
	close(kernel->table);
	kernel->table = -1;
}

static void say_choice(const struct probe_kernel *kernel)
{
	char number[SAY_NUMBER_MAX];

	if (kernel->table >= 0)
		say_detail("the kernel watches %s of the places (uprobe), where only a breakpoint "
			   "could be",
				say_number(kernel->places, number));
	else if (*kernel->why)
		say_detail("%s of the places can have a breakpoint only, and no uprobe: %s",
				say_number(kernel->places, number), kernel->why);
}

int probe_kernel_choose(const struct probe_target *target, const char * not, int *table,
		struct probe_kernel *kernel)
{
	struct probe_seen seen;
	int status, marked = -1;

	*kernel = (struct probe_kernel){.table = -1};
	if (!target->pid)
		return COMMAND_DONE;
	status = probe_see(*table, &seen);
	if (status)
		return status;
	decide(target->pid, not, &seen.table, kernel);
	if (kernel->table >= 0)
		marked = copy_table(&seen.table, false);
	probe_unsee(&seen);
	if (kernel->table >= 0 && marked < 0) {
		close(kernel->table);
		kernel->table = -1;
		return say_error(COMMAND_FAILED, NULL, "there is no memory");
	}
	if (marked >= 0) {
		close(*table);
		*table = marked;
	}
	say_choice(kernel);
	return COMMAND_DONE;
}

int probe_kernel_words(pid_t pid, const int *tables, size_t nr, char ***words)
{
	static const struct global_arguments arguments;
	char text[24];
	int status = probe_global_words(&arguments, 0, tables, nr, words);

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!status && !probe_global_add(words, "--process", text))
		status = say_error(COMMAND_FAILED, NULL, "there is no memory");
	return status;
}
