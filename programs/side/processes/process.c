/* SPDX-License-Identifier: MIT */
/*
 * Lists the events of a running process.
 *
 * /proc/PID/maps contains the mappings of files. Section headers are not mapped, so they are read
 * from the files. Everything else (tables, descriptions, states) is read from the memory of the
 * process, where relocations are applied and the enabled words have their current values. Events
 * that are only in the registry of libside come last. The process is not stopped, so it may unload
 * a module meanwhile: events that disappear then are reported and skipped.
 */
#include "process.h"

#include "elf/addresses.h"
#include "elf/image.h"
#include "descriptions.h"
#include "registry.h"
#include "programs/common/message.h"

#include <side/debugger.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* A line of the maps file that maps a file. */
struct process_mapping {
	uint64_t start, end;
	uint64_t offset;
	unsigned int major, minor;
	uint64_t inode;
	char *path;
};

/* The registry of a libside. A process has several of them only after dlmopen(3). */
#define REGISTRIES_MAX 16

struct registry {
	uint64_t address;
	unsigned int pointer_size;
	uint8_t byte_order;
};

/* Limits of the reads from a hostile process that would cost too much time. */
#define READS_MAX (UINT64_C(1) << 24)
#define READ_BYTES_MAX (UINT64_C(1) << 31)

struct traced_process {
	pid_t pid;
	uint64_t reads, read_bytes; /* so far */
	struct process_mapping *mappings;
	size_t nr_mappings;
	size_t unreadable; /* files whose section headers could not be read */
	struct registry registries[REGISTRIES_MAX];
	size_t nr_registries;
	bool has_libside_without_registry; /* a libside without a registry symbol */
	struct addresses seen;             /* addresses of descriptions that were added */
};

static int process_read_memory(void *opaque, uint64_t address, void *to, size_t size)
{
	struct traced_process *process = opaque;

	process->read_bytes += size;
	if (++process->reads > READS_MAX || process->read_bytes > READ_BYTES_MAX)
		return -E2BIG;
	while (size) {
		struct iovec local = {to, size};
		struct iovec remote = {.iov_len = size};
		ssize_t got;

		memcpy(&remote.iov_base, &(uintptr_t){(uintptr_t)address}, sizeof(void *));
		got = process_vm_readv(process->pid, &local, 1, &remote, 1, 0);
		if (got < 0)
			return -errno;
		if (!got)
			return -EFAULT;
		to = (char *)to + got;
		address += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

/* ---- missing permissions ---- */

static int process_read_number(const char *path, long *ret_number)
{
	FILE *file = fopen(path, "re");
	int found = 0;

	if (!file)
		return -errno;
	found = fscanf(file, "%ld", ret_number);
	fclose(file);
	return found == 1 ? 0 : -EINVAL;
}

static int process_print_not_permitted(pid_t pid)
{
	char path[64], hint[256];
	struct stat status;
	long scope = 0;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &status) && status.st_uid != geteuid() && geteuid())
		snprintf(hint, sizeof(hint),
				"it belongs to user %u: run as that user, or as root (CAP_SYS_PTRACE)",
				(unsigned int)status.st_uid);
	else if (!process_read_number("/proc/sys/kernel/yama/ptrace_scope", &scope) && scope)
		snprintf(hint, sizeof(hint),
				"kernel.yama.ptrace_scope is %ld: run as root (CAP_SYS_PTRACE)%s",
				scope,
				scope < 3 ? ", or set it to 0 with `sysctl kernel.yama.ptrace_scope=0`"
					  : "");
	else
		snprintf(hint, sizeof(hint),
				"the process is protected (prctl PR_SET_DUMPABLE, set-user-ID, or capabilities that you do not have): run as root (CAP_SYS_PTRACE)");
	return message_error(COMMAND_NOT_PERMITTED, hint,
			"cannot read the memory of process %d: permission to trace it is missing",
			(int)pid);
}

static int process_report_failure(pid_t pid, int error)
{
	if (error == -EPERM || error == -EACCES)
		return process_print_not_permitted(pid);
	if (error == -ENOENT || error == -ESRCH)
		return message_error(COMMAND_FAILED, "`ps -e` lists those that are running",
				"cannot list the events of process %d: there is no such process",
				(int)pid);
	return message_error(COMMAND_FAILED, NULL, "cannot list the events of process %d: %s",
			(int)pid,
			error == -E2BIG ? "there are too many, or too many that are not readable"
					: strerror(-error));
}

/* ---- mappings ---- */

static int process_add_mapping(
		struct traced_process *process, const struct process_mapping *mapping)
{
	struct process_mapping *mappings = reallocarray(
			process->mappings, process->nr_mappings + 1, sizeof(*mappings));

	if (!mappings)
		return -ENOMEM;
	process->mappings = mappings;
	mappings[process->nr_mappings] = *mapping;
	mappings[process->nr_mappings].path = strdup(mapping->path);
	if (!mappings[process->nr_mappings].path)
		return -ENOMEM;
	process->nr_mappings++;
	return 0;
}

