/* SPDX-License-Identifier: MIT */
/* Decompresses a file of zstd frames. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "ctf/compress.h"
#include "ctf/read/unzstd.h"

#define FRAME_MAGIC 0xfd2fb528u
#define SKIPPABLE_MAGIC 0x184d2a50u /* The low 4 bits may have any value. */
#define BLOCK_MAX ((uint64_t)128 << 10)
#define HEAD_MAX 18
#define INPUT_SIZE ((size_t)32 << 10)
/* A frame is a packet; no recorder writes larger packets. */
#define FRAME_MAX ((uint64_t)1 << 32)
/* Limit of the memory that the decoders of all files keep between two calls; beyond it they start
   again. */
#define HELD_MAX ((size_t)256 << 20)

static size_t held; /* Total of all files; atomic. */

struct unzstd_frame {
	uint64_t from;        /* Offset of its beginning in the file. */
	uint64_t next;        /* Offset of what follows it in the file. */
	uint64_t size;        /* Size of its content. */
	uint64_t header_size; /* Size of its content in its header; UINT64_MAX: unknown. */
	bool is_whole;
};

struct ctf_unzstd {
	uint64_t file_size;
	uint64_t size;    /* Size of the content of all frames. */
	uint64_t scanned; /* Offset in the file up to which `size` includes all complete frames. */
	uint64_t whole;   /* Size of the content of those. */
	struct unzstd_frame frame; /* The frame that is being decompressed, or will be next. */
	uint64_t at;               /* Offset of its content. */
	ZSTD_DCtx *context;        /* NULL: decompression has not started. */
	uint64_t input;            /* Offset in the file of the next input. */
	uint64_t output;           /* Offset of the next output byte. */
	size_t held;
	bool cut;               /* The last frame is incomplete. */
	uint64_t strange;       /* Bytes of the file that are no frames. */
	uint64_t first_strange; /* Offset of the first of them. */
	int error;              /* of a failed read at the creation, or 0 */
};

int ctf_unzstd_is_meant(int fd, const char *name)
{
	uint32_t magic;
	ssize_t got;

	if (!ctf_is_compressed(name, NULL))
		return 0;
	do
		got = pread(fd, &magic, 4, 0);
	while (got < 0 && errno == EINTR);
	if (got != 4)
		return got < 0 ? -errno : 0;
	magic = le32toh(magic);
	return magic == FRAME_MAGIC || (magic & ~15u) == SKIPPABLE_MAGIC;
}

/* ---- frames, without decompressing them ---- */

/* A file, and the error of the first failed read, or 0. After an error, the results of later reads
   are invalid. */
struct unzstd_file {
	int fd, error;
};

