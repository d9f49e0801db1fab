/* SPDX-License-Identifier: MIT */
/*
 * Making a trace whole whose recorder was killed.
 *
 * Only what a kill leaves behind is mended, and only in traces of ours: the last packet of a
 * stream that is cut, and the last event block of the metadata that is cut. Every step leaves
 * something that the next try can mend.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/stream_read.h"
#include "ctf/writer.h"

/* Offsets in our packet header (recording.md, section 6). */
#define HEADER_TIMESTAMP_END 40
#define HEADER_SIZES 48
#define HEADER_BITS (80 * 8)

static int write_all(int fd, const void *bytes, size_t size, off_t at)
{
	ssize_t done = pwrite(fd, bytes, size, at);

	return done == (ssize_t)size ? 0 : done < 0 ? -errno : -EIO;
}

/* Keep the whole records of the cut packet, or nothing of it when even its header is cut. */
static int mend_packet(const struct ctf_stream_reader *stream, int fd)
{
	off_t packet = (off_t)stream->damaged_packet;
	bool keep = !stream->header_cut && stream->good >= HEADER_BITS;
	off_t end = packet + (keep ? (off_t)(stream->good / 8) : 0);
	uint64_t sizes[2] = {stream->good, stream->good}, last = stream->decoder.clock;
	uint64_t begin = stream->fields.values[CTF_ROLE_TIMESTAMP_BEGIN];
	int ret;

	if (ftruncate(fd, end))
		return -errno;
	if (!keep)
		return 0;
	last = last > begin ? last : begin;
	ret = write_all(fd, &last, sizeof(last), packet + HEADER_TIMESTAMP_END);
	return ret ? ret : write_all(fd, sizes, sizeof(sizes), packet + HEADER_SIZES);
}

/* 1: mended; 0: nothing was to be done. */
static int repair_stream(struct ctf_trace_classes *classes, int dir_fd, const char *name)
{
	struct ctf_stream_reader stream;
	int ret = ctf_stream_reader_open(&stream, classes, dir_fd, name), fd, mended = 0;

	if (ret <= 0)
		return ret;
	while ((ret = ctf_stream_reader_next(&stream)) > 0) {
		if (stream.item.kind != CTF_ITEM_DAMAGE || !(stream.torn || stream.header_cut))
			continue;
		fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
		ret = fd < 0 ? -errno : mend_packet(&stream, fd);
		if (fd >= 0 && close(fd) && !ret)
			ret = -errno;
		mended = !ret;
		break; /* The file has changed under the reader. */
	}
	ctf_stream_reader_close(&stream);
	return ret < 0 ? ret : mended;
}

/* Whether only one block that is not whole stands behind the whole ones. */
static int repair_metadata(const struct ctf_trace_classes *classes, int dir_fd)
{
	int fd = openat(dir_fd, "metadata", O_RDWR | O_CLOEXEC), ret = 0;
	off_t good = (off_t)classes->good_size;
	struct stat stat;
	char *rest;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) || stat.st_size <= good) {
		close(fd);
		return -EINVAL;
	}
	rest = malloc((size_t)(stat.st_size - good) + 1);
	got = rest ? pread(fd, rest, (size_t)(stat.st_size - good), good) : -1;
	if (got < 0)
		ret = rest ? -errno : -ENOMEM;
	else if (memmem(rest, (size_t)got, "\n};", 3))
		ret = -EINVAL; /* Damage of another kind. */
	else if (ftruncate(fd, good) || write_all(fd, "\n\n", 2, good))
		ret = -errno;
	free(rest);
	close(fd);
	return ret ? ret : 1;
}

static int repair_files(struct ctf_trace_classes *classes, int dir_fd, unsigned int *repaired)
{
	int list_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = list_fd < 0 ? NULL : fdopendir(list_fd);
	struct dirent *entry;
	int ret = 0;

	if (!list) {
		if (list_fd >= 0)
			close(list_fd);
		return -errno;
	}
	while (ret >= 0 && (entry = readdir(list))) {
		if (*entry->d_name == '.' || strcmp(entry->d_name, "metadata") == 0)
			continue;
		ret = repair_stream(classes, dir_fd, entry->d_name);
		*repaired += ret > 0;
	}
	closedir(list);
	return ret < 0 ? ret : 0;
}

int ctf_repair(const char *dir, unsigned int *repaired, struct ctf_error *error)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	struct ctf_trace_classes *classes = NULL;
	struct ctf_error why = {""};

	*repaired = 0;
	if (dir_fd < 0)
		return ctf_fail(error, -errno, "cannot open %s: %s", dir, strerror(errno));
	ret = ctf_metadata_read(dir_fd, dir, &classes, &why);
	if (ret && (ret != -EINVAL || !ctf_tsdl_usable(classes) || !classes->trace.is_side)) {
		ctf_fail(error, ret, "cannot mend %s: %s", dir, why.text);
		goto out;
	}
	if (!classes->trace.is_side) {
		ret = ctf_fail(error, -EINVAL, "cannot mend %s: it was not recorded by side", dir);
		goto out;
	}
	if (ret) {
		ret = repair_metadata(classes, dir_fd);
		if (ret < 0) {
			ctf_fail(error, ret, "cannot mend %s: %s", dir, why.text);
			goto out;
		}
		*repaired += ret > 0;
	}
	ret = repair_files(classes, dir_fd, repaired);
	if (ret)
		ctf_fail(error, ret, "cannot mend %s: %s", dir, strerror(-ret));
out:
	ctf_metadata_free(classes);
	close(dir_fd);
	return ret;
}
