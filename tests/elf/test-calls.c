/* SPDX-License-Identifier: MIT */
/*
 * Failing calls while images are read, releases of libelf's objects, and the search of libraries
 * with each path that it opens.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <gelf.h>

#include "elf-writer.h"
#include "elf/events.h"
#include "elf/file.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "elf/objects.h"
#include "../failing-calls.h"

#define DATA 2048

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

/* ---- calls of libelf ---- */

static int nr_open; /* begun, but not ended */

FAILING_DECLARE(Elf *, elf_begin, int fd, Elf_Cmd command, Elf *reference);
FAILING_DECLARE(Elf *, elf_memory, char *bytes, size_t size);
FAILING_DECLARE(int, elf_end, Elf *elf_file);
FAILING_DECLARE(GElf_Phdr *, gelf_getphdr, Elf *file, int index, GElf_Phdr *header);
FAILING_DECLARE(GElf_Shdr *, gelf_getshdr, Elf_Scn *section, GElf_Shdr *header);
FAILING_DECLARE(GElf_Ehdr *, gelf_getehdr, Elf *file, GElf_Ehdr *header);
FAILING_DECLARE(GElf_Rela *, gelf_getrela, Elf_Data *data, int index, GElf_Rela *relocation);
FAILING_DECLARE(GElf_Rel *, gelf_getrel, Elf_Data *data, int index, GElf_Rel *relocation);
FAILING_DECLARE(int, elf_getphdrnum, Elf *file, size_t *count);
FAILING_DECLARE(int, elf_getshdrnum, Elf *file, size_t *count);
FAILING_DECLARE(Elf_Data *, elf_getdata, Elf_Scn *section, Elf_Data *data);
FAILING_DECLARE(unsigned int, elf_version, unsigned int version);

Elf *__wrap_elf_begin(int fd, Elf_Cmd command, Elf *reference)
{
	Elf *file = failing_is_due("elf_begin", 0) ? NULL
						   : __real_elf_begin(fd, command, reference);

	nr_open += file != NULL;
	return file;
}

Elf *__wrap_elf_memory(char *bytes, size_t size)
{
	Elf *file = failing_is_due("elf_memory", 0) ? NULL : __real_elf_memory(bytes, size);

	nr_open += file != NULL;
	return file;
}

int __wrap_elf_end(Elf *file)
{
	nr_open -= file != NULL;
	return __real_elf_end(file);
}

GElf_Phdr *__wrap_gelf_getphdr(Elf *file, int index, GElf_Phdr *header)
{
	return failing_is_due("phdr", 0) ? NULL : __real_gelf_getphdr(file, index, header);
}

GElf_Shdr *__wrap_gelf_getshdr(Elf_Scn *section, GElf_Shdr *header)
{
	return failing_is_due("shdr", 0) ? NULL : __real_gelf_getshdr(section, header);
}

GElf_Ehdr *__wrap_gelf_getehdr(Elf *file, GElf_Ehdr *header)
{
	return failing_is_due("ehdr", 0) ? NULL : __real_gelf_getehdr(file, header);
}

GElf_Rela *__wrap_gelf_getrela(Elf_Data *data, int index, GElf_Rela *relocation)
{
	return failing_is_due("rela", 0) ? NULL : __real_gelf_getrela(data, index, relocation);
}

GElf_Rel *__wrap_gelf_getrel(Elf_Data *data, int index, GElf_Rel *relocation)
{
	return failing_is_due("rel", 0) ? NULL : __real_gelf_getrel(data, index, relocation);
}

int __wrap_elf_getphdrnum(Elf *file, size_t *count)
{
	return failing_is_due("phdrnum", 0) ? -1 : __real_elf_getphdrnum(file, count);
}

int __wrap_elf_getshdrnum(Elf *file, size_t *count)
{
	return failing_is_due("shdrnum", 0) ? -1 : __real_elf_getshdrnum(file, count);
}

Elf_Data *__wrap_elf_getdata(Elf_Scn *section, Elf_Data *data)
{
	return failing_is_due("data", 0) ? NULL : __real_elf_getdata(section, data);
}

unsigned int __wrap_elf_version(unsigned int version)
{
	return failing_is_due("version", 0) ? EV_NONE : __real_elf_version(version);
}

/* ---- images ---- */

