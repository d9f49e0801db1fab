/* SPDX-License-Identifier: MIT */
/* Reads the events of one file or archive. */
#include "readside.h"

#include "elf/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Real programs have some 100 KiB of descriptions, which take some 10,000 reads. The limits stop
 * files that are made to take long.
 */
#define BYTES_MAX (64u << 20)
#define READS_MAX (20u << 20)
#define BROKEN_MAX 100

struct readside_source {
	const struct source_ops *ops;
	const char *path;
	/* The current image. */
	struct image *image;
	const char *image_path;
	struct visit_memory memory;
	struct addresses seen;
	/* Totals of the whole file. */
	uint64_t bytes, reads;
	unsigned int nr_broken;
	bool was_elsewhere;
	bool has_read_error; /* the image's file could not be read */
};

static int readside_source_read_memory(void *opaque, uint64_t address, void *to, size_t size)
{
	struct readside_source *source = opaque;
	int ret;

	if (source->reads >= READS_MAX)
		return -E2BIG;
	source->reads++;
	ret = image_read(source->image, address, to, size);
	source->has_read_error |= ret == -EIO;
	return ret;
}

static void readside_source_report_broken(
		struct readside_source *source, enum broken_kind kind, const char *sentence)
{
	const struct broken broken = {
			.path = source->image_path,
			.kind = kind,
			.sentence = sentence,
	};

	source->ops->broken(source->ops->priv, &broken);
}

/* Read as much as possible of the string to which a slot of the description points. */
static void readside_source_read_name(
		struct readside_source *source, uint64_t slot, char *name, size_t size)
{
	unsigned int width = image_pointer_size(source->image), offset = 0;
	unsigned char bytes[16];
	uint64_t at;
	size_t used = 0;

	name[0] = '\0';
	if (readside_source_read_memory(source, slot, bytes, sizeof(bytes)))
		return;
	if (source->memory.byte_order == SIDE_TYPE_BYTE_ORDER_BE)
		offset = 16 - width;
	at = image_decode(source->memory.byte_order, bytes + offset, width);
	while (at && used + 1 < size &&
			!readside_source_read_memory(source, at + used, name + used, 1) &&
			name[used])
		used++;
	name[used] = '\0';
}

/* Remove the event's name from the path of the error: it is reported separately. */
static void readside_source_remove_event_name(struct visit_error *error, const char *provider)
{
	char *line = strchr(error->where, '\n');

	if (strncmp(error->where, provider, strlen(provider)))
		return;
	if (line)
		memmove(error->where, line + 1, strlen(line + 1) + 1);
	else
		error->where[0] = '\0';
}

/* Report a broken event. Returns not 0 if there are too many: other events are then not read. */
static int readside_source_report_broken_event(
		struct readside_source *source, uint64_t address, struct visit_error *error)
{
	char provider[256], name[256], sentence[1024];
	unsigned char level[4] = {0};
	struct broken broken_one = {.path = source->image_path,
			.kind = BROKEN_EVENT,
			.provider = provider,
			.event = name,
			.sentence = sentence,
			.hint = *error->hint ? error->hint : NULL};

	readside_source_read_name(source,
			address + offsetof(struct side_event_description, provider_name), provider,
			sizeof(provider));
	readside_source_read_name(source,
			address + offsetof(struct side_event_description, event_name), name,
			sizeof(name));
	readside_source_read_memory(source,
			address + offsetof(struct side_event_description, loglevel), level,
			sizeof(level));
	broken_one.level =
			(unsigned int)image_decode(source->memory.byte_order, level, sizeof(level));
	if (*provider)
		readside_source_remove_event_name(error, provider);
	visit_error_problem(error, sentence, sizeof(sentence));
	source->ops->broken(source->ops->priv, &broken_one);
	if (++source->nr_broken < BROKEN_MAX && source->reads < READS_MAX)
		return 0;
	readside_source_report_broken(
			source, BROKEN_FILE, "too many of its parts are not readable");
	return -E2BIG;
}

