/* SPDX-License-Identifier: MIT */
/*
 * Runs `side recover` on damaged input. The test creates a core dump with rings and with the record
 * of an agent, the memory of a machine with such a process, and a folder of --buffers. Unchanged,
 * each yields all recorded events. Then it
 * changes bytes of them, in the same way in each run; the worst permitted result is an error
 * message. With -DFUZZ_TARGET the core dump is libFuzzer's.
 */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <side/trace.h>

#include "../check.h"
#include "ring/ring.h"
#include "recorder/recover.h"
#include "abi/visit.h"
#include "protocol/recovery.h"
#include "protocol/protocol.h"
#include "memory-image.h"

side_static_event(ev_good, "fuzz", "good", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));

#define PAGE 4096u
#define RECORD_AT UINT64_C(0x10000) /* the address of the agent's mapping */
#define RECORD_BYTES (4 * PAGE)
#define CHANNELS_OFFSET PAGE
#define NAMES_OFFSET (PAGE + 1024)
#define CHUNK_OFFSET (2 * PAGE)
#define EVENTS 1000u
#define BYTES_MAX (16u << 20)

static char work[] = "/tmp/side-recover-XXXXXX";
static char output[sizeof(work) + 8];

static void remove_output(void)
{
	char command[sizeof(output) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", output);
	CHECK(!system(command));
}

/* The first error of a recovery, or "". */
static char refusal[1024];

static void note_refusal(const struct session_summary *summary)
{
	refusal[0] = '\0';
	for (size_t i = 0; i < summary->nr_messages && !refusal[0]; i++)
		if (summary->messages[i].is_error)
			snprintf(refusal, sizeof(refusal), "%s", summary->messages[i].text);
}

/* Recovers and returns the summary: processes, bytes, messages. */
static struct session_summary recover(const char *path)
{
	const char *paths[] = {path};
	const struct session_recover_options options = {
			.paths = paths, .nr_paths = 1, .output = output};
	struct session_summary summary;
	struct error error;
	struct session *session;

	remove_output();
	CHECK(!session_recover(&options, &session, &error));
	summary = *session_summary(session);
	note_refusal(&summary);
	session_destroy(session);
	return summary;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static int fd = -1;
	char path[64];

	if (fd < 0) {
		CHECK(mkdtemp(work));
		snprintf(output, sizeof(output), "%s/out", work);
		fd = memfd_create("core", MFD_CLOEXEC);
	}
	CHECK(!ftruncate(fd, 0));
	CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	recover(path);
	return 0;
}

#else

/* ---- rings, and the description of what is in them ---- */

static char folder[sizeof(work) + 16];
static struct ring_producer *producer;
static int ring_fd;
static size_t ring_file_bytes;
static unsigned char stream[8192];
static size_t stream_bytes;

static void make_rings(void)
{
	const struct ring_geometry geometry = {
			.rings = 2,
			.event_slots = 64,
			.size = 64 << 10,
			.mode = RING_MODE_OVERWRITE,
			.clock = RING_CLOCK_MONOTONIC,
			.placement = RING_PER_THREAD,
	};
	uint32_t i;

	CHECK(!ring_memory_create(&geometry, &ring_fd));
	CHECK(!ring_producer_map(ring_fd, &producer));
	for (i = 0; i < EVENTS; i++)
		CHECK(!ring_publish(producer, 0, &i, sizeof(i)));
	ring_file_bytes = (size_t)lseek(ring_fd, 0, SEEK_END);
}

static void make_stream(void)
{
	struct wire_event_head head = {.id = 0};
	struct visit_buffer buffer;

	visit_buffer_fixed(&buffer, stream, sizeof(stream));
	CHECK(!visit_buffer_append(&buffer, &head, sizeof(head)));
	CHECK(!visit_description_encode(&ev_good, &buffer, NULL));
	head.size = (uint32_t)(buffer.size - sizeof(head));
	memcpy(stream, &head, sizeof(head));
	stream_bytes = buffer.size;
	visit_buffer_free(&buffer);
}

/* ---- the core dump ---- */

static unsigned char *core;
static size_t core_bytes;

/* Bytes of the test that are mapped there, with all mappings in a row. */
static size_t mapped_bytes(const void *base)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, end, at = (unsigned long)base;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin == at &&
				strstr(line, "memfd"))
			at = end;
	fclose(maps);
	return at - (unsigned long)base;
}

