/* SPDX-License-Identifier: MIT */
/*
 * The checks of libraries in `side doctor`: the test creates their files, and plays the loader,
 * pkg-config and running programs.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/side/doctor/doctor.h"
#include "programs/side/processes/running.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "recorder/core/session.h"

/* ---- files ---- */

static char folder[] = "/tmp/side-test-libraries-XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[8][200];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static size_t add_note(unsigned char *notes, size_t used, const char *name, uint32_t name_size,
		uint32_t type, const char *text, uint32_t size)
{
	const Elf64_Nhdr note = {.n_namesz = name_size, .n_descsz = size, .n_type = type};

	memcpy(notes + used, &note, sizeof(note));
	used += sizeof(note);
	memcpy(notes + used, name, name_size);
	used += (name_size + 3u) & ~3u;
	memcpy(notes + used, text, size);
	return used + ((size + 3u) & ~3u);
}

/* Writes a library with three segments, the last one with notes. version NULL: no version note. */
static void make_library(const char *path, const char *version)
{
	unsigned char notes[200] = {0};
	size_t size = add_note(notes, 0, "GNU", 4, 2, "x", 2);
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					     ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(header),
			.e_ehsize = sizeof(header),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3};
	Elf64_Phdr segments[3] = {{.p_type = PT_LOAD},
			{.p_type = PT_NOTE, .p_offset = sizeof(header), .p_filesz = 0},
			{.p_type = PT_NOTE,
					.p_offset = sizeof(header) + sizeof(segments),
					.p_align = 4}};
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	if (version)
		size = add_note(notes, size, "SIDE", 5, 2, version, (uint32_t)strlen(version) + 1);
	segments[2].p_filesz = size;
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fwrite(segments, sizeof(segments), 1, file), 1);
	assert_int_equal(fwrite(notes, size, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* ---- what is played ---- */

static const char *own_library, *own_agent; /* NULL: out of memory */

static char *played_library(const char *name)
{
	const char *path = !strcmp(name, "libside.so.0") ? own_library : own_agent;

	return path ? strdup(path) : NULL;
}

static int spawn_error, spawn_status[4], interrupts, written_to;
static const char *texts[4]; /* of the programs, in order */
static unsigned int nr_spawned;
static bool no_pipe;
static bool shows_environment;

static unsigned int nr_actions, nr_opened, nr_nulls;

static int played_open_file(const char *path, int flags)
{
	assert_true(flags == (O_RDONLY | O_CLOEXEC) ||
			flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK));
	nr_opened += flags != (O_RDONLY | O_CLOEXEC);
	return open(path, flags);
}

static int played_actions(posix_spawn_file_actions_t *actions)
{
	nr_actions++;
	return posix_spawn_file_actions_init(actions);
}

static int played_actions_end(posix_spawn_file_actions_t *actions)
{
	nr_actions--;
	return posix_spawn_file_actions_destroy(actions);
}

static int played_pipe(int ends[2], int flags)
{
	assert_int_equal(flags, O_CLOEXEC);
	return no_pipe ? -1 : pipe2(ends, flags);
}

static int played_dup2(posix_spawn_file_actions_t *actions, int from, int to)
{
	(void)actions;
	assert_int_equal(to, 1);
	written_to = from;
	return 0;
}

static int played_open_null(posix_spawn_file_actions_t *actions, int to, const char *path,
		int flags, mode_t mode)
{
	(void)actions;
	nr_nulls++;
	assert_true(to == 2 && flags == O_WRONLY && !mode);
	assert_string_equal(path, "/dev/null");
	return 0;
}

static int played_spawn(pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
	const char *text = texts[nr_spawned];

	assert_non_null(actions);
	assert_null(attributes);
	assert_ptr_equal(program, argv[0]);
	for (char *const *word = argv; *word; word++)
		called("%s ", *word);
	for (char *const *entry = environment; *entry && shows_environment; entry++)
		if (!strncmp(*entry, "LD_", 3))
			called("%s ", *entry);
	called(";");
	*pid = 0;
	if (spawn_error)
		return spawn_error;
	if (text)
		assert_int_equal(write(written_to, text, strlen(text)), strlen(text));
	*pid = 70 + (pid_t)nr_spawned++;
	return 0;
}

static pid_t played_wait(pid_t pid, int *status, int flags)
{
	assert_true(pid == 69 + (pid_t)nr_spawned && !flags);
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	*status = spawn_status[nr_spawned - 1];
	return pid;
}

static int memory;
static unsigned int nr_searches, nr_images;
static bool no_search, no_image;
static const char *configured; /* NULL: not found */

static struct library_search *played_search(void)
{
	const char *variable = getenv("LD_LIBRARY_PATH");

	called("search %s;", variable ? variable : "-");
	if (no_search)
		return NULL;
	nr_searches++;
	return (struct library_search *)(void *)&memory;
}

static void played_search_close(struct library_search *search)
{
	assert_ptr_equal(search, &memory);
	nr_searches--;
}

static int played_image(int fd, bool debug, struct image **image, struct error *error)
{
	(void)error;
	assert_true(fd >= 0 && !debug);
	if (no_image)
		return -EINVAL;
	nr_images++;
	*image = (struct image *)(void *)&memory;
	return 0;
}

static void played_image_close(struct image *image)
{
	assert_ptr_equal(image, &memory);
	nr_images--;
}

static char *played_find(struct library_search *search, const struct image *image, const char *path,
		const char *name)
{
	assert_ptr_equal(search, image);
	called("find %s by %s;", name, path);
	return configured ? strdup(configured) : NULL;
}

static struct running {
	pid_t pid;
	const char *name, *library, *program; /* NULL: the process has exited */
} running[6];
static size_t nr_running;
static int find_error;

static int played_running(pid_t **pids, size_t *count)
{
	if (find_error)
		return find_error;
	*pids = malloc(sizeof(**pids) * (nr_running + 1));
	*count = nr_running;
	for (size_t i = 0; i < nr_running; i++)
		(*pids)[i] = running[i].pid;
	return 0;
}

static const struct running *program_of(pid_t pid)
{
	for (size_t i = 0; i < nr_running; i++)
		if (running[i].pid == pid)
			return &running[i];
	abort();
}

static bool played_running_library(pid_t pid, char path[PATH_MAX])
{
	const struct running *program = program_of(pid);

	/* The path of a program that has exited is invalid. */
	snprintf(path, PATH_MAX, "%s", program->library ? program->library : own_agent);
	return program->library;
}

static bool played_program(pid_t pid, char path[PATH_MAX])
{
	const struct running *program = program_of(pid);

	called("program %d;", (int)pid);
	if (program->program)
		snprintf(path, PATH_MAX, "%s", program->program);
	return program->program;
}

static const char *played_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	snprintf(name, RUNNING_NAME_MAX, "%s", program_of(pid)->name);
	return name;
}

