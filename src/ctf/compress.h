/* SPDX-License-Identifier: MIT */
/*
 * Compresses and reads data stream files in zstd frames: docs/spec/recording.md, section 10.
 *
 * A frame is a packet, so a file can be cut, repaired and read at the beginning of any frame.
 */
#ifndef SIDE_CTF_COMPRESS_H
#define SIDE_CTF_COMPRESS_H

#include <sys/types.h>

#include "ctf/ctf.h"

#define CTF_COMPRESSED_SUFFIX ".zst"

/*
 * True if a file of this name contains frames; *ret_plain_length is then the length of the name
 * without suffix, and unchanged otherwise. `ret_plain_length` may be NULL.
 */
bool ctf_is_compressed(const char *name, size_t *ret_plain_length);

/* ---- writing ---- */

struct ctf_compressor;

/* Returns NULL if out of memory. An unsupported level becomes the nearest supported one. */
struct ctf_compressor *ctf_compressor_create(int level);
void ctf_compressor_free(struct ctf_compressor *compressor);

/*
 * Compresses both parts into one frame; *ret_frame is valid until the next call. Returns 0, -ENOMEM
 * or -EIO.
 */
int ctf_compress(struct ctf_compressor *compressor, const void *head, size_t head_size,
		const void *body, size_t body_size, const void **ret_frame, size_t *ret_size);

/* ---- reading frame by frame ---- */

struct ctf_frames {
	int fd;
	off_t next;           /* Offset of the next frame. */
	unsigned char *bytes; /* The current frame, compressed. */
	size_t capacity;
	size_t size;
	bool is_cut;        /* After -EBADMSG: the file ends inside the frame. */
	const char *reason; /* After -EBADMSG. */
};

/* The caller closes fd. */
void ctf_frames_start(struct ctf_frames *frames, int fd);
void ctf_frames_free(struct ctf_frames *frames);

/*
 * Reads the next frame. Returns 1: a complete frame; 0: the end of the file; -EBADMSG: no complete
 * frame (if it is cut, bytes and size are what the file contains); or another negative errno.
 */
int ctf_frames_next(struct ctf_frames *frames);

#endif /* SIDE_CTF_COMPRESS_H */
