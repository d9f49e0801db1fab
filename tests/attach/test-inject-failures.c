/* SPDX-License-Identifier: MIT */
/*
 * Failing calls while an attach examines a program: each step reports the error of the failed call,
 * and releases everything. The test includes the files, so that it can call their static functions
 * and fail their calls.
 */
#include "attach/copy.c"
#include "attach/elf.c"
#include "attach/safe.c"
#include "attach/target.c"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../check.h"
#include "../failing-calls.h"
#include "../resources.h"

FAILING_DECLARE(int, open64, const char *path, int flags, ...);
FAILING_DECLARE(FILE *, fopen64, const char *path, const char *mode);
FAILING_DECLARE(ssize_t, getline, char **line, size_t *size, FILE *file);
FAILING_DECLARE(ssize_t, __getdelim, char **line, size_t *size, int end, FILE *file);
FAILING_DECLARE(ssize_t, read, int fd, void *to, size_t size);

int __wrap_open64(const char *path, int flags, ...)
{
	return failing_is_due("open", EMFILE) ? -1 : __real_open64(path, flags);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	return failing_is_due("fopen", EMFILE) ? NULL : __real_fopen64(path, mode);
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *file)
{
	return failing_is_due("getline", ENOMEM) ? -1 : __real_getline(line, size, file);
}

/* getline() when the compiler optimizes. */
ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file)
{
	return failing_is_due("getline", ENOMEM) ? -1 : __real___getdelim(line, size, end, file);
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	return failing_is_due("read", EIO) ? -1 : __real_read(fd, to, size);
}

/* Returns the error of the failed function. */
static int failing_error(void)
{
	if (!strcmp(failing_name, "open") || !strcmp(failing_name, "fopen"))
		return EMFILE;
	if (!strcmp(failing_name, "fstat") || !strcmp(failing_name, "pread") ||
			!strcmp(failing_name, "read"))
		return EIO;
	return ENOMEM;
}

static struct inject_report report;

static bool is_reported(int ret, enum inject_kind kind, const char *format, const char *hint)
{
	char wanted[INJECT_TEXT_MAX], name[64];

	(void)snprintf(wanted, sizeof(wanted), "cannot attach to %d (%s): %s%s", getpid(),
			inject_name(getpid(), name, sizeof(name)), format,
			failing_name ? strerror(failing_error()) : "");
	if (ret == -1 && report.kind == kind && !strcmp(report.text, wanted) &&
			!strcmp(report.hint, hint))
		return true;
	(void)fprintf(stderr, "%d, %d: %s; %s\n", ret, (int)report.kind, report.text, report.hint);
	return false;
}

static struct inject_target self(void)
{
	report = (struct inject_report){.kind = INJECT_DONE};
	return (struct inject_target){.pid = getpid(), .memory = -1, .report = &report};
}

/* ---- files ---- */

/* A file whose table cannot be read is not a file without symbols. */
static void test_elf(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ret = -1;
	unsigned int number = 0, kinds[3] = {0};
	struct inject_elf elf;

	for (; ret; number++) {
		memset(&elf, 0xaa, sizeof(elf));
		failing_arm(number + 1);
		ret = inject_elf_read(fd, &elf);
		CHECK(failing_has_failed() == !!ret && (!ret || ret == -failing_error()));
		if (!ret)
			break;
		kinds[*failing_name == 'f' ? 0 : *failing_name == 'm' ? 1 : 2]++;
		CHECK(!elf.headers && !elf.symbols && !elf.names && !elf.nr_symbols);
	}
	/* The header, and four tables, for each of which: its size, an allocation, a read. */
	CHECK(kinds[0] == 4 && kinds[1] == 4 && kinds[2] == 5);
	CHECK(elf.nr_headers && elf.nr_symbols && elf.interpreter);
	inject_elf_free(&elf);
	close(fd);
}

/* An empty file, and one that ends within its header. */
static void test_short(void)
{
	static const char bytes[sizeof(Elf32_Ehdr)] = {
			ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32};
	int fd = memfd_create("short", MFD_CLOEXEC);
	struct inject_elf elf;

	CHECK(inject_elf_read(fd, &elf) == -ENOEXEC);
	CHECK(write(fd, bytes, sizeof(bytes) - 1) == sizeof(bytes) - 1 &&
			inject_elf_read(fd, &elf) == -ENOEXEC);
	CHECK(write(fd, "", 1) == 1 && !inject_elf_read(fd, &elf) && elf.class == ELFCLASS32);
	close(fd);
	CHECK(inject_elf_read(fd, &elf) == -EBADF);
}

