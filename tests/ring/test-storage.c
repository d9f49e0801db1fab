/* SPDX-License-Identifier: MIT */
/*
 * The storage of rings: a file (also truncated while the consumer reads), huge pages, prefaulted
 * memory, and a copy from another process's memory or from a file.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payload.h"

#define MOST 200

static char directory[] = "/tmp/side-ring-XXXXXX";
static int dir_fd;

static const struct ring_geometry small = {
		.rings = 2, .event_slots = 300, .size = 1 << 16, .clock = RING_CLOCK_MONOTONIC};

/* Publishes this number of records from any CPU: the portable backend. */
static void publish(struct ring_producer *producer, uint64_t from, uint64_t count)
{
	unsigned char payload[sizeof(struct body) + MOST];

	for (uint64_t i = from; i < from + count; i++) {
		uint32_t size = body_make(payload, 0, i, MOST);

		CHECK(ring_publish(producer, body_id(0, i), payload, size) == 0, "publish");
	}
}

static void see(void *user, const struct body *body, uint64_t timestamp)
{
	(void)body;
	(void)timestamp;
	++*(uint64_t *)user;
}

/* Reads all records. Returns their number. */
static uint64_t drain(struct ring_consumer *consumer)
{
	const struct ring_geometry *geometry = ring_consumer_geometry(consumer);
	unsigned char *buffer = malloc(geometry->size);
	uint64_t records = 0;

	for (uint32_t ring = 0; ring < geometry->rings; ring++) {
		struct ring_span span;
		int rc = geometry->mode == RING_MODE_OVERWRITE
				? ring_consumer_snapshot(consumer, ring, buffer, &span)
				: ring_consumer_peek(consumer, ring, &span);

		CHECK(rc >= 0, "%s", ring_consumer_error(consumer, ring));
		if (!rc)
			continue;
		span_walk(&span, span.first_timestamp, MOST, see, &records);
		ring_consumer_release(consumer, ring, &span);
	}
	free(buffer);
	return records;
}

static int reopen(const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC);

	/* A normal user may lack the permission. */
	if (fd < 0 && errno == EACCES) {
		CHECK(fchmodat(dir_fd, name, 0600, 0) == 0, "fchmodat");
		fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC);
	}
	CHECK(fd >= 0, "open %s", name);
	return fd;
}

/* A reader of files, for ring_memory_import(). */
static int read_file(void *user, uint64_t address, void *to, size_t size)
{
	ssize_t got = pread(*(const int *)user, to, size, (off_t)address);

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -EIO;
}

static void test_file(enum ring_mode mode)
{
	struct ring_geometry geometry = small;
	struct ring_consumer *consumer;
	struct ring_producer *producer;
	struct stat status;
	int fd, copy;

	geometry.mode = mode;
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &fd) == 0, "create");
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &copy) == -EEXIST, "twice");
	CHECK(fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0400, "mode %o",
			status.st_mode);
	CHECK((uint64_t)status.st_blocks * 512 >= ring_memory_size(&geometry), "holes");
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "CLOEXEC");
	producer = way_map(&variants[3], fd);
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	publish(producer, 0, 100);
	if (mode != RING_MODE_OVERWRITE)
		CHECK(drain(consumer) == 100, "drained");
	publish(producer, 100, 77);
	ring_count_lost(producer, 250, RING_LOST_INVALID);
	/* Unmap everything, as after a reboot; only the file remains. */
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
	fd = reopen("rings");
	for (int i = 0; i < 2; i++) {
		CHECK(ring_memory_import(read_file, &fd, 0, &copy) == 0, "import");
		CHECK(ring_consumer_map(copy, &geometry, &consumer) == 0, "map");
		CHECK(drain(consumer) == (mode == RING_MODE_OVERWRITE ? 177 : 77), "recovered");
		CHECK(ring_consumer_lost(consumer, 0, RING_LOST_INVALID) +
								ring_consumer_lost(consumer, 1,
										RING_LOST_INVALID) ==
						1,
				"losses");
		ring_consumer_unmap(consumer);
		close(copy);
	}
	/* A new recorder can go on with it as well. */
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(drain(consumer) == (mode == RING_MODE_OVERWRITE ? 177 : 77), "taken over");
	ring_consumer_unmap(consumer);
	close(fd);
	CHECK(unlinkat(dir_fd, "rings", 0) == 0, "unlink");
}

