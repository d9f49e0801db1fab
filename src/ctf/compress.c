/* SPDX-License-Identifier: MIT */
/* Compresses packets to zstd frames, and finds frames in files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "ctf/compress.h"

/* Size of the first read of a frame, and the largest frame. */
#define FRAME_FIRST (64u << 10)
#define FRAME_MAX (UINT64_C(4) << 30)

bool ctf_is_compressed(const char *name, size_t *ret_plain_length)
{
	size_t size = strlen(name), suffix = strlen(CTF_COMPRESSED_SUFFIX);

	if (size <= suffix || strcmp(name + size - suffix, CTF_COMPRESSED_SUFFIX) != 0)
		return false;
	if (ret_plain_length)
		*ret_plain_length = size - suffix;
	return true;
}

/* ---- writing ---- */

struct ctf_compressor {
	ZSTD_CCtx *context;
	void *frame;
	size_t capacity;
};

struct ctf_compressor *ctf_compressor_create(int level)
{
	struct ctf_compressor *compressor = calloc(1, sizeof(*compressor));
	ZSTD_CCtx *context = compressor ? ZSTD_createCCtx() : NULL;

	if (!context) {
		free(compressor);
		return NULL;
	}
	if (level > ZSTD_maxCLevel())
		level = ZSTD_maxCLevel();
	if (level < ZSTD_minCLevel())
		level = ZSTD_minCLevel();
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	/* With a checksum, readers detect damage before they use the data. */
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	compressor->context = context;
	return compressor;
}

void ctf_compressor_free(struct ctf_compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->context);
	free(compressor->frame);
	free(compressor);
}

/* Compress one part; the output has enough capacity for all of it. */
static int compress_part(ZSTD_CCtx *context, ZSTD_outBuffer *out, const void *bytes, size_t size,
		ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	size_t left;

	do {
		left = ZSTD_compressStream2(context, out, &in, end);
		if (ZSTD_isError(left))
			return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM
										       : -EIO;
	} while (in.pos < in.size || (end == ZSTD_e_end && left && out->pos < out->size));
	return end == ZSTD_e_end && left ? -EIO : 0;
}

int ctf_compress(struct ctf_compressor *compressor, const void *head, size_t head_size,
		const void *body, size_t body_size, const void **ret_frame, size_t *ret_size)
{
	size_t most = ZSTD_compressBound(head_size + body_size);
	ZSTD_CCtx *context = compressor->context;
	ZSTD_outBuffer out;
	int ret;

	if (most > compressor->capacity) {
		void *grown = realloc(compressor->frame, most);

		if (!grown)
			return -ENOMEM;
		compressor->frame = grown;
		compressor->capacity = most;
	}
	out = (ZSTD_outBuffer){compressor->frame, compressor->capacity, 0};
	ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
	/* Store the size of the packet in the frame, so that readers can skip it without
	   decompressing it. */
	ZSTD_CCtx_setPledgedSrcSize(context, head_size + body_size);
	ret = compress_part(context, &out, head, head_size, ZSTD_e_continue);
	if (!ret)
		ret = compress_part(context, &out, body, body_size, ZSTD_e_end);
	*ret_frame = compressor->frame;
	*ret_size = out.pos;
	return ret;
}

/* ---- reading frame by frame ---- */

void ctf_frames_start(struct ctf_frames *frames, int fd)
{
	*frames = (struct ctf_frames){.fd = fd};
}

void ctf_frames_free(struct ctf_frames *frames)
{
	free(frames->bytes);
	frames->bytes = NULL;
}

/* Read until there are `want` bytes from `next` on, or the end of the file. */
static int ctf_compress_fill_buffer(struct ctf_frames *frames, size_t *have, size_t want)
{
	if (want > frames->capacity) {
		unsigned char *grown = realloc(frames->bytes, want);

		if (!grown)
			return -ENOMEM;
		frames->bytes = grown;
		frames->capacity = want;
	}
	while (*have < want) {
		ssize_t got = pread(frames->fd, frames->bytes + *have, want - *have,
				frames->next + (off_t)*have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		*have += (size_t)got;
	}
	return 0;
}

static int bad_frame(struct ctf_frames *frames, size_t size, bool cut, const char *why)
{
	frames->size = size;
	frames->is_cut = cut;
	frames->reason = why;
	return -EBADMSG;
}

/* The length of a frame is known only from its blocks: read more until it can be computed. */
int ctf_frames_next(struct ctf_frames *frames)
{
	size_t have = 0, want = FRAME_FIRST;

	frames->next += (off_t)frames->size;
	frames->size = 0;
	for (;;) {
		int ret = ctf_compress_fill_buffer(frames, &have, want);
		size_t size;

		if (ret)
			return ret;
		if (!have)
			return 0;
		size = ZSTD_findFrameCompressedSize(frames->bytes, have);
		if (!ZSTD_isError(size)) {
			frames->size = size;
			return 1;
		}
		if (ZSTD_getErrorCode(size) != ZSTD_error_srcSize_wrong)
			return bad_frame(frames, 0, false, "no zstd frame at that position");
		if (have < want)
			return bad_frame(frames, have, true, "the last frame is cut off");
		if (want >= FRAME_MAX)
			return bad_frame(frames, 0, false, "a frame is larger than 4 GiB");
		want *= 2;
	}
}
