/* SPDX-License-Identifier: MIT */
/*
 * Showing a trace while it is being recorded.
 *
 * The recorder writes the streams in turn, so that one stream can end earlier than another. An
 * event is shown one second after its time: by then, the recorder has usually fetched all rings. If
 * a recorder is slower, lines go back in time, but none is lost.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "analysis/view-follow.h"
#include "analysis/view-tree.h"

#define HOLD_NS INT64_C(1000000000)
#define PAUSE_NS 200000000L

static volatile sig_atomic_t stopped;

static void view_follow_on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

/*
 * The time that continues from the first call, as the times of events do, even if the system's
 * clock is set meanwhile.
 */
static int64_t follow_now_ns(void)
{
	static int64_t begin;

	if (!begin)
		begin = (int64_t)(clock_realtime_ns() - clock_monotonic_ns());
	return begin + (int64_t)clock_monotonic_ns();
}

/* Shows all available events up to this time. */
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
	/* An entry waits for its return no longer than until the next poll. */
	if (view->tree)
		view_tree_flush(view->tree);
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
		line->trace = NULL; /* Another trace can have the same address after a refresh. */
		if (!ret)
			ret = view_find_tree(view, reader);
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

int view_open(const char *dir, bool wait, struct ctf_reader **ret_reader, struct error *error)
{
	const struct timespec pause = {0, PAUSE_NS};
	bool recorded;
	int ret;

	do {
		/* Asked before opening: a recorder that ends between the two can leave a trace. */
		recorded = wait && ctf_is_recorded(dir);
		ret = wait ? ctf_reader_open_growing(dir, ret_reader, error)
			   : ctf_reader_open(dir, ret_reader, error);
	} while (ret == -ENOENT && recorded && !nanosleep(&pause, NULL));
	return ret;
}
