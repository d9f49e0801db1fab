/* SPDX-License-Identifier: MIT */
/* Opens the images in files and archives. */
#include "elf/objects.h"

#include "elf/archive.h"
#include "elf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No object file is larger. Bounds what one member makes this code allocate. */
#define MEMBER_SIZE_MAX (1u << 30)

/* No library has more. An archive that consists only of headers is read to its end all the same. */
#define BROKEN_MAX 100

struct objects_walk {
	const struct objects_ops *ops;
	const char *path;
	unsigned int nr_broken;
};

static int elf_objects_report_broken(
		struct objects_walk *walk, const struct error *error, const char *member)
{
	if (member && error->code == -ENOEXEC)
		return 0;
	if (walk->nr_broken++ >= BROKEN_MAX)
		return 0;
	return walk->ops->broken(walk->ops->priv, error, member);
}

static int broken_text(struct objects_walk *walk, int code, const char *text, const char *member)
{
	struct error error;

	error_set(&error, code, NULL, "%s", text);
	return elf_objects_report_broken(walk, &error, member);
}

static int elf_objects_read_file(struct objects_walk *walk, int fd, const char *member)
{
	struct error error;
	struct image *image;
	int result;

	if (image_open(fd, true, &image, &error))
		return elf_objects_report_broken(walk, &error, member);
	result = walk->ops->image(walk->ops->priv, image, member);
	image_close(image);
	return result;
}

/* Read a member of a thin archive: a file, with a path relative to the archive's folder. */
static int read_outside(struct objects_walk *walk, const char *name)
{
	const char *slash = strrchr(walk->path, '/');
	int folder = slash && name[0] != '/' ? (int)(slash - walk->path + 1) : 0;
	char path[PATH_MAX];
	struct stat status;
	int fd, result;

	if (snprintf(path, sizeof(path), "%.*s%s", folder, walk->path, name) >= (int)sizeof(path))
		return broken_text(walk, -ENAMETOOLONG, "its path is too long", name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return broken_text(walk, -errno, strerror(errno), name);
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		result = broken_text(walk, -EINVAL, "it is not a file", name);
	else
		result = elf_objects_read_file(walk, fd, name);
	close(fd);
	return result;
}

static int read_inside(struct objects_walk *walk, int fd, const struct archive_member *member)
{
	struct error error;
	struct image *image;
	void *bytes;
	int result;

	if (member->size > MEMBER_SIZE_MAX)
		return broken_text(walk, -EFBIG, "it is larger than 1 GiB", member->name);
	bytes = malloc(member->size ? (size_t)member->size : 1);
	if (!bytes)
		return broken_text(walk, -ENOMEM, "out of memory", member->name);
	if (file_read(fd, member->offset, bytes, (size_t)member->size)) {
		result = broken_text(walk, -EINVAL, "it is truncated", member->name);
	} else if (image_open_memory(bytes, (size_t)member->size, &image, &error)) {
		result = elf_objects_report_broken(walk, &error, member->name);
	} else {
		result = walk->ops->image(walk->ops->priv, image, member->name);
		image_close(image);
	}
	free(bytes);
	return result;
}

static int read_archive(struct objects_walk *walk, struct archive *archive)
{
	struct archive_member *member = malloc(sizeof(*member));
	int next = 0, result = 0;

	if (!member)
		return broken_text(walk, -ENOMEM, "out of memory", NULL);
	while (!result && (next = archive_next(archive, member)) > 0)
		result = member->outside ? read_outside(walk, member->name)
					 : read_inside(walk, archive->fd, member);
	free(member);
	if (!result && next < 0)
		result = broken_text(walk, -EINVAL, "the archive is truncated or damaged", NULL);
	return result;
}

int objects_read(int fd, const char *path, const struct objects_ops *ops)
{
	struct objects_walk walk = {.ops = ops, .path = path};
	struct archive archive;

	if (!archive_open(fd, &archive))
		return read_archive(&walk, &archive);
	return elf_objects_read_file(&walk, fd, NULL);
}