static void test_file_refusals(void)
{
	struct ring_geometry geometry = small;
	struct ring_consumer *consumer;
	struct rlimit limit = {1 << 16, RLIM_INFINITY}, before;
	int fd;

	geometry.flags = RING_HUGE_PAGES;
	CHECK(ring_memory_create_file(&geometry, dir_fd, "r", &fd) == -ENOTSUP, "huge");
	geometry.flags = 0;
	CHECK(ring_memory_create_file(&geometry, -1, "r", &fd) == -EBADF, "no directory");
	CHECK(ring_memory_create_file(&geometry, dir_fd, "no/where", &fd) == -ENOENT, "nowhere");
	/* No space for it: nothing remains. */
	getrlimit(RLIMIT_FSIZE, &before);
	limit.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
	CHECK(ring_memory_create_file(&geometry, dir_fd, "r", &fd) == -EFBIG, "no space");
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0, "setrlimit");
	CHECK(faccessat(dir_fd, "r", F_OK, 0) != 0, "left behind");
	/* A header of a longer file. */
	CHECK(ring_memory_create_file(&geometry, dir_fd, "r", &fd) == 0, "create");
	CHECK(ftruncate(fd, (off_t)ring_memory_size(&geometry) - 1) == 0, "truncate");
	CHECK(ring_consumer_map(fd, NULL, &consumer) == -EPROTO, "too short");
	close(fd);
	CHECK(unlinkat(dir_fd, "r", 0) == 0, "unlink");
}

static volatile unsigned char sum;

static void on_bus(int signal)
{
	(void)signal;
	_exit(33);
}

/* Truncates the file at many lengths, at different times: errors, and never a signal. */
static void test_truncation(enum ring_mode mode)
{
	struct ring_geometry geometry = small;
	unsigned char *buffer = malloc(geometry.size);
	size_t total;

	geometry.mode = mode;
	total = ring_memory_size(&geometry);
	for (unsigned int i = 0; i < 40; i++) {
		off_t length = i < 6 ? (off_t)i * 1000 : (off_t)(total * (i - 6) / 34);
		struct ring_consumer *consumer;
		struct ring_producer *producer;
		unsigned int errors = 0;
		int fd, rc;

		CHECK(ring_memory_create_file(&geometry, dir_fd, "t", &fd) == 0, "create");
		producer = way_map(&variants[3], fd);
		CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
		publish(producer, 0, i % 3 * 250);
		ring_producer_unmap(producer);
		CHECK(ftruncate(fd, length) == 0, "truncate");
		for (uint32_t round = 0; round < 4; round++) {
			uint32_t ring = round % 2;
			struct ring_span span;

			rc = mode == RING_MODE_OVERWRITE
					? ring_consumer_snapshot(consumer, ring, buffer, &span)
					: ring_consumer_peek(consumer, ring, &span);
			if (rc == 1) {
				/*
				 * The reader of the span reads zeros, and the next call reports the
				 * error.
				 */
				for (size_t at = 0; at < span.size; at++)
					sum += ((const unsigned char *)span.data)[at];
				ring_consumer_release(consumer, ring, &span);
			}
			ring_consumer_pending(consumer);
			ring_consumer_lost_total(consumer, ring);
			if (rc < 0) {
				errors++;
				CHECK(!strcmp(ring_consumer_error(consumer, ring),
						      "its file was truncated"),
						"%s", ring_consumer_error(consumer, ring));
			}
		}
		CHECK(length > 4096 || errors > 0, "no error at length %ld", (long)length);
		ring_consumer_unmap(consumer);
		close(fd);
		CHECK(unlinkat(dir_fd, "t", 0) == 0, "unlink");
	}
	free(buffer);
}

/* A SIGBUS at another address reaches the previous handler. */
static void test_other_bus(void)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0, "fork");
	if (child == 0) {
		int fd = memfd_create("other", 0);
		volatile char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

		_exit(memory[0] ? 1 : 2);
	}
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33, "status %x", status);
}

/* ---- Import out of a process ---- */

struct process {
	pid_t pid;
	uint64_t missing; /* An unreadable address; 0: none. */
};

static int read_process(void *user, uint64_t address, void *to, size_t size)
{
	const struct process *process = user;
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	if (process->missing - address < size)
		return -EFAULT;
	return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EIO;
}

