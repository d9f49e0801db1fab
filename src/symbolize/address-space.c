/* SPDX-License-Identifier: MIT */
/*
 * Address spaces of processes: which file was mapped where, and when; and a cache of resolved
 * addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inside/hash.h"
#include "base/inside/search.h"
#include "symbolize/worker.h"

#define MODULES_OPEN_MAX 300 /* Each has two descriptors at most. */
#define SYMBOLS_MAX ((size_t)1 << 20)
#define MODULE_BUCKETS 4096

/* A file that a trace names. */
struct known_module {
	struct known_module *next, *next_in_bucket;
	struct module_name name; /* owns its strings */
	uint32_t number;
	bool asked, lost; /* lost: a worker that reads it ends */
};

/* A library from a base address record. */
struct loaded_library {
	uint64_t base, end;
	int64_t from, until; /* mapped from `from` until `until` */
	struct known_module *module;
};

/* The times at which libraries were unloaded from one range: times[first] to times[last]. */
struct unloaded_range {
	uint64_t base, end;
	size_t first, last;
};

/* Made from the libraries on demand. Ranges are sorted by base, and the times of each by value. */
struct unloaded_ranges {
	struct unloaded_range *items;
	int64_t *times;
	size_t count;
	bool is_current;
};

/* A line of /proc/PID/maps. */
struct address_mapping {
	uint64_t begin, end, offset;
	struct known_module *module;
};

/* A function that the process has generated, or the code of one line in it. */
struct generated_function {
	uint64_t begin, end;
	int64_t from; /* in ns since 1970; INT64_MIN: not known */
	size_t order; /* at one address and time, the last function of the file counts */
	unsigned int line;
	char *name; /* of the function, or of the file */
};

/* Sorted by begin if `is_sorted`. */
struct generated_functions {
	struct generated_function *items;
	size_t count;
	bool is_sorted;
};

struct symbolized_process {
	struct loaded_library *libraries;
	size_t nr_libraries;
	size_t last; /* the index of the last lookup */
	struct unloaded_ranges unloaded;
	struct address_mapping *mappings; /* in the order of the file: the last match counts */
	size_t nr_mappings;
	struct generated_functions functions, lines;
};

/* The kind of an address. */
enum symbol_asked { SYMBOL_EXACT, SYMBOL_CALL, SYMBOL_DATA };

struct address_answer {
	struct known_module *module; /* NULL: a free slot */
	uint64_t address;
	enum symbol_asked asked;
	size_t version; /* number of the generated function at the address; 0: none */
	struct symbol *symbol;
};

struct symbols {
	struct symbols_options options;
	pthread_mutex_t mutex;
	struct known_module *modules;
	struct known_module *buckets[MODULE_BUCKETS];
	uint32_t nr_modules;
	struct symbol_worker *worker;
	unsigned int nr_open;
	struct symbolized_process *processes;
	size_t nr_processes;
	uint32_t nr_forgotten;          /* calls of symbols_forget() */
	bool has_unloaded;              /* atomic: a library of any process was unloaded */
	struct address_answer *answers; /* a hash table that is at most half full */
	size_t capacity, nr_answers;
};

static const struct symbol nothing;

struct symbols *symbols_create(const struct symbols_options *options)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->options = *options;
	symbols->worker = worker_create(options);
	if (!symbols->worker) {
		free(symbols);
		return NULL;
	}
	pthread_mutex_init(&symbols->mutex, NULL);
	return symbols;
}

static void free_symbol(struct symbol *symbol)
{
	free((void *)(uintptr_t)symbol->function);
	free((void *)(uintptr_t)symbol->file);
	symbol_free_inlined(symbol);
	free(symbol);
}

static void free_known(struct known_module *module)
{
	/* The strings are malloc'ed; free() takes no pointer to const. */
	free((void *)(uintptr_t)module->name.path);
	free((void *)(uintptr_t)module->name.debug_link);
	free(module);
}

static void free_generated(struct generated_functions *generated)
{
	for (size_t i = 0; i < generated->count; i++)
		free(generated->items[i].name);
	free(generated->items);
}

