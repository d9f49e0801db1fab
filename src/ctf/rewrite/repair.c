/* SPDX-License-Identifier: MIT */
/*
 * Repairs a trace whose recorder was killed.
 *
 * It repairs only what a kill leaves, and only in traces of side: a cut last packet of a stream,
 * and a cut last event block of the metadata. If a step is interrupted, the next call can repair
 * what it left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/compress.h"
#include "ctf/read/find.h"
#include "ctf/read/stream.h"
#include "ctf/write/writer.h"

/* Offsets in the packet header of side (recording.md, section 6). */
#define HEADER_TIMESTAMP_END 40
#define HEADER_SIZES 48
#define HEADER_BITS (80 * 8)

static int ctf_repair_write_all(int fd, const void *bytes, size_t size, off_t at)
{
	ssize_t done = pwrite(fd, bytes, size, at);

	return done == (ssize_t)size ? 0 : done < 0 ? -errno : -EIO;
}

/* Keep the complete records of the cut packet, or remove it if its header is cut. */
static int ctf_repair_packet(const struct ctf_stream_reader *stream, int fd)
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
	ret = ctf_repair_write_all(fd, &last, sizeof(last), packet + HEADER_TIMESTAMP_END);
	return ret ? ret : ctf_repair_write_all(fd, sizes, sizeof(sizes), packet + HEADER_SIZES);
}

/* 1: repaired; 0: nothing to repair. */
static int repair_stream(struct ctf_trace_classes *classes, int dir_fd, const char *name)
{
	struct ctf_stream_reader stream;
	struct stat stat;
	int ret = fstatat(dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) ? -errno : 0, fd, repaired = 0;

	if (!ret)
		ret = ctf_stream_reader_open(&stream, classes, name, &stat);
	if (ret <= 0)
		return ret;
	while ((ret = ctf_stream_reader_next(&stream)) > 0) {
		if (stream.item.kind != CTF_ITEM_DAMAGE || !stream.item.cut)
			continue;
		fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		ret = fd < 0 ? -errno : ctf_repair_packet(&stream, fd);
		if (fd >= 0 && close(fd) && !ret)
			ret = -errno;
		repaired = !ret;
		break; /* The file has changed while it was read. */
	}
	ctf_stream_reader_close(&stream);
	return ret < 0 ? ret : repaired;
}

/* A compressed stream keeps its complete frames. 1: repaired; 0: nothing to repair. */
static int repair_frames(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), ret;
	struct ctf_frames frames;

	if (fd < 0)
		return -errno;
	ctf_frames_start(&frames, fd);
	do
		ret = ctf_frames_next(&frames);
	while (ret > 0);
	if (ret == -EBADMSG && frames.is_cut)
		ret = ftruncate(fd, frames.next) ? -errno : 1;
	else if (ret == -EBADMSG)
		ret = 0; /* Other damage is reported by readers. */
	ctf_frames_free(&frames);
	if (close(fd) && ret >= 0)
		ret = -errno;
	return ret;
}

/* True if only one incomplete block or fragment follows the complete ones. */
static bool only_cut(const struct ctf_trace_classes *classes, const char *remainder, size_t size)
{
	/* A complete fragment ends like this; newlines within it follow other bytes. */
	if (classes->is_ctf2)
		return *remainder == 0x1e && !memchr(remainder + 1, 0x1e, size - 1) &&
				!(size >= 2 && !memcmp(remainder + size - 2, "}\n", 2));
	return !memmem(remainder, size, "\n};", 3);
}

static int repair_metadata(const struct ctf_trace_classes *classes, int dir_fd)
{
	int fd = openat(dir_fd, "metadata", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), ret = 0;
	off_t good = (off_t)classes->good_size;
	struct stat stat;
	char *remainder;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) || stat.st_size <= good) {
		close(fd);
		return -EINVAL;
	}
	remainder = malloc((size_t)(stat.st_size - good) + 1);
	got = remainder ? pread(fd, remainder, (size_t)(stat.st_size - good), good) : -1;
	if (got < 0)
		ret = remainder ? -errno : -ENOMEM;
	else if (!got || !only_cut(classes, remainder, (size_t)got))
		ret = -EINVAL; /* Other damage. */
	else if (ftruncate(fd, good))
		ret = -errno;
	else if (!classes->is_ctf2)
		ret = ctf_repair_write_all(fd, "\n\n", 2, good);
	free(remainder);
	close(fd);
	return ret ? ret : 1;
}