static void test_import(const struct backend *backend, enum ring_mode mode, uint32_t flags)
{
	struct ring_geometry geometry = small;
	struct process self = {getpid(), 0};
	uint64_t base, published = 300, huge = ring_huge_page_size();
	struct ring_consumer *consumer;
	struct ring_producer *producer;
	int fd, copy;

	geometry.mode = mode;
	geometry.flags = flags;
	if (flags & RING_HUGE_PAGES)
		geometry.size = huge;
	geometry.clock = backend->clock;
	if (ring_memory_create(&geometry, &fd))
		return;
	producer = way_map(backend, fd);
	if (!producer)
		return;
	base = (uintptr_t)ring_producer_base(producer);
	publish(producer, 0, published);
	ring_count_lost(producer, 70, RING_LOST_INVALID);
	CHECK(ring_memory_import(read_process, &self, base, &copy) == 0, "import");
	CHECK(ring_consumer_map(copy, NULL, &consumer) == 0, "map");
	CHECK(drain(consumer) == published, "records");
	CHECK(ring_consumer_lost(consumer, 0, RING_LOST_INVALID) +
							ring_consumer_lost(consumer, 1,
									RING_LOST_INVALID) ==
					1,
			"losses");
	ring_consumer_unmap(consumer);
	close(copy);
	/* Memory without rings, and an unmapped address. */
	CHECK(ring_memory_import(read_process, &self, (uintptr_t)&small, &copy) == -EPROTO, "what");
	CHECK(ring_memory_import(read_process, &self, 4096, &copy) == -EIO, "nothing");
	/* The dump is incomplete: the ring without data is reported, the other one is complete. */
	for (uint64_t at = 0; at < 64 && !(flags & RING_HUGE_PAGES); at++) {
		unsigned int absent = 0;
		struct ring_span span;

		self.missing = base + at * 4096;
		if (ring_memory_import(read_process, &self, base, &copy)) {
			CHECK(at < 3, "page %lu", at);
			continue;
		}
		CHECK(ring_consumer_map(copy, NULL, &consumer) == 0, "map");
		for (uint32_t ring = 0; ring < geometry.rings; ring++) {
			const char *error = ring_consumer_error(consumer, ring);

			absent += error && !strcmp(error, "its memory could not be read");
			CHECK(!error || ring_consumer_peek(consumer, ring, &span) == -EBADMSG,
					"an absent ring");
		}
		CHECK(absent <= 1, "%u absent", absent);
		ring_consumer_unmap(consumer);
		close(copy);
	}
	ring_producer_unmap(producer);
	close(fd);
}

/* Returns how much of this range a core dump of this process contains. */
static uint64_t dumped(uint64_t base, uint64_t size)
{
	uint64_t begin = 0, end = 0, bytes = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];

	CHECK(file, "smaps");
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			begin = from;
			end = to;
		}
		if (!strncmp(line, "VmFlags:", 8) && begin >= base && end <= base + size &&
				!strstr(line, " dd"))
			bytes += end - begin;
	}
	fclose(file);
	return bytes;
}

/* Dumps each ring once; a thread's ring only if it is used. */
static void test_dump(void)
{
	for (int placement = RING_PER_CPU; placement <= RING_PER_THREAD; placement++) {
		struct ring_geometry geometry = small;
		uint64_t base, size, control;
		struct ring_producer *producer;
		int fd;

		geometry.placement = (enum ring_placement)placement;
		CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
		size = ring_memory_size(&geometry);
		control = size - geometry.rings * geometry.size;
		producer = way_map(&variants[3], fd);
		base = (uintptr_t)ring_producer_base(producer);
		CHECK(!ring_producer_dumped(producer), "a copy");
		size += geometry.rings * geometry.size;
		if (placement == RING_PER_CPU) {
			CHECK(dumped(base, size) == control + 2 * geometry.size, "per CPU");
		} else {
			CHECK(dumped(base, size) == control, "none is taken");
			publish(producer, 0, 1);
			CHECK(dumped(base, size) == control + geometry.size, "one is taken");
		}
		ring_producer_unmap(producer);
		close(fd);
	}
}