void symbols_forget(struct symbols *symbols)
{
	pthread_mutex_lock(&symbols->mutex);
	for (size_t i = 0; i < symbols->nr_processes; i++) {
		free(symbols->processes[i].libraries);
		free(symbols->processes[i].unloaded.items);
		free(symbols->processes[i].unloaded.times);
		free(symbols->processes[i].mappings);
		free_generated(&symbols->processes[i].functions);
		free_generated(&symbols->processes[i].lines);
	}
	free(symbols->processes);
	symbols->processes = NULL;
	symbols->nr_processes = 0;
	symbols->nr_forgotten++;
	pthread_mutex_unlock(&symbols->mutex);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->capacity; i++)
		if (symbols->answers[i].module)
			free_symbol(symbols->answers[i].symbol);
	free(symbols->answers);
	symbols_forget(symbols);
	while (symbols->modules) {
		struct known_module *module = symbols->modules;

		symbols->modules = module->next;
		free_known(module);
	}
	worker_free(symbols->worker);
	pthread_mutex_destroy(&symbols->mutex);
	free(symbols);
}

/* ---- mappings ---- */

static struct symbolized_process *address_space_get_process(
		struct symbols *symbols, uint32_t number)
{
	size_t count = symbols->nr_processes;
	struct symbolized_process *grown;

	if (number < count)
		return &symbols->processes[number];
	grown = reallocarray(symbols->processes, (size_t)number + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + count, 0, ((size_t)number + 1 - count) * sizeof(*grown));
	symbols->processes = grown;
	symbols->nr_processes = (size_t)number + 1;
	return &grown[number];
}

static bool address_space_same_name(const struct module_name *one, const struct module_name *other)
{
	return one->inode == other->inode && one->build_id_size == other->build_id_size &&
			!memcmp(one->build_id, other->build_id, one->build_id_size) &&
			!strcmp(one->path, other->path);
}

static uint64_t hash_name(const struct module_name *name)
{
	return hash_fold_64(hash_fnv1a_64_text(name->inode * 0x9e3779b97f4a7c15u, name->path));
}

static struct known_module *module_of(struct symbols *symbols, const struct module_name *name)
{
	struct known_module **bucket = &symbols->buckets[hash_name(name) % MODULE_BUCKETS], *module;

	for (module = *bucket; module; module = module->next_in_bucket)
		if (address_space_same_name(&module->name, name))
			return module;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->name = *name;
	module->name.path = strdup(name->path);
	module->name.debug_link = strdup(name->debug_link ? name->debug_link : "");
	if (!module->name.path || !module->name.debug_link) {
		free_known(module);
		return NULL;
	}
	module->number = symbols->nr_modules++;
	module->next = symbols->modules;
	symbols->modules = module;
	module->next_in_bucket = *bucket;
	*bucket = module;
	return module;
}

/* Make space for one more element. Grows at 0, 1, 2, 4, … */
static void *one_more(void *items, size_t count, size_t size)
{
	if (count & (count - 1))
		return items;
	return reallocarray(items, count ? count * 2 : 1, size);
}

static void address_space_end_library(struct symbols *symbols, struct symbolized_process *process,
		struct loaded_library *library, int64_t ns)
{
	library->until = ns;
	process->unloaded.is_current = false;
	/* Relaxed: a hint only. symbols->mutex orders the lists of libraries. */
	__atomic_store_n(&symbols->has_unloaded, true, __ATOMIC_RELAXED);
}

/* True if the library is already listed. Ends an overlapping one that was mapped until now. */
static bool address_space_has_library(struct symbols *symbols, struct symbolized_process *process,
		const struct loaded_library *new)
{
	for (size_t i = 0; i < process->nr_libraries; i++) {
		struct loaded_library *old = &process->libraries[i];

		if (old->until != INT64_MAX || new->from < old->from)
			continue;
		if (old->base == new->base && old->end == new->end && old->module == new->module)
			return true;
		if (old->base < new->end &&new->base < old->end)
			address_space_end_library(symbols, process, old, new->from);
	}
	return false;
}