static int readside_source_read_event(void *opaque, uint64_t address)
{
	struct readside_source *source = opaque;
	struct readside_event event = {
			.path = source->image_path,
			.address = address,
			.pointer_size = image_pointer_size(source->image),
	};
	struct visit_error error = {.what = "out of memory"};
	unsigned char size[4];
	uint64_t bytes;
	int result = addresses_add(&source->seen, address);

	if (result <= 0)
		return result;
	result = image_read_event(&source->memory, address, &event.owned, &bytes, &error);
	if (result == -ENOMEM)
		message_out_of_memory();
	if (result)
		return readside_source_report_broken_event(source, address, &error);
	event.description = event.owned->desc;
	image_read_state(&source->memory, event.pointer_size, address, &event.state);
	if (!readside_source_read_memory(source, address, size, sizeof(size)))
		event.struct_size = (uint32_t)image_decode(
				source->memory.byte_order, size, sizeof(size));
	source->bytes += bytes;
	result = source->ops->event(source->ops->priv, &event);
	if (!result && source->bytes > BYTES_MAX) {
		readside_source_report_broken(source, BROKEN_FILE, "it has too many events");
		result = -E2BIG;
	}
	return result;
}

static int readside_source_read_tables(struct readside_source *source)
{
	int result;

	source->has_read_error = false;
	result = image_each_event(
			source->image, &source->memory, 0, readside_source_read_event, source);
	if (result == -EFAULT)
		readside_source_report_broken(
				source, BROKEN_FILE, "its table of events is truncated");
	else if (result == -EIO || (!result && source->has_read_error))
		readside_source_report_broken(source, BROKEN_FILE, strerror(EIO));
	else if (result == -ENOMEM)
		readside_source_report_broken(source, BROKEN_FILE, "out of memory");
	return result == -EFAULT || result == -EIO ? 0 : result;
}

static int readside_source_on_image(void *opaque, struct image *image, const char *member)
{
	struct readside_source *source = opaque;
	char *path = NULL;
	int result = 0;

	if (member && asprintf(&path, "%s(%s)", source->path, member) < 0)
		return -ENOMEM;
	source->image = image;
	source->image_path = member ? path : source->path;
	source->memory = (struct visit_memory){
			.read = readside_source_read_memory,
			.priv = source,
			.byte_order = image_byte_order(image),
	};
	if (source->ops->image)
		result = source->ops->image(source->ops->priv, image, source->image_path);
	if (!result)
		result = readside_source_read_tables(source);
	/* Report this once for an archive. */
	if (!result && image_elsewhere(image) && !source->was_elsewhere) {
		readside_source_report_broken(source, BROKEN_FOREIGN, image_elsewhere(image));
		source->was_elsewhere = true;
	}
	if (!result && source->ops->image_end)
		source->ops->image_end(source->ops->priv, image, source->image_path);
	addresses_free(&source->seen);
	source->image_path = source->path;
	free(path);
	return result;
}

static int readside_source_on_broken_object(
		void *opaque, const struct error *error, const char *member)
{
	struct readside_source *source = opaque;
	char text[4352 + sizeof(error->text)];

	source->image_path = source->path;
	if (member)
		snprintf(text, sizeof(text), "its member %s: %s", member, error->text);
	else
		snprintf(text, sizeof(text), "%s", error->text);
	readside_source_report_broken(
			source, error->code == -ENOEXEC ? BROKEN_FOREIGN : BROKEN_FILE, text);
	return 0;
}

int source_read(const char *path, const struct source_ops *ops)
{
	struct readside_source source = {.ops = ops, .path = path, .image_path = path};
	const struct objects_ops objects = {
			readside_source_on_image, readside_source_on_broken_object, &source};
	struct stat status;
	int fd, result = 0;

	/* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		readside_source_report_broken(&source, BROKEN_FILE, strerror(errno));
		return 0;
	}
	if (fstat(fd, &status))
		readside_source_report_broken(&source, BROKEN_FILE, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		readside_source_report_broken(&source, BROKEN_FILE, "it is not a file");
	else
		result = objects_read(fd, path, &objects);
	close(fd);
	/* Too many broken events in this file; the next file is still read. */
	return result == -E2BIG ? 0 : result;
}