static int process_read_mappings(struct traced_process *process)
{
	char name[64], *line = NULL;
	size_t capacity = 0;
	FILE *file;
	int error = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)process->pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!error && getline(&line, &capacity, file) > 0) {
		struct process_mapping mapping = {0};
		int path = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n",
				    &mapping.start, &mapping.end, &mapping.offset, &mapping.major,
				    &mapping.minor, &mapping.inode, &path) < 6 ||
				!mapping.inode || line[path] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		mapping.path = line + path;
		error = process_add_mapping(process, &mapping);
	}
	if (!error && ferror(file))
		error = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	return error;
}

static bool process_same_file(
		const struct process_mapping *one, const struct process_mapping *other)
{
	return one->inode == other->inode && one->major == other->major &&
			one->minor == other->minor;
}

/* ---- files ---- */

/*
 * True if the file is the loaded one: its first bytes (ELF header, program headers, usually the
 * build ID) must equal those in memory. They differ if the program was replaced on disk while it
 * runs.
 */
static bool process_is_loaded(
		struct traced_process *process, const struct process_mapping *mapping, int fd)
{
	unsigned char file[1024], memory[1024];
	ssize_t size = pread(fd, file, sizeof(file), 0);

	if (size < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(file, ELFMAG, SELFMAG))
		return false;
	if ((uint64_t)size > mapping->end - mapping->start)
		size = (ssize_t)(mapping->end - mapping->start);
	return !process_read_memory(process, mapping->start, memory, (size_t)size) &&
			!memcmp(file, memory, (size_t)size);
}

static int process_open_file(struct traced_process *process, const struct process_mapping *mapping)
{
	char *paths[2] = {NULL, NULL};
	int fd = -1;

	/*
	 * The first path also works for deleted files, but needs CAP_CHECKPOINT_RESTORE or
	 * CAP_SYS_ADMIN.
	 */
	if (asprintf(&paths[0], "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process->pid,
			    mapping->start, mapping->end) < 0)
		paths[0] = NULL;
	if (asprintf(&paths[1], "/proc/%d/root%s", (int)process->pid, mapping->path) < 0)
		paths[1] = NULL;
	for (size_t i = 0; i < 2 && fd < 0; i++) {
		struct stat status;

		if (!paths[i])
			continue;
		fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
				!process_is_loaded(process, mapping, fd)) {
			close(fd);
			fd = -1;
		}
	}
	free(paths[0]);
	free(paths[1]);
	return fd;
}

/* True if all segments of the image are mapped at the addresses that this bias requires. */
static bool process_bias_fits(const struct traced_process *process,
		const struct process_mapping *mapping, const struct image *image, uint64_t bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t count;
	const struct image_segment *segments = image_segments(image, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t address = (segments[i].address + bias) & ~(page - 1);
		uint64_t offset = segments[i].offset & ~(page - 1);
		bool found = !segments[i].file_size;

		for (size_t k = 0; k < process->nr_mappings && !found; k++) {
			const struct process_mapping *other = &process->mappings[k];

			found = process_same_file(mapping, other) && address >= other->start &&
					address < other->end &&
					other->offset + (address - other->start) == offset;
		}
		if (!found)
			return false;
	}
	return count > 0;
}

static void process_find_registry(
		struct traced_process *process, struct image *image, uint64_t bias)
{
	struct image_symbol symbol;
	size_t nr_tables;
	bool all;

	/* The events of a statically linked libside are in a table of the executable. */
	image_tables(image, &nr_tables);
	all = nr_tables > 0;
	if (!image_find_symbol(image, SIDE_REGISTRY_SYMBOL, all, &symbol)) {
		if (image_find_symbol(image, "side_events_register", all, &symbol))
			process->has_libside_without_registry = true;
		return;
	}
	if (process->nr_registries < REGISTRIES_MAX)
		process->registries[process->nr_registries++] = (struct registry){
				.address = symbol.address + bias,
				.pointer_size = image_pointer_size(image),
				.byte_order = image_byte_order(image),
		};
}

static struct listing_memory process_make_memory(
		struct traced_process *process, unsigned int pointer_size, uint8_t byte_order)
{
	return (struct listing_memory){
			.memory = {.read = process_read_memory,
					.priv = process,
					.byte_order = byte_order},
			.pointer_size = pointer_size,
			.live = true,
			.seen = &process->seen,
	};
}

static int process_list_image(struct traced_process *process, struct listing *listing,
		const struct process_mapping *mapping, struct image *image)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bias;
	const struct listing_memory memory = process_make_memory(
			process, image_pointer_size(image), image_byte_order(image));
	size_t nr_segments, nr_tables;
	const struct image_segment *segments = image_segments(image, &nr_segments);
	int error;

	image_tables(image, &nr_tables);
	if (!nr_segments)
		return 0;
	bias = mapping->start - (segments[0].address & ~(page - 1));
	if (!process_bias_fits(process, mapping, image, bias))
		return 0;
	process_find_registry(process, image, bias);
	if (!nr_tables)
		return 0;
	error = listing_source(listing, mapping->path);
	return error ? error : listing_add_tables(listing, image, &memory, bias);
}

