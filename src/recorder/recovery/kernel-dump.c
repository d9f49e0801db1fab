/* SPDX-License-Identifier: MIT */
/*
 * Finds the recordings of all programs in the dump of a machine. A program's record for core dumps
 * (protocol/recovery.h) begins on a page and contains its own address. With that, page-tables.c
 * finds the program's page tables, and everything else is read as from a core dump. Page tables no
 * longer map the records of programs that have ended, so these are not found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/kernel-dump.h"
#include "recorder/recovery/memory-dump.h"
#include "recorder/recovery/page-tables.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define LIMIT_PROGRAMS 4096
/* Programs have addresses below this. */
#define ADDRESSES_END (UINT64_C(1) << 47)

struct kernel_dump {
	struct memory_dump *memory;
	struct known_page *records; /* LIMIT_PROGRAMS; by physical address */
	size_t nr;
};

static int kernel_dump_visit(void *user, uint64_t physical, const unsigned char *page)
{
	struct kernel_dump *dump = user;
	struct recovery_head head;

	if (memcmp(page, RECOVERY_MAGIC, sizeof(head.magic)) != 0)
		return 0;
	memcpy(&head, page, sizeof(head));
	if (!head.self || head.self % MEMORY_DUMP_PAGE || head.self >= ADDRESSES_END ||
			dump->nr == LIMIT_PROGRAMS)
		return 0;
	/* Ranges of the dump can overlap. */
	if (dump->nr && dump->records[dump->nr - 1].physical >= physical)
		return 0;
	dump->records[dump->nr++] = (struct known_page){.address = head.self, .physical = physical};
	return 0;
}

/* ---- one program ---- */

/* A program in the dump, as `user` of struct core. */
struct kernel_dump_program {
	struct memory_dump *memory;
	uint64_t table;
};

static int kernel_dump_read(struct core *core, uint64_t address, void *to, size_t size)
{
	const struct kernel_dump_program *program = core->user;

	return page_tables_read(program->memory, program->table, address, to, size);
}

static int kernel_dump_take_rings(struct core *core, struct instance *instance, uint32_t index,
		const struct recovery_channel *from, struct error *error)
{
	struct channel *own = &instance->own_channels[index];
	int fd, ret = ring_memory_import_touched(core_read, core, from->rings, &fd);

	if (ret)
		return error_set(error, ret, NULL,
				ret == -EPROTO ? "the rings of its channel %s are damaged"
					       : "the rings of its channel %s were swapped out, or the dump leaves out memory of programs",
				own->name);
	ret = recover_map(&instance->channels[index], own, fd);
	close(fd);
	return ret;
}

static void kernel_dump_add_program(
		struct core *dump_core, struct memory_dump *memory, const struct known_page *record)
{
	struct kernel_dump_program program = {.memory = memory, .table = record->table};
	struct core core = {
			.session = dump_core->session,
			.path = dump_core->path,
			.fd = -1,
			.read = kernel_dump_read,
			.take_rings = kernel_dump_take_rings,
			.take = core_take,
			.user = &program,
	};

	core_add_record(&core, record->address, (const unsigned char *)RECOVERY_MAGIC);
	dump_core->nr_records += core.nr_records;
}

/* ---- the dump ---- */

static int kernel_dump_find(struct kernel_dump *dump)
{
	int ret;

	dump->records = calloc(LIMIT_PROGRAMS, sizeof(*dump->records));
	if (!dump->records)
		return -ENOMEM;
	ret = memory_dump_walk(dump->memory, kernel_dump_visit, dump);
	return ret ? ret : page_tables_find(dump->memory, dump->records, dump->nr);
}

const char *kernel_dump_load(struct core *core, Elf *elf, uint64_t file_size)
{
	struct kernel_dump dump = {0};
	const char *wrong = memory_dump_open(core->fd, elf, file_size, &dump.memory);
	size_t i;
	int ret;

	if (wrong)
		return wrong;
	ret = kernel_dump_find(&dump);
	for (i = 0; i < dump.nr && !ret; i++)
		if (dump.records[i].is_found)
			kernel_dump_add_program(core, dump.memory, &dump.records[i]);
	memory_dump_close(dump.memory);
	free(dump.records);
	if (ret)
		return strerror(-ret);
	return core->nr_records
			? NULL
			: "no recording is in it: no program was recorded, or the dump leaves out memory of programs";
}
