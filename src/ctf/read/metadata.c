/* SPDX-License-Identifier: MIT */
/* Reads metadata files: TSDL as plain text or in packets, or CTF 2. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/read/ctf2.h"
#include "ctf/read/stream.h"

#define METADATA_MAGIC 0x75d11d57u
#define METADATA_HEADER 37 /* bytes of a packet header (CTF 1.8, section 7.1) */
#define METADATA_SIZE_MAX (1u << 30)

static int ctf_metadata_read_file(int dir_fd, char **ret_text, size_t *ret_size)
{
	int fd = openat(dir_fd, "metadata", O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	struct stat stat;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	*ret_text = NULL;
	if (fstat(fd, &stat))
		ret = -errno;
	else if (!S_ISREG(stat.st_mode))
		ret = -EINVAL;
	else if (stat.st_size > METADATA_SIZE_MAX)
		ret = -EFBIG;
	if (!ret) {
		*ret_text = malloc((size_t)stat.st_size + 1);
		ret = *ret_text ? 0 : -ENOMEM;
	}
	if (!ret) {
		got = io_read(fd, *ret_text, (size_t)stat.st_size);
		ret = got < 0 ? (int)got : 0;
	}
	close(fd);
	*ret_size = got > 0 ? (size_t)got : 0;
	if (ret) {
		free(*ret_text);
		*ret_text = NULL;
	}
	return ret;
}

static uint32_t ctf_metadata_read_u32(const char *at, bool big_endian)
{
	uint32_t number;

	memcpy(&number, at, 4);
	return big_endian ? be32toh(number) : le32toh(number);
}

/* Concatenates the texts of the packets, in place. */
static int ctf_metadata_unpack(char *text, size_t *size, struct error *error)
{
	bool big_endian = ctf_metadata_read_u32(text, true) == METADATA_MAGIC;
	size_t at = 0, used = 0, end = *size;

	while (at < end) {
		uint32_t content, packet;

		if (end - at < METADATA_HEADER ||
				ctf_metadata_read_u32(text + at, big_endian) != METADATA_MAGIC) {
			*size = used;
			return error_set(error, -EINVAL, NULL,
					"a packet of the metadata is damaged");
		}
		content = ctf_metadata_read_u32(text + at + 24, big_endian) / 8;
		packet = ctf_metadata_read_u32(text + at + 28, big_endian) / 8;
		if (content < METADATA_HEADER || content > packet || packet > end - at ||
				text[at + 32] || text[at + 33] || text[at + 34]) {
			*size = used;
			return error_set(error, -EINVAL, NULL,
					"a packet of the metadata is damaged");
		}
		memmove(text + used, text + at + METADATA_HEADER, content - METADATA_HEADER);
		used += content - METADATA_HEADER;
		at += packet;
	}
	*size = used;
	return 0;
}

int ctf_metadata_read(int dir_fd, const char *dir, struct ctf_trace_classes **ret_classes,
		struct error *error)
{
	struct ctf_trace_classes *classes = calloc(1, sizeof(*classes));
	char *text = NULL, *path = strdup(dir);
	size_t size = 0;
	int ret, unpacked = 0;

	*ret_classes = classes;
	if (!classes || !path) {
		free(path);
		free(classes);
		*ret_classes = NULL;
		return ctf_metadata_set_no_memory(error);
	}
	classes->trace.path = path;
	classes->trace.vpid = -1;
	ret = ctf_metadata_read_file(dir_fd, &text, &size);
	if (ret)
		return error_set(error, ret, NULL, "the metadata cannot be read: %s",
				strerror(-ret));
	if (size >= 4 &&
			(ctf_metadata_read_u32(text, true) == METADATA_MAGIC ||
					ctf_metadata_read_u32(text, false) == METADATA_MAGIC))
		unpacked = ctf_metadata_unpack(text, &size, error);
	if (size && (unsigned char)text[0] == 0x1e)
		ret = ctf2_parse(classes, text, size, error);
	else
		ret = ctf_tsdl_parse(classes, text, size, error);
	free(text);
	return ret ? ret : unpacked;
}

void ctf_metadata_free(struct ctf_trace_classes *classes)
{
	if (!classes)
		return;
	ctf_arena_destroy(classes->arena);
	free((void *)(uintptr_t)classes->trace.path);
	free(classes);
}
