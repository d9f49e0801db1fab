/* SPDX-License-Identifier: MIT */
/*
 * Decompresses a file of zstd frames (docs/spec/recording.md, section 10), from front to back.
 *
 * Offsets are those of the decompressed bytes. Their number is known from the headers of frames and
 * blocks, before anything is decompressed. The memory does not grow with the file: reading an
 * earlier offset starts again from the beginning.
 */
#ifndef SIDE_CTF_READ_UNZSTD_H
#define SIDE_CTF_READ_UNZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_unzstd;

/* 1: the name and the first bytes show that the file has zstd frames; 0: it has none; or a negative
   errno. */
int ctf_unzstd_is_meant(int fd, const char *name);

/* Open the file up to its byte `size`. NULL: out of memory. */
struct ctf_unzstd *ctf_unzstd_create(int fd, uint64_t size);
void ctf_unzstd_free(struct ctf_unzstd *unzstd);

/* The errno of a read that failed during the creation, or 0. After an error, the frames are not
   known. */
int ctf_unzstd_error(const struct ctf_unzstd *unzstd);

/* Number of decompressed bytes. */
uint64_t ctf_unzstd_size(const struct ctf_unzstd *unzstd);

/* The file has grown: read the headers of the new part. */
void ctf_unzstd_grow(struct ctf_unzstd *unzstd, int fd, uint64_t size);
uint64_t ctf_unzstd_file_size(const struct ctf_unzstd *unzstd);

/*
 * Decompress `size` bytes from `at` on; *ret_size is the number of bytes. Fewer bytes mean the end
 * (of a file that has shrunk). 0; -ENOMEM, or -EIO: *ret_why is the error, as the end of a
 * sentence, and *ret_resume the offset of the next frame behind the damage; or 0.
 */
int ctf_unzstd_read(struct ctf_unzstd *unzstd, int fd, uint64_t at, void *bytes, size_t size,
		size_t *ret_size, const char **ret_why, uint64_t *ret_resume);

/* Number of bytes in the file that are no frames; *ret_first is the offset of the first one. */
uint64_t ctf_unzstd_strange(const struct ctf_unzstd *unzstd, uint64_t *ret_first);

/* True if the file ends inside a frame. */
bool ctf_unzstd_is_cut(const struct ctf_unzstd *unzstd);

#endif /* SIDE_CTF_READ_UNZSTD_H */