static void make_library(bool in_place)
{
	const unsigned int width = 8;

	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_put(6144, 0, 8);
	elf_add_segment(PT_LOAD, 0x1000, DATA, 1024, 1024, PF_R | PF_W);
	elf_add_section(&(struct writer_section){.name = "side_event_description_ptr",
			.type = SHT_PROGBITS,
			.flags = SHF_ALLOC,
			.address = 0x1000,
			.offset = DATA,
			.size = 8});
	elf_add_section(&(struct writer_section){.name = ".rel",
			.type = in_place ? SHT_REL : SHT_RELA,
			.flags = SHF_ALLOC,
			.offset = 5120,
			.size = in_place ? 2 * width : 3 * width,
			.entry = in_place ? 2 * width : 3 * width});
	elf_put_relocation(5120, 0, in_place, 0x1000, 0, in_place ? 1 : 8, 0x1008);
	elf_finish();
}

static void make_headless(void)
{
	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_put(DATA + 2047, 0, 1);
	elf_add_segment(PT_LOAD, 0x1000, DATA, 2048, 2048, PF_R | PF_W);
	elf_add_segment(PT_DYNAMIC, 0x1400, DATA + 0x400, 48, 48, PF_R);
	elf_put(DATA + 0x400, DT_RELA, 8);
	elf_put(DATA + 0x408, 0x1600, 8);
	elf_put(DATA + 0x410, DT_RELASZ, 8);
	elf_put(DATA + 0x418, 24, 8);
	elf_put_relocation(DATA + 0x600, 0, false, 0x1300, 0, 8, 0x1008);
	/* A description whose state points back to it. */
	elf_put(DATA, sizeof(struct side_event_description), 4);
	elf_put(DATA + 4, SIDE_EVENT_DESCRIPTION_ABI_VERSION, 4);
	elf_put(DATA + offsetof(struct side_event_description, state), 0x1200, 8);
	elf_put(DATA + 0x200 + 24, 0x1000, 8);
}

static void make_object(void)
{
	elf_begin_file(true, false, EM_X86_64, ET_REL);
	elf_put(DATA + 64, 0, 1);
	elf_add_section(&(struct writer_section){.name = "side_event_description_ptr",
			.type = SHT_PROGBITS,
			.flags = SHF_ALLOC,
			.offset = DATA,
			.size = 8});
	elf_finish();
}

/*
 * Opens the file with each call failing in turn: compares the function that failed, and the error
 * if it was not "out of memory".
 */
static void assert_failures(bool from_memory, const char *wanted)
{
	char seen[2048] = "";
	int fd = file_of(elf.bytes, elf.size);

	for (unsigned int number = 1;; number++) {
		struct error error = {0};
		struct image *image = NULL;
		bool has_failed;
		int ret;

		failing_arm(number);
		ret = from_memory ? image_open_memory(elf.bytes, elf.size, &image, &error)
				  : image_open(fd, true, &image, &error);
		has_failed = failing_has_failed();
		if (!ret)
			image_close(image);
		assert_int_equal(nr_open, 0);
		if (!has_failed) {
			assert_int_equal(ret, 0);
			break;
		}
		sprintf(seen + strlen(seen), "%s", failing_name);
		if (ret == -ENOMEM)
			assert_string_equal(error.text, "out of memory");
		else if (ret)
			sprintf(seen + strlen(seen), " %d %.30s", -ret, error.text);
		else
			strcat(seen, " ok");
		strcat(seen, "\n");
	}
	close(fd);
	if (strcmp(seen, wanted) != 0)
		fail_msg("got:\n%s\nexpected:\n%s", seen, wanted);
}