#undef SIDE_VERSION
#define SIDE_VERSION "1.2"
#define session_library played_library
#define pipe2 played_pipe
#define posix_spawn_file_actions_adddup2 played_dup2
#define posix_spawn_file_actions_addopen played_open_null
#define posix_spawn_file_actions_init played_actions
#define posix_spawn_file_actions_destroy played_actions_end
#define open(path, flags) played_open_file(path, flags)
#define posix_spawnp played_spawn
#define waitpid played_wait
#define library_search_open played_search
#define library_search_close played_search_close
#define library_find played_find
#define image_open played_image
#define image_close played_image_close
#define running_find played_running
#define running_library played_running_library
#define running_program played_program
#define running_name played_name
#include "programs/side/doctor/library.c"
#undef open

static struct doctor doctor;

static void reset(void)
{
	doctor = (struct doctor){.root = ""};
	own_library = in_folder("libside.so.0");
	own_agent = in_folder("libside-agent.so");
	make_library(own_library, "1.2");
	make_library(own_agent, "1.2");
	spawn_error = interrupts = 0;
	memset(spawn_status, 0, sizeof(spawn_status));
	memset(texts, 0, sizeof(texts));
	nr_spawned = 0;
	no_pipe = no_search = no_image = shows_environment = false;
	configured = NULL;
	find_error = 0;
	nr_running = 0;
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
	*calls = '\0';
}