static void make_record(unsigned char *record)
{
	struct recovery_head head = {
			.version = RECOVERY_VERSION,
			.head_size = sizeof(head),
			.self = RECORD_AT,
			.valid = 1,
			.pid = 4711,
			.clock = RING_CLOCK_MONOTONIC,
			.frequency = 1000000000,
			.nr_channels = 1,
			.channel_size = sizeof(struct recovery_channel),
			.channels = RECORD_AT + CHANNELS_OFFSET,
			.first_chunk = RECORD_AT + CHUNK_OFFSET,
			.parent = 1,
			.word_size = sizeof(void *),
			.size = RECORD_BYTES,
			.procname = "fuzzed",
			.exe = "/fuzzed",
	};
	struct recovery_channel channel = {
			.nr_contexts = 0,
			.rings = (uint64_t)(uintptr_t)ring_producer_base(producer),
			.ring_memory = ring_file_bytes,
			.contexts = RECORD_AT + NAMES_OFFSET,
			.name = "ring",
	};
	struct recovery_chunk chunk = {
			.magic = RECOVERY_CHUNK_MAGIC,
			.size = stream_bytes,
			.used = stream_bytes,
	};

	memcpy(head.magic, RECOVERY_MAGIC, sizeof(head.magic));
	memcpy(record, &head, sizeof(head));
	memcpy(record + CHANNELS_OFFSET, &channel, sizeof(channel));
	memcpy(record + CHUNK_OFFSET, &chunk, sizeof(chunk));
	memcpy(record + CHUNK_OFFSET + sizeof(chunk), stream, stream_bytes);
}

static void make_core(void)
{
	const void *rings = ring_producer_base(producer);
	size_t size = mapped_bytes(rings);
	Elf64_Ehdr head = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
					__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										  : ELFDATA2MSB,
					EV_CURRENT},
			.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(head),
			.e_ehsize = sizeof(head),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
	};
	Elf64_Phdr parts[2] = {
			{.p_type = PT_LOAD,
					.p_flags = PF_R | PF_W,
					.p_offset = PAGE,
					.p_vaddr = RECORD_AT,
					.p_filesz = RECORD_BYTES,
					.p_memsz = RECORD_BYTES},
			{.p_type = PT_LOAD,
					.p_flags = PF_R | PF_W,
					.p_offset = PAGE + RECORD_BYTES,
					.p_vaddr = (uint64_t)(uintptr_t)rings,
					.p_filesz = size,
					.p_memsz = size},
	};

	CHECK(size && size < BYTES_MAX);
	core_bytes = PAGE + RECORD_BYTES + size;
	core = calloc(1, core_bytes);
	CHECK(core);
	memcpy(core, &head, sizeof(head));
	memcpy(core + sizeof(head), parts, sizeof(parts));
	make_record(core + PAGE);
	memcpy(core + PAGE + RECORD_BYTES, rings, size);
}

/* ---- files ---- */

static void write_file(const char *name, const void *bytes, size_t size)
{
	char path[sizeof(folder) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static const char instance[] =
		"side-buffers 1\nprocname fuzzed\nexe /a%20b\nhostname here\ntrace /somewhere\n"
		"process 4711 1 3\nclock 1 1000000000 1700000000 5\nbegin 1\nchannel ring\nend\n";

/* ---- mutation ---- */

static unsigned int random_number(unsigned int limit)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % limit);
}

static void mutate(unsigned char *bytes, size_t begin, size_t size)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '%'};
	unsigned int changes = 1 + random_number(3);

	while (changes--) {
		size_t at = begin + random_number((unsigned int)size);

		bytes[at] = random_number(2) ? values[random_number(sizeof(values))]
					     : (unsigned char)random_number(256);
	}
}