static int address_space_load_module(struct symbols *symbols, uint32_t number,
		struct loaded_library *new, const struct module_name *name)
{
	struct symbolized_process *process = address_space_get_process(symbols, number);
	struct loaded_library *libraries;

	new->module = process ? module_of(symbols, name) : NULL;
	if (!new->module)
		return -ENOMEM;
	if (address_space_has_library(symbols, process, new) ||
			process->nr_libraries == SYMBOLS_LIBRARIES_MAX)
		return 0;
	libraries = one_more(process->libraries, process->nr_libraries, sizeof(*libraries));
	if (!libraries)
		return -ENOMEM;
	process->libraries = libraries;
	libraries[process->nr_libraries++] = *new;
	return 0;
}

int symbols_load(struct symbols *symbols, uint32_t process, int64_t ns,
		const struct symbols_library *library)
{
	struct loaded_library new = {
			.base = library->base,
			.end = library->base + library->size,
			.from = ns,
			.until = INT64_MAX,
	};
	struct module_name name = {.path = library->path, .debug_link = library->debug_link};
	int ret;

	if (new.end <= new.base) /* No process can have such a mapping. */
		return 0;
	if (library->build_id_size <= SYMBOLS_BUILD_ID_MAX) {
		name.build_id_size = library->build_id_size;
		if (name.build_id_size)
			memcpy(name.build_id, library->build_id, name.build_id_size);
	}
	pthread_mutex_lock(&symbols->mutex);
	ret = address_space_load_module(symbols, process, &new, &name);
	pthread_mutex_unlock(&symbols->mutex);
	return ret;
}

int symbols_unload(struct symbols *symbols, uint32_t process, int64_t ns, uint64_t base)
{
	struct symbolized_process *of;

	pthread_mutex_lock(&symbols->mutex);
	of = process < symbols->nr_processes ? &symbols->processes[process] : NULL;
	for (size_t i = 0; of && i < of->nr_libraries; i++) {
		struct loaded_library *library = &of->libraries[i];

		if (library->base == base && library->until == INT64_MAX && library->from <= ns)
			address_space_end_library(symbols, of, library, ns);
	}
	pthread_mutex_unlock(&symbols->mutex);
	return 0;
}

/* ---- generations ---- */

static int address_space_compare_ended(const void *one, const void *other)
{
	const struct loaded_library *left = one, *right = other;

	if (left->base != right->base)
		return left->base < right->base ? -1 : 1;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	return left->until < right->until ? -1 : left->until > right->until;
}

/* Makes the ranges from ended libraries in their order. */
static void address_space_list_unloaded(
		struct unloaded_ranges *unloaded, const struct loaded_library *ended, size_t count)
{
	unloaded->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct unloaded_range *range =
				unloaded->count ? &unloaded->items[unloaded->count - 1] : NULL;

		if (!range || range->base != ended[i].base || range->end != ended[i].end) {
			range = &unloaded->items[unloaded->count++];
			*range = (struct unloaded_range){ended[i].base, ended[i].end, i, i};
		}
		range->last = i;
		unloaded->times[i] = ended[i].until;
	}
}

/* If out of memory, the process has no ranges, and all of its generations are 0. */
static void address_space_find_unloaded(struct symbolized_process *process)
{
	struct unloaded_ranges *unloaded = &process->unloaded;
	struct loaded_library *ended;
	size_t count = 0;

	free(unloaded->items);
	free(unloaded->times);
	*unloaded = (struct unloaded_ranges){.is_current = true};
	for (size_t i = 0; i < process->nr_libraries; i++)
		count += process->libraries[i].until != INT64_MAX;
	ended = calloc(count + 1, sizeof(*ended));
	unloaded->items = calloc(count + 1, sizeof(*unloaded->items));
	unloaded->times = calloc(count + 1, sizeof(*unloaded->times));
	if (ended && unloaded->items && unloaded->times) {
		count = 0;
		for (size_t i = 0; i < process->nr_libraries; i++)
			if (process->libraries[i].until != INT64_MAX)
				ended[count++] = process->libraries[i];
		qsort(ended, count, sizeof(*ended), address_space_compare_ended);
		address_space_list_unloaded(unloaded, ended, count);
	}
	free(ended);
}