static void test_executable(void)
{
	struct inject_target target = self();
	unsigned int number = 1;

	for (;; number++) {
		int ret;

		target = self();
		/*
		 * The first calls open the file whose name messages use, read it and find its end.
		 */
		failing_arm(number);
		ret = attach_target_check_executable(&target);
		if (!failing_has_failed())
			break;
		if (number <= 3)
			CHECK(!ret && report.kind == INJECT_DONE);
		else
			CHECK(is_reported(ret, INJECT_FAILED,
					number == 4 ? "" : "its file cannot be read: ", ""));
	}
	CHECK(number == 18);
}

/* ---- /proc ---- */

static void test_status(void)
{
	char text[32];

	failing_arm(1);
	CHECK(!inject_status(getpid(), 0, "State", text, sizeof(text)) && errno == EMFILE &&
			failing_has_failed() && !*text);
	failing_arm(2);
	CHECK(!inject_status(getpid(), 0, "State", text, sizeof(text)) && errno == EIO &&
			failing_has_failed() && !*text);
	CHECK(!inject_status(getpid(), 0, "Nothing", text, sizeof(text)) && errno == ENODATA);
	CHECK(!inject_status(INT32_MAX, 0, "State", text, sizeof(text)) && errno == ENOENT);
	CHECK(!attach_target_read_small_file("/dev/null", text, sizeof(text)) && errno == ENODATA);
	/* As many bytes as there is space for, and a 0. */
	CHECK(inject_status(getpid(), 0, "State", text, 4) && !strcmp(text, "R (") &&
			inject_status(getpid(), 0, "State", text, 12) &&
			!strcmp(text, "R (running)"));
}

/* A program whose sandbox is unknown is not changed. */
static void test_state(void)
{
	const struct inject_request request = {.pid = getpid()};
	unsigned int number = 1;

	for (;; number++) {
		struct inject_target target = self();
		int ret;

		failing_arm(number);
		ret = attach_target_check_state(&target, &request);
		if (!failing_has_failed())
			break;
		if (number <= 3)
			CHECK(!ret && report.kind == INJECT_DONE);
		else
			CHECK(is_reported(ret, INJECT_FAILED, "its state cannot be read: ", ""));
	}
	/* The name and four fields: each is opened and read, and its end is found. */
	CHECK(number == 16);
	failing_name = NULL;
}

static void test_mappings(void)
{
	struct inject_target target = self();
	unsigned int number = 1;
	size_t wanted;

	CHECK(!inject_maps_read(&target) && target.nr_mappings > 10);
	wanted = target.nr_mappings;
	for (;; number++) {
		int ret;

		failing_arm(number);
		ret = inject_maps_read(&target);
		if (!failing_has_failed())
			break;
		CHECK(ret == -failing_error());
		inject_maps_free(&target);
	}
	/* fopen() and realloc(), then two calls for each line; getline() finds the end. */
	CHECK(target.nr_mappings == wanted && number == 2 + 2 * wanted + 1 + 1);
	inject_target_close(&target);
}

/* ---- memory ---- */