/* ---- each mistake, with its own error ---- */

#define HEAD(member) (PAGE + offsetof(struct recovery_head, member))
#define CHANNEL(member) (PAGE + CHANNELS_OFFSET + offsetof(struct recovery_channel, member))
#define CHUNK(member) (PAGE + CHUNK_OFFSET + offsetof(struct recovery_chunk, member))
#define PART(member) (sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, member))
#define TERA UINT64_C(1000000000000)

/* Changes a number of that size in the dump. If the error is NULL, everything is recovered. */
struct mistake {
	size_t at, size;
	uint64_t number;
	const char *error;
};

static const char is_damaged[] = "it is damaged", lists[] = "the list of its channels is damaged",
		  no_rings[] = "the rings of its channel ring are not in the dump",
		  another[] = "it has another version",
		  no_events[] = "the descriptions of its events are damaged",
		  nothing[] = "no recording is in it";

static const struct mistake mistakes[] = {
		{HEAD(magic), 1, 's', nothing},
		{HEAD(self), 8, RECORD_AT + PAGE, nothing},
		{HEAD(version), 4, RECOVERY_VERSION + 1, another},
		{HEAD(head_size), 4, sizeof(struct recovery_head) + 1, another},
		{HEAD(channel_size), 4, sizeof(struct recovery_channel) + 1, another},
		{HEAD(valid), 4, 0, "it was being changed"},
		{HEAD(valid), 4, 2, "it was being changed"},
		{HEAD(clock), 4, RING_CLOCK_MONOTONIC + 1, is_damaged},
		{HEAD(nr_channels), 4, 0, is_damaged},
		{HEAD(nr_channels), 4, SESSION_CHANNELS_MAX, lists},
		{HEAD(nr_channels), 4, SESSION_CHANNELS_MAX + 1, is_damaged},
		{HEAD(frequency), 8, TERA, NULL},
		{HEAD(frequency), 8, TERA + 1, is_damaged},
		{HEAD(frequency), 8, 0, NULL},
		{HEAD(offset), 8, 999999999, NULL},
		{HEAD(offset), 8, 1000000000, is_damaged},
		{HEAD(channels), 8, RECORD_AT - 1, lists},
		{HEAD(first_chunk), 8, 0, NULL},
		{HEAD(first_chunk), 8, RECORD_AT - 1, no_events},
		{CHANNEL(name), 1, '/', lists},
		{CHANNEL(name), 1, 0, lists},
		{CHANNEL(nr_contexts), 4, 1, lists},
		{CHANNEL(contexts_size), 4, WIRE_EVENT_CONTEXTS_BYTES_MAX + 1, lists},
		{CHANNEL(rings), 8, 8, no_rings},
		{CHUNK(magic), 4, RECOVERY_CHUNK_MAGIC + 1, no_events},
		{CHUNK(size), 8, 0, no_events},
		{CHUNK(next), 8, RECORD_AT - 1, no_events},
		{0, 4, 0xfd2fb528, "it is compressed with zstd"},
		{0, 1, 0, "it is neither a core dump nor a directory of --buffers"},
		{EI_CLASS, 1, 7, "its ELF header is damaged"},
		{offsetof(Elf64_Ehdr, e_type), 2, ET_DYN,
				"it is a program or library, not a core dump"},
		{PART(p_type), 4, PT_NOTE, nothing},
		{PART(p_flags), 4, PF_R, nothing},
		{PART(p_vaddr), 8, RECORD_AT + 8, nothing},
		{PART(p_filesz), 8, 0, nothing},
		{PART(p_filesz), 8, sizeof(struct recovery_head), lists},
		{PART(p_filesz), 8, sizeof(struct recovery_head) - 1, nothing},
		{sizeof(Elf64_Phdr) + PART(p_filesz), 8, UINT64_MAX / 2, NULL},
		{sizeof(Elf64_Phdr) + PART(p_type), 4, PT_NOTE, no_rings},
};