/* Replaces each "%s" in texts by the folder. */
static const char *text_of(const char *format)
{
	static char made[4][1200];
	static unsigned int next;
	char *text = made[next++ % 4];
	size_t used = 0;

	for (; *format; format++) {
		if (!strncmp(format, "%s", 2)) {
			used += (size_t)snprintf(text + used, sizeof(made[0]) - used, "%s", folder);
			format++;
		} else {
			text[used++] = *format;
		}
	}
	text[used] = '\0';
	return text;
}

static void assert_finding(
		const char *name, enum doctor_state state, const char *found, const char *hint)
{
	const struct doctor_check *check = doctor_library_checks;
	struct doctor_finding finding = {.state = (enum doctor_state)99};
	unsigned int descriptors = resources_descriptors();

	while (strcmp(check->name, name) != 0)
		check++;
	nr_spawned = 0;
	check->check(&doctor, &finding);
	assert_string_equal(finding.found, text_of(found));
	assert_string_equal(finding.hint, text_of(hint));
	assert_int_equal(finding.state, state);
	assert_int_equal(resources_descriptors(), descriptors);
	assert_int_equal(nr_searches, 0);
	assert_int_equal(nr_images, 0);
}

/* ---- versions ---- */

static bool take(const unsigned char *notes, size_t size, char version[32])
{
	unsigned char copy[300];
	Elf_Data data = {.d_buf = copy,
			.d_type = ELF_T_NHDR,
			.d_version = EV_CURRENT,
			.d_size = size,
			.d_align = 4};

	memcpy(copy, notes, size);
	memset(version, '#', 32);
	return library_find_version(&data, version);
}

static void test_notes(void **unused)
{
	static const char longest[33] = "abcdefghijklmnopqrstuvwxyzABCDE";
	unsigned char notes[300];
	char version[32];
	size_t size;

	(void)unused;
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	memset(notes, 0, sizeof(notes));
	size = add_note(notes, 0, "SIDE", 5, 2, "7.8", 4);
	assert_true(take(notes, size, version));
	assert_string_equal(version, "7.8");
	assert_int_equal(version[4], '#');
	/*
	 * Others before it: of another type, of another name, with another length of the name,
	 * without text, too long, without end.
	 */
	size = add_note(notes, 0, "SIDE", 5, 1, "1", 2);
	assert_false(take(notes, size, version));
	size = add_note(notes, size, "SIDF", 5, 2, "2", 2);
	size = add_note(notes, size, "SIDE", 4, 2, "3", 2);
	size = add_note(notes, size, "SIDE\0", 6, 2, "4", 2);
	size = add_note(notes, size, "SIDE", 5, 2, "", 0);
	size = add_note(notes, size, "SIDE", 5, 2, longest, 33);
	size = add_note(notes, size, "SIDE", 5, 2, "5", 1);
	assert_false(take(notes, size, version));
	size = add_note(notes, size, "SIDE", 5, 2, longest, 32);
	assert_true(take(notes, size, version));
	assert_memory_equal(version, longest, 32);
	assert_false(take(notes, 0, version));
}

