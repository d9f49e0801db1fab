/* SPDX-License-Identifier: MIT */
/*
 * Search for the file with debug information: which paths are tried, in which order, and which file
 * matches. The test includes the file, and replaces its calls by ones that only see the files of
 * this test.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"
#include "tracers/validate/debug-file.h"

/* ---- calls ---- */

static struct {
	const char *path;
	int fd;
} files[4];

static char tried[32768];    /* the paths that were opened, with a newline after each */
static const char *own_path; /* of the link in /proc; NULL: it cannot be read */
static int expected_fd;      /* the descriptor whose link is read */
static unsigned int nr_open, nr_mapped;
static bool mapping_fails, opens_zero;

static int fake_open(const char *path, int flags)
{
	CHECK(flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	CHECK(strlen(tried) + strlen(path) + 2 < sizeof(tried));
	strcat(strcat(tried, path), "\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (files[i].path && !strcmp(files[i].path, path)) {
			nr_open++;
			return opens_zero ? dup2(files[i].fd, 0) : dup(files[i].fd);
		}
	}
	errno = ENOENT;
	return -1;
}

static int fake_close(int fd)
{
	CHECK(fd >= 0 && nr_open-- > 0);
	return close(fd);
}

static ssize_t fake_readlink(const char *path, char *to, size_t size)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "/proc/self/fd/%d", expected_fd);
	CHECK(!strcmp(path, wanted) && size == PATH_MAX - 1);
	if (!own_path)
		return -1;
	memcpy(to, own_path, strlen(own_path));
	return (ssize_t)strlen(own_path);
}

static size_t mapped_size;

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (mapping_fails)
		return MAP_FAILED;
	CHECK(!at && size >= 2 * PATH_MAX + 4096 && protection == (PROT_READ | PROT_WRITE));
	CHECK(flags == (MAP_PRIVATE | MAP_ANONYMOUS) && fd == -1 && !offset);
	nr_mapped++;
	mapped_size = size;
	return mmap(at, size, protection, flags, fd, offset);
}

static int fake_munmap(void *at, size_t size)
{
	CHECK(nr_mapped-- > 0 && size == mapped_size);
	return munmap(at, size);
}

#define open fake_open
#define close fake_close
#define readlink fake_readlink
#define mmap fake_mmap
#define munmap fake_munmap
#include "tracers/validate/debug-file.c"
#undef open
#undef close
#undef readlink
#undef mmap
#undef munmap

/* ---- files ---- */

enum { NAMES_AT = 128, NOTE_AT = 512, LINK_AT = 1024, HEADERS_AT = 2048, FILE_SIZE = 8192 };

/* Names of sections, each at a position of its own. */
static const char names[] =
		"\0.shstrtab\0.note.gnu.build-id\0.gnu_debuglink\0x123456789012345678901234567890\0"
		"y1234567890123456789012345678901";
enum { NAME_NAMES = 1, NAME_NOTE = 11, NAME_LINK = 30, NAME_LONG = 45, NAME_TOO_LONG = 77 };
enum { NO_SECTION, NAMES, NOTE, LINK, OTHER, SECTIONS };

struct made {
	ElfW(Ehdr) header;
	ElfW(Shdr) sections[SECTIONS + 1];
	unsigned char bytes[FILE_SIZE];
	size_t size;
	int fd;
};

static void make_section(
		struct made *made, unsigned int index, unsigned int name, size_t at, size_t size)
{
	made->sections[index] = (ElfW(Shdr)){
			.sh_type = SHT_PROGBITS, .sh_name = name, .sh_offset = at, .sh_size = size};
}