static void test_failures(void **unused)
{
	(void)unused;
	make_library(false);
	assert_failures(false,
			"calloc\n"
			"fstat 5 Input/output error\n"
			"version 95 libelf is too old\n"
			"elf_begin 8 it is not an ELF file\n"
			"ehdr 22 its ELF header is damaged\n"
			"shdrnum ok\n"
			"phdrnum 22 it is truncated or damaged\n"
			"phdr 22 it is truncated or damaged\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"data ok\n"
			"rela 22 its relocations are damaged\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n");
	make_library(true);
	assert_failures(true,
			"calloc\n"
			"version 95 libelf is too old\n"
			"elf_memory 8 it is not an ELF file\n"
			"ehdr 22 its ELF header is damaged\n"
			"shdrnum ok\n"
			"phdrnum 22 it is truncated or damaged\n"
			"phdr 22 it is truncated or damaged\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"data ok\n"
			"rel 22 its relocations are damaged\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n");
	make_headless();
	assert_failures(true,
			"calloc\n"
			"version 95 libelf is too old\n"
			"elf_memory 8 it is not an ELF file\n"
			"ehdr 22 its ELF header is damaged\n"
			"shdrnum ok\n"
			"phdrnum 22 it is truncated or damaged\n"
			"phdr 22 it is truncated or damaged\n"
			"reallocarray\n"
			"phdr 22 it is truncated or damaged\n"
			"phdrnum ok\n"
			"phdr ok\n"
			"phdr ok\n"
			"reallocarray\n"
			"malloc\n"
			"reallocarray\n");
	make_object();
	assert_failures(false,
			"calloc\n"
			"fstat 5 Input/output error\n"
			"version 95 libelf is too old\n"
			"elf_begin 8 it is not an ELF file\n"
			"ehdr 22 its ELF header is damaged\n"
			"shdrnum 22 its section headers are missin\n"
			"calloc\n"
			"shdr 22 it is truncated or damaged\n"
			"reallocarray\n"
			"shdr 22 it is truncated or damaged\n"
			"shdr 22 its section headers are damage\n"
			"reallocarray\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n"
			"shdr 22 its section headers are damage\n");
}

/* A signal during a read. */
static void test_interrupts(void **unused)
{
	int fd = file_of("0123456789", 10);
	char text[11] = "";

	(void)unused;
	failing_interrupts = 3;
	assert_int_equal(file_read(fd, 2, text, 8), 0);
	assert_int_equal(failing_interrupts, 0);
	assert_string_equal(text, "23456789");
	failing_arm(1);
	assert_int_equal(file_read(fd, 2, text, 8), -EIO);
	assert_true(failing_has_failed());
	close(fd);
}

/* The buffer of a description is released, whether it is read or not. */
static void test_events(void **unused)
{
	struct visit_owned *owned;
	struct visit_error error;
	struct visit_memory memory;
	struct image *image;
	struct error image_error;
	uint64_t bytes;

	(void)unused;
	make_headless();
	/* Only the names, without fields. */
	elf_put(DATA + 0x180, 0x79656b, 4);
	elf_put(DATA + offsetof(struct side_event_description, provider_name), 0x1180, 8);
	elf_put(DATA + offsetof(struct side_event_description, event_name), 0x1180, 8);
	elf_put(DATA + offsetof(struct side_event_description, nr_side_type_label), 1, 2);
	elf_put(DATA + offsetof(struct side_event_description, nr_side_attr_type), 1, 2);
	assert_int_equal(image_open_memory(elf.bytes, elf.size, &image, &image_error), 0);
	memory = image_memory(image);
	if (image_read_event(&memory, 0x1000, &owned, &bytes, &error))
		fail_msg("not read");
	assert_non_null(owned);
	assert_true(bytes > 0);
	visit_owned_free(owned);
	assert_int_not_equal(image_read_event(&memory, 0x9000, &owned, &bytes, &error), 0);
	assert_null(owned);
	assert_int_equal(bytes, 0);
	image_close(image);
}

/* ---- members of archives ---- */

static char seen[512];

static int note_image(void *priv, struct image *image, const char *member)
{
	(void)priv;
	(void)image;
	sprintf(seen + strlen(seen), "image %.20s; ", member ? member : "-");
	return 0;
}

static int note_broken(void *priv, const struct error *error, const char *member)
{
	(void)priv;
	sprintf(seen + strlen(seen), "%.20s: %.60s; ", member ? member : "-", error->text);
	return 0;
}

static const char *read_members(int fd, const char *path)
{
	const struct objects_ops ops = {.image = note_image, .broken = note_broken};

	*seen = '\0';
	assert_int_equal(objects_read(fd, path, &ops), 0);
	return seen;
}

static int archive_of(const char *magic, const char *name, const char *size)
{
	char header[69];

	snprintf(header, sizeof(header), "%s%-16s%-32s%-10s`\n", magic, name, "", size);
	return file_of(header, 68);
}