/* Read up to `size` bytes; fewer at the end of the file. */
static size_t read_some(struct unzstd_file *file, void *bytes, size_t size, uint64_t at)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = pread(
				file->fd, (char *)bytes + used, size - used, (off_t)(at + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !file->error)
			file->error = errno;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

/* Parse the header of a frame. Returns its length, or 0; *ret_size is the size of the content if
   the header contains it. */
static size_t unzstd_read_head(
		const unsigned char *head, size_t there, uint64_t *ret_size, bool *ret_has_sum)
{
	static const unsigned char dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
	size_t at = 5, width;

	if (there < 6 || head[4] & 8) /* A reserved bit. */
		return 0;
	at += !(head[4] & 32) + (size_t)dictionary[head[4] & 3];
	width = content[head[4] >> 6];
	if (!width && head[4] & 32)
		width = 1;
	if (there < at + width)
		return 0;
	*ret_has_sum = head[4] & 4;
	*ret_size = width ? 0 : UINT64_MAX;
	for (size_t i = 0; i < width; i++)
		*ret_size |= (uint64_t)head[at + i] << 8 * i;
	if (width == 2)
		*ret_size += 256;
	return at + width;
}

/* Skip the blocks that begin at *at. 1: all are complete; 0: cut; -1: invalid. */
static int walk_blocks(struct unzstd_file *file, uint64_t end, uint64_t *at, uint64_t *ret_most)
{
	unsigned char head[3];

	for (*ret_most = 0; *at + 3 <= end; *ret_most += BLOCK_MAX) {
		uint32_t block, size;

		if (read_some(file, head, 3, *at) != 3)
			return 0;
		block = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16;
		size = block >> 3;
		if ((block >> 1 & 3) == 3 || size > BLOCK_MAX)
			return -1;
		*at += 3 + ((block >> 1 & 3) == 1 ? 1 : size);
		if (block & 1) {
			*ret_most += BLOCK_MAX;
			return *at <= end;
		}
		if (*ret_most > FRAME_MAX)
			return -1;
	}
	return 0;
}

/* Decompress a frame only to find the size of its content. */
static uint64_t measure(struct unzstd_file *file, uint64_t at, uint64_t end)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	unsigned char *buffer = malloc(INPUT_SIZE + BLOCK_MAX);
	uint64_t size = 0;
	size_t left = 1;

	while (context && buffer && left && at < end && size < FRAME_MAX) {
		size_t wanted = end - at < INPUT_SIZE ? (size_t)(end - at) : INPUT_SIZE;
		ZSTD_inBuffer in = {buffer, read_some(file, buffer, wanted, at), 0};
		ZSTD_outBuffer out;

		at += in.size;
		left = in.size;
		while (left && !ZSTD_isError(left)) {
			out = (ZSTD_outBuffer){buffer + INPUT_SIZE, BLOCK_MAX, 0};
			left = ZSTD_decompressStream(context, &out, &in);
			if (!ZSTD_isError(left))
				size += out.pos;
			if (in.pos == in.size && out.pos < out.size)
				break;
		}
		if (ZSTD_isError(left))
			break;
	}
	ZSTD_freeDCtx(context);
	free(buffer);
	return size;
}

/* 1: a frame, complete or not, begins at this byte; 0: none does. */
static int unzstd_check_frame(
		struct unzstd_file *file, uint64_t end, uint64_t at, struct unzstd_frame *ret_frame)
{
	unsigned char head[HEAD_MAX];
	size_t there = read_some(
			file, head, end - at < HEAD_MAX ? (size_t)(end - at) : HEAD_MAX, at);
	uint64_t size = 0, most = 0;
	uint32_t magic, skipped;
	bool has_sum = false;
	size_t length;
	int walked;

	*ret_frame = (struct unzstd_frame){.from = at, .next = end};
	if (there < 4)
		return 0;
	memcpy(&magic, head, 4);
	magic = le32toh(magic);
	if ((magic & ~15u) == SKIPPABLE_MAGIC) {
		if (there < 8)
			return 1;
		memcpy(&skipped, head + 4, 4);
		if (end - at - 8 < le32toh(skipped))
			return 1;
		ret_frame->next = at + 8 + le32toh(skipped);
		ret_frame->is_whole = true;
		return 1;
	}
	if (magic != FRAME_MAGIC)
		return 0;
	length = unzstd_read_head(head, there, &size, &has_sum);
	if (!length)
		return there < HEAD_MAX; /* Cut, or invalid. */
	at += length;
	walked = walk_blocks(file, end, &at, &most);
	if (walked < 0)
		return 0;
	at += has_sum ? 4 : 0;
	ret_frame->is_whole = walked && at <= end;
	ret_frame->next = ret_frame->is_whole ? at : end;
	ret_frame->size = ret_frame->header_size = size;
	if (!ret_frame->is_whole || size > most)
		ret_frame->size = measure(file, ret_frame->from, ret_frame->next);
	return ret_frame->size <= FRAME_MAX;
}