/* A note with a build ID of `size` bytes: 0x11, 0x12 and so on. */
static void make_note(struct made *made, unsigned int size)
{
	ElfW(Nhdr) note = {.n_namesz = 4, .n_descsz = size, .n_type = NT_GNU_BUILD_ID};

	memcpy(made->bytes + NOTE_AT, &note, sizeof(note));
	memcpy(made->bytes + NOTE_AT + sizeof(note), "GNU", 4);
	for (unsigned int i = 0; i < size; i++)
		made->bytes[NOTE_AT + sizeof(note) + 4 + i] = (unsigned char)(0x11 + i);
	make_section(made, NOTE, NAME_NOTE, NOTE_AT, sizeof(note) + 4 + size);
}

/* A name, padded to `size` - 4 bytes, and the checksum. */
static void make_link(struct made *made, const char *name, uint32_t checksum, size_t size)
{
	memset(made->bytes + LINK_AT, 0, 512);
	memcpy(made->bytes + LINK_AT, name, strlen(name));
	memcpy(made->bytes + LINK_AT + size - 4, &checksum, 4);
	make_section(made, LINK, NAME_LINK, LINK_AT, size);
}

static struct made begin(void)
{
	struct made made = {.size = FILE_SIZE, .fd = -1};

	memcpy(made.header.e_ident, ELFMAG, SELFMAG);
	made.header.e_ident[EI_CLASS] = ELFCLASS64;
	made.header.e_ident[EI_DATA] = ELFDATA2LSB;
	made.header.e_ident[EI_VERSION] = EV_CURRENT;
	made.header.e_machine = EM_X86_64;
	made.header.e_shoff = HEADERS_AT;
	made.header.e_shentsize = sizeof(ElfW(Shdr));
	made.header.e_shnum = SECTIONS;
	made.header.e_shstrndx = NAMES;
	memcpy(made.bytes + NAMES_AT, names, sizeof(names));
	make_section(&made, NAMES, NAME_NAMES, NAMES_AT, sizeof(names));
	return made;
}

/* Returns the descriptor of the file. The caller closes it. */
static int end(struct made *made)
{
	made->fd = memfd_create("made", MFD_CLOEXEC);
	CHECK(made->fd > 0);
	memcpy(made->bytes, &made->header, sizeof(made->header));
	memcpy(made->bytes + HEADERS_AT, made->sections, sizeof(made->sections));
	CHECK(write(made->fd, made->bytes, made->size) == (ssize_t)made->size);
	expected_fd = made->fd;
	return made->fd;
}

static void forget(void)
{
	memset(files, 0, sizeof(files));
	*tried = '\0';
}