static void test_members(void **unused)
{
	static const char *const reports[] = {"-: out of memory; ", "a: out of memory; ",
			"a: it is truncated; ", "a: out of memory; ", "a: libelf is too old; "};
	char path[PATH_MAX + 1];
	int fd = archive_of("!<arch>\n", "a/", "1073741825");

	(void)unused;
	assert_int_equal(ftruncate(fd, 68 + 1073741826), 0);
	assert_string_equal(read_members(fd, "a.a"), "a: it is larger than 1 GiB; ");
	close(fd);
	/* The largest permitted member: its memory is requested, and the request refused here. */
	fd = archive_of("!<arch>\n", "a/", "1073741824");
	assert_int_equal(ftruncate(fd, 68 + 1073741824), 0);
	failing_arm(5);
	assert_string_equal(read_members(fd, "a.a"), "a: out of memory; ");
	assert_true(failing_has_failed());
	assert_string_equal(failing_name, "malloc");
	close(fd);
	/* The memory for a member's name, its bytes, a read of them, the image, its header. */
	make_object();
	for (unsigned int i = 0; i < 5; i++) {
		char size[11];

		snprintf(size, sizeof(size), "%zu", elf.size);
		fd = archive_of("!<arch>\n", "a/", size);
		assert_int_equal(write(fd, elf.bytes, elf.size), (ssize_t)elf.size);
		assert_string_equal(read_members(fd, "a.a"), "image a; ");
		failing_arm((unsigned int[]){3, 5, 6, 7, 8}[i]);
		assert_string_equal(read_members(fd, "a.a"), reports[i]);
		assert_true(failing_has_failed());
		assert_int_equal(nr_open, 0);
		close(fd);
	}
	/* An empty member is not an ELF file; a name in a table that cannot be read. */
	fd = archive_of("!<arch>\n", "a/", "0");
	assert_string_equal(read_members(fd, "a.a"), "");
	close(fd);
	/* Paths beside the archive: PATH_MAX - 1 characters, and one more. */
	for (size_t beyond = 0; beyond < 2; beyond++) {
		memset(path, 'd', sizeof(path));
		path[0] = path[PATH_MAX - 4 + beyond] = '/';
		strcpy(path + PATH_MAX - 3 + beyond, "t");
		fd = archive_of("!<thin>\n", "ab/", "1");
		assert_string_equal(read_members(fd, path),
				beyond ? "ab: its path is too long; " : "ab: File name too long; ");
		close(fd);
	}
}

/* ---- libraries ---- */

FAILING_DECLARE(int, open64, const char *path, int flags, ...);
FAILING_DECLARE(FILE *, fopen64, const char *path, const char *mode);
FAILING_DECLARE(int, glob64, const char *pattern, int flags, int (*failed)(const char *, int),
		glob_t *files);

static char opened[8192];         /* the opened paths */
static const char *configuration; /* instead of /etc/ld.so.conf */
static int open_error;            /* of each file; 0: the system's result */
static int glob_result;

int __wrap_open64(const char *path, int flags, ...)
{
	size_t used = strlen(opened);

	snprintf(opened + used, sizeof(opened) - used, "%s ", path);
	if (open_error) {
		errno = open_error;
		return -1;
	}
	return __real_open64(path, flags);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	if (failing_is_due("fopen", EMFILE))
		return NULL;
	return __real_fopen64(strcmp(path, "/etc/ld.so.conf") ? path : configuration, mode);
}

int __wrap_glob64(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *files)
{
	return glob_result ? glob_result : __real_glob64(pattern, flags, failed, files);
}

static char directory[] = "/tmp/side-test-libraries-XXXXXX";

