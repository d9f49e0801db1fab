/* SPDX-License-Identifier: MIT */
/*
 * Loads BPF programs into the kernel, and reads their ring of records. Sides with equal programs
 * share one; the cookie of a location selects the side that was hit. With uprobe_multi, one link
 * watches all locations of a file that share a program, and is removed in one step; otherwise each
 * location has a perf event and a link. Only the descriptors of this process hold these objects.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants that older headers do not define. */
#define MAP_RING 27
#define ATTACH_PERF 41
#define ATTACH_MULTI 48
#define MULTI_RETURN 1u
#define SLEEPABLE (1u << 4)
#define LICENSE "Dual MIT/GPL"

#define RECORD_BUSY (1u << 31)
#define RECORD_DISCARDED (1u << 30)
#define RECORD_HEAD 8

/* The argument of BPF_LINK_CREATE, with members that older headers do not have. */
struct link_request {
	uint32_t program, target, attach, flags;
	union {
		uint64_t cookie;
		struct {
			uint64_t path, offsets, references, cookies;
			uint32_t count, flags, pid;
		} multi;
	};
	uint64_t capacity[4];
};

struct uprobe_bpf_program {
	int fd;
	uint32_t nr;
	struct bpf_insn *code; /* for comparison */
};

/* Sides that one link watches. */
struct bpf_group {
	const struct uprobe_bpf_program *program;
	const char *path;
	bool exit;
	uint32_t *sides, nr, capacity;
};

struct bpf {
	bool multi, sleepable;
	int ring, lost;
	struct uprobe_bpf_program *programs;
	uint32_t nr_programs;
	uint32_t *program_of; /* by side */
	struct bpf_group *groups;
	uint32_t nr_groups;
	int *links;
	uint32_t nr_links;
	/*
	 * The ring: the page that this process writes, the page that the kernel writes, and the
	 * data, mapped twice in a row.
	 */
	uint64_t *consumed;
	const uint64_t *produced;
	const unsigned char *data;
	size_t page, size;
};

static int bpf_call(int command, void *request, size_t size)
{
	long ret = syscall(SYS_bpf, command, request, size);

	return ret < 0 ? -errno : (int)ret;
}

static int bpf_make_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries)
{
	union bpf_attr request;

	memset(&request, 0, sizeof(request));
	request.map_type = type;
	request.key_size = key;
	request.value_size = value;
	request.max_entries = entries;
	return bpf_call(BPF_MAP_CREATE, &request, sizeof(request));
}

static uint64_t uprobe_bpf_symbol_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* ---- programs ---- */

static int uprobe_bpf_load_program(const struct bpf_assembly *assembly, bool multi, bool sleepable,
		char *log, size_t capacity)
{
	union bpf_attr request;
	int fd;

	memset(&request, 0, sizeof(request));
	request.prog_type = BPF_PROG_TYPE_KPROBE;
	request.insns = uprobe_bpf_symbol_address(assembly->code);
	request.insn_cnt = assembly->nr;
	request.license = uprobe_bpf_symbol_address(LICENSE);
	request.prog_flags = sleepable ? SLEEPABLE : 0;
	request.expected_attach_type = multi ? ATTACH_MULTI : 0;
	memcpy(request.prog_name, "side", 5);
	fd = bpf_call(BPF_PROG_LOAD, &request, sizeof(request));
	if (fd >= 0 || fd == -EPERM || !log)
		return fd;
	/* Try again to get the kernel's reason. */
	request.log_level = 1;
	request.log_size = (uint32_t)capacity;
	request.log_buf = uprobe_bpf_symbol_address(log);
	log[0] = 0;
	return bpf_call(BPF_PROG_LOAD, &request, sizeof(request));
}

static const char *bpf_last_line(char *log)
{
	char *end = log + strlen(log), *line;

	while (end > log && end[-1] == '\n')
		*--end = 0;
	line = strrchr(log, '\n');
	if (line && !strncmp(line + 1, "processed ", 10)) {
		*line = 0;
		line = strrchr(log, '\n');
	}
	return line ? line + 1 : log;
}

