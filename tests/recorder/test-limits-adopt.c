/* SPDX-License-Identifier: MIT */
/*
 * Limits of adoption from a killed recorder, a core file or a running program: the last permitted
 * value, and one more. The files are included; directories and ELF files are played.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "protocol/boot.h"
#include "protocol/protocol.h"
#include "recorder/core/channels.h"
#include "recorder/core/clock.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/facts.h"
#include "recorder/core/instance.h"
#include "recorder/core/live.h"
#include "recorder/core/maps.h"
#include "recorder/core/memory.h"
#include "recorder/core/report.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/recovery/adopt-chunks.h"
#include "recorder/recovery/adopt-mapped.h"
#include "recorder/recovery/adopt-process.h"
#include "recorder/recovery/adopt.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/journal-scan.h"
#include "recorder/recovery/recovered.h"
#include "recorder/rotation/retain.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/chunk-names.h"
#include "recorder/storage/found.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/journal-format.h"
#include "recorder/storage/journal.h"
#include "recorder/storage/losses.h"
#include "recorder/storage/state-directory.h"
#include "ring/ring.h"

/* ---- played functions ---- */

static unsigned int nr_entries; /* of the next directory; 0: directories are real */
static unsigned int nr_listed, nr_opened, nr_trees, nr_maps;
static size_t nr_segments;

static struct dirent *played_readdir(DIR *directory)
{
	static struct dirent entry;

	if (!nr_entries)
		return readdir(directory);
	if (nr_listed == nr_entries)
		return NULL;
	entry.d_type = DT_DIR;
	nr_listed++;
	snprintf(entry.d_name, sizeof(entry.d_name), "chunk-%u-date", nr_listed);
	return &entry;
}

static int played_openat(int folder, const char *name, int flags)
{
	nr_opened++;
	return openat(folder, name, flags);
}

static int played_nftw(const char *path, __nftw_func_t function, int descriptors, int flags)
{
	(void)path;
	(void)function;
	(void)descriptors;
	(void)flags;
	nr_trees++;
	return -1;
}

static void played_maps_adopt(struct instance *instance, char *text, size_t size)
{
	(void)instance;
	CHECK(text && size);
	nr_maps++;
}

static unsigned int played_first_chunk(const struct session *session)
{
	(void)session;
	return 2;
}

static int played_getphdrnum(Elf *elf, size_t *ret_nr)
{
	(void)elf;
	*ret_nr = nr_segments;
	return 0;
}

static GElf_Phdr *played_getphdr(Elf *elf, int index, GElf_Phdr *head)
{
	(void)elf;
	CHECK(index >= 0 && (size_t)index < nr_segments);
	*head = (GElf_Phdr){.p_type = PT_LOAD,
			.p_filesz = 4096,
			.p_vaddr = 4096 * (uint64_t)index,
			.p_offset = 4096};
	return head;
}

static unsigned int nr_locks, good_lock, nr_pauses;
static int lock_error;

static int played_flock(int fd, int operation)
{
	CHECK(fd == 77 && operation == (LOCK_EX | LOCK_NB));
	errno = lock_error;
	return ++nr_locks == good_lock ? 0 : -1;
}

static int played_nanosleep(const struct timespec *pause, struct timespec *left)
{
	CHECK(!pause->tv_sec && pause->tv_nsec == 1000000 && !left);
	nr_pauses++;
	return 0;
}

#define readdir played_readdir
#define openat played_openat
#define flock played_flock
#define nanosleep played_nanosleep
#include "recorder/recovery/adopt.c"
#include "recorder/recovery/adopt-instance.c"
#undef nanosleep
#undef flock
#undef openat
#define nftw played_nftw
#define state_directory_first_chunk played_first_chunk
#include "recorder/recovery/adopt-chunks.c"
#undef state_directory_first_chunk
#undef nftw
#undef readdir
#include "recorder/recovery/adopt-mapped.c"
#define elf_getphdrnum played_getphdrnum
#define gelf_getphdr played_getphdr
#include "recorder/recovery/core-dump.c"
#include "recorder/recovery/core-file.c"
#undef gelf_getphdr
#undef elf_getphdrnum
#define maps_adopt played_maps_adopt
#include "recorder/storage/journal.c"
#undef maps_adopt
static unsigned int nr_packets, nr_skipped, packets_there;
static uint32_t packet_size;