static uint32_t address_space_count_unloaded(
		const struct unloaded_ranges *unloaded, int64_t ns, uint64_t address)
{
	size_t end = search_leading(i, unloaded->count, unloaded->items[i].base <= address);
	size_t begin = end > SYMBOLS_UNLOADED_MAX ? end - SYMBOLS_UNLOADED_MAX : 0;
	uint32_t count = 0;

	for (size_t k = begin; k < end; k++) {
		const struct unloaded_range *range = &unloaded->items[k];
		const int64_t *times = &unloaded->times[range->first];

		if (address < range->end)
			count += (uint32_t)search_leading(
					i, range->last - range->first + 1, times[i] <= ns);
	}
	return count;
}

uint32_t symbols_generation(struct symbols *symbols, uint32_t process, int64_t ns,
		const uint64_t *addresses, size_t count)
{
	struct symbolized_process *of;
	uint32_t generation = 0;

	/* Relaxed: see address_space_end_library(). */
	if (!__atomic_load_n(&symbols->has_unloaded, __ATOMIC_RELAXED))
		return 0;
	pthread_mutex_lock(&symbols->mutex);
	of = process < symbols->nr_processes ? &symbols->processes[process] : NULL;
	if (of && !of->unloaded.is_current)
		address_space_find_unloaded(of);
	for (size_t i = 0; of && of->unloaded.count && i < count; i++)
		generation += address_space_count_unloaded(&of->unloaded, ns, addresses[i]);
	pthread_mutex_unlock(&symbols->mutex);
	return generation;
}

/* ---- generated functions and maps ---- */

static int address_space_add_generated(struct generated_functions *generated, size_t limit,
		const struct generated_function *function, const char *name)
{
	struct generated_function *items;

	if (generated->count == limit)
		return 0;
	items = one_more(generated->items, generated->count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	generated->items = items;
	items[generated->count] = *function;
	items[generated->count].order = generated->count;
	items[generated->count].name = strdup(name);
	if (!items[generated->count].name)
		return -ENOMEM;
	generated->count++;
	generated->is_sorted = false;
	return 0;
}

/*
 * Parse "begin-end jit name", "begin-end jit@ns name" or "begin-end line@ns line file". False: the
 * line has another form.
 */
static bool address_space_parse_generated(
		struct symbolized_process *process, const char *line, int *ret_error)
{
	struct generated_function function = {.from = INT64_MIN};
	int kind = 0, name = 0;

	*ret_error = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %n", &function.begin, &function.end, &kind) !=
					2 ||
			!kind)
		return false;
	if (sscanf(line + kind, "line@%" SCNd64 " %u %n", &function.from, &function.line, &name) ==
					2 &&
			name) {
		*ret_error = address_space_add_generated(
				&process->lines, SYMBOLS_LINES_MAX, &function, line + kind + name);
		return true;
	}
	if (sscanf(line + kind, "jit@%" SCNd64 " %n", &function.from, &name) != 1)
		sscanf(line + kind, "jit %n", &name);
	if (!name || !line[kind + name])
		return false;
	*ret_error = address_space_add_generated(
			&process->functions, SYMBOLS_FUNCTIONS_MAX, &function, line + kind + name);
	return true;
}

/* Parse a line of /proc/PID/maps: only executable mappings of a file count. */
static int address_space_parse_maps_line(
		struct symbols *symbols, struct symbolized_process *process, char *line)
{
	struct address_mapping mapping, *mappings;
	struct module_name name = {.build_id_size = 0};
	char permissions[sizeof("rwxp")];
	int path = 0, ret;