static int uprobe_bpf_set_error(struct error *error, int code, const char *what)
{
	if (code == -EPERM || code == -EACCES)
		return error_set(error, -EPERM,
				"run as root, or with the capabilities CAP_BPF and CAP_PERFMON",
				"the kernel does not permit %s", what);
	return error_set(error, code, "", "the kernel refuses %s: %s", what, strerror(-code));
}

static int bpf_add_program(
		struct bpf *bpf, const struct bpf_assembly *assembly, struct error *error)
{
	struct uprobe_bpf_program *program = &bpf->programs[bpf->nr_programs];
	size_t size = assembly->nr * sizeof(*assembly->code), capacity = 1u << 16;
	char *log = malloc(capacity);

	program->code = malloc(size);
	if (!program->code || !log) {
		free(program->code);
		free(log);
		return error_set_no_memory(error);
	}
	memcpy(program->code, assembly->code, size);
	program->nr = assembly->nr;
	program->fd = uprobe_bpf_load_program(assembly, bpf->multi, bpf->sleepable, log, capacity);
	if (program->fd >= 0) {
		bpf->nr_programs++;
	} else {
		free(program->code);
		(void)uprobe_bpf_set_error(error, program->fd, "BPF programs");
		if (program->fd != -EPERM && log[0])
			(void)error_set(error, program->fd, "",
					"the kernel refuses the BPF program: %.200s",
					bpf_last_line(log));
	}
	free(log);
	return program->fd < 0 ? program->fd : 0;
}

static int uprobe_bpf_get_program(struct bpf *bpf, const struct global *global, uint32_t side,
		struct bpf_assembly *assembly, struct error *error)
{
	int ret = program_make(assembly, &global->sides[side], &global->filter, bpf->ring,
			bpf->lost, bpf->sleepable, error);

	if (ret == -E2BIG)
		return error_set(error, ret, "request fewer values",
				"the recorded fields are too many for a program in the kernel");
	for (uint32_t i = 0; !ret && i < bpf->nr_programs; i++) {
		const struct uprobe_bpf_program *program = &bpf->programs[i];

		if (program->nr != assembly->nr ||
				memcmp(program->code, assembly->code,
						program->nr * sizeof(*program->code)) != 0)
			continue;
		bpf->program_of[side] = i;
		return 0;
	}
	bpf->program_of[side] = bpf->nr_programs;
	return ret ? ret : bpf_add_program(bpf, assembly, error);
}

