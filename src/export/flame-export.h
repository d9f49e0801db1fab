/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs for other programs: folded stacks, speedscope, pprof, pictures.
 *
 * flame-export.c gives the nodes of the tree to the function of a format, which writes into a
 * buffer.
 */
#ifndef SIDE_EXPORT_FLAME_EXPORT_H
#define SIDE_EXPORT_FLAME_EXPORT_H

#include "analysis/flame.h"
#include "analysis/view-out.h"

struct error;
struct flame_export;

enum flame_format {
	FLAME_FORMAT_FOLDED,     /* a line for each call path: "a;b;c 12" */
	FLAME_FORMAT_SPEEDSCOPE, /* JSON for https://www.speedscope.app */
	FLAME_FORMAT_PPROF,      /* profile.proto, compressed with gzip */
	FLAME_FORMAT_SVG,        /* a picture */
};

/* Writes a format into `out`. 0 or a negative errno. */
typedef int flame_export_write(struct flame_export *export);

struct flame_export {
	const struct flame *flame;
	const uint32_t *order; /* of the nodes, each one after its parent */
	struct view_out out;
	/* Writes the buffer and empties it. 0 or a negative errno. */
	int (*flush)(struct flame_export *export, bool is_end);
	int fd;
	void *deflate; /* the state of zlib; NULL: the output is not compressed */
	int write_error;
};

/*
 * Writes the tree to the descriptor, which the caller closes. `path` names the output in messages.
 * Returns 0 or a negative errno and sets the error. -EPIPE: the reader of the output has closed it.
 */
int flame_export(const struct flame *flame, enum flame_format format, int fd, const char *path,
		struct error *error);

/* Writes the buffer if it is large. 0 or a negative errno. */
int flame_export_continue(struct flame_export *export);

flame_export_write flame_export_folded, flame_export_speedscope, flame_export_pprof,
		flame_export_svg;

#endif /* SIDE_EXPORT_FLAME_EXPORT_H */