static void test_versions(void **unused)
{
	struct doctor_library library;
	unsigned int descriptors;
	FILE *file;

	(void)unused;
	reset();
	descriptors = resources_descriptors();
	assert_true(library_open(&library, own_library));
	assert_string_equal(library.path, own_library);
	assert_string_equal(library.version, "1.2");
	assert_string_equal(library_version(&library), "1.2");
	assert_int_equal(library_directory(&library), strlen(folder));
	assert_int_equal(symlink("libside.so.0", in_folder("link")), 0);
	assert_true(library_open(&library, in_folder("link")));
	assert_string_equal(library.path, own_library);
	assert_int_equal(unlink(in_folder("link")), 0);
	make_library(in_folder("plain"), NULL);
	assert_true(library_open(&library, in_folder("plain")));
	assert_string_equal(library_version(&library), "unknown version");
	file = fopen(in_folder("plain"), "we");
	assert_non_null(file);
	(void)fputs("no ELF file", file);
	(void)fclose(file);
	assert_true(library_open(&library, in_folder("plain")));
	assert_string_equal(library.version, "");
	assert_int_equal(unlink(in_folder("plain")), 0);
	assert_false(library_open(&library, in_folder("plain")));
	assert_string_equal(library.path, "");
	/* The check does not wait for a writer of a pipe. */
	assert_int_equal(mkfifo(in_folder("plain"), 0600), 0);
	nr_opened = 0;
	assert_true(library_open(&library, in_folder("plain")));
	assert_int_equal(nr_opened, 1);
	assert_string_equal(library.version, "");
	assert_int_equal(unlink(in_folder("plain")), 0);
	assert_false(library_open(&library, ""));
	assert_false(library_open(&library, NULL));
	assert_int_equal(resources_descriptors(), descriptors);
}

static void test_skipped(void **unused)
{
	static const char *const checks[] = {"libside", "agent", "pkgconfig", "programs"};
	struct doctor_library library = {.path = "/src/libside/libside.so.0"};

	(void)unused;
	reset();
	for (int i = 0; i < 4; i++) {
		reset();
		doctor.is_other_machine = true;
		assert_finding(checks[i], DOCTOR_SKIPPED,
				"cannot be checked in the files of another machine", "");
		doctor.is_other_machine = false;
		own_library = in_folder("none");
		assert_finding(checks[i], DOCTOR_MISSING,
				"libside.so.0 is not installed beside `side`",
				"sudo apt install --reinstall libside0 (or sudo ninja -C build install)");
		own_library = NULL;
		assert_finding(checks[i], DOCTOR_MISSING,
				"libside.so.0 is not installed beside `side`",
				"sudo apt install --reinstall libside0 (or sudo ninja -C build install)");
		own_library = in_folder("src/libside/libside.so.0");
		assert_int_equal(mkdir(in_folder("src"), 0700), 0);
		assert_int_equal(mkdir(in_folder("src/libside"), 0700), 0);
		make_library(own_library, "1.2");
		assert_finding(checks[i], DOCTOR_SKIPPED, "`side` runs from its build directory",
				"");
		assert_called("");
		assert_int_equal(unlink(in_folder("src/libside/libside.so.0")), 0);
		assert_int_equal(rmdir(in_folder("src/libside")), 0);
		assert_int_equal(rmdir(in_folder("src")), 0);
	}
	assert_true(library_is_built(&library));
	memmove(library.path, library.path + 1, strlen(library.path));
	assert_false(library_is_built(&library));
	*library.path = '\0';
	assert_false(library_is_built(&library));
	assert_true(library_is_deleted("/a (deleted)"));
	assert_false(library_is_deleted("/a(deleted)"));
	assert_false(library_is_deleted("(deleted)"));
	assert_false(library_is_deleted("/a (deleted) "));
}

/* ---- programs that are started ---- */