	line[strcspn(line, "\n")] = '\0';
	if (address_space_parse_generated(process, line, &ret))
		return ret;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
			    &mapping.begin, &mapping.end, permissions, &mapping.offset, &name.inode,
			    &path) != 5 ||
			!path || line[path] != '/' || permissions[2] != 'x' ||
			process->nr_mappings == SYMBOLS_LIBRARIES_MAX)
		return 0;
	name.path = line + path;
	mapping.module = module_of(symbols, &name);
	if (!mapping.module)
		return -ENOMEM;
	mappings = one_more(process->mappings, process->nr_mappings, sizeof(mapping));
	if (!mappings)
		return -ENOMEM;
	process->mappings = mappings;
	mappings[process->nr_mappings++] = mapping;
	return 0;
}

/* In a trace of another user the name can be a link or a pipe. */
static FILE *open_maps(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	FILE *file = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) ? fdopen(fd, "r")
									       : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static void address_space_forget_maps(struct symbolized_process *process)
{
	free_generated(&process->functions);
	free_generated(&process->lines);
	process->functions = process->lines = (struct generated_functions){.count = 0};
	process->nr_mappings = 0;
	free(process->mappings);
	process->mappings = NULL;
}

int symbols_maps(struct symbols *symbols, uint32_t number, const char *path)
{
	FILE *file = open_maps(path);
	struct symbolized_process *process;
	char *line = NULL;
	size_t capacity = 0;
	int ret = 0;

	if (!file)
		return 0;
	pthread_mutex_lock(&symbols->mutex);
	process = address_space_get_process(symbols, number);
	if (!process)
		ret = -ENOMEM;
	else
		address_space_forget_maps(process);
	while (!ret && getline(&line, &capacity, file) > 0)
		ret = address_space_parse_maps_line(symbols, process, line);
	pthread_mutex_unlock(&symbols->mutex);
	free(line);
	fclose(file);
	return ret;
}

const char *symbols_find_module(struct symbols *symbols, bool (*matches)(const char *path))
{
	const struct known_module *module;

	/* Any thread may add modules: the mutex protects the list. */
	pthread_mutex_lock(&symbols->mutex);
	module = symbols->modules;
	while (module && !matches(module->name.path))
		module = module->next;
	pthread_mutex_unlock(&symbols->mutex);
	return module ? module->name.path : NULL;
}

/* ---- cached answers ---- */

static struct address_answer *find_answer(struct address_answer *answers, size_t capacity,
		const struct address_answer *wanted)
{
	uint64_t hash = (wanted->address ^ (uintptr_t)wanted->module << 7 ^ wanted->asked ^
					(uint64_t)wanted->version << 40) *
			0x9e3779b97f4a7c15;
	size_t at = (size_t)(hash >> 32) & (capacity - 1);

	while (answers[at].module &&
			(answers[at].module != wanted->module ||
					answers[at].address != wanted->address ||
					answers[at].version != wanted->version ||
					answers[at].asked != wanted->asked))
		at = (at + 1) & (capacity - 1);
	return &answers[at];
}

static bool address_space_grow_processes(struct symbols *symbols)
{
	size_t capacity = symbols->capacity ? symbols->capacity * 2 : 256;
	struct address_answer *answers = calloc(capacity, sizeof(*answers));

	if (!answers)
		return false;
	for (size_t i = 0; i < symbols->capacity; i++)
		if (symbols->answers[i].module)
			*find_answer(answers, capacity, &symbols->answers[i]) = symbols->answers[i];
	free(symbols->answers);
	symbols->answers = answers;
	symbols->capacity = capacity;
	return true;
}

/* `offset` and `origin` are as in struct worker_question. */
struct address_query {
	enum symbol_asked asked;
	uint64_t offset, origin;
	const struct generated_function *function; /* a generated one; NULL: ask the worker */
	const struct generated_function *line;     /* NULL: not known */
};

static void address_space_report_lost(struct symbols *symbols, struct known_module *module)
{
	char *sentence;

	module->lost = true;
	if (!symbols->options.report ||
			asprintf(&sentence,
					"addresses in %.1024s have no symbols: the file, or its debug information, is damaged",
					module->name.path) < 0)
		return;
	symbols->options.report(symbols->options.user, sentence);
	free(sentence);
}