/* The copy for core dumps shows all records of a file, also those of later publications. */
static void test_copy(enum ring_mode mode, bool locked)
{
	struct ring_geometry geometry = small;
	struct process self = {getpid(), 0};
	struct ring_consumer *consumer;
	struct ring_producer *producer;
	uint64_t base;
	int fd, copy;

	geometry.mode = mode;
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &fd) == 0, "create");
	if (locked && mlockall(MCL_FUTURE))
		locked = false;
	producer = way_map(&variants[3], fd);
	if (locked)
		munlockall();
	publish(producer, 0, 177);
	ring_count_lost(producer, 250, RING_LOST_INVALID);
	base = (uintptr_t)ring_producer_dumped(producer);
	CHECK(base && base != (uintptr_t)ring_producer_base(producer), "no copy");
	CHECK(dumped(base, ring_memory_size(&geometry) + 4096) ==
					ring_memory_size(&geometry) + 4096,
			"the copy");
	/* The reader can read neither the rings nor the page of the copy that is in no ring. */
	self.missing = (uintptr_t)ring_producer_base(producer);
	CHECK(ring_memory_import(read_process, &self, self.missing, &copy) < 0, "rings");
	CHECK(ring_memory_import_dumped(read_process, &self, base, &copy) == 0, "import");
	ring_producer_unmap(producer);
	CHECK(ring_consumer_map(copy, &geometry, &consumer) == 0, "map");
	CHECK(drain(consumer) == 177, "recovered");
	CHECK(ring_consumer_lost(consumer, 0, RING_LOST_INVALID) +
							ring_consumer_lost(consumer, 1,
									RING_LOST_INVALID) ==
					1,
			"losses");
	ring_consumer_unmap(consumer);
	close(copy);
	close(fd);
	CHECK(dumped(base, ring_memory_size(&geometry) + 4096) == 0, "it is unmapped");
	CHECK(unlinkat(dir_fd, "rings", 0) == 0, "unlink");
}

/* A random header: refused, or with a size that was checked. */
static int read_spoilt(void *user, uint64_t address, void *to, size_t size)
{
	uint64_t *state = user;
	struct process self = {getpid(), 0};
	int rc = read_process(&self, address, to, size);

	if (!rc && size)
		((unsigned char *)to)[test_random(state) % size] ^=
				(unsigned char)(1 << test_random(state) % 8);
	return rc;
}

static void test_import_spoilt(void)
{
	struct ring_consumer *consumer;
	struct ring_producer *producer;
	unsigned int imported = 0;
	uint64_t state = 5;
	int fd, copy;

	CHECK(ring_memory_create(&small, &fd) == 0, "create");
	producer = way_map(&variants[3], fd);
	publish(producer, 0, 100);
	for (int i = 0; i < 1000; i++) {
		if (ring_memory_import(read_spoilt, &state, (uintptr_t)ring_producer_base(producer),
				    &copy))
			continue;
		imported++;
		if (ring_consumer_map(copy, NULL, &consumer) == 0) {
			for (uint32_t ring = 0; ring < ring_consumer_geometry(consumer)->rings;
					ring++) {
				struct ring_span span;

				ring_consumer_peek(consumer, ring, &span);
			}
			ring_consumer_unmap(consumer);
		}
		close(copy);
	}
	CHECK(imported > 0 && imported < 900, "%u imported", imported);
	ring_producer_unmap(producer);
	close(fd);
}

/* ---- Pages ---- */

static uint64_t faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

/* Publish into each page: with prefaulted memory this takes no page fault. */
static void test_prefault(void)
{
	struct ring_geometry geometry = {.rings = 1,
			.event_slots = 8,
			.size = 1 << 22,
			.clock = RING_CLOCK_MONOTONIC};
	static unsigned char payload[1000];
	uint64_t taken[2];

	for (int prefault = 0; prefault < 2; prefault++) {
		struct ring_producer *producer;
		struct stat status;
		uint64_t before;
		int fd;

		geometry.flags = prefault ? RING_PREFAULT : 0;
		CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
		CHECK(fstat(fd, &status) == 0, "stat");
		CHECK((status.st_blocks * 512 >= (1 << 22)) == prefault, "blocks");
		producer = way_map(&variants[3], fd);
		ring_publish(producer, 1, payload, sizeof(payload));
		before = faults();
		while (ring_publish(producer, 1, payload, sizeof(payload)) == 0)
			;
		taken[prefault] = faults() - before;
		ring_producer_unmap(producer);
		close(fd);
	}
	/*
	 * Nothing else in this program takes many page faults, except ThreadSanitizer's shadow
	 * memory.
	 */
	CHECK(taken[1] < 100 || taken[1] + 700 < taken[0], "%lu and %lu faults", taken[0],
			taken[1]);
}