static void test_memory(void)
{
	struct inject_target target = self();
	long page = sysconf(_SC_PAGESIZE);
	char path[64], word[8] = "1234567", *two;
	int status, ends[2];
	pid_t child;

	target.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	CHECK(two != MAP_FAILED && !munmap(two + page, (size_t)page));
	errno = 0;
	CHECK(!inject_read(&target, 16, word, 8) && errno == EIO);
	CHECK(!inject_write(&target, 16, word, 8) && errno == EIO);
	/* The memory ends within the bytes. */
	errno = 0;
	CHECK(!inject_read(&target, (uintptr_t)two + (uintptr_t)page - 4, word, 8) && errno == EIO);
	errno = 0;
	CHECK(!inject_write(&target, (uintptr_t)two + (uintptr_t)page - 4, word, 8) &&
			errno == EIO);
	CHECK(inject_write(&target, (uintptr_t)two + (uintptr_t)page - 8, "abcdefg", 8) &&
			inject_read(&target, (uintptr_t)two + (uintptr_t)page - 8, word, 8) &&
			!strcmp(word, "abcdefg"));
	errno = 0;
	CHECK(!inject_read(&target, (uint64_t)INT64_MAX + 1, word, 8) && errno == EIO);
	close(target.memory);
	munmap(two, (size_t)page);
	/* A program that has exited has no memory. */
	CHECK(!pipe(ends));
	child = fork();
	if (!child) {
		close(ends[1]);
		(void)!__real_read(ends[0], word, 1);
		_exit(0);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", child);
	target.memory = open(path, O_RDWR | O_CLOEXEC);
	CHECK(target.memory >= 0 && inject_read(&target, (uintptr_t)word, word, 8));
	close(ends[0]);
	close(ends[1]);
	CHECK(waitpid(child, &status, 0) == child);
	errno = 0;
	CHECK(!inject_read(&target, (uintptr_t)word, word, 8) && errno == ESRCH);
	errno = 0;
	CHECK(!inject_write(&target, (uintptr_t)word, word, 8) && errno == ESRCH);
	close(target.memory);
}

/* ---- refusals ---- */

/* Only a refusal of the kernel can be overcome with more rights. */
static void test_permissions(void)
{
	struct inject_target target = self();

	failing_name = NULL;
	CHECK(is_reported(inject_not_permitted(&target, 0, EMFILE), INJECT_FAILED,
			"Too many open files", ""));
	CHECK(is_reported(inject_not_permitted(&target, 0, ENOMEM), INJECT_FAILED,
			"Cannot allocate memory", ""));
	CHECK(inject_not_permitted(&target, 0, EACCES) == -1 &&
			report.kind == INJECT_NOT_PERMITTED);
	CHECK(inject_not_permitted(&target, 0, EPERM) == -1 && report.kind == INJECT_NOT_PERMITTED);
	CHECK(inject_not_permitted(&target, 0, ESRCH) == -1 && report.kind == INJECT_GONE);
}

/* ---- the agent ---- */

static void test_agent(void)
{
	struct inject_target target = self();
	char file[] = "/tmp/side-inject-XXXXXX/libside-agent.so", *slash;
	static const char bytes[4096];
	const struct inject_mapping *mapping;
	unsigned int number, failed = 0;
	void *memory;
	int fd;

	slash = strrchr(file, '/');
	*slash = '\0';
	CHECK(mkdtemp(file));
	*slash = '/';
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	CHECK(fd >= 0 || errno == EACCES);
	CHECK(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	memory = mmap(NULL, sizeof(bytes), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	target.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	CHECK(!inject_maps_read(&target));
	mapping = attach_target_find_agent_code(&target);
	CHECK(mapping && mapping->begin == (uintptr_t)memory);
	/* The file is not an ELF file, so it is not an agent of this version. */
	CHECK(attach_target_find_agent(&target, "serve") == -1 &&
			report.kind == INJECT_UNSUITABLE &&
			strstr(report.text,
					"it has loaded an agent of another version (/tmp/side-inject-") &&
			!strcmp(report.hint, "restart the program"));
	for (number = 3;; number++) {
		int ret;

		target.report->kind = INJECT_DONE;
		failing_arm(number);
		ret = attach_target_find_agent(&target, "serve");
		if (!failing_has_failed())
			break;
		/* The file has a second name, by which it is opened then. */
		if (report.kind == INJECT_FAILED)
			CHECK(is_reported(ret, INJECT_FAILED,
					"the agent that it has loaded cannot be read: ", ""));
		else
			CHECK(!failed && report.kind == INJECT_UNSUITABLE);
		failed += report.kind == INJECT_FAILED;
	}
	CHECK(failed == 1);
	inject_target_close(&target);
	munmap(memory, sizeof(bytes));
	CHECK(!unlink(file));
	*slash = '\0';
	CHECK(!rmdir(file));
}

/* ---- stacks ---- */

/* A file that cannot be examined may define malloc(): no thread is stopped then. */
static void test_stacks(void)
{
	static const char text[] = "cannot read its list of loaded libraries: ";
	struct inject_target target = self();
	unsigned int number, refused = 0, passed = 0;
	uint8_t *classes;

	target.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	CHECK(!inject_maps_read(&target));
	classes = calloc(target.nr_mappings, 1);
	for (number = 0; number < 100000; number++) {
		struct inject_safe *safe;

		report = (struct inject_report){.kind = INJECT_DONE};
		failing_arm(number);
		safe = inject_safe_open(&target);
		if (!number)
			memcpy(classes, safe->class_of, target.nr_mappings);
		if (!failing_has_failed() && number) {
			CHECK(safe);
			inject_safe_close(safe);
			break;
		}
		if (safe) {
			CHECK(!memcmp(classes, safe->class_of, target.nr_mappings) &&
					report.kind == INJECT_DONE);
			passed += number > 0;
		} else {
			CHECK(report.kind == INJECT_FAILED && strstr(report.text, text) &&
					(strstr(report.text, strerror(failing_error())) ||
							strstr(report.text, "out of memory")));
			refused++;
		}
		inject_safe_close(safe);
	}
	CHECK(refused > 10 && passed);
	free(classes);
	inject_target_close(&target);
}

int main(void)
{
	struct resources before = {0};

	for (int round = 0; round < 3; round++) {
		test_elf();
		test_short();
		test_executable();
		test_status();
		test_state();
		test_mappings();
		test_memory();
		test_permissions();
		test_agent();
		test_stacks();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	return 0;
}