static void address_space_query_worker(struct symbols *symbols, struct known_module *module,
		struct symbol *symbol, const struct address_query *query)
{
	const struct worker_question question = {
			.module = module->number,
			.name = &module->name,
			.offset = symbol->offset,
			.call = query->asked == SYMBOL_CALL,
			.data = query->asked == SYMBOL_DATA,
			.origin = query->origin,
	};

	if (!module->asked && symbols->nr_open == MODULES_OPEN_MAX)
		return;
	symbols->nr_open += !module->asked;
	module->asked = true;
	if (!module->lost && !worker_ask(symbols->worker, &question, symbol))
		address_space_report_lost(symbols, module);
}

/* Number of the generated function that has the address; 0: none. */
static size_t address_space_version(
		const struct symbols *symbols, const struct address_query *query)
{
	return query->function ? query->function->order + 1 + ((size_t)symbols->nr_forgotten << 32)
			       : 0;
}

static const struct symbol *address_space_get_symbol(struct symbols *symbols,
		struct known_module *module, const struct address_query *query)
{
	struct address_answer wanted = {.module = module,
					      .address = query->offset,
					      .asked = query->asked,
					      .version = address_space_version(symbols, query)},
			      *slot;
	struct symbol *symbol;

	if (!symbols->capacity && !address_space_grow_processes(symbols))
		return &nothing;
	slot = find_answer(symbols->answers, symbols->capacity, &wanted);
	if (slot->module)
		return slot->symbol;
	if (symbols->nr_answers >= symbols->capacity / 2) {
		if (symbols->nr_answers >= SYMBOLS_MAX || !address_space_grow_processes(symbols))
			return &nothing;
		slot = find_answer(symbols->answers, symbols->capacity, &wanted);
	}
	symbol = calloc(1, sizeof(*symbol));
	if (!symbol)
		return &nothing;
	symbol->module = module->name.path;
	symbol->offset = query->offset;
	if (query->function) {
		symbol->function = strdup(query->function->name);
		symbol->inside = query->offset - query->function->begin;
		symbol->file = query->line ? strdup(query->line->name) : NULL;
		symbol->line = symbol->file ? query->line->line : 0;
	} else {
		address_space_query_worker(symbols, module, symbol, query);
	}
	wanted.symbol = symbol;
	*slot = wanted;
	symbols->nr_answers++;
	return symbol;
}

static const struct loaded_library *library_at(
		struct symbolized_process *process, int64_t ns, uint64_t address)
{
	const struct loaded_library *libraries = process->libraries, *later = NULL;

	for (size_t i = 0; libraries && i <= process->nr_libraries; i++) {
		/* Try the library of the last lookup first. */
		size_t at = i ? i - 1 : process->last;
		const struct loaded_library *library = &libraries[at];

		if (at >= process->nr_libraries || address < library->base ||
				address >= library->end || ns >= library->until)
			continue;
		if (ns >= library->from) {
			process->last = at;
			return library;
		}
		/* It was loaded before the list was requested. */
		if (!later || library->from < later->from)
			later = library;
	}
	return later;
}

static const struct address_mapping *mapping_at(
		const struct symbolized_process *process, uint64_t address)
{
	for (size_t i = process->nr_mappings; i-- > 0;)
		if (process->mappings[i].begin <= address && address < process->mappings[i].end)
			return &process->mappings[i];
	return NULL;
}

