/* SPDX-License-Identifier: MIT */
/*
 * Adopts recordings from state directories that another process has changed. The test creates a
 * state directory with two folders of dead processes; unchanged, a session adopts both and writes
 * all recorded events. Then it changes one folder, or files of the state directory itself, in the
 * same way in each run: bytes, lengths, links, pipes, directories, holes. After every change, the
 * session must write the other folder completely, and must not touch files outside the state
 * directory and the output.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

#include "../check.h"
#include "abi/visit.h"
#include "ctf/ctf.h"
#include "protocol/protocol.h"
#include "recorder/core/event-classes.h"
#include "recorder/core/instance.h"
#include "recorder/core/live.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/storage/instance-free.h"
#include "recorder/storage/rings.h"
#include "ring/ring.h"

side_static_event(ev_good, "fuzz", "good", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("value")));

#define EVENTS 1000u
#define LENGTH 512
#define FILES_MAX 16
#define ROUNDS 150
#define ROUNDS_LONG 20000

static char work[] = "/tmp/side-adopt-XXXXXX";
static char state_dir[LENGTH], output[LENGTH], victim[LENGTH], bait[LENGTH];

/* ---- a small world of files ---- */

static char *join(const char *directory, const char *name)
{
	char *path;

	CHECK(asprintf(&path, "%s/%s", directory, name) >= 0);
	return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static void remove_all(const char *path)
{
	if (!access(path, F_OK))
		CHECK(!nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static void write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !close(fd));
}

struct file {
	char *name; /* below the state directory */
	unsigned char *bytes;
	size_t size;
	mode_t mode;
};

static struct file files[FILES_MAX];
static unsigned int nr_files;
static char *folders[2];

static void keep_file(const char *path, const char *name)
{
	struct file *file = &files[nr_files++];
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(nr_files <= FILES_MAX && fd >= 0 && !fstat(fd, &status));
	file->name = strdup(name);
	file->size = (size_t)status.st_size;
	file->mode = status.st_mode & 0777;
	file->bytes = malloc(file->size + 1);
	CHECK(file->name && file->bytes &&
			read(fd, file->bytes, file->size) == (ssize_t)file->size);
	close(fd);
}

static void keep_directory(const char *below)
{
	char *path = join(state_dir, below);
	DIR *directory = opendir(path);
	struct dirent *entry;

	CHECK(directory);
	while ((entry = readdir(directory))) {
		char *name = join(below, entry->d_name), *full = join(state_dir, name);

		if (entry->d_type == DT_REG)
			keep_file(full, name);
		else if (*below == '.' && *entry->d_name != '.')
			keep_directory(entry->d_name);
		free(name);
		free(full);
	}
	closedir(directory);
	free(path);
}

static void put_back(void)
{
	unsigned int i;

	remove_all(state_dir);
	remove_all(output);
	CHECK(!mkdir(state_dir, 0700));
	for (i = 0; i < 2; i++) {
		char *path = join(state_dir, folders[i]);

		CHECK(!mkdir(path, 0755));
		free(path);
	}
	for (i = 0; i < nr_files; i++) {
		char *path = join(state_dir, files[i].name);

		write_file(path, files[i].bytes, files[i].size, files[i].mode);
		free(path);
	}
}

/* ---- the session ---- */

static const struct session_channel channel = {.name = "ring", .ring_size = 65536};

static struct session *open_session(void)
{
	const struct session_options options = {
			.mode = SESSION_RECORD,
			.output = output,
			.force = true,
			.channels = &channel,
			.nr_channels = 1,
	};
	char *socket = join(work, "socket");
	const struct session_live live = {.socket = socket, .state_dir = state_dir, .active = true};
	struct error error;
	struct session *session;

	if (session_open(&options, &live, &session, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	free(socket);
	return session;
}

static void describe(struct session *session, struct instance *instance)
{
	struct wire_event_head head = {.id = 0};
	struct visit_buffer buffer;

	visit_buffer_heap(&buffer);
	CHECK(!visit_description_encode(&ev_good, &buffer, NULL));
	head.size = (uint32_t)buffer.size;
	CHECK(!classes_add(session, instance, &head, buffer.data));
	visit_buffer_free(&buffer);
}

/* Acts as a program that connects, records and dies while no recorder reads. */
static char *make_folder(struct session *session, const char *name, pid_t peer, uint32_t number)
{
	struct instance *instance = instance_allocate(name, "/bin/fuzzed", session->channels, 1);
	struct ring_producer *producer;
	const char *reason = "";
	char *folder;
	int fd = -1;
	uint32_t i;

	CHECK(instance);
	instance->peer = peer;
	instance->takes_probes = true;
	instance->family = 4711;
	instance->family_started = 99;
	instance->pid = (uint32_t)peer;
	instance->number = number;
	instance->token = number + 1;
	instance->begin_ticks = ring_clock_now(session->clock.kind);
	CHECK(!memory_make_rings(session, instance, &fd, &reason));
	describe(session, instance);
	CHECK(!ring_producer_map(fd, &producer));
	for (i = 0; i < EVENTS; i++)
		CHECK(!ring_publish(producer, 0, &i, sizeof(i)));
	ring_producer_unmap(producer);
	close(fd);
	folder = strdup(instance->folder);
	instance_free(session, instance);
	return folder;
}

static pid_t dead_process(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		_exit(0);
	CHECK(waitpid(child, NULL, 0) == child);
	return child;
}

static void make_place(void)
{
	struct session *session = open_session();
	struct error error;

	folders[0] = make_folder(session, "bad", dead_process(), 0);
	folders[1] = make_folder(session, "good", dead_process(), 1);
	session_close(session, false, &error);
	CHECK(error.kind == ERROR_NONE);
	keep_directory(".");
	CHECK(nr_files == 1 + 2 * 4);
}

/* ---- what has to hold ---- */

static unsigned int count_events(const char *folder)
{
	char *path = join(output, folder);
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	unsigned int nr = 0;

	if (!ctf_reader_open(path, &reader, &error)) {
		while (ctf_reader_next(reader, &item) == 1)
			nr += item.kind == CTF_ITEM_EVENT;
		ctf_reader_close(reader);
	}
	free(path);
	return nr;
}

static unsigned int count_good(void)
{
	char again[LENGTH];

	snprintf(again, sizeof(again), "%s-r2", folders[1]);
	return count_events(again);
}

static void check_victim(void)
{
	char text[64] = "";
	struct stat status;
	int fd = open(victim, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && !fstat(fd, &status) && read(fd, text, sizeof(text) - 1) == 6);
	CHECK(!strcmp(text, "whole\n") && (status.st_mode & 0777) == 0640);
	close(fd);
	CHECK(!access(bait, F_OK) && !rmdir(bait) && !mkdir(bait, 0700));
}

static void play(void)
{
	struct error error;

	session_close(open_session(), true, &error);
}

/* ---- mischief ---- */

static unsigned int random_number(unsigned int limit)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % limit);
}

/* Most of a file of rings is data: change the bytes with the heads and positions. */
static void change_bytes(const struct file *file, const char *path)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '%', '/', '.'};
	unsigned char *bytes = malloc(file->size + 1);
	unsigned int changes = 1 + random_number(4);
	size_t size = file->size < 8192 ? file->size : 8192;

	CHECK(bytes);
	memcpy(bytes, file->bytes, file->size);
	while (changes-- && size)
		bytes[random_number((unsigned int)size)] = random_number(2)
				? values[random_number(sizeof(values))]
				: (unsigned char)random_number(256);
	write_file(path, bytes, file->size, file->mode);
	free(bytes);
}