static void test_run(void **unused)
{
	static char program[] = "p", option[] = "o", variable[] = "LD_X=1";
	char *const argv[] = {program, option, NULL}, *const environment[] = {variable, NULL};
	char text[9];
	unsigned int descriptors = resources_descriptors();

	(void)unused;
	reset();
	shows_environment = true;
	texts[0] = "1234567";
	interrupts = 2;
	memset(text, '#', sizeof(text));
	nr_nulls = 0;
	assert_true(library_run(argv, environment, text, sizeof(text)));
	assert_string_equal(text, "1234567");
	assert_called("p o LD_X=1 ;");
	assert_int_equal(nr_actions, 0);
	assert_int_equal(nr_nulls, 1);
	assert_int_equal(interrupts, 0);
	nr_spawned = 0;
	texts[0] = "123456789";
	memset(text, '#', sizeof(text));
	assert_true(library_run(argv, environment, text, sizeof(text) - 1));
	assert_string_equal(text, "1234567");
	assert_int_equal(text[8], '#');
	nr_spawned = 0;
	texts[0] = "no";
	spawn_status[0] = 1 << 8;
	assert_false(library_run(argv, environment, text, sizeof(text)));
	assert_string_equal(text, "no");
	nr_spawned = 0;
	spawn_status[0] = 9;
	assert_false(library_run(argv, environment, text, sizeof(text)));
	spawn_status[0] = 0;
	spawn_error = ENOENT;
	assert_false(library_run(argv, environment, text, sizeof(text)));
	assert_string_equal(text, "");
	*text = 'x';
	no_pipe = true;
	*calls = '\0';
	assert_false(library_run(argv, environment, text, sizeof(text)));
	assert_string_equal(text, "");
	assert_called("");
	assert_int_equal(nr_actions, 0);
	assert_int_equal(resources_descriptors(), descriptors);
}

#define LIST "LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=libside.so.0 ;"

static void test_loaded(void **unused)
{
	struct doctor_library library;
	char line[400];
	size_t before = 0;

	(void)unused;
	reset();
	shows_environment = true;
	setenv("LD_PRELOAD", "x", 1);
	setenv("LD_LIBRARY_PATH", "y", 1);
	setenv("LD_LIBRARY_PATHS", "z", 1);
	snprintf(line, sizeof(line), "\ta => b\n\tlibside.so.0 => %s (0x1)\n", own_library);
	texts[0] = line;
	texts[1] = line;
	assert_true(library_find_loaded(&library, true));
	assert_string_equal(library.path, own_library);
	assert_non_null(strstr(calls, "/bin/true "));
	assert_non_null(strstr(calls, "LD_LIBRARY_PATH=y "));
	assert_non_null(strstr(calls, "LD_LIBRARY_PATHS=z "));
	assert_null(strstr(calls, "LD_PRELOAD=x"));
	assert_non_null(strstr(calls, LIST));
	*calls = '\0';
	assert_true(library_find_loaded(&library, false));
	assert_null(strstr(calls, "LD_LIBRARY_PATH=y "));
	assert_non_null(strstr(calls, "LD_LIBRARY_PATHS=z "));
	assert_non_null(strstr(calls, LIST));
	unsetenv("LD_LIBRARY_PATHS");
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
	for (int i = 0; i < 3; i++) {
		static const char *const answers[] = {
				"\tlibside.so.0 => not found\n", "\tlibc.so.6 => /lib/x\n", ""};

		nr_spawned = 0;
		texts[0] = answers[i];
		assert_false(library_find_loaded(&library, true));
		assert_string_equal(library.path, "");
	}
	nr_spawned = 0;
	texts[0] = line;
	snprintf(line, sizeof(line), "libside.so.0 => %s\n", own_library);
	assert_true(library_find_loaded(&library, true));
	assert_string_equal(library.path, own_library);
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		nr_spawned = 0;
		assert_true(library_find_loaded(&library, true));
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), before);
	nr_spawned = 0;
	failing_arm(1);
	assert_false(library_find_loaded(&library, true));
	assert_true(failing_has_failed());
	assert_int_equal(nr_spawned, 0);
}