static void check_mistake(const char *path, unsigned char *bad, const struct mistake *mistake)
{
	struct session_summary summary;

	memcpy(bad, core, core_bytes);
	memcpy(bad + mistake->at, &mistake->number, mistake->size);
	write_file("core", bad, core_bytes);
	summary = recover(path);
	if (!mistake->error) {
		CHECK(!refusal[0] && summary.nr_processes == 1 && summary.failure == ERROR_NONE);
		return;
	}
	if (!strstr(refusal, mistake->error))
		fprintf(stderr, "offset %zu, number %llu: %s\n", mistake->at,
				(unsigned long long)mistake->number, refusal);
	CHECK(strstr(refusal, mistake->error));
	CHECK(summary.failure != ERROR_NONE);
}

/* The longest permitted texts, and one byte more. */
static void check_texts(const char *path, unsigned char *bad)
{
	static const struct {
		size_t at, fits;
		const char *error;
	} texts[] = {{HEAD(procname), 255, is_damaged}, {HEAD(exe), 511, is_damaged},
			{CHANNEL(name), SESSION_CHANNEL_NAME_MAX, lists}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t more = 0; more < 2; more++) {
			memcpy(bad, core, core_bytes);
			memset(bad + texts[i].at, 'n', texts[i].fits + more);
			write_file("core", bad, core_bytes);
			recover(path);
			CHECK(more ? strstr(refusal, texts[i].error) != NULL : !refusal[0]);
		}
	}
}