/* Lists events that are registered but in no event table, or in the table of an unreadable file. */
static int process_list_registries(struct traced_process *process, struct listing *listing)
{
	char source[64];
	int error;

	if (!process->nr_registries)
		return 0;
	snprintf(source, sizeof(source), "process %d", (int)process->pid);
	error = listing_source(listing, source);
	for (size_t i = 0; i < process->nr_registries && !error; i++) {
		const struct registry *registry = &process->registries[i];
		const struct listing_memory memory = process_make_memory(
				process, registry->pointer_size, registry->byte_order);

		error = registry_list(listing, &memory, registry->address);
	}
	return error;
}

/* ---- copies of libside ---- */

static int process_compare_names(const void *one, const void *other)
{
	const struct side_event_description *a = *(const struct side_event_description *const *)one;
	const struct side_event_description *b =
			*(const struct side_event_description *const *)other;
	int order = strcmp(side_ptr_get(a->provider_name), side_ptr_get(b->provider_name));

	return order ? order : strcmp(side_ptr_get(a->event_name), side_ptr_get(b->event_name));
}

static bool process_is_passed_on(const struct side_event_description *event)
{
	return visit_attribute_find(visit_attributes_of(&event->attributes), "side.instance");
}

/*
 * The agent registers the events of other copies of libside once more in the copy that it uses,
 * with this attribute. Drop these from the events from `first` on if the originals are listed.
 */
static int process_drop_passed_on(struct listing *listing, size_t first)
{
	const struct side_event_description **originals;
	size_t nr = 0, to = first;

	originals = reallocarray(NULL, listing->nr_events - first + 1, sizeof(*originals));
	if (!originals)
		return -ENOMEM;
	for (size_t i = first; i < listing->nr_events; i++)
		if (!process_is_passed_on(listing->events[i].description))
			originals[nr++] = listing->events[i].description;
	qsort(originals, nr, sizeof(*originals), process_compare_names);
	for (size_t i = first; i < listing->nr_events; i++) {
		struct listing_event *event = &listing->events[i];

		if (process_is_passed_on(event->description) &&
				bsearch(&event->description, originals, nr, sizeof(*originals),
						process_compare_names))
			visit_owned_free(event->owned);
		else
			listing->events[to++] = *event;
	}
	listing->nr_events = to;
	free(originals);
	return 0;
}

/* The mapping of the first page of a file may be the beginning of a loaded image. */
static int process_list_mapping(struct traced_process *process, struct listing *listing,
		const struct process_mapping *mapping)
{
	unsigned char magic[SELFMAG];
	struct error image_error;
	struct image *image;
	int error, fd;

	if (mapping->offset)
		return 0;
	error = process_read_memory(process, mapping->start, magic, sizeof(magic));
	if (error == -EPERM || error == -ESRCH)
		return error;
	if (error || memcmp(magic, ELFMAG, SELFMAG))
		return 0;
	fd = process_open_file(process, mapping);
	if (fd < 0) {
		process->unreadable++;
		message_detail("the section headers of %s cannot be read: the file was replaced, deleted or is not readable",
				mapping->path);
		return 0;
	}
	if (!image_open(fd, false, &image, &image_error)) {
		error = process_list_image(process, listing, mapping, image);
		image_close(image);
	}
	close(fd);
	return error;
}

int process_list(struct listing *listing, pid_t pid, bool may_have_ended)
{
	struct traced_process process = {.pid = pid};
	size_t first = listing->nr_events;
	int error = process_read_mappings(&process);

	for (size_t i = 0; i < process.nr_mappings && !error; i++)
		error = process_list_mapping(&process, listing, &process.mappings[i]);
	if (!error)
		error = process_list_registries(&process, listing);
	if (!error)
		error = process_drop_passed_on(listing, first);
	/* Kernel threads and exited processes have no memory of their own. */
	if (!error && !process.nr_mappings)
		error = kill(pid, 0) && errno == ESRCH ? -ESRCH : 0;
	for (size_t i = 0; i < process.nr_mappings; i++)
		free(process.mappings[i].path);
	free(process.mappings);
	addresses_free(&process.seen);
	if (may_have_ended && (error == -ENOENT || error == -ESRCH))
		return COMMAND_DONE;
	if (listing->is_silent)
		return error ? COMMAND_FAILED : COMMAND_DONE;
	if (error)
		return process_report_failure(pid, error);
	if (process.has_libside_without_registry && !process.nr_registries)
		message_note("the libside of process %d does not list its events: events that were registered at run time are missing",
				(int)pid);
	/* If there is a registry, it has listed the events of these files. */
	if (process.unreadable && !process.nr_registries)
		message_note_hint("restart the program to see its events",
				"cannot read %zu mapped %s of process %d, because the file was replaced or deleted",
				process.unreadable, process.unreadable == 1 ? "file" : "files",
				(int)pid);
	return COMMAND_DONE;
}
