/* SPDX-License-Identifier: MIT */
/*
 * The parser of the mappings of a process: lines of /proc/PID/maps, names of rings, limits, and the
 * files behind mappings. The test includes adopt-mapped.c, and plays memory and files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "protocol/boot.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/service.h"
#include "recorder/core/session.h"
#include "recorder/recovery/adopt-mapped.h"
#include "recorder/recovery/adopt-instance.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

static bool is_there, has_no_memory;
static char opened[300];
static int open_errors[2]; /* of the next two; 0: they succeed */
static unsigned int nr_opened;

static int played_access(const char *path)
{
	CHECK(!strcmp(path, "/d/a.rings"));
	return is_there ? 0 : -1;
}

static void *played_realloc(void *old, size_t size)
{
	return has_no_memory ? NULL : realloc(old, size);
}

static int played_open(const char *path, int flags)
{
	int error = open_errors[nr_opened++ % 2];

	snprintf(opened + strlen(opened), sizeof(opened) - strlen(opened), "%s %s\n", path,
			flags == (O_RDWR | O_CLOEXEC)                     ? "rw"
					: flags == (O_RDONLY | O_CLOEXEC) ? "r"
									  : "?");
	errno = error;
	return error ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

#define access(path, mode) ((mode) == F_OK ? played_access(path) : (abort(), 0))
#define realloc(old, size) played_realloc(old, size)
#define open(path, flags) played_open(path, flags)
#define adopt_open_writable(fd) (fcntl(fd, F_GETFD) >= 0 ? 4711 : (abort(), 0))
#include "recorder/recovery/adopt-mapped.c"
#undef access
#undef realloc
#undef open
#undef adopt_open_writable

static void test_names(void)
{
	char path[BOOT_STATE_DIR_MAX + 8];

	CHECK(is_ring_name("/memfd:side-boot (deleted)\n", false));
	CHECK(is_ring_name("/memfd:side-boot", false));
	CHECK(!is_ring_name("/memfd:side-boo", false));
	/* A file without a usable name, or one of the requested process. */
	for (int wanted = 0; wanted < 2; wanted++) {
		is_there = true;
		CHECK(is_ring_name("/d/a.rings\n", wanted) == wanted);
		CHECK(is_ring_name("/d/a.rings (deleted)\n", wanted) == wanted);
		is_there = false;
		CHECK(is_ring_name("/d/a.rings", wanted));
		CHECK(is_ring_name("/d/a.rings (deleted)", wanted));
	}
	CHECK(!is_ring_name("/d/a.ring", true) && !is_ring_name("/d/a.rings2", true));
	CHECK(!is_ring_name(".rings", true) && is_ring_name("a.rings", true));
	CHECK(!is_ring_name(".rings (deleted)", true) && !is_ring_name(" (deleted)", true));
	CHECK(!is_ring_name("", true));
	/* The longest name. */
	memset(path, 'x', sizeof(path));
	strcpy(path + BOOT_STATE_DIR_MAX - 7, ".rings");
	CHECK(strlen(path) == BOOT_STATE_DIR_MAX - 1 && is_ring_name(path, true));
	memset(path, 'x', sizeof(path));
	strcpy(path + BOOT_STATE_DIR_MAX - 6, ".rings");
	CHECK(strlen(path) == BOOT_STATE_DIR_MAX && !is_ring_name(path, true));
}

static void test_lines(void)
{
	struct session *session = session_allocate();
	struct service service = {.only = 0};
	struct core core = {.session = session};
	struct mapped mapped = {.pid = 5};

	CHECK(session);
	session->service = &service;
	/* Private memory of the process, which contains its record. */
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 00000000 00:00 0 \n"));
	CHECK(core.nr_segments == 1 && core.segments[0].address == 0x1000 &&
			core.segments[0].offset == 0x1000 && core.segments[0].size == 0x2000 &&
			core.segments[0].writable && !mapped.nr_mappings);
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 00000000 00:00 0 [heap]\n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 00000000 08:01 7 \n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "1000-3000 r--p 00000000 00:00 0 \n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "3000-3000 rw-p 00000000 00:00 0 \n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "3000-1000 rw-p 00000000 00:00 0 \n"));
	CHECK(adopt_mapped_parse_line(&core, &mapped, "no line\n"));
	CHECK(core.nr_segments == 1 && !mapped.nr_mappings && !mapped.likely);
	/* Of a large mapping, only the beginning is searched. */
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "100000000-110000000 rw-p 00000000 00:00 0 "));
	CHECK(core.nr_segments == 2 && core.segments[1].size == LIMIT_SCAN);
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "100000000-10ffff000 rw-p 00000000 00:00 0 \n"));
	CHECK(core.nr_segments == 3 && core.segments[2].size == LIMIT_SCAN - 4096);
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "100000000-110001000 rw-p 00000000 00:00 0 \n"));
	CHECK(core.nr_segments == 4 && core.segments[3].size == LIMIT_SCAN);
	/* Rings. */
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "5000-7000 rw-s 00000000 00:01 9 /memfd:other\n"));
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "5000-7000 r--s 00000000 00:01 9 /memfd:side-boot\n"));
	is_there = true;
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "5000-7000 rw-s 00000000 00:01 9 /d/a.rings\n"));
	CHECK(!mapped.nr_mappings && !mapped.likely);
	service.only = 5;
	CHECK(adopt_mapped_parse_line(
			&core, &mapped, "5000-7000 rw-s 00000000 00:01 9 /d/a.rings\n"));
	CHECK(mapped.nr_mappings == 1 && mapped.likely && mapped.mappings[0].begin == 0x5000 &&
			mapped.mappings[0].end == 0x7000 && core.nr_segments == 4);
	CHECK(adopt_mapped_parse_line(&core, &mapped,
			"8000-9000 rw-s 00000000 00:01 9 /memfd:side-boot (deleted)\n"));
	CHECK(find_mapping(&mapped, 0x8000) == &mapped.mappings[1]);
	CHECK(find_mapping(&mapped, 0x5000) == &mapped.mappings[0]);
	CHECK(!find_mapping(&mapped, 0x9000) && !find_mapping(&mapped, 0x5001));
	/* Out of memory, and the maximum number of mappings. */
	has_no_memory = true;
	CHECK(!adopt_mapped_add_segment(&core, 1, 2) && !adopt_mapped_add_mapping(&mapped, 1, 2));
	CHECK(!adopt_mapped_parse_line(&core, &mapped, "1000-3000 rw-p 00000000 00:00 0 \n"));
	CHECK(!adopt_mapped_parse_line(
			&core, &mapped, "8000-9000 rw-s 00000000 00:01 9 /memfd:side-boot\n"));
	mapped.pid = getpid();
	CHECK(read_maps(&core, &mapped) == -ENOMEM);
	CHECK(core.nr_segments == 4 && mapped.nr_mappings == 2);
	core.nr_segments = mapped.nr_mappings = LIMIT_MAPPINGS;
	CHECK(adopt_mapped_add_segment(&core, 1, 2) && adopt_mapped_add_mapping(&mapped, 1, 2));
	CHECK(core.nr_segments == LIMIT_MAPPINGS && mapped.nr_mappings == LIMIT_MAPPINGS);
	core.nr_segments = mapped.nr_mappings = LIMIT_MAPPINGS - 1;
	CHECK(!adopt_mapped_add_segment(&core, 1, 2) && !adopt_mapped_add_mapping(&mapped, 1, 2));
	has_no_memory = false;
	CHECK(adopt_mapped_add_segment(&core, 1, 2) && core.nr_segments == LIMIT_MAPPINGS);
	CHECK(adopt_mapped_add_mapping(&mapped, 1, 2) && mapped.nr_mappings == LIMIT_MAPPINGS);
	/* Of an existing process, and of one that does not exist. */
	core.nr_segments = mapped.nr_mappings = 0;
	CHECK(!read_maps(&core, &mapped) && core.nr_segments > 1);
	mapped.pid = INT32_MAX;
	CHECK(read_maps(&core, &mapped) == -ENOENT);
	free(core.segments);
	free(mapped.mappings);
	session->service = NULL;
	session_destroy(session);
}