static void make_hole(const char *path)
{
	write_file(path, "side-buffers 1\n", 15, 0600);
	CHECK(!truncate(path, (off_t)1 << 40));
}

static void spoil_file(const struct file *file)
{
	char *path = join(state_dir, file->name);

	CHECK(!unlink(path));
	switch (random_number(10)) {
	case 0: break;
	case 1: CHECK(!symlink(victim, path)); break;
	case 2: CHECK(!symlink(file->name, path)); break;
	case 3: CHECK(!mkfifo(path, 0600)); break;
	case 4: CHECK(!mkdir(path, 0700)); break;
	case 5: make_hole(path); break;
	case 6:
		write_file(path, file->bytes, random_number((unsigned int)file->size + 1),
				file->mode);
		break;
	default: change_bytes(file, path);
	}
	free(path);
}

static void spoil_place(void)
{
	char *folder = join(state_dir, folders[0]), *other = NULL;

	switch (random_number(4)) {
	case 0:
		remove_all(folder);
		CHECK(!symlink(bait, folder));
		break;
	case 1:
		other = join(state_dir, "loop");
		CHECK(!symlink(".", other));
		break;
	case 2:
		other = join(state_dir, "bad-1-1");
		CHECK(!rename(folder, other));
		break;
	default: other = join(state_dir, "empty"); CHECK(!mkdir(other, 0));
	}
	free(folder);
	free(other);
}

/* Chooses a file that does not belong to the unchanged folder. */
static const struct file *choose_file(void)
{
	const struct file *file;

	do
		file = &files[random_number(nr_files)];
	while (!strncmp(file->name, folders[1], strlen(folders[1])));
	return file;
}

int main(void)
{
	unsigned int rounds = getenv("SIDE_TEST_LONG") ? ROUNDS_LONG : ROUNDS;

	CHECK(mkdtemp(work));
	snprintf(state_dir, sizeof(state_dir), "%s/place", work);
	snprintf(output, sizeof(output), "%s/out", work);
	snprintf(victim, sizeof(victim), "%s/victim", work);
	snprintf(bait, sizeof(bait), "%s/bait", work);
	write_file(victim, "whole\n", 6, 0640);
	CHECK(!chmod(victim, 0640) && !mkdir(bait, 0700));
	make_place();
	put_back();
	play();
	CHECK(count_good() == EVENTS && access(state_dir, F_OK));
	while (rounds--) {
		put_back();
		if (random_number(8))
			spoil_file(choose_file());
		else
			spoil_place();
		play();
		CHECK(count_good() == EVENTS);
		check_victim();
	}
	remove_all(work);
	return 0;
}
