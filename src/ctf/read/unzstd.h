/* SPDX-License-Identifier: MIT */
/*
 * A file of zstd frames as the bytes that are in them (docs/spec/recording.md, section 10), from
 * the front to the back.
 *
 * Offsets are those of the decoded bytes. How many there are is known from the heads of frames and
 * blocks, before anything is decoded. Nothing grows with the file: going back means to begin again.
 */
#ifndef SIDE_CTF_READ_UNZSTD_H
#define SIDE_CTF_READ_UNZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_unzstd;

/* 1: by its name and its first bytes, the file has zstd frames; 0: it has none; or a negative errno. */
int ctf_unzstd_is_meant(int fd, const char *name);

/* The file up to its byte `size`. NULL without memory. */
struct ctf_unzstd *ctf_unzstd_create(int fd, uint64_t size);
void ctf_unzstd_free(struct ctf_unzstd *unzstd);

/* The errno of a read that failed at the creation, or 0. After an error, the frames are not known. */
int ctf_unzstd_error(const struct ctf_unzstd *unzstd);

/* Bytes that are in it. */
uint64_t ctf_unzstd_size(const struct ctf_unzstd *unzstd);

/* The file is longer by now: look at what was added. */
void ctf_unzstd_grow(struct ctf_unzstd *unzstd, int fd, uint64_t size);
uint64_t ctf_unzstd_file_size(const struct ctf_unzstd *unzstd);

/*
 * Decode `size` bytes from `at` on; *got says how many there were. Fewer are the end (of a file that
 * has become shorter). -ENOMEM, or -EIO: *why says what is wrong, as the end of a sentence, and
 * *resume where the next frame begins, behind what is damaged; or 0.
 */
int ctf_unzstd_read(struct ctf_unzstd *unzstd, int fd, uint64_t at, void *bytes, size_t size,
		size_t *got, const char **why, uint64_t *resume);

/* Bytes of the file that are no frames, and where the first of them is. */
uint64_t ctf_unzstd_strange(const struct ctf_unzstd *unzstd, uint64_t *first);

/* Whether the file ends inside a frame. */
bool ctf_unzstd_is_cut(const struct ctf_unzstd *unzstd);

#endif /* SIDE_CTF_READ_UNZSTD_H */