static int address_space_compare_functions(const void *one, const void *other)
{
	const struct generated_function *left = one, *right = other;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

/*
 * Whether `new` fits the time better than `old`. The latest function that existed at the time is
 * the best; otherwise the first function after the time, because times are not exact.
 */
static bool address_space_is_better(const struct generated_function *new,
		const struct generated_function *old, int64_t ns)
{
	bool is_before = new->from <= ns;

	if (!old || is_before != (old->from <= ns))
		return !old || is_before;
	if (new->from != old->from)
		return is_before == (new->from > old->from);
	return old->order < new->order;
}

static const struct generated_function *generated_at(
		struct generated_functions *generated, int64_t ns, uint64_t address)
{
	const struct generated_function *found = NULL;
	size_t low;

	if (!generated->is_sorted && generated->count)
		qsort(generated->items, generated->count, sizeof(*generated->items),
				address_space_compare_functions);
	generated->is_sorted = true;
	low = search_leading(i, generated->count, generated->items[i].begin <= address);
	for (size_t i = low; i-- > 0 && low - i <= SYMBOLS_VERSIONS_MAX;) {
		const struct generated_function *function = &generated->items[i];

		if (address < function->end && address_space_is_better(function, found, ns))
			found = function;
	}
	return found;
}

/* The symbol of a generated function. Its file is not read: its name is known. */
static const struct symbol *address_space_get_generated(struct symbols *symbols,
		struct symbolized_process *process, int64_t ns, uint64_t address,
		enum symbol_asked asked)
{
	uint64_t inside = address - (asked == SYMBOL_CALL);
	/* The inode distinguishes the processes. */
	const struct module_name name = {.path = SYMBOLS_JIT_MODULE,
			.inode = (uint64_t)(process - symbols->processes) + 1};
	struct address_query query = {.asked = asked, .offset = address};
	struct known_module *module;

	query.function = generated_at(&process->functions, ns, inside);
	if (!query.function)
		return &nothing;
	module = module_of(symbols, &name);
	if (!module)
		return &nothing;
	query.line = generated_at(&process->lines, query.function->from, inside);
	/* The line must belong to this function, not to an earlier or later one at the address. */
	if (query.line && query.line->from != query.function->from)
		query.line = NULL;
	return address_space_get_symbol(symbols, module, &query);
}

/* The last mapping of code before an address of data: the data of a file follows its code. */
static const struct address_mapping *mapping_before(
		const struct symbolized_process *process, uint64_t address)
{
	const struct address_mapping *before = NULL;

	for (size_t i = process->nr_mappings; i-- > 0;) {
		const struct address_mapping *mapping = &process->mappings[i];

		if (mapping->begin <= address && (!before || before->begin < mapping->begin))
			before = mapping;
	}
	return before;
}

static const struct symbol *address_space_find_symbol(struct symbols *symbols,
		struct symbolized_process *process, int64_t ns, uint64_t address,
		enum symbol_asked asked)
{
	uint64_t inside = address - (asked == SYMBOL_CALL);
	const struct loaded_library *library = library_at(process, ns, inside);
	struct address_query query = {.asked = asked};
	const struct address_mapping *mapping;

	if (library) {
		query.offset = address - library->base;
		return address_space_get_symbol(symbols, library->module, &query);
	}
	mapping = asked == SYMBOL_DATA ? mapping_before(process, address)
				       : mapping_at(process, inside);
	if (!mapping && asked != SYMBOL_DATA)
		return address_space_get_generated(symbols, process, ns, address, asked);
	if (!mapping)
		return &nothing;
	query.offset = address - mapping->begin + mapping->offset;
	query.origin = mapping->offset;
	return address_space_get_symbol(symbols, mapping->module, &query);
}

static const struct symbol *address_space_find(struct symbols *symbols, uint32_t process,
		int64_t ns, uint64_t address, enum symbol_asked asked)
{
	const struct symbol *symbol = &nothing;

	pthread_mutex_lock(&symbols->mutex);
	if (address && process < symbols->nr_processes)
		symbol = address_space_find_symbol(
				symbols, &symbols->processes[process], ns, address, asked);
	pthread_mutex_unlock(&symbols->mutex);
	return symbol;
}

const struct symbol *symbols_find(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address, bool call)
{
	return address_space_find(symbols, process, ns, address, call ? SYMBOL_CALL : SYMBOL_EXACT);
}

const struct symbol *symbols_find_data(
		struct symbols *symbols, uint32_t process, int64_t ns, uint64_t address)
{
	const struct symbol *symbol =
			address_space_find(symbols, process, ns, address, SYMBOL_DATA);

	/* Without a name, the nearest file is only a guess. */
	return symbol->function ? symbol : &nothing;
}