static const char *in_directory(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(*paths), "%s/%s", directory, name);
	return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
	int fd = __real_open64(in_directory(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

/* Makes a program with entries of the dynamic section; NULL: without. */
static struct image *make_program(const char *rpath, const char *runpath)
{
	struct error error;
	struct image *image;
	size_t at = 4096;

	elf_begin_file(true, false, EM_X86_64, ET_DYN);
	elf_put(DATA + 255, 0, 1);
	if (rpath) {
		elf_put(at, DT_RPATH, 8);
		elf_put(at + 8, 1, 8);
		strcpy((char *)elf.bytes + DATA + 1, rpath);
		at += 16;
	}
	if (runpath) {
		elf_put(at, DT_RUNPATH, 8);
		elf_put(at + 8, 101, 8);
		strcpy((char *)elf.bytes + DATA + 101, runpath);
		at += 16;
	}
	elf_put(at + 8, 0, 8);
	elf_add_section(&(struct writer_section){
			.name = ".dynstr", .type = SHT_STRTAB, .offset = DATA, .size = 256});
	elf_add_section(&(struct writer_section){.name = ".dynamic",
			.type = SHT_DYNAMIC,
			.offset = 4096,
			.size = at + 16 - 4096,
			.link = 1,
			.entry = 16});
	elf_finish();
	assert_int_equal(image_open_memory(elf.bytes, elf.size, &image, &error), 0);
	return image;
}

/* Returns the paths that are opened for libx.so, which is in none of them. */
static const char *tried(const char *rpath, const char *runpath, const char *path)
{
	struct library_search *search = library_search_open();
	struct image *image = make_program(rpath, runpath);

	assert_non_null(search);
	*opened = '\0';
	assert_null(library_find(search, image, path, "libx.so"));
	assert_int_equal(library_search_error(search), 0);
	image_close(image);
	library_search_close(search);
	return opened;
}

#define STANDARD "/lib/libx.so /usr/lib/libx.so /lib64/libx.so /usr/lib64/libx.so "

static void test_order(void **unused)
{
	(void)unused;
	configuration = in_directory("missing");
	unsetenv("LD_LIBRARY_PATH");
	assert_string_equal(tried(NULL, NULL, "/bin/dir/p"), STANDARD);
	assert_string_equal(tried("/r:$ORIGIN/../l:${ORIGIN}:n$ORIGIN::$ORIGI", NULL, "/bin/dir/p"),
			"/r/libx.so /bin/dir/../l/libx.so /bin/dir/libx.so n$ORIGIN/libx.so ./libx.so $ORIGI/libx.so " STANDARD);
	assert_string_equal(
			tried("$ORIGIN/l:$ORIGIN", NULL, "p"), "./l/libx.so ./libx.so " STANDARD);
	setenv("LD_LIBRARY_PATH", "/e1:/e2;/e3", 1);
	assert_string_equal(tried("/r", NULL, "p"),
			"/r/libx.so /e1/libx.so /e2/libx.so /e3/libx.so " STANDARD);
	assert_string_equal(tried("/r;s", "/u1:/u2", "p"),
			"/e1/libx.so /e2/libx.so /e3/libx.so /u1/libx.so /u2/libx.so " STANDARD);
	setenv("LD_LIBRARY_PATH", "", 1);
	assert_string_equal(tried(NULL, "/u", "p"), "/u/libx.so " STANDARD);
	unsetenv("LD_LIBRARY_PATH");
}

static void test_configuration(void **unused)
{
	char text[1024];

	(void)unused;
	snprintf(text, sizeof(text),
			"# comment\n\n \t/first/one \t # x\n/second#y\nrelative\ninclude\nincludes %s/c/a\ninclude \t%s/c*.conf\ninclude %s/none*\n/last",
			directory, directory, directory);
	write_text("main", text);
	write_text("c1.conf", "/c/one\n");
	write_text("c2.conf", "/c/two\n/c/three\n");
	configuration = in_directory("main");
	assert_string_equal(tried(NULL, NULL, "p"),
			"/first/one/libx.so /second/libx.so /c/one/libx.so /c/two/libx.so /c/three/libx.so /last/libx.so " STANDARD);
	/* A file that includes itself is read eight times more. */
	snprintf(text, sizeof(text), "/d\ninclude %s/self\n/e\n", directory);
	write_text("self", text);
	configuration = in_directory("self");
	assert_string_equal(tried(NULL, NULL, "p"),
			"/d/libx.so /d/libx.so /d/libx.so /d/libx.so /d/libx.so /d/libx.so /d/libx.so /d/libx.so /d/libx.so "
			"/e/libx.so /e/libx.so /e/libx.so /e/libx.so /e/libx.so /e/libx.so /e/libx.so /e/libx.so /e/libx.so " STANDARD);
}

/* ---- folders ---- */

static char listed[512];

static bool list_folder(void *user, const char *folder)
{
	size_t used = strlen(listed);

	snprintf(listed + used, sizeof(listed) - used, "%s ", folder);
	return user && !strcmp(user, folder);
}

static void expect_folders(struct library_search *search, struct image *image, const char *last,
		const char *folders)
{
	*listed = '\0';
	library_each_folder(search, image, "/opt/bin/p", list_folder, (void *)(uintptr_t)last);
	assert_string_equal(listed, folders);
}

/* All folders, in the order in which libraries are searched. */
static void test_folders(void **unused)
{
	struct library_search *search;
	struct image *image;

	(void)unused;
	configuration = in_directory("missing");
	search = library_search_open();
	library_search_set_path(search, NULL);
	image = make_program(NULL, NULL);
	expect_folders(search, image, NULL, "/lib /usr/lib /lib64 /usr/lib64 ");
	expect_folders(search, image, "/usr/lib", "/lib /usr/lib ");
	library_search_set_path(search, "/e:;/f");
	expect_folders(search, image, "/lib", "/e . /f /lib ");
	image_close(image);
	image = make_program("/r:$ORIGIN/../lib:${ORIGIN}", NULL);
	expect_folders(search, image, "/lib", "/r /opt/bin/../lib /opt/bin /e . /f /lib ");
	expect_folders(search, image, "/r", "/r ");
	image_close(image);
	image = make_program("/r", "/s:");
	expect_folders(search, image, "/lib", "/e . /f /s . /lib ");
	expect_folders(search, image, "/f", "/e . /f ");
	expect_folders(search, image, "/s", "/e . /f /s ");
	image_close(image);
	library_search_close(search);
}

/* $ORIGIN of a program in the root directory. */
static void test_origin_of_root(void **unused)
{
	struct library_search *search;
	struct image *image;

	(void)unused;
	configuration = in_directory("missing");
	search = library_search_open();
	image = make_program("$ORIGIN:${ORIGIN}/lib", NULL);
	*listed = '\0';
	library_each_folder(search, image, "/p", list_folder, (void *)(uintptr_t) "/lib");
	assert_string_equal(listed, "/ /lib ");
	image_close(image);
	image = make_program("$ORIGINlib:/r", NULL);
	*listed = '\0';
	library_each_folder(search, image, "/p", list_folder, (void *)(uintptr_t) "/r");
	assert_string_equal(listed, "/lib /r ");
	image_close(image);
	library_search_close(search);
}

/* Libraries of another machine, size of pointers, or byte order are skipped. */
static void test_fits(void **unused)
{
	static const struct {
		const char *name;
		bool is_wide, is_big;
		unsigned int machine;
	} all[] = {{"1", true, false, EM_AARCH64}, {"2", false, false, EM_X86_64},
			{"3", true, true, EM_X86_64}, {"4", true, false, EM_X86_64}};
	struct library_search *search;
	struct image *image;
	char runpath[128], path[64];
	char *found;

	(void)unused;
	configuration = in_directory("missing");
	search = library_search_open();
	for (unsigned int i = 0; i < 4; i++) {
		(void)mkdir(in_directory(all[i].name), 0700);
		elf_begin_file(all[i].is_wide, all[i].is_big, all[i].machine, ET_DYN);
		snprintf(path, sizeof(path), "%s/libx.so", all[i].name);
		write_bytes(path, elf.bytes, elf.size);
	}
	snprintf(runpath, sizeof(runpath), "$ORIGIN/1:$ORIGIN/2:$ORIGIN/3:$ORIGIN/4");
	image = make_program(NULL, runpath);
	*opened = '\0';
	found = library_find(search, image, in_directory("p"), "libx.so");
	assert_string_equal(found, in_directory("4/libx.so"));
	assert_string_equal(strrchr(opened, '/'), "/libx.so ");
	free(found);
	found = library_find(search, image, "p", in_directory("4/libx.so"));
	assert_string_equal(found, in_directory("4/libx.so"));
	free(found);
	assert_null(library_find(search, image, "p", in_directory("1/libx.so")));
	assert_int_equal(library_search_error(search), 0);
	/* Failing allocations: the path, the folder of the program, the copy of a name. */
	for (unsigned int number = 1; number < 40; number++) {
		bool has_failed;

		library_search_close(search);
		search = library_search_open();
		failing_arm(number);
		found = library_find(search, image, in_directory("p"), "libx.so");
		has_failed = failing_has_failed();
		assert_int_equal(library_search_error(search),
				!has_failed || !strcmp(failing_name, "shdr") ||
								!strcmp(failing_name, "data") ||
								!strcmp(failing_name, "phdrnum") ||
								!strcmp(failing_name, "shdrnum") ||
								!strcmp(failing_name, "ehdr") ||
								!strcmp(failing_name, "version") ||
								!strcmp(failing_name, "elf_begin")
						? 0
						: !strcmp(failing_name, "fstat") ||
								!strcmp(failing_name, "pread")
						? -EIO
						: -ENOMEM);
		free(found);
		assert_int_equal(nr_open, 1);
	}
	failing_arm(2000);
	found = library_find(search, image, "p", in_directory("4/libx.so"));
	free(found);
	failing_arm(failing_seen);
	assert_null(library_find(search, image, "p", in_directory("4/libx.so")));
	assert_true(failing_has_failed());
	assert_string_equal(failing_name, "strdup");
	assert_int_equal(library_search_error(search), -ENOMEM);
	image_close(image);
	library_search_close(search);
	library_search_close(NULL);
}

/* Errors that can hide a library are kept; those of a file that does not exist are not. */
static void test_errors(void **unused)
{
	static const int errors[] = {ENOMEM, EMFILE, ENFILE, EIO, ENOENT, EACCES, ELOOP, 1};
	struct image *image = make_program(NULL, NULL);
	struct library_search *search;
	char text[256];

	(void)unused;
	configuration = in_directory("missing");
	for (unsigned int i = 0; i < 8; i++) {
		search = library_search_open();
		open_error = errors[i];
		assert_null(library_find(search, image, "p", "libx.so"));
		open_error = 0;
		assert_int_equal(library_search_error(search), i < 4 ? -errors[i] : 0);
		library_search_close(search);
	}
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "include %s/c*.conf\n", directory);
		write_text("globs", text);
		configuration = in_directory("globs");
		glob_result = (int[]){GLOB_NOSPACE, GLOB_ABORTED, GLOB_NOMATCH}[i];
		search = library_search_open();
		glob_result = 0;
		assert_int_equal(library_search_error(search), i ? 0 : -ENOMEM);
		library_search_close(search);
	}
	/* A directory opens but cannot be read: this error hides no library. */
	configuration = directory;
	search = library_search_open();
	assert_int_equal(library_search_error(search), 0);
	library_search_close(search);
	/* The search itself, then the configuration, then the folders one by one. */
	write_text("one", "/one\n");
	configuration = in_directory("one");
	for (unsigned int number = 1; number <= 13; number++) {
		failing_arm(number);
		search = library_search_open();
		assert_int_equal(failing_has_failed(), number < 13);
		if (number == 1) {
			assert_null(search);
			continue;
		}
		assert_int_equal(library_search_error(search),
				number == 13                  ? 0
						: number == 2 ? -EMFILE
							      : -ENOMEM);
		*opened = '\0';
		assert_null(library_find(search, image, "p", "libx.so"));
		assert_string_equal(opened,
				number == 13                  ? "/one/libx.so " STANDARD
						: number == 2 ? STANDARD
						: number < 5  ? STANDARD
						: number < 7
						? "/one/libx.so /usr/lib/libx.so /lib64/libx.so /usr/lib64/libx.so "
						: number < 9
						? "/one/libx.so /lib/libx.so /lib64/libx.so /usr/lib64/libx.so "
						: number < 11
						? "/one/libx.so /lib/libx.so /usr/lib/libx.so /usr/lib64/libx.so "
						: "/one/libx.so /lib/libx.so /usr/lib/libx.so /lib64/libx.so ");
		library_search_close(search);
	}
	image_close(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_interrupts),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_members),
			cmocka_unit_test(test_order),
			cmocka_unit_test(test_configuration),
			cmocka_unit_test(test_folders),
			cmocka_unit_test(test_origin_of_root),
			cmocka_unit_test(test_fits),
			cmocka_unit_test(test_errors),
	};
	char command[128];
	int ret;

	if (!mkdtemp(directory))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) || ret; /* NOLINT(cert-env33-c): the name is our own. */
}