/* Programs that may sleep can read more memory. Kernels before 6.1 have none for uprobes. */
static void bpf_detect_sleepable(struct bpf *bpf)
{
	struct bpf_assembly assembly = {.nr = 0};
	int fd;

	bpf_emit_constant(&assembly, 0, 0);
	bpf_emit(&assembly, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	fd = uprobe_bpf_load_program(&assembly, bpf->multi, true, NULL, 0);
	bpf->sleepable = fd >= 0;
	if (fd >= 0)
		close(fd);
}

static int bpf_make_programs(struct bpf *bpf, const struct global *global, struct error *error)
{
	struct bpf_assembly *assembly = malloc(sizeof(*assembly));
	int ret = 0;

	bpf->programs = calloc(global->nr_sides + 1, sizeof(*bpf->programs));
	bpf->program_of = calloc(global->nr_sides + 1, sizeof(*bpf->program_of));
	if (!assembly || !bpf->programs || !bpf->program_of) {
		free(assembly);
		return error_set_no_memory(error);
	}
	for (uint32_t i = 0; i < global->nr_sides && !ret; i++)
		ret = uprobe_bpf_get_program(bpf, global, i, assembly, error);
	free(assembly);
	return ret;
}

/* ---- groups ---- */

static struct bpf_group *bpf_find_group(struct bpf *bpf, const struct global_side *side)
{
	const struct uprobe_bpf_program *program = &bpf->programs[bpf->program_of[side->number]];
	struct bpf_group *group = bpf->groups;

	for (; group < bpf->groups + bpf->nr_groups; group++)
		if (bpf->multi && group->program == program && group->exit == side->exit &&
				!strcmp(group->path, side->path))
			return group;
	*group = (struct bpf_group){.program = program, .path = side->path, .exit = side->exit};
	bpf->nr_groups++;
	return group;
}

static int bpf_make_groups(struct bpf *bpf, const struct global *global, struct error *error)
{
	bpf->groups = calloc(global->nr_sides + 1, sizeof(*bpf->groups));
	bpf->links = calloc((size_t)global->nr_sides + 1, sizeof(*bpf->links));
	if (!bpf->groups || !bpf->links)
		return error_set_no_memory(error);
	for (uint32_t i = 0; i < global->nr_sides; i++) {
		struct bpf_group *group = bpf_find_group(bpf, &global->sides[i]);

		if (group->nr == group->capacity) {
			uint32_t capacity = group->capacity ? 2 * group->capacity : 4;
			uint32_t *sides = realloc(group->sides, capacity * sizeof(*sides));

			if (!sides)
				return error_set_no_memory(error);
			group->sides = sides;
			group->capacity = capacity;
		}
		group->sides[group->nr++] = i;
	}
	return 0;
}

/* ---- links ---- */

static int bpf_link_multi(const struct global *global, const struct bpf_group *group)
{
	uint64_t *numbers = calloc(3 * (size_t)group->nr, sizeof(*numbers));
	uint64_t *offsets = numbers, *references, *cookies;
	struct link_request request;
	bool counted = false;
	int fd;

	if (!numbers)
		return -ENOMEM;
	references = offsets + group->nr;
	cookies = references + group->nr;
	for (uint32_t i = 0; i < group->nr; i++) {
		const struct global_side *side = &global->sides[group->sides[i]];

		offsets[i] = side->offset;
		references[i] = side->reference;
		cookies[i] = side->number;
		counted |= side->reference != 0;
	}
	memset(&request, 0, sizeof(request));
	request.program = (uint32_t)group->program->fd;
	request.attach = ATTACH_MULTI;
	request.multi.path = uprobe_bpf_symbol_address(group->path);
	request.multi.offsets = uprobe_bpf_symbol_address(offsets);
	request.multi.references = counted ? uprobe_bpf_symbol_address(references) : 0;
	request.multi.cookies = uprobe_bpf_symbol_address(cookies);
	request.multi.count = group->nr;
	request.multi.flags = group->exit ? MULTI_RETURN : 0;
	request.multi.pid = (uint32_t)global->process;
	fd = bpf_call(BPF_LINK_CREATE, &request, offsetof(struct link_request, capacity));
	free(numbers);
	return fd;
}

/* Reads a number from a file of sysfs, such as the type of perf events for uprobes. */
static int uprobe_bpf_read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return got > 0 ? atoi(text) : -1;
}

