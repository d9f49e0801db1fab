/* SPDX-License-Identifier: MIT */
/*
 * Data stream files in zstd frames: docs/spec/recording.md, section 10.
 *
 * A frame is a packet, so that a file can be cut, mended and read at the beginning of any of
 * them.
 */
#ifndef SIDE_CTF_COMPRESS_H
#define SIDE_CTF_COMPRESS_H

#include <sys/types.h>

#include "ctf/ctf.h"

#define CTF_COMPRESSED_SUFFIX ".zst"

/* Whether a file with this name holds frames; *plain is the length of the name without suffix. */
bool ctf_is_compressed(const char *name, size_t *plain);

/* ---- writing ---- */

struct ctf_compressor;

/* NULL without memory. A level that zstd does not know becomes the nearest one. */
struct ctf_compressor *ctf_compressor_create(int level);
void ctf_compressor_free(struct ctf_compressor *compressor);

/* One frame of both parts; *frame is valid until the next call. Returns 0, -ENOMEM or -EIO. */
int ctf_compress(struct ctf_compressor *compressor, const void *head, size_t head_size,
		const void *body, size_t body_size, const void **frame, size_t *size);

/* ---- reading frame by frame ---- */

struct ctf_frames {
	int fd;
	off_t next;           /* Where the next frame begins. */
	unsigned char *bytes; /* The current frame, as it is in the file. */
	size_t capacity;
	size_t size;
	bool cut;        /* After -EBADMSG: the file ends inside the frame. */
	const char *why; /* After -EBADMSG. */
};

/* The descriptor stays the caller's. */
void ctf_frames_start(struct ctf_frames *frames, int fd);
void ctf_frames_free(struct ctf_frames *frames);

/*
 * 1: a whole frame; 0: the end of the file; -EBADMSG: what stands there is no whole frame (bytes and
 * size have what is there when it is cut); or another negative errno.
 */
int ctf_frames_next(struct ctf_frames *frames);

#endif /* SIDE_CTF_COMPRESS_H */