/* The writer locks the metadata until it ends. */
static bool is_being_written(int dir_fd)
{
	int fd = openat(dir_fd, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return busy;
}

struct repair {
	unsigned int repaired;
	unsigned int traces;
	int ret; /* The first error, of a trace that cannot be repaired. */
	struct error *error;
};

static int repair_trace(struct repair *repair, struct ctf_trace_classes *classes, int metadata_ret,
		const struct error *why, int dir_fd, const char *dir, struct dirent **names,
		int count)
{
	struct error *error = repair->error;
	int ret = metadata_ret;

	if (ret && (ret != -EINVAL || !ctf_tsdl_usable(classes) || !classes->trace.is_side))
		return error_set(error, ret, NULL, "cannot repair %s: %s", dir, why->text);
	if (!classes->trace.is_side)
		return error_set(error, -EINVAL, NULL,
				"cannot repair %s: it was not recorded by side", dir);
	if (is_being_written(dir_fd))
		return error_set(error, -EBUSY, "try again when the recording has ended",
				"cannot repair %s: it is being recorded", dir);
	if (ret) {
		ret = repair_metadata(classes, dir_fd);
		if (ret < 0)
			return error_set(error, ret, NULL, "cannot repair %s: %s", dir, why->text);
		repair->repaired++;
	}
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;

		if (*name == '.' || strcmp(name, "metadata") == 0)
			continue;
		ret = ctf_is_compressed(name, NULL) ? repair_frames(dir_fd, name)
						    : repair_stream(classes, dir_fd, name);
		if (ret < 0)
			return error_set(error, ret, NULL, "cannot repair %s/%s: %s", dir, name,
					strerror(-ret));
		repair->repaired += ret > 0;
	}
	return 0;
}

static int ctf_repair_on_trace_found(
		void *context, int dir_fd, const char *path, struct dirent **names, int count)
{
	struct ctf_trace_classes *classes = NULL;
	struct error why = {.text = ""}, ignored;
	struct repair *repair = context, other = *repair;
	int ret = ctf_metadata_read(dir_fd, path, &classes, &why);

	if (!classes)
		return -ENOMEM;
	if (repair->ret) /* Report only the first error. */
		other.error = &ignored;
	ret = repair_trace(&other, classes, ret, &why, dir_fd, path, names, count);
	repair->repaired = other.repaired;
	repair->traces++;
	if (!repair->ret)
		repair->ret = ret;
	ctf_metadata_free(classes);
	return ret == -ENOMEM ? ret : 0;
}

int ctf_repair(const char *dir, unsigned int *ret_repaired, struct error *error)
{
	struct repair repair = {.error = error};
	int ret = ctf_find_traces(dir, false, ctf_repair_on_trace_found, &repair, NULL);

	*ret_repaired = repair.repaired;
	if (repair.ret)
		return repair.ret;
	if (ret)
		return error_set(error, ret, NULL, "cannot repair %s: %s", dir, strerror(-ret));
	if (!repair.traces)
		return error_set(error, -ENOENT, NULL, "there is no trace in %s", dir);
	return 0;
}

/* Remove a directory whose writer had just created it. */
static int ctf_repair_remove_incomplete(int dir_fd, const char *dir, struct error *error)
{
	unlinkat(dir_fd, ".metadata.new", 0);
	/* Another process may have removed the directory. */
	if (!rmdir(dir) || errno == ENOENT)
		return 0;
	return error_set(error, -errno, NULL, "cannot repair %s: no metadata file", dir);
}

static int repair_one(int dir_fd, const char *dir, struct error *error)
{
	struct ctf_trace_classes *classes = NULL;
	struct error why = {.text = ""};
	int ret = ctf_metadata_read(dir_fd, dir, &classes, &why);

	if (!classes)
		return error_set(error, -ENOMEM, NULL, "cannot repair %s: out of memory", dir);
	if (ret == -EINVAL && ctf_tsdl_usable(classes) && classes->trace.is_side)
		ret = is_being_written(dir_fd) ? -EBUSY : repair_metadata(classes, dir_fd);
	ctf_metadata_free(classes);
	return ret < 0 ? error_set(error, ret, NULL, "cannot repair %s: %s", dir,
					 *why.text ? why.text : strerror(-ret))
		       : 0;
}

int ctf_repair_metadata(const char *dir, struct error *error)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), ret;

	if (dir_fd < 0)
		return error_set(error, -errno, NULL, "cannot repair %s: %s", dir, strerror(errno));
	if (faccessat(dir_fd, "metadata", F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		ret = ctf_repair_remove_incomplete(dir_fd, dir, error);
	else
		ret = repair_one(dir_fd, dir, error);
	close(dir_fd);
	return ret;
}