static void test_files(void)
{
	const struct mapped mapped = {.pid = 5};
	const struct adopted_mapping mapping = {0x5000, 0x7f0000007000};
	unsigned int before = resources_descriptors();
	int fd = open_mapping(&mapped, &mapping);

	CHECK(fd >= 0 && !strcmp(opened, "/proc/5/map_files/5000-7f0000007000 rw\n"));
	close(fd);
	nr_opened = 0;
	open_errors[0] = EPERM;
	CHECK(open_mapping(&mapped, &mapping) == -EPERM && nr_opened == 1);
	/* A file without write permission is opened for reading first. */
	nr_opened = 0;
	open_errors[0] = EACCES;
	*opened = '\0';
	CHECK(open_mapping(&mapped, &mapping) == 4711 && nr_opened == 2);
	CHECK(strstr(opened, " rw\n/proc/5/map_files/5000-7f0000007000 r\n"));
	nr_opened = 0;
	open_errors[1] = ENOENT;
	CHECK(open_mapping(&mapped, &mapping) == -ENOENT);
	CHECK(resources_descriptors() == before);
}

static void test_known(void)
{
	struct session *session = session_allocate();
	struct instance second = {.token = 3, .peer = 30, .state = INSTANCE_ENDED},
			first = {.token = 2, .peer = 20, .next = &second};
	struct recovery_head head = {.token = 3};

	CHECK(session);
	session->instances.list = &first;
	CHECK(adopt_mapped_has_instance(session, &head, 40));
	head.token = 4;
	CHECK(!adopt_mapped_has_instance(session, &head, 40) &&
			adopt_mapped_has_instance(session, &head, 20) &&
			!adopt_mapped_has_instance(session, &head, 30));
	session->instances.list = NULL;
	session_destroy(session);
}

int main(void)
{
	alarm(50);
	test_names();
	test_lines();
	test_files();
	test_known();
	return 0;
}