static void test_configured(void **unused)
{
	struct doctor_library own;
	size_t before = 0;

	(void)unused;
	reset();
	assert_true(library_open(&own, own_library));
	*calls = '\0';
	assert_false(library_is_configured(&own));
	assert_called(text_of("search -;find libside.so.0 by %s/libside.so.0;"));
	assert_null(getenv("LD_LIBRARY_PATH"));
	configured = own_library;
	setenv("LD_LIBRARY_PATH", "/v", 1);
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_true(library_is_configured(&own));
		assert_string_equal(getenv("LD_LIBRARY_PATH"), "/v");
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), before);
	configured = own_agent;
	assert_false(library_is_configured(&own));
	configured = own_library;
	no_image = true;
	assert_false(library_is_configured(&own));
	no_image = false;
	no_search = true;
	assert_false(library_is_configured(&own));
	assert_int_equal(nr_images, 0);
	unsetenv("LD_LIBRARY_PATH");
}

/* ---- the checks ---- */

static const char *loads(const char *path)
{
	static char lines[2][400];
	static unsigned int next;
	char *line = lines[next++ % 2];

	snprintf(line, sizeof(lines[0]), "libside.so.0 => %s (0x1)\n", path);
	return line;
}

static void test_libside(void **unused)
{
	(void)unused;
	reset();
	texts[0] = loads(own_library);
	assert_finding("libside", DOCTOR_OK, "%s/libside.so.0, 1.2", "");
	/* Not found. */
	texts[0] = "";
	assert_finding("libside", DOCTOR_MISSING, "the loader does not find %s/libside.so.0",
			"echo %s | sudo tee /etc/ld.so.conf.d/side.conf && sudo ldconfig");
	assert_int_equal(nr_spawned, 1);
	configured = own_library;
	assert_finding("libside", DOCTOR_MISSING, "the loader does not find %s/libside.so.0",
			"sudo ldconfig");
	setenv("LD_LIBRARY_PATH", "/v", 1);
	assert_finding("libside", DOCTOR_MISSING, "the loader does not find %s/libside.so.0",
			"sudo ldconfig");
	assert_int_equal(nr_spawned, 2);
	texts[1] = loads(own_library);
	assert_finding("libside", DOCTOR_MISSING, "the loader does not find %s/libside.so.0",
			"unset LD_LIBRARY_PATH");
	setenv("LD_LIBRARY_PATH", "", 1);
	assert_finding("libside", DOCTOR_MISSING, "the loader does not find %s/libside.so.0",
			"sudo ldconfig");
	assert_int_equal(nr_spawned, 1);
	/* Another library, of the same release and of a different release. */
	unsetenv("LD_LIBRARY_PATH");
	make_library(in_folder("other"), "1.2");
	texts[0] = loads(in_folder("other"));
	assert_finding("libside", DOCTOR_NOTE,
			"programs load %s/other (1.2) instead of %s/libside.so.0 (1.2)",
			"export LD_LIBRARY_PATH=%s");
	make_library(in_folder("other"), NULL);
	setenv("LD_LIBRARY_PATH", "", 1);
	assert_finding("libside", DOCTOR_MISSING,
			"programs load %s/other (unknown version) instead of %s/libside.so.0 (1.2)",
			"export LD_LIBRARY_PATH=%s");
	setenv("LD_LIBRARY_PATH", "/v", 1);
	assert_finding("libside", DOCTOR_MISSING,
			"programs load %s/other (unknown version) instead of %s/libside.so.0 (1.2)",
			"unset LD_LIBRARY_PATH");
	texts[1] = texts[0];
	assert_finding("libside", DOCTOR_MISSING,
			"programs load %s/other (unknown version) instead of %s/libside.so.0 (1.2)",
			"export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH");
	texts[1] = "";
	assert_finding("libside", DOCTOR_MISSING,
			"programs load %s/other (unknown version) instead of %s/libside.so.0 (1.2)",
			"export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH");
	unsetenv("LD_LIBRARY_PATH");
	assert_int_equal(unlink(in_folder("other")), 0);
}

