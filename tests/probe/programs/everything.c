/* SPDX-License-Identifier: MIT */
/*
 * Sets and removes probes while the program runs: all once before it starts ("once"), at random by
 * a thread of this library until it ends ("storm"), or many at once on request ("live").
 */
#include "everything.h"

#include "tracers/agent/context/values.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))
#define BATCH_MAX 4096
#define PAUSE_US 2000
#define LIVE 10000
#define LIVE_PAUSE_US 1000000

static struct report *report;
static char modules_path[512];
static const char *mode;
static uint64_t state;
static bool exits_wanted;

/* Relaxed, all of them: counters that are read at the end. */
static HANDLER void on_entry(const struct patch_hit *hit)
{
	struct place_report *location = hit->user;

	__atomic_fetch_add(&location->entries, 1, __ATOMIC_RELAXED);
}

static HANDLER void on_exit_(const struct patch_hit *hit)
{
	struct place_report *location = hit->user;

	__atomic_fetch_add(&location->exits, 1, __ATOMIC_RELAXED);
}

/* As the agent's vfork.c, notes children of vfork(). */
__thread unsigned int agent_vforked;
void (*context_vfork_begins)(void);

static HANDLER bool is_vforked(void)
{
	return agent_vforked == CONTEXT_VFORKED;
}

static const struct patch_hooks hooks = {.is_vforked = is_vforked};

static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static uint64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void note_statistics(void)
{
	struct patch_stats stats;

	patch_stats(&stats);
	report->cut = stats.cut;
	report->lost = stats.lost;
	report->unseen = stats.unseen;
	report->abandoned = stats.abandoned;
	report->traps = stats.traps;
	report->bytes = stats.bytes;
}

static unsigned int draw_flags(const struct probed_location *location)
{
	unsigned int flags = 0;

	if (exits_wanted && !location->site.no_exit && draw(2))
		flags |= PATCH_EXIT;
	if (!draw(4))
		flags |= PATCH_ALL;
	return flags;
}

static void set_some(struct probed_location **chosen, size_t count, bool draws)
{
	static struct patch_setup setups[BATCH_MAX];
	uint64_t start;

	for (size_t i = 0; i < count; i++) {
		setups[i] = (struct patch_setup){.site = &chosen[i]->site,
				.entry = on_entry,
				.exit = on_exit_,
				.user = chosen[i]->report,
				.flags = draws ? draw_flags(chosen[i]) : 0};
		if (!draws && exits_wanted && !chosen[i]->site.no_exit)
			setups[i].flags = PATCH_EXIT;
	}
	start = now_us();
	patch_set(setups, count);
	start = now_us() - start;
	if (start > report->slowest_us)
		report->slowest_us = start;
	for (size_t i = 0; i < count; i++) {
		unsigned int error = (unsigned int)-setups[i].error;

		chosen[i]->probe = setups[i].patch;
		report->set += !error;
		report->refused += error != 0;
		if (!error) {
			chosen[i]->report->method = (uint8_t)setups[i].method;
		} else {
			report->errors[error % ERRORS]++;
			report->last_place = chosen[i]->at;
		}
	}
}

static void remove_some(struct probed_location **chosen, size_t count)
{
	static struct patch *probes[BATCH_MAX];
	int ret;

	for (size_t i = 0; i < count; i++)
		probes[i] = chosen[i]->probe;
	ret = patch_remove(probes, count);
	if (ret)
		report->errors[(unsigned int)-ret % ERRORS]++;
	for (size_t i = 0; i < count; i++)
		chosen[i]->probe = NULL;
	report->removed += count;
}

/* Chooses some of the locations with a probe, or of those without. */
static size_t choose(struct probed_location **chosen, size_t most, bool with)
{
	size_t count = 0, from = draw(nr_places), step = 1 + draw(8);

	for (size_t i = 0; i < nr_places && count < most; i += step) {
		struct probed_location *location = &locations[(from + i) % nr_places];

		if ((location->probe != NULL) == with)
			chosen[count++] = location;
	}
	return count;
}