/* The next byte from `at` on that may begin a frame. */
static uint64_t find_magic(struct unzstd_file *file, uint64_t at, uint64_t end)
{
	unsigned char buffer[4096];
	const uint32_t magic = htole32(FRAME_MAGIC);

	while (at + 4 <= end) {
		size_t wanted = end - at < sizeof(buffer) ? (size_t)(end - at) : sizeof(buffer);
		size_t there = read_some(file, buffer, wanted, at);
		const unsigned char *found = memmem(buffer, there, &magic, 4);

		if (found)
			return at + (uint64_t)(found - buffer);
		if (there < 4 || there < wanted)
			break;
		at += there - 3;
	}
	return end;
}

static bool is_magic(struct unzstd_file *file, uint64_t at)
{
	uint32_t magic;

	if (read_some(file, &magic, 4, at) != 4)
		return false;
	magic = le32toh(magic);
	return magic == FRAME_MAGIC || (magic & ~15u) == SKIPPABLE_MAGIC;
}

/*
 * Find the frame at or behind this byte of the file; false: there is none. A frame that does not
 * end at the beginning of another one is assumed to end where the next one is found: it is not
 * decompressed, but the following ones are.
 */
static bool find_frame(const struct ctf_unzstd *unzstd, struct unzstd_file *file, uint64_t at,
		struct unzstd_frame *ret_frame)
{
	uint64_t end = unzstd->file_size, next;

	while (at < end) {
		if (unzstd_check_frame(file, end, at, ret_frame)) {
			if (ret_frame->is_whole &&
					(ret_frame->next == end || is_magic(file, ret_frame->next)))
				return true;
			next = find_magic(file, at + 4,
					ret_frame->next + 3 < end ? ret_frame->next + 3 : end);
			if (next >= ret_frame->next)
				return true;
			ret_frame->next = next;
			ret_frame->is_whole = true;
			if (!ret_frame->size && ret_frame->header_size <= FRAME_MAX)
				ret_frame->size = ret_frame->header_size;
			if (ret_frame->size)
				return true;
		}
		at = find_magic(file, at + 1, end);
	}
	*ret_frame = (struct unzstd_frame){.from = end, .next = end, .is_whole = true};
	return false;
}

/*
 * Select the frame at or behind this byte as the next one; false: there is none yet. The last three
 * bytes may be the beginning of its magic number, so the search continues there when the file has
 * grown.
 */
static bool unzstd_seek_frame(struct ctf_unzstd *unzstd, struct unzstd_file *file, uint64_t byte)
{
	uint64_t end = unzstd->file_size;
	bool found = find_frame(unzstd, file, byte, &unzstd->frame);

	if (!found)
		unzstd->frame.from = unzstd->frame.next = byte + 3 > end ? byte : end - 3;
	return found;
}

static void scan(struct ctf_unzstd *unzstd, struct unzstd_file *file)
{
	uint64_t at = unzstd->scanned, strange = 0;
	struct unzstd_frame frame;
	bool found;

	unzstd->size = unzstd->whole;
	do {
		found = find_frame(unzstd, file, at, &frame);
		if (frame.from > at && !unzstd->strange)
			unzstd->first_strange = at;
		strange += frame.from - at;
		unzstd->size += frame.size;
		at = frame.next;
		if (found)
			unzstd->cut = !frame.is_whole;
		if (found && frame.is_whole) {
			unzstd->strange += strange;
			strange = 0;
			unzstd->scanned = at;
			unzstd->whole = unzstd->size;
		}
	} while (found);
	unzstd->strange += file->error ? 0 : strange;
}

/* ---- create, grow, free ---- */

static void unzstd_drop_context(struct ctf_unzstd *unzstd)
{
	ZSTD_freeDCtx(unzstd->context);
	unzstd->context = NULL;
	/* Relaxed: only a sum. */
	__atomic_sub_fetch(&held, unzstd->held, __ATOMIC_RELAXED);
	unzstd->held = 0;
}

struct ctf_unzstd *ctf_unzstd_create(int fd, uint64_t size)
{
	struct ctf_unzstd *unzstd = calloc(1, sizeof(*unzstd));
	struct unzstd_file file = {.fd = fd};

