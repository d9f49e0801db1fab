/* SPDX-License-Identifier: MIT */
/*
 * Expands a compressed trace: decompresses every *.zst frame by frame, and copies the other
 * files.
 *
 * Damage is left out as far as necessary. A frame with wrong bytes is skipped (the packets' numbers
 * then show the gap). The beginning of a cut frame is kept, which reads like the end of any killed
 * recording.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "ctf/compress.h"
#include "ctf/type.h"
#include "ctf/write/writer.h"

#define EXPAND_DEPTH_MAX 16
#define CHUNK (256u << 10)

struct expansion {
	struct ctf_expand_result *result;
	ctf_expand_message_fn *report;
	void *user;
	struct stat out; /* The new directory, which must not be copied into itself. */
	ZSTD_DCtx *context;
	unsigned char *chunk;
	struct error *error;
};

struct expand_directory {
	int fd;
	const char *path;
};

static void ctf_expand_report(struct expansion *e, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

static void ctf_expand_report(struct expansion *e, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	e->result->damaged++;
	e->report(e->user, text);
}

/* ---- one file ---- */

static int ctf_expand_write_at(struct expansion *e, int out, off_t *at, size_t size,
		const struct expand_directory *to, const char *name)
{
	int ret = ctf_file_append(out, at, e->chunk, size, NULL, 0);

	return ret ? ctf_write_error(e->error, ret, to->path, name) : 0;
}

/* Decompress a frame. 0, 1 if it is damaged, or a negative errno. */
static int expand_frame(struct expansion *e, const struct ctf_frames *frames, int out, off_t *at,
		const struct expand_directory *to, const char *name)
{
	ZSTD_inBuffer in = {frames->bytes, frames->size, 0};
	size_t left = 1;

	ZSTD_DCtx_reset(e->context, ZSTD_reset_session_only);
	while (left) {
		ZSTD_outBuffer piece = {e->chunk, CHUNK, 0};
		int ret;

		left = ZSTD_decompressStream(e->context, &piece, &in);
		if (ZSTD_isError(left))
			return 1;
		ret = ctf_expand_write_at(e, out, at, piece.pos, to, name);
		if (ret)
			return ret;
		if (in.pos == in.size && piece.pos < piece.size)
			break; /* The complete frame, or the available part of a cut one. */
	}
	return 0;
}

static int expand_stream(struct expansion *e, int in, int out, const struct expand_directory *from,
		const char *from_name, const struct expand_directory *to, const char *name)
{
	struct ctf_frames frames;
	off_t at = 0, begin;
	int ret, code;

	ctf_frames_start(&frames, in);
	for (;;) {
		ret = ctf_frames_next(&frames);
		if (ret == -EBADMSG)
			ctf_expand_report(e, "%s/%s, byte %" PRIu64 ", is damaged: %s; %s",
					from->path, from_name, (uint64_t)frames.next, frames.reason,
					frames.is_cut ? "its undamaged part is kept"
						      : "the following bytes are not expanded");
		if (ret <= 0 && !(ret == -EBADMSG && frames.is_cut))
			break;
		begin = at;
		code = expand_frame(e, &frames, out, &at, to, name);
		if (code > 0 && ret > 0)
			ctf_expand_report(e,
					"%s/%s, byte %" PRIu64
					", is damaged: the frame cannot be decoded; it is left out",
					from->path, from_name, (uint64_t)frames.next);
		if (code > 0) {
			at = begin;
			code = ftruncate(out, begin) ? -errno : 0;
		}
		if (code < 0 || ret < 0) {
			ret = code;
			break;
		}
	}
	if (ret == -EBADMSG)
		ret = 0;
	else if (ret < 0 && !*e->error->text)
		error_set(e->error, ret, NULL, "cannot expand %s/%s: %s", from->path, from_name,
				strerror(-ret));
	e->result->bytes_in += (uint64_t)(frames.next + (off_t)frames.size);
	e->result->bytes_out += (uint64_t)at;
	e->result->expanded++;
	ctf_frames_free(&frames);
	return ret;
}

static int copy_file(struct expansion *e, int in, int out, const struct expand_directory *from,
		const struct expand_directory *to, const char *name)
{
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(in, e->chunk, CHUNK, at);
		int ret;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(e->error, -errno, NULL, "cannot read %s/%s: %s",
					from->path, name, strerror(errno));
		if (!got)
			break;
		ret = ctf_expand_write_at(e, out, &at, (size_t)got, to, name);
		if (ret)
			return ret;
	}
	e->result->bytes_in += (uint64_t)at;
	e->result->bytes_out += (uint64_t)at;
	e->result->copied++;
	return 0;
}

static int expand_file(struct expansion *e, const struct expand_directory *from,
		const struct expand_directory *to, const char *name)
{
	char plain[NAME_MAX + 1];
	size_t size = strlen(name);
	bool compressed = ctf_is_compressed(name, &size);
	int in = openat(from->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), out, ret;

	if (in < 0) {
		ctf_expand_report(e, "cannot read %s/%s: %s", from->path, name, strerror(errno));
		return 0;
	}
	snprintf(plain, sizeof(plain), "%.*s", (int)size, name);
	out = openat(to->fd, plain, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0) {
		ret = ctf_write_error(e->error, -errno, to->path, plain);
		close(in);
		return ret;
	}
	ret = compressed ? expand_stream(e, in, out, from, name, to, plain)
			 : copy_file(e, in, out, from, to, plain);
	if (close(out) && !ret)
		ret = ctf_write_error(e->error, -errno, to->path, plain);
	close(in);
	return ret;
}