static int played_packet(int fd, const char *name, uint64_t at, struct ctf_packet *packet)
{
	static uint8_t bytes[100];

	CHECK(fd == 77 && !strcmp(name, "name") && at == 1000 + 10 * nr_packets);
	*packet = (struct ctf_packet){.bytes = bytes,
			.size = packet_size,
			.end = 5 + nr_packets,
			.next = at + 10};
	return nr_packets++ < packets_there;
}

static void played_packet_free(struct ctf_packet *packet)
{
	(void)packet;
}

static int played_skip(struct ring_consumer *consumer, uint32_t ring, const void *bytes,
		size_t size, uint64_t end)
{
	CHECK(!consumer && ring == 3 && bytes && size + 84 == packet_size && end == 4 + nr_packets);
	nr_skipped++;
	return 0;
}

#define ctf_packet_read played_packet
#define ctf_packet_free played_packet_free
#define ring_consumer_skip played_skip
#include "recorder/recovery/journal-scan.c"
#undef ring_consumer_skip
#undef ctf_packet_free
#undef ctf_packet_read
#include "recorder/core/totals.c"

/* ---- a session ---- */

static char work[] = "/tmp/side-limits-XXXXXX";

static struct session *begin(void)
{
	struct session *session = session_allocate();

	CHECK(session);
	session->buffers.path = strdup(work);
	session->output.path = strdup(work);
	session->buffers.fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(session->buffers.path && session->output.path && session->buffers.fd >= 0);
	return session;
}

/* Whether this is the only message since the last call; NULL: there is none. */
static bool reported(struct session *session, const char *text)
{
	struct session_message message;
	bool is_good = true, is_any = false;

	while (session_take_message(session, &message)) {
		if (!text || is_any || strcmp(message.text, text) != 0) {
			fprintf(stderr, "%s\n", message.text);
			is_good = false;
		}
		is_any = true;
		free(message.text);
	}
	return is_good && is_any == (text != NULL);
}

static void write_file(const char *name, const void *bytes, size_t size, size_t file_size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", work, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	CHECK(!ftruncate(fd, (off_t)file_size) && !close(fd));
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	CHECK(!unlink(path));
}

/* ---- directories ---- */

static void test_folders(void)
{
	struct session *session = begin();
	struct error error;
	char text[200];

	CHECK(LIMIT_FOLDERS == 65536);
	for (nr_entries = LIMIT_FOLDERS; nr_entries <= LIMIT_FOLDERS + 1; nr_entries++) {
		nr_listed = nr_opened = 0;
		CHECK(!adopt_all(session, &error));
		snprintf(text, sizeof(text),
				"%s has too many directories: not all of them are adopted", work);
		CHECK(reported(session, nr_entries > LIMIT_FOLDERS ? text : NULL));
		CHECK(nr_listed == nr_entries && nr_opened == 1 + LIMIT_FOLDERS);
	}
	nr_entries = 0;
	session_destroy(session);
}