	if (!unzstd)
		return NULL;
	unzstd->file_size = size;
	scan(unzstd, &file);
	(void)unzstd_seek_frame(unzstd, &file, 0);
	unzstd->error = file.error;
	return unzstd;
}

void ctf_unzstd_free(struct ctf_unzstd *unzstd)
{
	if (!unzstd)
		return;
	unzstd_drop_context(unzstd);
	free(unzstd);
}

int ctf_unzstd_error(const struct ctf_unzstd *unzstd)
{
	return unzstd->error;
}

uint64_t ctf_unzstd_size(const struct ctf_unzstd *unzstd)
{
	return unzstd->size;
}

bool ctf_unzstd_is_cut(const struct ctf_unzstd *unzstd)
{
	return unzstd->cut;
}

uint64_t ctf_unzstd_file_size(const struct ctf_unzstd *unzstd)
{
	return unzstd->file_size;
}

void ctf_unzstd_grow(struct ctf_unzstd *unzstd, int fd, uint64_t size)
{
	struct unzstd_file file = {.fd = fd};
	const struct unzstd_frame frame = unzstd->frame;
	uint64_t before = unzstd->file_size;

	unzstd->file_size = size;
	scan(unzstd, &file);
	/* An incomplete frame may be complete now. */
	unzstd_drop_context(unzstd);
	(void)unzstd_seek_frame(unzstd, &file, unzstd->frame.from);
	/* Make the next call scan the file again, from the same frame on. */
	if (file.error) {
		unzstd->file_size = before;
		unzstd->frame = frame;
	}
}

uint64_t ctf_unzstd_strange(const struct ctf_unzstd *unzstd, uint64_t *ret_first)
{
	*ret_first = unzstd->first_strange;
	return unzstd->strange;
}

/* ---- decompressing ---- */

/* Select the frame that begins at or behind this byte of the file, whose content has the offset
   `at`. */
static bool enter_frame(
		struct ctf_unzstd *unzstd, struct unzstd_file *file, uint64_t byte, uint64_t at)
{
	bool found = unzstd_seek_frame(unzstd, file, byte);

	unzstd_drop_context(unzstd);
	unzstd->at = at;
	return found;
}

static int unzstd_begin_frame(struct ctf_unzstd *unzstd)
{
	unzstd_drop_context(unzstd);
	unzstd->context = ZSTD_createDCtx();
	unzstd->input = unzstd->frame.from;
	unzstd->output = unzstd->at;
	return unzstd->context ? 0 : -ENOMEM;
}

#define DAMAGED ((size_t)-ZSTD_error_corruption_detected)

static int unzstd_set_error(
		struct ctf_unzstd *unzstd, size_t code, const char **ret_why, uint64_t *ret_resume)
{
	unzstd_drop_context(unzstd);
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	*ret_why = ZSTD_getErrorName(code);
	*ret_resume = unzstd->at + unzstd->frame.size;
	return -EIO;
}

/*
 * Decompress at most `size` bytes of the frame (bytes NULL: discard them, at most BLOCK_MAX);
 * *ret_size is their number, smaller only at the end of the available data.
 */
static int decode_some(struct ctf_unzstd *unzstd, struct unzstd_file *file, void *bytes,
		size_t size, size_t *ret_size, const char **ret_why, uint64_t *ret_resume)
{
	unsigned char *away = bytes ? NULL : malloc(size), input[INPUT_SIZE];
	ZSTD_outBuffer out = {bytes ? bytes : away, size, 0};
	uint64_t last = unzstd->at + unzstd->frame.size;
	int ret = bytes || away ? 0 : -ENOMEM;

	while (!ret) {
		uint64_t left = unzstd->frame.next - unzstd->input;
		size_t before = out.pos, more;
		ZSTD_inBuffer in = {input, 0, 0};

		in.size = read_some(file, input,
				left < sizeof(input) ? (size_t)left : sizeof(input), unzstd->input);
		more = ZSTD_decompressStream(unzstd->context, &out, &in);
		unzstd->input += in.pos;
		if (ZSTD_isError(more)) {
			ret = unzstd_set_error(unzstd, more, ret_why, ret_resume);
			break;
		}
		/* Read the end of a frame with its last bytes: it contains the checksum. */
		if (!more || (out.pos == out.size && unzstd->output + out.pos != last))
			break;
		if (in.pos || out.pos != before)
			continue;
		if (in.size || unzstd->frame.next < unzstd->file_size)
			ret = unzstd_set_error(unzstd, DAMAGED, ret_why, ret_resume);
		break;
	}
	free(away);
	*ret_size = ret ? 0 : out.pos;
	if (!ret)
		unzstd->output += out.pos;
	return ret;
}