static uint64_t free_huge_pages(void)
{
	char text[4096] = "";
	FILE *file = fopen("/proc/meminfo", "r");
	const char *at;
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[got] = '\0';
	at = strstr(text, "HugePages_Free:");
	return at ? strtoull(at + 15, NULL, 10) : 0;
}

static void test_huge(void)
{
	uint64_t page = ring_huge_page_size(), available = free_huge_pages();
	struct ring_geometry geometry = small;
	struct ring_producer *producer;
	struct ring_consumer *consumer;
	int fd, rc;

	if (!page) {
		printf("no huge pages in this kernel\n");
		return;
	}
	geometry.flags = RING_HUGE_PAGES;
	CHECK(ring_memory_create(&geometry, &fd) == -EINVAL, "smaller than a page");
	geometry.size = page;
	CHECK(ring_memory_size(&geometry) == 3 * page, "size");
	/* More than the maximum: refused at once. */
	geometry.rings = 2000;
	rc = available < 2001 ? ring_memory_create(&geometry, &fd) : -ENOMEM;
	CHECK(rc == -ENOMEM || rc == -ENOTSUP, "%d", rc);
	geometry.rings = 2;
	rc = ring_memory_create(&geometry, &fd);
	printf("%lu huge pages free: %s\n", available, rc ? strerror(-rc) : "used");
	if (rc) {
		CHECK(rc == -ENOTSUP || (rc == -ENOMEM && available < 3), "%d", rc);
		return;
	}
	producer = way_map(&variants[3], fd);
	CHECK((uintptr_t)ring_producer_base(producer) % page == 0, "alignment");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	for (uint64_t i = 0; i < 60; i++) {
		publish(producer, i * 1000, 1000);
		CHECK(drain(consumer) == 1000, "records");
	}
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
	for (unsigned int backend = 0; backend < WAYS; backend++)
		test_import(&variants[backend], RING_MODE_DISCARD, RING_HUGE_PAGES);
}

/* In a process that cannot map more memory. */
static int import_without_space(uint64_t base)
{
	struct process self = {.pid = getpid()};
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	int copy;

	if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit))
		return 0;
	fclose(file);
	limit.rlim_cur = pages * 4096;
	if (setrlimit(RLIMIT_AS, &limit))
		return 0;
	return ring_memory_import(read_process, &self, base, &copy);
}

/* A copy that cannot be mapped is an error, and its descriptor is closed. */
static void test_import_without_space(void)
{
	struct ring_geometry geometry = small;
	struct ring_producer *producer;
	int fd, status, next;
	pid_t child;

	geometry.size = 1 << 24; /* more than the allocator keeps in reserve */
	geometry.clock = variants[0].clock;
	CHECK(ring_memory_create(&geometry, &fd) == 0, "create");
	producer = way_map(&variants[0], fd);
	CHECK(producer, "map");
	child = fork();
	CHECK(child >= 0, "fork");
	if (!child) {
		next = dup(0);
		close(next);
		if (import_without_space((uintptr_t)ring_producer_base(producer)) != -ENOMEM)
			_exit(1);
		_exit(dup(0) == next ? 0 : 2);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
	ring_producer_unmap(producer);
	close(fd);
}

int main(void)
{
	static const enum ring_mode modes[] = {
			RING_MODE_DISCARD, RING_MODE_OVERWRITE, RING_MODE_BLOCK};

	CHECK(mkdtemp(directory), "mkdtemp");
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY);
	CHECK(dir_fd >= 0, "open");
	signal(SIGBUS, on_bus);
	for (unsigned int i = 0; i < 3; i++) {
		test_file(modes[i]);
		test_truncation(modes[i]);
		test_copy(modes[i], false);
		test_copy(modes[i], true);
		for (unsigned int backend = 0; backend < WAYS; backend++) {
			test_import(&variants[backend], modes[i], 0);
			test_import(&variants[backend], modes[i], RING_PREFAULT);
		}
	}
	test_file_refusals();
	test_other_bus();
	test_dump();
	test_import_spoilt();
	test_import_without_space();
	test_prefault();
	test_huge();
	CHECK(rmdir(directory) == 0, "something is left behind");
	close(dir_fd);
	return 0;
}