static int uprobe_bpf_open_event(const struct global *global, const struct global_side *side)
{
	pid_t process = global->process ? global->process : -1;
	struct perf_event_attr attributes = {.size = sizeof(attributes)};
	int type = uprobe_bpf_read_number("/sys/bus/event_source/devices/uprobe/type"), fd;

	if (type < 0)
		return -ENOENT;
	attributes.type = (uint32_t)type;
	attributes.config = (side->exit ? 1u : 0u) | side->reference << 32;
	attributes.uprobe_path = uprobe_bpf_symbol_address(side->path);
	attributes.probe_offset = side->offset;
	/* The program runs on all CPUs, whatever the CPU of the event. */
	fd = (int)syscall(SYS_perf_event_open, &attributes, process, process > 0 ? -1 : 0, -1,
			PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int bpf_link_event(
		struct bpf *bpf, const struct global *global, const struct global_side *side)
{
	struct link_request request;
	int event = uprobe_bpf_open_event(global, side), fd;

	if (event < 0)
		return event;
	memset(&request, 0, sizeof(request));
	request.program = (uint32_t)bpf->programs[bpf->program_of[side->number]].fd;
	request.target = (uint32_t)event;
	request.attach = ATTACH_PERF;
	request.cookie = side->number;
	fd = bpf_call(BPF_LINK_CREATE, &request, 24);
	/* The link holds the event, so one descriptor for each location suffices. */
	close(event);
	return fd;
}

static void bpf_unlink_all(struct bpf *bpf)
{
	while (bpf->nr_links)
		close(bpf->links[--bpf->nr_links]);
}

static int bpf_refuse_link(const struct global_side *side, int code, struct error *error)
{
	char what[512];

	(void)snprintf(what, sizeof(what), "the probe in %.256s at 0x%llx", side->path,
			(unsigned long long)side->address);
	if (code == -ENOTSUP || code == -524 /* ENOTSUPP of the kernel */)
		return error_set(error, -ENOTSUP, "choose another location",
				"the kernel cannot watch the instruction in %.256s at 0x%llx",
				side->path, (unsigned long long)side->address);
	return uprobe_bpf_set_error(error, code, what);
}

int bpf_watch(struct global *global, bool on, struct error *error)
{
	struct bpf *bpf = global->bpf;
	int ret = 0;

	bpf_unlink_all(bpf);
	if (!on)
		return 0;
	ret = global_descriptors((uint64_t)bpf->nr_groups + 1, bpf->ring, error);
	for (uint32_t i = 0; i < bpf->nr_groups && ret >= 0; i++) {
		const struct bpf_group *group = &bpf->groups[i];
		const struct global_side *side = &global->sides[group->sides[0]];

		ret = bpf->multi ? bpf_link_multi(global, group)
				 : bpf_link_event(bpf, global, side);
		if (ret >= 0)
			bpf->links[bpf->nr_links++] = ret;
		else
			(void)bpf_refuse_link(side, ret, error);
	}
	if (ret >= 0)
		return 0;
	bpf_unlink_all(bpf);
	return ret;
}

/* ---- life ---- */

static int bpf_map_ring(struct bpf *bpf, uint32_t size, struct error *error)
{
	void *own, *others;

	bpf->page = (size_t)sysconf(_SC_PAGESIZE);
	bpf->size = size;
	bpf->ring = bpf_make_map(MAP_RING, 0, 0, size);
	if (bpf->ring < 0)
		return uprobe_bpf_set_error(error, bpf->ring, "a buffer for BPF programs");
	bpf->lost = bpf_make_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1);
	if (bpf->lost < 0)
		return uprobe_bpf_set_error(error, bpf->lost, "a counter for BPF programs");
	own = mmap(NULL, bpf->page, PROT_READ | PROT_WRITE, MAP_SHARED, bpf->ring, 0);
	others = mmap(NULL, bpf->page + 2 * bpf->size, PROT_READ, MAP_SHARED, bpf->ring,
			(off_t)bpf->page);
	if (own != MAP_FAILED)
		bpf->consumed = own;
	if (others != MAP_FAILED)
		bpf->produced = others;
	if (!bpf->consumed || !bpf->produced)
		return error_set(error, -ENOMEM, "", "the buffer of BPF programs cannot be mapped");
	bpf->data = (const unsigned char *)others + bpf->page;
	return 0;
}

/* Checks whether the kernel has links of this type, with an empty path. */
static int bpf_try_multi(const struct bpf *bpf, struct error *error)
{
	uint64_t offset = 0;
	struct link_request request;
	int ret;

	memset(&request, 0, sizeof(request));
	request.program = (uint32_t)bpf->programs[0].fd;
	request.attach = ATTACH_MULTI;
	request.multi.path = uprobe_bpf_symbol_address("");
	request.multi.offsets = uprobe_bpf_symbol_address(&offset);
	request.multi.count = 1;
	ret = bpf_call(BPF_LINK_CREATE, &request, offsetof(struct link_request, capacity));
	if (ret >= 0)
		close(ret);
	if (ret == -EINVAL || ret == -E2BIG || ret == -ENOTSUP)
		return error_set(error, -ENOTSUP, "",
				"the kernel has no uprobe_multi (Linux 6.6 or later has it)");
	return ret == -EPERM ? uprobe_bpf_set_error(error, ret, "links of BPF programs") : 0;
}

static int bpf_try_events(struct error *error)
{
	if (uprobe_bpf_read_number("/sys/bus/event_source/devices/uprobe/type") >= 0)
		return 0;
	return error_set(error, -ENOENT, "",
			"there is no /sys/bus/event_source/devices/uprobe: the kernel lacks CONFIG_UPROBE_EVENTS, or sysfs is not mounted");
}

int bpf_try(bool multi, struct error *error)
{
	struct bpf bpf = {.multi = multi, .ring = -1, .lost = -1};
	struct uprobe_bpf_program program = {.fd = -1};
	struct bpf_assembly assembly = {.nr = 0};
	int ret;

	bpf_emit_constant(&assembly, 0, 0);
	bpf_emit(&assembly, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	program.fd = uprobe_bpf_load_program(&assembly, multi, false, NULL, 0);
	if (program.fd < 0)
		return uprobe_bpf_set_error(error, program.fd, "BPF programs");
	bpf.programs = &program;
	ret = multi ? bpf_try_multi(&bpf, error) : bpf_try_events(error);
	close(program.fd);
	return ret;
}

int bpf_open(struct global *global, bool multi, struct error *error)
{
	struct bpf *bpf = calloc(1, sizeof(*bpf));
	int ret;

	if (!bpf)
		return error_set_no_memory(error);
	bpf->multi = multi;
	bpf->ring = bpf->lost = -1;
	ret = bpf_map_ring(bpf, global->ring_size, error);
	if (!ret) {
		bpf_detect_sleepable(bpf);
		ret = bpf_make_programs(bpf, global, error);
	}
	if (!ret)
		ret = multi ? bpf_try_multi(bpf, error) : bpf_try_events(error);
	if (!ret)
		ret = bpf_make_groups(bpf, global, error);
	if (ret)
		bpf_close(bpf);
	else
		global->bpf = bpf;
	return ret;
}

void bpf_close(struct bpf *bpf)
{
	if (!bpf)
		return;
	bpf_unlink_all(bpf);
	for (uint32_t i = 0; i < bpf->nr_programs; i++) {
		close(bpf->programs[i].fd);
		free(bpf->programs[i].code);
	}
	for (uint32_t i = 0; i < bpf->nr_groups; i++)
		free(bpf->groups[i].sides);
	if (bpf->consumed)
		munmap(bpf->consumed, bpf->page);
	if (bpf->produced)
		munmap((void *)(uintptr_t)bpf->produced, bpf->page + 2 * bpf->size);
	if (bpf->ring >= 0)
		close(bpf->ring);
	if (bpf->lost >= 0)
		close(bpf->lost);
	free(bpf->groups);
	free(bpf->links);
	free(bpf->program_of);
	free(bpf->programs);
	free(bpf);
}

/* ---- records ---- */

int bpf_fd(const struct bpf *bpf)
{
	return bpf->ring;
}

void bpf_read(struct bpf *bpf, struct global *global)
{
	uint64_t at = *bpf->consumed;
	/*
	 * Acquire: the heads of records before the position. Pairs with the kernel's release of it.
	 */
	uint64_t end = __atomic_load_n(bpf->produced, __ATOMIC_ACQUIRE);

	while (at < end) {
		const unsigned char *head = bpf->data + (at & (bpf->size - 1));
		/*
		 * Acquire: the record before its head. Pairs with the kernel's exchange when it is
		 * submitted.
		 */
		uint32_t length = __atomic_load_n(
				(const uint32_t *)(const void *)head, __ATOMIC_ACQUIRE);
		uint32_t size = length & ~(RECORD_BUSY | RECORD_DISCARDED);
		const struct hit_record *record = (const void *)(head + RECORD_HEAD);

		if (length & RECORD_BUSY)
			break;
		if (!(length & RECORD_DISCARDED) && size >= sizeof(*record) &&
				record->side < global->nr_sides)
			hits_add(&global->hits, record, size);
		at += (RECORD_HEAD + size + 7u) & ~7u;
		/*
		 * Release: the record has been copied. Pairs with the kernel's acquire before it
		 * reuses the space.
		 */
		__atomic_store_n(bpf->consumed, at, __ATOMIC_RELEASE);
	}
}

uint64_t bpf_lost(const struct bpf *bpf)
{
	union bpf_attr request;
	uint64_t lost = 0;
	uint32_t key = 0;

	memset(&request, 0, sizeof(request));
	request.map_fd = (uint32_t)bpf->lost;
	request.key = uprobe_bpf_symbol_address(&key);
	request.value = uprobe_bpf_symbol_address(&lost);
	(void)bpf_call(BPF_MAP_LOOKUP_ELEM, &request, sizeof(request));
	return lost;
}