/* Bit by bit, unlike the function under test. */
static uint32_t checksum_of(const unsigned char *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < 8 * size; i++) {
		uint32_t bit = (crc ^ (uint32_t)(bytes[i / 8] >> i % 8)) & 1;

		crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* ---- sections ---- */

static void check_section(struct made *made, const char *name, bool is_found)
{
	ElfW(Shdr) section = {.sh_size = 0};
	int fd = end(made);

	CHECK(validate_section(fd, &made->header, name, &section) == is_found);
	if (is_found)
		CHECK(section.sh_size == 77);
	close(fd);
}

static void sections(void)
{
	struct made made = begin();

	/* A name has up to 31 characters. */
	CHECK(strlen(names + NAME_LONG) == 31 && strlen(names + NAME_TOO_LONG) == 32);
	make_section(&made, OTHER, NAME_LONG, 0, 77);
	check_section(&made, names + NAME_LONG, true);
	make_section(&made, OTHER, NAME_TOO_LONG, 0, 77);
	check_section(&made, names + NAME_TOO_LONG, false);
	/* The first and the last one that are read, and those before and after. */
	for (unsigned int i = 0; i <= SECTIONS; i++) {
		if (i == NAMES)
			continue;
		made = begin();
		make_section(&made, i, NAME_LINK, 0, 77);
		check_section(&made, ".gnu_debuglink", i >= 1 && i < SECTIONS);
	}
	/* The names are in a section with a name, too. */
	made = begin();
	made.sections[NAMES].sh_size = 77;
	check_section(&made, ".shstrtab", true);
	/* A part of a name is another name. */
	made = begin();
	make_section(&made, OTHER, NAME_LINK, 0, 77);
	check_section(&made, ".gnu_debuglin", false);
	check_section(&made, ".gnu_debuglinks", false);
	/* A section without content does not match. */
	made.sections[OTHER].sh_type = SHT_NOBITS;
	check_section(&made, ".gnu_debuglink", false);
	/* A name must begin in the table of names. */
	made = begin();
	make_section(&made, OTHER, NAME_LINK, 0, 77);
	made.sections[NAMES].sh_size = NAME_LINK;
	check_section(&made, ".gnu_debuglink", false);
	made.sections[NAMES].sh_size = NAME_LINK + 1;
	check_section(&made, ".gnu_debuglink", true);
	made.sections[NAMES].sh_offset = FILE_SIZE;
	check_section(&made, ".gnu_debuglink", false);
	made.sections[NAMES].sh_offset = UINT64_MAX - 1000;
	check_section(&made, ".gnu_debuglink", false);
	/* Headers of sections with another size, outside of the file, and no names. */
	made = begin();
	make_section(&made, OTHER, NAME_LINK, 0, 77);
	made.header.e_shentsize--;
	check_section(&made, ".gnu_debuglink", false);
	made.header.e_shentsize += 2;
	check_section(&made, ".gnu_debuglink", false);
	made.header.e_shentsize--;
	check_section(&made, ".gnu_debuglink", true);
	made.header.e_shstrndx = SECTIONS;
	check_section(&made, ".gnu_debuglink", false);
	made.header.e_shstrndx = NAMES;
	made.header.e_shoff = FILE_SIZE;
	check_section(&made, ".gnu_debuglink", false);
	made.header.e_shoff = UINT64_MAX - 63;
	check_section(&made, ".gnu_debuglink", false);
}

/* ---- build IDs ---- */

static void check_id(struct made *made, size_t size)
{
	struct build_id id;
	int fd = end(made);

	memset(&id, 0xee, sizeof(id));
	validate_debug_read_build_id(fd, &made->header, &id);
	CHECK(id.size == size);
	for (size_t i = 0; i < size; i++)
		CHECK(id.bytes[i] == 0x11 + i);
	close(fd);
}

static void build_ids(void)
{
	static const struct {
		unsigned int size;
		bool is_read;
	} sizes[] = {{0, false}, {1, false}, {2, true}, {3, true}, {20, true}, {64, true},
			{65, false}};
	struct made made;
	ElfW(Nhdr) *note = (ElfW(Nhdr) *)(void *)(made.bytes + NOTE_AT);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		made = begin();
		make_note(&made, sizes[i].size);
		check_id(&made, sizes[i].is_read ? sizes[i].size : 0);
	}
	/* A section without a complete header is not read. */
	made = begin();
	make_note(&made, 20);
	made.sections[NOTE].sh_size = 16;
	check_id(&made, 20);
	made.sections[NOTE].sh_size = 15;
	check_id(&made, 0);
	/* Another note, another name, another length of the name. */
	made.sections[NOTE].sh_size = 36;
	note->n_type = NT_GNU_BUILD_ID + 1;
	check_id(&made, 0);
	note->n_type = NT_GNU_BUILD_ID;
	for (unsigned int i = 0; i < 4; i++) {
		made.bytes[NOTE_AT + 12 + i] ^= 1;
		check_id(&made, 0);
		made.bytes[NOTE_AT + 12 + i] ^= 1;
	}
	note->n_namesz = 3;
	check_id(&made, 0);
	note->n_namesz = 5;
	check_id(&made, 0);
	note->n_namesz = 4;
	check_id(&made, 20);
	/* The file ends within the ID, and within the header of the note. */
	for (unsigned int cut = 0; cut < 2; cut++) {
		made.sections[NOTE].sh_offset = FILE_SIZE - 16 + cut;
		memcpy(made.bytes + FILE_SIZE - 16 + cut, note, 16 - cut);
		check_id(&made, 0);
	}
}