static void test_agent(void **unused)
{
	struct doctor_library library = {.path = "/usr/lib/x"};
	struct doctor_finding finding;

	(void)unused;
	reset();
	assert_finding("agent", DOCTOR_OK, "%s/libside-agent.so, 1.2", "");
	make_library(own_agent, "1.3");
	make_library(own_library, "1.1");
	assert_finding("agent", DOCTOR_MISSING,
			"%s/libside-agent.so has another version (1.3) than `side` (1.2)",
			"sudo ninja -C build install");
	make_library(own_agent, "1.2");
	assert_finding("agent", DOCTOR_MISSING,
			"%s/libside.so.0 has another version (1.1) than `side` (1.2)",
			"sudo ninja -C build install");
	make_library(own_library, NULL);
	assert_finding("agent", DOCTOR_MISSING,
			"%s/libside.so.0 has another version (unknown version) than `side` (1.2)",
			"sudo ninja -C build install");
	own_agent = NULL;
	assert_finding("agent", DOCTOR_MISSING, "libside-agent.so is not installed beside `side`",
			"sudo ninja -C build install");
	library_reinstall(&finding, &library);
	assert_string_equal(finding.hint, "sudo apt install --reinstall side libside0");
	snprintf(library.path, sizeof(library.path), "/usr/libx");
	library_reinstall(&finding, &library);
	assert_string_equal(finding.hint, "sudo ninja -C build install");
}

#define EXPORT "export PKG_CONFIG_PATH=%s/pkgconfig"
#define VERSION "pkg-config --version ;"
#define WHERE "pkg-config --variable=pcfiledir libside ;"

static void test_pkgconfig(void **unused)
{
	char line[300];

	(void)unused;
	reset();
	assert_finding("pkgconfig", DOCTOR_NOTE, "libside.pc is not installed in %s/pkgconfig",
			"sudo apt install libside-dev");
	assert_called("");
	assert_int_equal(mkdir(in_folder("pkgconfig"), 0700), 0);
	spawn_status[0] = 127 << 8;
	assert_finding("pkgconfig", DOCTOR_NOTE, "pkg-config is not installed",
			"sudo apt install pkg-config");
	assert_called(VERSION);
	spawn_status[0] = 0;
	snprintf(line, sizeof(line), "%s/pkgconfig\nmore\n", folder);
	texts[1] = line;
	assert_finding("pkgconfig", DOCTOR_OK, "%s/pkgconfig/libside.pc", "");
	assert_called(VERSION WHERE);
	spawn_status[1] = 1 << 8;
	assert_finding("pkgconfig", DOCTOR_MISSING,
			"pkg-config does not find %s/pkgconfig/libside.pc", EXPORT);
	spawn_status[1] = 0;
	texts[1] = "\n";
	assert_finding("pkgconfig", DOCTOR_MISSING,
			"pkg-config does not find %s/pkgconfig/libside.pc", EXPORT);
	texts[1] = "/tmp\n";
	assert_finding("pkgconfig", DOCTOR_NOTE,
			"pkg-config finds /tmp/libside.pc instead of %s/pkgconfig/libside.pc",
			EXPORT);
	*calls = '\0';
	assert_int_equal(rmdir(in_folder("pkgconfig")), 0);
}

