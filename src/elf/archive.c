/* SPDX-License-Identifier: MIT */
/* Reads the members of static archives. */
#include "elf/archive.h"

#include "elf/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC_SIZE 8

/* ar(5): all fields are text, padded with spaces. */
struct archive_header {
	char name[16];
	char unused[32]; /* date, owner, group, mode */
	char size[10];
	char end[2];
};

_Static_assert(sizeof(struct archive_header) == 60, "ar(5)");

int archive_open(int fd, struct archive *archive)
{
	char magic[MAGIC_SIZE];
	struct stat status;

	*archive = (struct archive){.fd = fd, .next = MAGIC_SIZE};
	if (fstat(fd, &status) || file_read(fd, 0, magic, sizeof(magic)))
		return -EINVAL;
	archive->size = (uint64_t)status.st_size;
	archive->thin = !memcmp(magic, "!<thin>\n", MAGIC_SIZE);
	return archive->thin || !memcmp(magic, "!<arch>\n", MAGIC_SIZE) ? 0 : -EINVAL;
}

/* Read a decimal number of at most @size characters. False: there is no digit. */
static bool elf_archive_read_number(const char *text, size_t size, uint64_t *ret_number)
{
	size_t i = 0;

	for (*ret_number = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++)
		*ret_number = *ret_number * 10 + (uint64_t)(text[i] - '0');
	return i > 0;
}

/* Copy a name from the file, up to a newline, a NUL, or @size bytes. */
static int elf_archive_read_name(
		const struct archive *archive, uint64_t offset, uint64_t size, char *name)
{
	size_t capacity = size < ARCHIVE_NAME_MAX - 1 ? (size_t)size : ARCHIVE_NAME_MAX - 1;
	size_t length;

	if (file_read(archive->fd, offset, name, capacity))
		return -EINVAL;
	name[capacity] = '\0';
	length = strcspn(name, "\n");
	if (length && name[length - 1] == '/')
		length--;
	name[length] = '\0';
	return 0;
}

/* Set the name of a member. GNU: "name/", or "/offset" into a table; BSD: "#1/size", before its
   bytes. */
static int elf_archive_name_member(const struct archive *archive,
		const struct archive_header *header, struct archive_member *member)
{
	uint64_t number;
	size_t length = sizeof(header->name);

	if (header->name[0] == '/' && elf_archive_read_number(header->name + 1, 15, &number)) {
		if (number >= archive->names_size)
			return -EINVAL;
		return elf_archive_read_name(archive, archive->names + number,
				archive->names_size - number, member->name);
	}
	if (!memcmp(header->name, "#1/", 3) &&
			elf_archive_read_number(header->name + 3, 13, &number)) {
		if (number > member->size)
			return -EINVAL;
		member->offset += number;
		member->size -= number;
		return elf_archive_read_name(
				archive, member->offset - number, number, member->name);
	}
	while (length && header->name[length - 1] == ' ')
		length--;
	if (length && header->name[length - 1] == '/')
		length--;
	memcpy(member->name, header->name, length);
	member->name[length] = '\0';
	return 0;
}

/* True for tables of the archive: "/", "/SYM64/" and "__.SYMDEF" contain symbols, "//" long
   names. */
static bool is_table(struct archive *archive, const struct archive_header *header,
		const struct archive_member *member)
{
	if (!memcmp(header->name, "// ", 3)) {
		archive->names = member->offset;
		archive->names_size = member->size;
		return true;
	}
	return !memcmp(header->name, "/ ", 2) || !memcmp(header->name, "/SYM64/ ", 8) ||
			!memcmp(header->name, "__.SYMDEF", 9);
}

int archive_next(struct archive *archive, struct archive_member *member)
{
	for (;;) {
		struct archive_header header;
		uint64_t left;
		bool table, inside;

		if (archive->next >= archive->size)
			return 0;
		if (file_read(archive->fd, archive->next, &header, sizeof(header)) ||
				memcmp(header.end, "`\n", 2) ||
				!elf_archive_read_number(
						header.size, sizeof(header.size), &member->size))
			return -EINVAL;
		member->offset = archive->next + sizeof(header);
		left = archive->size - member->offset;
		table = is_table(archive, &header, member);
		inside = table || !archive->thin;
		if (inside && member->size > left)
			return -EINVAL;
		/* Members begin at even offsets. */
		archive->next = member->offset + (inside ? member->size + (member->size & 1) : 0);
		if (table)
			continue;
		member->outside = !inside;
		return elf_archive_name_member(archive, &header, member) ? -EINVAL : 1;
	}
}
