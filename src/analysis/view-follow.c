/* SPDX-License-Identifier: MIT */
/*
 * Showing a trace while it is being recorded.
 *
 * Streams are written in turn, so what is there of one may be older than what is there of another.
 * Nothing is shown until it is a second old: by then the recorder has fetched it from all rings. A
 * recorder that is slower than that makes lines that go back in time, and loses none.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "analysis/view-follow.h"

#define HOLD_NS INT64_C(1000000000)
#define PAUSE_NS 200000000L

static volatile sig_atomic_t stopped;

static void view_follow_on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

/* The time as it goes on from what it was at first, whoever sets the clock meanwhile: so do those of the events. */
static int64_t follow_now_ns(void)
{
	static int64_t begin;

	if (!begin)
		begin = (int64_t)(clock_realtime_ns() - clock_monotonic_ns());
	return begin + (int64_t)clock_monotonic_ns();
}

/* Lines of all that is there and is old enough. */
static int show_until(
		struct view *view, struct ctf_reader *reader, struct view_line *line, int64_t until)
{
	struct view_out *out = line->sink.out;
	struct view_entry entry;
	struct ctf_item item;
	int ret = 0;

	while (!view_is_over(view)) {
		ret = ctf_reader_next_until(reader, until, &item);
		if (ret <= 0)
			break;
		out->at = out->begin;
		ret = view_line_item(line, &item, &entry);
		if (ret > 0)
			view_show_entry(view, &entry, out->begin);
		if (ret < 0)
			break;
	}
	view_flush(view);
	return ret < 0 ? ret : 0;
}

static int view_follow_wait_for_more(
		struct view *view, struct ctf_reader *reader, struct view_line *line)
{
	const struct timespec pause = {0, PAUSE_NS};
	bool recording = true;
	int ret;

	for (;;) {
		bool last = stopped;

		ret = ctf_reader_refresh(reader, &recording);
		line->trace = NULL; /* It may be another one at the same place. */
		if (!ret)
			ret = show_until(view, reader, line,
					recording && !last ? follow_now_ns() - HOLD_NS : INT64_MAX);
		if (ret || last || !recording || view_is_over(view))
			return ret;
		if (!stopped)
			nanosleep(&pause, NULL);
	}
}

int view_follow(struct view *view, struct ctf_reader *reader)
{
	const struct sigaction action = {.sa_handler = view_follow_on_signal};
	struct sigaction interrupt, terminate;
	struct view_out out = {0};
	struct view_line line;
	int ret;

	stopped = 0;
	sigaction(SIGINT, &action, &interrupt);
	sigaction(SIGTERM, &action, &terminate);
	view_line_start(&line, &view->lines, &out);
	ctf_reader_follow(reader, view_lines_forget);
	ret = view_follow_wait_for_more(view, reader, &line);
	view_line_stop(&line);
	view_out_free(&out);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	return ret;
}

int view_open(const char *dir, bool wait, struct ctf_reader **reader, struct ctf_error *error)
{
	const struct timespec pause = {0, PAUSE_NS};
	bool recorded;
	int ret;

	do {
		/* Asked first: a recorder that ends now may have left a trace. */
		recorded = wait && ctf_is_recorded(dir);
		ret = wait ? ctf_reader_open_growing(dir, reader, error)
			   : ctf_reader_open(dir, reader, error);
	} while (ret == -ENOENT && recorded && !nanosleep(&pause, NULL));
	return ret;
}