/* ---- checksums ---- */

static void checksums(void)
{
	static unsigned char bytes[10000];
	struct debug_file_scratch scratch;
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	CHECK(checksum_of((const unsigned char *)"123456789", 9) == 0xcbf43926u);
	CHECK(fd >= 0 && validate_debug_has_checksum(fd, 0, &scratch) &&
			!validate_debug_has_checksum(fd, 1, &scratch));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 253);
	for (size_t size = 1; size <= sizeof(bytes); size += size < 300 ? 13
					: size < 4000                   ? 1262
									: 1) {
		/* Around one buffer, and one of three. */
		if (size > 4100)
			size = sizeof(bytes);
		CHECK(pwrite(fd, bytes, size, 0) == (ssize_t)size && !ftruncate(fd, (off_t)size));
		CHECK(validate_debug_has_checksum(fd, checksum_of(bytes, size), &scratch));
		CHECK(!validate_debug_has_checksum(
				fd, checksum_of(bytes, size) ^ 0x80000000u, &scratch));
	}
	close(fd);
}

/* ---- the right file ---- */

static bool is_same(struct made *other, const struct made *made, const struct build_id *id,
		const uint32_t *checksum)
{
	struct debug_file_scratch scratch;
	int fd;

	forget();
	files[0].path = "/file";
	files[0].fd = end(other);
	fd = validate_debug_open_same("/file", &made->header, id, checksum, &scratch);
	CHECK(!strcmp(tried, "/file\n") && nr_open == (fd >= 0));
	if (fd >= 0)
		fake_close(fd);
	close(files[0].fd);
	return fd >= 0;
}

static void same_files(void)
{
	static const struct build_id none = {.size = 0};
	struct build_id id = {.size = 2, .bytes = {0x11, 0x12, 0x13}};
	struct made made = begin(), other = begin();
	uint32_t checksum, wrong;
	struct debug_file_scratch scratch;
	int first = dup(0);

	forget();
	CHECK(validate_debug_open_same("/missing", &made.header, &id, NULL, &scratch) == -1 &&
			!strcmp(tried, "/missing\n"));
	make_note(&other, 2);
	CHECK(is_same(&other, &made, &id, NULL));
	id.bytes[1]++;
	CHECK(!is_same(&other, &made, &id, NULL));
	id.bytes[1]--;
	id.size = 3;
	CHECK(!is_same(&other, &made, &id, NULL));
	make_note(&other, 3);
	CHECK(is_same(&other, &made, &id, NULL));
	id.size = 2;
	CHECK(!is_same(&other, &made, &id, NULL));
	/* Another machine or format; the ABI of the system may differ. */
	id.size = 3;
	for (unsigned int i = 0; i <= EI_VERSION + 1; i++) {
		other.header.e_ident[i] ^= 1;
		CHECK(is_same(&other, &made, &id, NULL) == (i > EI_VERSION));
		other.header.e_ident[i] ^= 1;
	}
	other.header.e_machine++;
	CHECK(!is_same(&other, &made, &id, NULL));
	other.header.e_machine--;
	other.size = sizeof(ElfW(Ehdr)) - 1;
	CHECK(!is_same(&other, &made, &none, NULL));
	/* Without an ID the checksum decides. */
	other = begin();
	CHECK(!is_same(&other, &made, &none, NULL));
	checksum = checksum_of(other.bytes, FILE_SIZE);
	wrong = checksum + 1;
	CHECK(is_same(&other, &made, &none, &checksum) && !is_same(&other, &made, &none, &wrong));
	/* If there is an ID, the checksum is ignored. */
	make_note(&other, 3);
	CHECK(is_same(&other, &made, &id, &wrong));
	/* Descriptor 0 is valid like any other. */
	forget();
	files[0].path = "/file";
	files[0].fd = end(&other);
	opens_zero = true;
	CHECK(validate_debug_open_same("/file", &made.header, &id, NULL, NULL) == 0 &&
			nr_open == 1);
	make_note(&made, 3);
	close(files[0].fd);
	files[0].path = "/usr/lib/debug/.build-id/11/1213.debug";
	files[0].fd = end(&made);
	*tried = '\0';
	CHECK(validate_debug_file(files[0].fd, "/own", &made.header) == 0 && nr_open == 2);
	CHECK(!strcmp(tried, "/usr/lib/debug/.build-id/11/1213.debug\n"));
	close(files[0].fd);
	made = begin();
	memcpy(made.bytes, &made.header, sizeof(made.header));
	memcpy(made.bytes + HEADERS_AT, made.sections, sizeof(made.sections));
	checksum = checksum_of(made.bytes, FILE_SIZE);
	files[0].path = "/a/d";
	files[0].fd = end(&made);
	make_link(&made, "d", checksum, 8);
	own_path = "/a/b";
	close(end(&made));
	expected_fd = made.fd = memfd_create("linked", MFD_CLOEXEC);
	CHECK(write(made.fd, made.bytes, FILE_SIZE) == FILE_SIZE);
	*tried = '\0';
	CHECK(validate_debug_file(made.fd, "/b", &made.header) == 0 && !strcmp(tried, "/a/d\n"));
	close(made.fd);
	opens_zero = false;
	nr_open = 0;
	close(files[0].fd);
	CHECK(dup2(first, 0) == 0);
	close(first);
}