/* The entries of a directory, among them `.` and `..`. */
static void test_leftovers(void)
{
	int state_dir = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder;
	char path[128];

	CHECK(state_dir >= 0 && LIMIT_LEFTOVERS == 256);
	for (unsigned int nr = LIMIT_LEFTOVERS; nr <= LIMIT_LEFTOVERS + 1; nr++) {
		snprintf(path, sizeof(path), "%s/folder", work);
		CHECK(!mkdir(path, 0700));
		for (unsigned int i = 2; i < nr; i++) {
			snprintf(path, sizeof(path), "folder/%u.rings", i);
			write_file(path, "", 0, 0);
		}
		folder = openat(state_dir, "folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CHECK(folder >= 0);
		remove_leftovers(state_dir, "folder", folder);
		CHECK(faccessat(state_dir, "folder", F_OK, 0) == (nr > LIMIT_LEFTOVERS ? 0 : -1));
		close(folder);
	}
	/* The second time there is only one. */
	folder = openat(state_dir, "folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	remove_leftovers(state_dir, "folder", folder);
	CHECK(faccessat(state_dir, "folder", F_OK, 0) == -1);
	close(folder);
	close(state_dir);
}

/* Chunks 1 and 2 belong to other sessions. */
static void test_chunks(void)
{
	struct session *session = begin();

	for (unsigned int nr = 65536; nr <= 65537; nr++) {
		nr_entries = nr + 2;
		nr_listed = nr_trees = 0;
		adopt_chunks(session);
		CHECK(nr_trees == 65536 && nr_listed == 65536 + 2);
	}
	nr_entries = 0;
	CHECK(reported(session, NULL));
	session_destroy(session);
}

/* A process that appends locks its descriptions for 100 ms at most. */
static void test_locks(void)
{
	lock_error = EWOULDBLOCK;
	good_lock = 101;
	CHECK(!try_lock(77) && nr_locks == 101 && nr_pauses == 100);
	nr_locks = nr_pauses = 0;
	good_lock = 102;
	CHECK(try_lock(77) == -EWOULDBLOCK && nr_locks == 101 && nr_pauses == 100);
	nr_locks = nr_pauses = 0;
	lock_error = EBADF;
	CHECK(try_lock(77) == -EBADF && nr_locks == 1 && !nr_pauses);
}

/* ---- mappings ---- */

static void test_mappings(void)
{
	struct service service = {.only = 1};
	struct session session = {.service = &service};
	struct core core = {.session = &session, .nr_segments = 65535};
	struct mapped mapped = {.nr_mappings = 65535};

	CHECK(LIMIT_MAPPINGS == 65536 && LIMIT_SCAN == 256 << 20);
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 0 00:00 0 \n"));
		CHECK(adopt_mapped_parse_line(
				&core, &mapped, "5000-9000 rw-s 0 00:00 3 /x.rings\n"));
		CHECK(core.nr_segments == 65536 && mapped.nr_mappings == 65536 && mapped.likely);
		CHECK(core.segments[65535].address == 0x1000 &&
				core.segments[65535].size == 0x2000 &&
				core.segments[65535].offset == 0x1000 &&
				core.segments[65535].writable);
		CHECK(mapped.mappings[65535].begin == 0x5000 &&
				mapped.mappings[65535].end == 0x9000);
	}
	core.nr_segments = 0;
	CHECK(adopt_mapped_parse_line(&core, &mapped, "10000000-20000000 rw-p 0 00:00 0\n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "30000000-40000001 rw-p 0 00:00 0\n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "50000000-5fffffff rw-p 0 00:00 0\n"));
	CHECK(core.nr_segments == 3 && core.segments[0].size == 256 << 20 &&
			core.segments[1].size == 256 << 20 &&
			core.segments[2].size == (256 << 20) - 1);
	/* These lines have no rings of such a process. */
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 r--p 0 00:00 0 \n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 0 00:00 3 /x\n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-1000 rw-p 0 00:00 0\n"));
	CHECK(core.nr_segments == 3);
	free(core.segments);
	free(mapped.mappings);
}

/* ---- core files ---- */

static void test_segments(void)
{
	struct core core = {.fd = -1};

	nr_segments = 1000000;
	CHECK(!take_segments(&core, NULL, 8192) && core.nr_segments == 1000000);
	CHECK(core.segments[999999].address == 4096 * UINT64_C(999999));
	free(core.segments);
	core = (struct core){.fd = -1};
	nr_segments = 1000001;
	CHECK(take_segments(&core, NULL, 8192) == -EINVAL && !core.segments);
}

static void test_records(void)
{
	static struct recovery_head head = {
			.magic = RECOVERY_MAGIC, .version = RECOVERY_VERSION + 1};
	struct segment segment = {.address = 0x7000, .size = sizeof(head), .writable = true};
	struct session *session = begin();
	struct core core = {.session = session,
			.path = "/x",
			.fd = memfd_create("core", MFD_CLOEXEC),
			.segments = &segment,
			.nr_segments = 1,
			.nr_records = 63};

	head.self = segment.address;
	CHECK(core.fd >= 0 && write(core.fd, &head, sizeof(head)) == sizeof(head));
	CHECK(LIMIT_RECORDS == 64);
	core_add_record(&core, segment.address, (const unsigned char *)&head);
	CHECK(core.nr_records == 64);
	CHECK(reported(session, "a recording in /x cannot be recovered: it has another version"));
	core_add_record(&core, segment.address, (const unsigned char *)&head);
	CHECK(core.nr_records == 64 && reported(session, NULL));
	/* A duplicate does not count. */
	core.nr_records = 63;
	segment.address = 0x8000;
	core_add_record(&core, segment.address, (const unsigned char *)&head);
	CHECK(core.nr_records == 63 && reported(session, NULL));
	close(core.fd);
	session_destroy(session);
}

static void test_descriptions(void)
{
	static struct recovery_chunk chunks[65537];
	struct segment segment = {.address = 0x7000, .size = sizeof(chunks), .writable = true};
	struct core core = {.fd = memfd_create("core", MFD_CLOEXEC),
			.segments = &segment,
			.nr_segments = 1};
	struct instance instance = {.number = 0};

	for (unsigned int i = 0; i < 65537; i++)
		chunks[i] = (struct recovery_chunk){.magic = RECOVERY_CHUNK_MAGIC,
				.next = i < 65536 ? 0x7000 + (i + 1) * sizeof(*chunks) : 0};
	CHECK(core.fd >= 0 && write(core.fd, chunks, sizeof(chunks)) == sizeof(chunks));
	CHECK(!read_events(&core, &instance, 0x7000 + sizeof(*chunks)));
	CHECK(read_events(&core, &instance, 0x7000) == -EPROTO);
	CHECK(!read_events(&core, &instance, 0));
	CHECK(read_events(&core, &instance, 0x7001) == -EPROTO);
	CHECK(read_events(&core, &instance, 0x6fff) == -ENODATA);
	close(core.fd);
}

/* ---- files ---- */

static void test_reported(void)
{
	const size_t nr = (LIMIT_LOSSES_FILE - sizeof(struct losses_file_head)) /
			sizeof(struct reported_loss);
	struct losses_file_head head = {.magic = LOSSES_MAGIC, .serial = 7};
	int folder = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct instance instance = {.nr_reported = 0};

	CHECK(folder >= 0 && LIMIT_LOSSES_FILE == 4 << 20);
	for (size_t size = LIMIT_LOSSES_FILE; size <= LIMIT_LOSSES_FILE + 1; size++) {
		head.size = (uint32_t)(size - sizeof(head));
		write_file(LOSSES_FILE, &head, sizeof(head), size);
		CHECK(reported_losses_read_file(&instance, folder) ==
				(size == LIMIT_LOSSES_FILE ? 7 : 0));
		CHECK(instance.nr_reported == (size == LIMIT_LOSSES_FILE ? nr : 0));
		free(instance.reported);
		instance = (struct instance){.nr_reported = 0};
	}
	/* The size must be that of the file. */
	head.size = 1001;
	write_file(LOSSES_FILE, &head, sizeof(head), sizeof(head) + 1000);
	CHECK(!reported_losses_read_file(&instance, folder));
	CHECK(!instance.reported && !instance.nr_reported);
	head.magic++;
	head.size = 1000;
	write_file(LOSSES_FILE, &head, sizeof(head), sizeof(head) + 1000);
	CHECK(!reported_losses_read_file(&instance, folder));
	CHECK(!instance.reported && !instance.nr_reported);
	remove_file(LOSSES_FILE);
	close(folder);
}

/*
 * Packets behind the length in the journal are skipped, 64 at most. Those without records change no
 * time.
 */
static void test_packets(void)
{
	const struct instance_channel channel = {.geometry.placement = RING_PER_CPU};

	for (packets_there = 63; packets_there <= 65; packets_there++) {
		struct instance_ring ring = {.begin = 1};

		nr_packets = nr_skipped = 0;
		packet_size = 85;
		journal_scan_skip_written_packets(&channel, 3, 77, "name", 1000, &ring);
		CHECK(nr_skipped == (packets_there <= 64 ? packets_there : 64));
		CHECK(nr_packets == 64 && ring.begin == 4 + nr_skipped);
		nr_packets = 0;
		packet_size = 84;
		journal_scan_skip_written_packets(&channel, 3, 77, "name", 1000, &ring);
		CHECK(nr_packets == 64 && ring.begin == 4 + nr_skipped / 2);
		/* It has no complete header. */
		nr_packets = nr_skipped = 0;
		packet_size = 83;
		journal_scan_skip_written_packets(&channel, 3, 77, "name", 1000, &ring);
		CHECK(nr_packets == 1 && !nr_skipped);
	}
}

static void test_maps(void)
{
	struct journal_adoption adoption = {
			.trace = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};

	CHECK(adoption.trace >= 0 && LIMIT_MAPS == 8 << 20);
	for (size_t size = LIMIT_MAPS; size <= LIMIT_MAPS + 1; size++) {
		write_file(MAPS_FILE, "x", 1, size);
		nr_maps = 0;
		adopt_maps(&adoption);
		CHECK(nr_maps == (size == LIMIT_MAPS));
	}
	remove_file(MAPS_FILE);
	close(adoption.trace);
}

static void test_totals(void)
{
	static const char before[] = FIRST_LINE "\nsums 11 12 13 14 15 16\nlast ",
			  after[] = "\nsums 1 2 3 4 5 6\n" FACTS_LAST_LINE "\n";
	static char text[LIMIT_TOTALS + 2];
	struct session *session = begin();

	CHECK(LIMIT_TOTALS == 65536);
	for (size_t size = LIMIT_TOTALS; size <= LIMIT_TOTALS + 1; size++) {
		memset(text, 'x', size);
		memcpy(text, before, strlen(before));
		memcpy(text + size - strlen(after), after, strlen(after));
		write_file(TOTALS_FILE, text, size, size);
		memset(&session->totals.ended, 0, sizeof(session->totals.ended));
		memset(&session->totals.before, 0, sizeof(session->totals.before));
		free(session->totals.last);
		session->totals.last = NULL;
		totals_read(session);
		CHECK(session->totals.ended.processes == (size == LIMIT_TOTALS ? 11 : 0) &&
				session->totals.before.processes == (size == LIMIT_TOTALS));
		CHECK(!session->totals.last == (size > LIMIT_TOTALS));
		CHECK(reported(session, NULL));
	}
	remove_file(TOTALS_FILE);
	session_destroy(session);
}

int main(void)
{
	struct resources before;

	CHECK(mkdtemp(work));
	before = resources_now();
	test_folders();
	test_leftovers();
	test_chunks();
	test_locks();
	test_mappings();
	test_segments();
	test_records();
	test_descriptions();
	test_reported();
	test_packets();
	test_maps();
	test_totals();
	CHECK(resources_now().descriptors == before.descriptors);
	CHECK(!rmdir(work));
	return 0;
}