/* Set `output` to the offset `at`; *ret_found is false if there is no such byte. */
static int seek(struct ctf_unzstd *unzstd, struct unzstd_file *file, uint64_t at, bool *ret_found,
		const char **ret_why, uint64_t *ret_resume)
{
	int ret;

	*ret_found = true;
	if (at < unzstd->at)
		*ret_found = enter_frame(unzstd, file, 0, 0);
	while (*ret_found && at >= unzstd->at + unzstd->frame.size)
		*ret_found = enter_frame(
				unzstd, file, unzstd->frame.next, unzstd->at + unzstd->frame.size);
	if (!*ret_found)
		return 0;
	if (!unzstd->context || at < unzstd->output) {
		ret = unzstd_begin_frame(unzstd);
		if (ret)
			return ret;
	}
	while (unzstd->output < at) {
		uint64_t left = at - unzstd->output;
		size_t got;

		ret = decode_some(unzstd, file, NULL,
				left < BLOCK_MAX ? (size_t)left : (size_t)BLOCK_MAX, &got, ret_why,
				ret_resume);
		*ret_found = got;
		if (ret || !got)
			return ret;
	}
	return 0;
}

static void unzstd_account_context(struct ctf_unzstd *unzstd)
{
	size_t size = unzstd->context ? ZSTD_sizeof_DCtx(unzstd->context) : 0;

	/* Relaxed: only a sum. */
	if (__atomic_add_fetch(&held, size - unzstd->held, __ATOMIC_RELAXED) > HELD_MAX) {
		unzstd->held = size;
		unzstd_drop_context(unzstd);
	}
	unzstd->held = unzstd->context ? size : 0;
}

int ctf_unzstd_read(struct ctf_unzstd *unzstd, int fd, uint64_t at, void *bytes, size_t size,
		size_t *ret_size, const char **ret_why, uint64_t *ret_resume)
{
	struct unzstd_file file = {.fd = fd};
	const struct unzstd_frame frame = unzstd->frame;
	const uint64_t frame_at = unzstd->at;
	int ret = 0;

	*ret_size = 0;
	*ret_resume = 0;
	while (!ret && !file.error && *ret_size < size) {
		size_t wanted = size - *ret_size, some = 0;
		bool found;

		ret = seek(unzstd, &file, at + *ret_size, &found, ret_why, ret_resume);
		/* After an error, this may not be the frame with these bytes. */
		if (ret || !found || file.error)
			break;
		if (wanted > unzstd->at + unzstd->frame.size - unzstd->output)
			wanted = (size_t)(unzstd->at + unzstd->frame.size - unzstd->output);
		ret = decode_some(unzstd, &file, (char *)bytes + *ret_size, wanted, &some, ret_why,
				ret_resume);
		*ret_size += some;
		if (!some)
			break;
	}
	unzstd_account_context(unzstd);
	if (file.error && ret != -ENOMEM) {
		/* The unreadable frames still exist. */
		unzstd_drop_context(unzstd);
		unzstd->frame = frame;
		unzstd->at = frame_at;
		*ret_why = strerror(file.error);
		*ret_resume = 0;
		ret = -EIO;
	}
	/* Return the bytes before the damage; the next call returns the error. */
	if (ret == -EIO && *ret_size)
		ret = 0;
	return ret;
}
