/* SPDX-License-Identifier: MIT */
/* Opens core dumps of programs and dumps of machines. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/session.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/kernel-dump.h"
#include "recorder/recovery/memory-dump.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define LIMIT_SEGMENTS 1000000

static int core_file_compare_segments(const void *one, const void *other)
{
	const struct segment *a = one, *b = other;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int take_segments(struct core *core, Elf *elf, uint64_t file_size)
{
	size_t nr, i;

	if (elf_getphdrnum(elf, &nr) || nr > LIMIT_SEGMENTS)
		return -EINVAL;
	core->segments = calloc(nr + 1, sizeof(*core->segments));
	if (!core->segments)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct segment *segment = &core->segments[core->nr_segments];
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head))
			return -EINVAL;
		if (head.p_type != PT_LOAD || !head.p_filesz || head.p_offset >= file_size)
			continue;
		*segment = (struct segment){
				.address = head.p_vaddr,
				.offset = head.p_offset,
				.size = head.p_filesz,
				.writable = head.p_flags & PF_W,
		};
		/* Use what a truncated dump contains. */
		if (segment->size > file_size - segment->offset)
			segment->size = file_size - segment->offset;
		if (segment->address + segment->size < segment->address)
			continue;
		core->nr_segments++;
	}
	qsort(core->segments, core->nr_segments, sizeof(*core->segments),
			core_file_compare_segments);
	return 0;
}

/* Imports the rings of a dead program as a copy. */
static int core_file_import_rings(struct core *core, struct instance *instance, uint32_t index,
		const struct recovery_channel *from, struct error *error)
{
	struct channel *own = &instance->own_channels[index];
	int fd, ret = ring_memory_import(core_read, core, from->rings, &fd);

	if (ret && from->copy)
		ret = ring_memory_import_dumped(core_read, core,
				from->rings + (uint64_t)((int64_t)from->copy * RECOVERY_COPY_UNIT),
				&fd);
	if (ret)
		return error_set(error, ret, NULL,
				ret == -EPROTO ? "the rings of its channel %s are damaged"
					       : "the rings of its channel %s are not in the dump: it includes shared memory only with bit 1 in /proc/PID/coredump_filter, and files of rings only with bit 0",
				own->name);
	ret = recover_map(&instance->channels[index], own, fd);
	close(fd);
	return ret;
}

/* Returns NULL, or the reason why the file cannot be read as a core dump. */
static const char *core_file_open_elf(struct core *core, Elf **ret_elf, uint64_t file_size)
{
	static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char ident[EI_NIDENT] = {0};
	GElf_Ehdr head;

	if (pread(core->fd, ident, sizeof(ident), 0) == sizeof(ident) &&
			!memcmp(ident, zstd, sizeof(zstd)))
		return "it is compressed with zstd";
	if (memory_dump_is_compressed(core->fd))
		return NULL;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return "it is neither a core dump nor a directory of --buffers";
	elf_version(EV_CURRENT);
	*ret_elf = elf_begin(core->fd, ELF_C_READ, NULL);
	if (!*ret_elf || !gelf_getehdr(*ret_elf, &head))
		return "its ELF header is damaged";
	if (head.e_type != ET_CORE)
		return "it is a program or library, not a core dump";
	if (ident[EI_DATA] !=
			(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return "it is of a machine with another byte order";
	if (!memory_dump_is_elf(*ret_elf) && take_segments(core, *ret_elf, file_size))
		return "its list of segments is damaged";
	return NULL;
}

/* Returns NULL, or the reason why there is no recording in the file. */
static const char *core_file_scan(struct core *core, Elf *elf, uint64_t file_size)
{
	int ret;

	/* Neither segments nor an ELF file: the dump of a machine. */
	if (!core->segments)
		return kernel_dump_load(core, elf, file_size);
	ret = core_scan(core);
	if (ret)
		return strerror(-ret);
	return core->nr_records
			? NULL
			: "no recording is in it: the program was not recorded, or its anonymous memory was not dumped";
}

int core_load(struct session *session, const char *path, struct error *error)
{
	struct core core = {.session = session,
			.path = path,
			.take_rings = core_file_import_rings,
			.take = core_take};
	struct stat status;
	const char *wrong;
	Elf *elf = NULL;
	int ret = 0;

	core.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (core.fd < 0 || fstat(core.fd, &status)) {
		ret = -errno;
		error_set(error, ret, NULL, "%s", strerror(-ret));
		if (core.fd >= 0)
			close(core.fd);
		return ret;
	}
	wrong = S_ISREG(status.st_mode) ? core_file_open_elf(&core, &elf, (uint64_t)status.st_size)
					: "it is not a file";
	if (!wrong)
		wrong = core_file_scan(&core, elf, (uint64_t)status.st_size);
	if (wrong)
		error_set(error, -EINVAL, NULL, "%s", wrong);
	elf_end(elf);
	free(core.segments);
	close(core.fd);
	return wrong ? -EINVAL : 0;
}