/* ---- directories ---- */

static int expand_dir(struct expansion *e, const struct expand_directory *from,
		const struct expand_directory *to, unsigned int depth);

static int ctf_expand_enter_directory(struct expansion *e, const struct expand_directory *from,
		const struct expand_directory *to, const char *name, unsigned int depth)
{
	char *from_path = NULL, *to_path = NULL;
	struct expand_directory inner_from = {-1, NULL}, inner_to = {-1, NULL};
	int ret = -ENOMEM;

	if (asprintf(&from_path, "%s/%s", from->path, name) < 0)
		from_path = NULL;
	if (asprintf(&to_path, "%s/%s", to->path, name) < 0)
		to_path = NULL;
	if (!from_path || !to_path) {
		error_set(e->error, ret, NULL, "out of memory to expand %s/%s", from->path, name);
		goto out;
	}
	ret = 0;
	inner_from = (struct expand_directory){
			openat(from->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			from_path};
	if (inner_from.fd < 0) {
		ctf_expand_report(e, "cannot read %s: %s", from_path, strerror(errno));
		goto out;
	}
	if (mkdirat(to->fd, name, CTF_DIRECTORY_MODE))
		ret = -errno;
	else
		inner_to = (struct expand_directory){
				openat(to->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to_path};
	if (!ret && inner_to.fd < 0)
		ret = -errno;
	if (ret)
		ctf_write_error(e->error, ret, to_path, "");
	else
		ret = expand_dir(e, &inner_from, &inner_to, depth + 1);
out:
	if (inner_from.fd >= 0)
		close(inner_from.fd);
	if (inner_to.fd >= 0)
		close(inner_to.fd);
	free(from_path);
	free(to_path);
	return ret;
}

static int expand_entry(struct expansion *e, const struct expand_directory *from,
		const struct expand_directory *to, const char *name, unsigned int depth)
{
	struct stat stat;

	/* Another process may have removed the entry. */
	if (fstatat(from->fd, name, &stat, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : error_set(e->error, -errno, NULL, "cannot read %s/%s: %s",
							 from->path, name, strerror(errno));
	if (S_ISREG(stat.st_mode))
		return expand_file(e, from, to, name);
	if (!S_ISDIR(stat.st_mode) || depth >= EXPAND_DEPTH_MAX ||
			(stat.st_dev == e->out.st_dev && stat.st_ino == e->out.st_ino))
		return 0;
	return ctf_expand_enter_directory(e, from, to, name, depth);
}

static int ctf_expand_compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Copy the metadata last: in a growing trace, it then describes everything that was copied
   before. */
static int expand_dir(struct expansion *e, const struct expand_directory *from,
		const struct expand_directory *to, unsigned int depth)
{
	struct dirent **names = NULL;
	int count = scandirat(from->fd, ".", &names, NULL, ctf_expand_compare_names), ret = 0;
	bool metadata = false;

	if (count < 0)
		return error_set(e->error, -errno, NULL, "cannot read %s: %s", from->path,
				strerror(errno));
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		bool last = strcmp(name, "metadata") == 0;

		metadata = metadata || last;
		if (!ret && *name != '.' && !last)
			ret = expand_entry(e, from, to, name, depth);
		free(names[i]);
	}
	free(names);
	return !ret && metadata ? expand_entry(e, from, to, "metadata", depth) : ret;
}

int ctf_expand(const char *dir, const char *out, ctf_expand_ready *ready,
		ctf_expand_message_fn *report, void *user, struct ctf_expand_result *ret_summary,
		struct error *error)
{
	struct expansion e = {
			.result = ret_summary, .report = report, .user = user, .error = error};
	struct expand_directory from = {open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir},
				to = {-1, out};
	int ret = 0;

	*ret_summary = (struct ctf_expand_result){0};
	error_clear(error);
	if (from.fd < 0)
		return error_set(error, -errno, NULL, "cannot expand %s: %s", dir, strerror(errno));
	e.context = ZSTD_createDCtx();
	e.chunk = malloc(CHUNK);
	if (!e.context || !e.chunk)
		ret = error_set(error, -ENOMEM, NULL, "out of memory to expand %s", dir);
	else if (mkdir(out, CTF_DIRECTORY_MODE))
		ret = ctf_write_error(error, -errno, out, "");
	if (!ret) {
		if (ready)
			ready(dir, out);
		to.fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = to.fd < 0 || fstat(to.fd, &e.out) ? ctf_write_error(error, -errno, out, "")
							: expand_dir(&e, &from, &to, 0);
	}
	if (to.fd >= 0)
		close(to.fd);
	close(from.fd);
	ZSTD_freeDCtx(e.context);
	free(e.chunk);
	return ret;
}