/* ---- links ---- */

static void check_link(struct made *made, const char *wanted)
{
	char name[NAME_MAX_HERE];
	uint32_t checksum = 0;
	int fd = end(made);

	CHECK(validate_debug_read_link(fd, &made->header, name, &checksum) == (wanted != NULL));
	if (wanted)
		CHECK(!strcmp(name, wanted) && checksum == 0x12345678);
	close(fd);
}

static void links(void)
{
	struct made made = begin();
	char name[400];

	check_link(&made, NULL);
	make_link(&made, "abc", 0x12345678, 8);
	check_link(&made, "abc");
	make_link(&made, "abc", 0x12345678, 20);
	check_link(&made, "abc");
	make_link(&made, "ab", 0x12345678, 7);
	check_link(&made, NULL);
	/* A name that ends where the checksum begins has no terminator. */
	make_link(&made, "abcd", 0x12345678, 8);
	check_link(&made, NULL);
	make_link(&made, "", 0x12345678, 8);
	check_link(&made, NULL);
	make_link(&made, "a/b", 0x12345678, 8);
	check_link(&made, NULL);
	memset(name, 'n', sizeof(name));
	name[251] = '\0';
	make_link(&made, name, 0x12345678, 256);
	check_link(&made, name);
	make_link(&made, name, 0x12345678, 257);
	check_link(&made, NULL);
	make_link(&made, "abc", 0x12345678, 8);
	made.sections[LINK].sh_offset = FILE_SIZE - 7;
	memcpy(made.bytes + FILE_SIZE - 7, "abc\0\x78\x56\x34", 7);
	check_link(&made, NULL);
}

/* ---- paths ---- */

/* Checks the paths that are tried for a file, and whether the file at the path `at` is found. */
static void check_paths(struct made *made, struct made *debug, const char *path, const char *at,
		const char *wanted)
{
	int fd, found;

	forget();
	files[0].path = at;
	files[0].fd = at ? end(debug) : -1;
	fd = end(made);
	found = validate_debug_file(fd, path, &made->header);
	CHECK(at ? found >= 0 : found == -1);
	CHECK(nr_open == (at != NULL) && !nr_mapped);
	if (strcmp(tried, wanted)) {
		fprintf(stderr, "tried:\n%s", tried);
		abort();
	}
	if (at) {
		fake_close(found);
		close(files[0].fd);
	}
	close(fd);
}