static void *storm(void *unused)
{
	static struct probed_location *chosen[BATCH_MAX];
	sigset_t set;

	(void)unused;
	/* This thread blocks the program's signals. */
	sigfillset(&set);
	sigdelset(&set, SIGTRAP);
	sigdelset(&set, SIGILL);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (;;) {
		size_t most = 1 + draw(draw(4) ? 64 : BATCH_MAX), count;
		bool with = draw(2);

		if (places_read(report, modules_path))
			break;
		/* The array of locations may move when it grows. */
		count = choose(chosen, most, with);
		if (with)
			remove_some(chosen, count);
		else
			set_some(chosen, count, true);
		report->rounds++;
		note_statistics();
		/* Release: everything in the report. The test waits for it. */
		__atomic_store_n(&report->ready, 1, __ATOMIC_RELEASE);
		usleep((useconds_t)draw(PAUSE_US));
	}
	return NULL;
}

static void set_all(void)
{
	static struct probed_location *chosen[BATCH_MAX];

	for (size_t from = 0; from < nr_places; from += BATCH_MAX) {
		size_t count = nr_places - from < BATCH_MAX ? nr_places - from : BATCH_MAX;

		for (size_t i = 0; i < count; i++)
			chosen[i] = &locations[from + i];
		set_some(chosen, count, false);
	}
	note_statistics();
	report->ready = 1;
}

/*
 * Sets 10,000 probes as fast as possible when a file requests it, and removes them then. For
 * bench/probe-live.py.
 */
static void *live(void *unused)
{
	static struct probed_location *chosen[LIVE];
	char go[600];
	uint64_t start;

	snprintf(go, sizeof(go), "%s.go", modules_path);
	places_read(report, modules_path);
	report->ready = 1;
	while (access(go, F_OK))
		usleep(PAUSE_US);
	for (size_t i = 0; i < LIVE; i++)
		chosen[i] = &locations[i * (nr_places / LIVE)];
	report->rounds = now_us();
	start = now_us();
	for (size_t i = 0; i < LIVE; i += BATCH_MAX)
		set_some(chosen + i, LIVE - i < BATCH_MAX ? LIVE - i : BATCH_MAX, false);
	report->slowest_us = now_us() - start;
	report->ready = 2;
	usleep(LIVE_PAUSE_US);
	start = now_us();
	for (size_t i = 0; i < LIVE; i += BATCH_MAX)
		remove_some(chosen + i, LIVE - i < BATCH_MAX ? LIVE - i : BATCH_MAX);
	report->unseen = now_us() - start;
	report->ready = 3;
	return unused;
}

static bool is_wanted(void)
{
	const char *wanted = getenv("SIDE_EVERYTHING"), *name;
	char path[512];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (!wanted || size <= 0)
		return false;
	path[size] = 0;
	name = strrchr(path, '/');
	return name && !strcmp(name + 1, wanted);
}

static void start_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, strcmp(mode, "live") ? storm : live, NULL);
}

static __attribute__((constructor)) void begin(void)
{
	const char *path = getenv("SIDE_EVERYTHING_REPORT"), *seed = getenv("SIDE_EVERYTHING_SEED");
	int fd;

	mode = getenv("SIDE_EVERYTHING_MODE");
	if (!is_wanted() || !path || !mode)
		return;
	mode = strdup(mode);
	exits_wanted = !getenv("SIDE_EVERYTHING_ENTRIES");
	/* Programs that this one starts are not probed. */
	unsetenv("SIDE_EVERYTHING");
	state = seed ? strtoull(seed, NULL, 0) * 2 + 1 : 1;
	snprintf(modules_path, sizeof(modules_path), "%s.modules", path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, sizeof(*report)))
		return;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	patch_hooks_set(&hooks);
	if (report == MAP_FAILED || patch_start(false))
		return;
	context_vfork_begins = patch_thread_begin;
	if (strcmp(mode, "once") != 0) {
		start_thread();
	} else if (!places_read(report, modules_path)) {
		set_all();
	}
}