static void check_mistakes(void)
{
	unsigned char *bad = malloc(core_bytes);
	char path[sizeof(folder) + 8];

	CHECK(bad);
	snprintf(path, sizeof(path), "%s/core", folder);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		check_mistake(path, bad, &mistakes[i]);
	check_texts(path, bad);
	/* The type is also in the other byte order. */
	memcpy(bad, core, core_bytes);
	bad[EI_DATA] = bad[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
	*(uint16_t *)(void *)(bad + offsetof(Elf64_Ehdr, e_type)) = ET_CORE << 8;
	write_file("core", bad, core_bytes);
	recover(path);
	CHECK(strstr(refusal, "it is of a machine with another byte order"));
	/* A truncated dump, a file that is no dump, and paths that are no files. */
	write_file("core", core, PAGE + RECORD_BYTES);
	recover(path);
	CHECK(strstr(refusal, no_rings));
	write_file("core", core, 3);
	recover(path);
	CHECK(strstr(refusal, "it is neither a core dump"));
	unlink(path);
	recover("/dev/null");
	CHECK(strstr(refusal, "it is not a file"));
	recover("/nowhere/at-all");
	CHECK(strstr(refusal, "No such file or directory"));
	free(bad);
}

/* Unchanged, it gives back everything. */
static void check_whole(const char *path)
{
	struct session_summary summary = recover(path);

	CHECK(summary.nr_processes == 1 && summary.failure == ERROR_NONE);
	CHECK(!summary.lost && !summary.unwritten && !summary.overwritten);
	CHECK(summary.bytes > EVENTS * 8);
}

static void fuzz_core(unsigned int rounds)
{
	/*
	 * The most effective places of a change: ELF heads, the record, its lists, the ring's head,
	 * its remainder.
	 */
	const struct {
		size_t begin, size;
	} locations[] = {{0, 64 + 2 * sizeof(Elf64_Phdr)}, {PAGE, sizeof(struct recovery_head)},
			{PAGE + CHANNELS_OFFSET, sizeof(struct recovery_channel)},
			{PAGE + CHUNK_OFFSET, 256}, {PAGE + RECORD_BYTES, 128},
			{PAGE + RECORD_BYTES + PAGE, 2048},
			{PAGE + RECORD_BYTES, core_bytes - 6 * PAGE}};
	unsigned char *bad = malloc(core_bytes);
	char path[sizeof(folder) + 8];

	CHECK(bad);
	snprintf(path, sizeof(path), "%s/core", folder);
	write_file("core", core, core_bytes);
	check_whole(path);
	while (rounds--) {
		unsigned int state_dir = random_number(sizeof(locations) / sizeof(locations[0]));

		memcpy(bad, core, core_bytes);
		mutate(bad, locations[state_dir].begin, locations[state_dir].size);
		write_file("core", bad,
				random_number(16) ? core_bytes
						  : random_number((unsigned int)core_bytes));
		recover(path);
	}
	unlink(path);
	free(bad);
}

static void fuzz_folder(unsigned int rounds)
{
	unsigned char *rings = malloc(ring_file_bytes), *bad = malloc(ring_file_bytes);
	unsigned char text[sizeof(instance) + sizeof(stream)];

	CHECK(rings && bad);
	CHECK(pread(ring_fd, rings, ring_file_bytes, 0) == (ssize_t)ring_file_bytes);
	write_file("instance", instance, sizeof(instance) - 1);
	write_file("events", stream, stream_bytes);
	write_file("ring.rings", rings, ring_file_bytes);
	check_whole(folder);
	while (rounds--) {
		switch (random_number(3)) {
		case 0:
			memcpy(text, instance, sizeof(instance));
			mutate(text, 0, sizeof(instance) - 1);
			write_file("instance", text,
					random_number(8) ? sizeof(instance) - 1
							 : random_number(sizeof(instance)));
			break;
		case 1:
			memcpy(text, stream, stream_bytes);
			mutate(text, 0, stream_bytes);
			write_file("events", text, stream_bytes);
			break;
		default:
			memcpy(bad, rings, ring_file_bytes);
			mutate(bad, random_number(2) ? 0 : PAGE, 512);
			write_file("ring.rings", bad, ring_file_bytes);
		}
		recover(folder);
		write_file("instance", instance, sizeof(instance) - 1);
		write_file("events", stream, stream_bytes);
	}
	free(rings);
	free(bad);
}

/* ---- the memory of a machine ---- */

#define MACHINE_PAGES 8192u
#define FAKE_PAGES 4096u /* heads at lower addresses than the process's one */

static struct memory_image machine;

/* The page of the memory with the process's record: `fakes` pages of other processes before it. */
static uint32_t make_machine(uint32_t fakes)
{
	const unsigned char *rings = core + PAGE + RECORD_BYTES;
	uint64_t address = (uint64_t)(uintptr_t)ring_producer_base(producer);
	size_t size = core_bytes - PAGE - RECORD_BYTES, at;
	uint32_t record, page;

	image_begin(&machine, MACHINE_PAGES);
	for (page = 0; page < fakes; page++) {
		uint32_t fake = image_add(&machine);

		memcpy(image_page(&machine, fake), core + PAGE, sizeof(struct recovery_head));
	}
	/* The page of this number has the record's address in a huge page. */
	while (machine.nr < RECORD_AT / PAGE)
		image_add(&machine);
	record = machine.nr;
	for (at = 0; at < RECORD_BYTES; at += PAGE)
		memcpy(image_page(&machine, image_add(&machine)), core + PAGE + at, PAGE);
	for (page = 0; page < RECORD_BYTES / PAGE; page++)
		image_map(&machine, RECORD_AT + (uint64_t)page * PAGE, record + page);
	for (at = 0; at < size; at += PAGE) {
		page = image_add(&machine);
		memcpy(image_page(&machine, page), rings + at, PAGE);
		image_map(&machine, address + at, page);
	}
	image_complete(&machine);
	return record;
}

/* The address of the data of a ring. */
static uint64_t find_data(uint32_t ring)
{
	uint64_t size = 64 << 10;

	return (uint64_t)(uintptr_t)ring_producer_base(producer) + ring_file_bytes - 2 * size +
			2 * ring * size;
}

static struct session_summary recover_machine(const char *path)
{
	write_file("machine", machine.bytes, image_size(&machine));
	return recover(path);
}

static void check_machine(const char *path)
{
	struct session_summary summary = recover_machine(path);

	CHECK(!refusal[0] && summary.nr_processes == 1 && summary.failure == ERROR_NONE);
	CHECK(summary.bytes > EVENTS * 8);
}

/* Pages that the process has not mapped, in the ways that a kernel does that. */
static void check_absent_pages(const char *path)
{
	uint64_t *entry = image_entry(&machine, find_data(0), 1), was = *entry;
	struct session_summary summary;

	/* Not present but in memory; mapped in the other half only; never used. */
	*entry = (~was & UINT64_C(0xffffffffff000)) | UINT64_C(0x100);
	check_machine(path);
	*entry = 0;
	check_machine(path);
	*image_entry(&machine, find_data(1), 1) = 0;
	*image_entry(&machine, find_data(1) + (64 << 10), 1) = 0;
	*image_entry(&machine, find_data(0) + (15 * PAGE), 1) = 0;
	*image_entry(&machine, find_data(0) + (31 * PAGE), 1) = 0;
	check_machine(path);
	/* Swapped out, and gone in both halves. */
	*entry = 0x1000;
	summary = recover_machine(path);
	CHECK(summary.failure != ERROR_NONE || refusal[0]);
	*entry = 0;
	*image_entry(&machine, find_data(0) + (64 << 10), 1) = 0;
	summary = recover_machine(path);
	CHECK(summary.failure != ERROR_NONE || refusal[0]);
}

/* A machine with five levels: another table refers to the root. Its entry 0 is for programs. */
static void check_five_levels(const char *path)
{
	uint32_t table = image_add(&machine);
	uint64_t *entries = (uint64_t *)(void *)image_page(&machine, table);

	entries[0] = image_physical(machine.root) | IMAGE_PRESENT;
	entries[511] = image_physical(table) | IMAGE_PRESENT;
	image_complete(&machine);
	check_machine(path);
}

static void check_machines(const char *path)
{
	uint32_t record = make_machine(0);
	uint64_t *entry = image_entry(&machine, RECORD_AT, 2), was = *entry;

	check_machine(path);
	/* The record is in a huge page. */
	*entry = IMAGE_PHYSICAL | IMAGE_PRESENT | 0x80;
	check_machine(path);
	*entry = was;
	/* Another process's table has the record at another address. */
	*image_entry(&machine, RECORD_AT, 1) = 0;
	recover_machine(path);
	CHECK(strstr(refusal, nothing));
	image_map(&machine, RECORD_AT, record + 1);
	recover_machine(path);
	CHECK(strstr(refusal, nothing));
	image_map(&machine, RECORD_AT, record);
	check_five_levels(path);
	check_absent_pages(path);
	((Elf64_Ehdr *)(void *)machine.bytes)->e_machine = EM_AARCH64;
	recover_machine(path);
	CHECK(strstr(refusal, "it is of a machine other than x86-64"));
	free(machine.bytes);
}

/* Each form of a compressed dump, and each mistake in its heads. */
static void check_compressed(const char *path)
{
	static const struct mistake wrong[] = {
			{272, 1, 'a', "it is of a machine other than x86-64"},
			{428, 4, 8192, "it is of a machine other than x86-64"},
			{PAGE + 12, 4, 1, "it is a part of a dump in several files"},
			{432, 4, UINT32_MAX, "its header is damaged"},
			{436, 4, 1, "its header is damaged"},
			{436, 4, UINT32_MAX, "its header is damaged"},
			{436, 4, 32768, "its list of pages is truncated"},
			{PAGE + 96, 8, PAGE * 8 + 1, "its header is damaged"},
			{PAGE + 96, 8, 0, nothing},
			{4 * PAGE + 8, 4, PAGE + 1, NULL},
			{4 * PAGE, 8, UINT64_MAX, NULL},
			{4 * PAGE + 12, 4, 2, NULL},
			{0, 8, UINT64_C(0x706d7564656b616d), "it is flattened"},
	};
	static const enum image_form forms[] = {
			IMAGE_RAW, IMAGE_ZSTD, IMAGE_LZO, IMAGE_SNAPPY, IMAGE_ZLIB};
	unsigned char *bytes = NULL;
	size_t size = 0, i;

	for (i = 0; i < 10; i++) {
		struct session_summary summary;

		free(bytes);
		bytes = image_compress(&machine, forms[i % 5], i > 4, &size);
		write_file("machine", bytes, size);
		summary = recover(path);
		CHECK(!refusal[0] && summary.nr_processes == 1 && summary.bytes > EVENTS * 8);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint64_t was;

		memcpy(&was, bytes + wrong[i].at, sizeof(was));
		memcpy(bytes + wrong[i].at, &wrong[i].number, wrong[i].size);
		write_file("machine", bytes, size);
		recover(path);
		/* Without the page of the root table, which is the first one, nothing is found. */
		CHECK(strstr(refusal, wrong[i].error ? wrong[i].error : nothing));
		memcpy(bytes + wrong[i].at, &was, sizeof(was));
	}
	free(bytes);
}

static void fuzz_compressed(const char *path, unsigned int rounds)
{
	static const enum image_form forms[] = {IMAGE_ZLIB, IMAGE_LZO, IMAGE_SNAPPY};
	size_t size;
	unsigned char *good = image_compress(&machine, forms[random_number(3)], true, &size),
		      *bad = malloc(size);

	CHECK(bad);
	while (rounds--) {
		memcpy(bad, good, size);
		switch (random_number(4)) {
		case 0: mutate(bad, 0, 448); break;
		case 1: mutate(bad, PAGE, 104); break;
		case 2: mutate(bad, 3 * PAGE, PAGE); break;
		default: mutate(bad, 4 * PAGE, size - 4 * PAGE);
		}
		write_file("machine", bad,
				random_number(16) ? size : random_number((unsigned int)size));
		recover(path);
	}
	free(good);
	free(bad);
}

/* LIMIT_PROGRAMS records are found. */
static void check_many(const char *path)
{
	make_machine(FAKE_PAGES - 1);
	check_machine(path);
	free(machine.bytes);
	make_machine(FAKE_PAGES);
	recover_machine(path);
	CHECK(strstr(refusal, nothing));
	free(machine.bytes);
}

static void fuzz_machine(unsigned int rounds)
{
	char path[sizeof(folder) + 8];
	unsigned char *good;
	size_t size;

	snprintf(path, sizeof(path), "%s/machine", folder);
	check_machines(path);
	check_many(path);
	make_machine(0);
	check_compressed(path);
	fuzz_compressed(path, rounds);
	size = image_size(&machine);
	good = malloc(size);
	CHECK(good);
	memcpy(good, machine.bytes, size);
	while (rounds--) {
		unsigned int page = random_number(machine.nr + 1);

		memcpy(machine.bytes, good, size);
		/* Tables are mostly zero: change where they are not. */
		if (random_number(2))
			mutate(image_page(&machine, machine.root), 0, PAGE);
		mutate(machine.bytes, page * PAGE, random_number(2) ? 256 : PAGE);
		mutate(machine.bytes, 0, 256);
		write_file("machine", machine.bytes,
				random_number(16) ? size : random_number((unsigned int)size));
		recover(path);
	}
	unlink(path);
	free(good);
	free(machine.bytes);
}

int main(int argc, char **argv)
{
	bool is_long = getenv("SIDE_TEST_LONG") != NULL;
	char command[sizeof(work) + 16];

	CHECK(mkdtemp(work));
	snprintf(output, sizeof(output), "%s/out", work);
	snprintf(folder, sizeof(folder), "%s/folder", work);
	CHECK(!mkdir(folder, 0700));
	make_rings();
	make_stream();
	make_core();
	/* The first input of libFuzzer. */
	if (argc > 1) {
		FILE *seed = fopen(argv[1], "w");

		CHECK(seed && fwrite(core, core_bytes, 1, seed) == 1 && !fclose(seed));
		return 0;
	}
	check_mistakes();
	fuzz_core(is_long ? 20000 : 120);
	fuzz_folder(is_long ? 20000 : 120);
	fuzz_machine(is_long ? 20000 : 120);
	snprintf(command, sizeof(command), "rm -rf %s", work);
	CHECK(!system(command));
	ring_producer_unmap(producer);
	close(ring_fd);
	free(core);
	return 0;
}

#endif