static void paths(void)
{
	static const char id_2[] = "/usr/lib/debug/.build-id/11/12.debug\n",
			  id_4[] = "/usr/lib/debug/.build-id/11/121314.debug\n";
	struct made made = begin(), debug = begin();
	static char long_path[PATH_MAX + 64], wanted[3 * PATH_MAX];
	char longest[256];

	own_path = "/a/folder/program";
	check_paths(&made, &debug, "/b", NULL, "");
	make_note(&made, 2);
	make_note(&debug, 2);
	check_paths(&made, &debug, "/b", NULL, id_2);
	make_note(&made, 4);
	make_note(&debug, 4);
	check_paths(&made, &debug, "/b", NULL, id_4);
	check_paths(&made, &debug, "/b", "/usr/lib/debug/.build-id/11/121314.debug", id_4);
	/* The longest one. */
	make_note(&made, 64);
	forget();
	(void)validate_debug_file(end(&made), "/b", &made.header);
	close(made.fd);
	CHECK(strlen(tried) == 25 + 3 + 126 + 7 &&
			!strcmp(tried + strlen(tried) - 15, "4d4e4f50.debug\n"));
	/* By ID first, then by name, in three folders. */
	make_note(&made, 4);
	make_link(&made, "d", 0, 8);
	check_paths(&made, &debug, "/b", "/usr/lib/debug/.build-id/11/121314.debug", id_4);
	check_paths(&made, &debug, "/b", "/a/folder/d",
			"/usr/lib/debug/.build-id/11/121314.debug\n/a/folder/d\n");
	made = begin();
	debug = begin();
	make_link(&made, "d", 0, 8);
	close(end(&debug));
	make_link(&made, "d", checksum_of(debug.bytes, FILE_SIZE), 8);
	check_paths(&made, &debug, "/b", "/a/folder/d", "/a/folder/d\n");
	check_paths(&made, &debug, "/b", "/a/folder/.debug/d", "/a/folder/d\n/a/folder/.debug/d\n");
	check_paths(&made, &debug, "/b", "/usr/lib/debug/a/folder/d",
			"/a/folder/d\n/a/folder/.debug/d\n/usr/lib/debug/a/folder/d\n");
	check_paths(&made, &debug, "/b", NULL,
			"/a/folder/d\n/a/folder/.debug/d\n/usr/lib/debug/a/folder/d\n");
	/* Without the link, the path that the caller knows. */
	own_path = NULL;
	check_paths(&made, &debug, "/b/c", NULL, "/b/d\n/b/.debug/d\n/usr/lib/debug/b/d\n");
	check_paths(&made, &debug, "/%d/c", NULL, "/%d/d\n/%d/.debug/d\n/usr/lib/debug/%d/d\n");
	own_path = "";
	check_paths(&made, &debug, "/b", NULL, "/d\n/.debug/d\n/usr/lib/debug/d\n");
	own_path = "/";
	check_paths(&made, &debug, "/b/c", NULL, "/d\n/.debug/d\n/usr/lib/debug/d\n");
	own_path = "memfd:";
	check_paths(&made, &debug, "/b/c", NULL, "");
	mapping_fails = true;
	check_paths(&made, &debug, "/b", NULL, "");
	mapping_fails = false;
	/* The path of the second one is as long as possible, and one character too long. */
	memset(longest, 'n', 100);
	longest[100] = '\0';
	make_link(&made, longest, 0, 108);
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		size_t folder = PATH_MAX - 1 - strlen("/.debug/") - 100 + beyond;

		memset(long_path, 'f', sizeof(long_path));
		*long_path = '/';
		long_path[folder] = '/';
		long_path[folder + 1] = '\0';
		own_path = long_path;
		snprintf(wanted, sizeof(wanted), "%s%s\n", long_path, longest);
		if (!beyond)
			snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted),
					"%s.debug/%s\n", long_path, longest);
		check_paths(&made, &debug, "/b", NULL, wanted);
	}
}

int main(void)
{
	sections();
	build_ids();
	checksums();
	same_files();
	links();
	paths();
	return 0;
}