static void test_programs(void **unused)
{
	size_t before = 0;
	char expected[900];

	(void)unused;
	reset();
	assert_finding("programs", DOCTOR_OK, "0 running programs with libside use this one", "");
	running[0] = (struct running){11, "own", own_library, "/bin/own"};
	running[1] = (struct running){12, "gone", NULL, NULL};
	nr_running = 1;
	assert_finding("programs", DOCTOR_OK, "1 running program with libside uses this one", "");
	running[2] = (struct running){13, "lost", in_folder("none"), "/bin/lost"};
	nr_running = 3;
	assert_finding("programs", DOCTOR_OK, "3 running programs with libside use this one", "");
	assert_called("");
	/* Deleted: its version is not known. */
	running[2] = (struct running){
			13, "a-name-of-sixteen", "/x/libside.so.0 (deleted)", "/bin/lost"};
	assert_finding("programs", DOCTOR_NOTE,
			"a-name-of-sixte (process 13) uses /x/libside.so.0 (deleted) (unknown version)",
			"LD_LIBRARY_PATH=%s /bin/lost");
	assert_called("program 13;");
	/* Another library, of the same release and of a different release. */
	make_library(in_folder("other"), "1.2");
	make_library(in_folder("older"), "1.1");
	running[3] = (struct running){14, "b", in_folder("other"), "/bin/b"};
	nr_running = 4;
	assert_finding("programs", DOCTOR_NOTE,
			"a-name-of-sixte (process 13) uses /x/libside.so.0 (deleted) (unknown version), b (process 14) uses %s/other (1.2)",
			"LD_LIBRARY_PATH=%s /bin/lost");
	running[4] = (struct running){15, "c", in_folder("older"), "/bin/c"};
	running[2].program = NULL;
	nr_running = 5;
	snprintf(expected, sizeof(expected),
			"a-name-of-sixte (process 13) uses /x/libside.so.0 (deleted) (unknown version), b (process 14) uses %s/other (1.2), c (process 15) uses %s/older (1.1)",
			folder, folder);
	assert_finding("programs", DOCTOR_MISSING, expected, "LD_LIBRARY_PATH=%s PROGRAM");
	/* Of more than three, three are named. */
	running[5] = (struct running){16, "d", in_folder("other"), "/bin/d"};
	nr_running = 6;
	strcat(expected, ", ...");
	*calls = '\0';
	for (int i = 0; i < 12; i++) {
		before = i == 10 ? resources_memory() : before;
		assert_finding("programs", DOCTOR_MISSING, expected, "LD_LIBRARY_PATH=%s PROGRAM");
		assert_called("program 13;");
	}
	assert_int_equal(resources_memory(), before);
	/* A text that is too long is cut. */
	{
		char path[140];
		size_t length;

		memset(path, 'd', sizeof(path));
		path[0] = '/';
		strcpy(path + 100, " (deleted)");
		for (int i = 0; i < 4; i++)
			running[i] = (struct running){1000000 + i, "fifteen-letters", path, NULL};
		nr_running = 3;
		length = (size_t)snprintf(expected, sizeof(expected),
				"fifteen-letters (process 1000000) uses %.90s (unknown version), fifteen-letters (process 1000001) uses %.90s (unknown version), fifteen-letters (process 1000002) uses %.90s (unknown version)",
				path, path, path);
		assert_true(length > 400);
		expected[399] = '\0';
		assert_finding("programs", DOCTOR_NOTE, expected, "LD_LIBRARY_PATH=%s PROGRAM");
		nr_running = 4;
		strcat(expected, ", ...");
		assert_finding("programs", DOCTOR_NOTE, expected, "LD_LIBRARY_PATH=%s PROGRAM");
		*calls = '\0';
	}
	assert_int_equal(unlink(in_folder("older")), 0);
	assert_int_equal(unlink(in_folder("other")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_notes),
			cmocka_unit_test(test_versions),
			cmocka_unit_test(test_skipped),
			cmocka_unit_test(test_run),
			cmocka_unit_test(test_loaded),
			cmocka_unit_test(test_configured),
			cmocka_unit_test(test_libside),
			cmocka_unit_test(test_agent),
			cmocka_unit_test(test_pkgconfig),
			cmocka_unit_test(test_programs),
	};
	int ret;

	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(in_folder("libside.so.0"));
	(void)unlink(in_folder("libside-agent.so"));
	(void)rmdir(folder);
	return ret;
}
