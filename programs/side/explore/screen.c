/* SPDX-License-Identifier: MIT */
/* The full-screen terminal view of `side explore`: draws the rows and reads the keys. */
#include "programs/side/explore/screen.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Include these first: the macros of curses have short names. */
#include "analysis/explore.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "programs/side/explore/draw.h"
#include "programs/side/explore/live.h"

#include <curses.h>

#define SCREEN_HEAD 2 /* lines above the rows */
#define SCREEN_TICK_MS 250
/* The recorder writes events that are older. It drains rings at least each 200 ms. */
#define SCREEN_WRITTEN_NS INT64_C(500000000)
#define SCREEN_INPUT_MAX 1024
#define SCREEN_SCROLL 8 /* columns of one step to the side */
#define SCREEN_ESCAPE 27
#define SCREEN_WHEEL 3 /* rows of one step of a mouse's wheel */

struct screen_position {
	uint64_t top, row;
};

struct screen {
	const struct screen_options *options;
	struct explore *explore;
	char *filter; /* of `explore` */
	enum explore_view view;
	struct screen_position positions[EXPLORE_VIEWS];
	size_t skip; /* columns that are scrolled out at the left */
	char search[SCREEN_INPUT_MAX];
	char message[SCREEN_INPUT_MAX];
	bool is_help, is_detail, is_paused, is_done;
	uint64_t detail_top; /* lines of the detail that are scrolled out */
	struct live live;
	struct live live_answers[EXPLORE_ANSWERS]; /* of recordings of their own */
	bool is_requested[EXPLORE_ANSWERS];
};

static SCREEN *screen_terminal;
static volatile sig_atomic_t screen_stopped;

static const char *const screen_names[] = {
		[EXPLORE_SUMMARY] = "Summary",
		[EXPLORE_FUNCTIONS] = "Functions",
		[EXPLORE_TREE] = "Call tree",
		[EXPLORE_EVENTS] = "Events",
		[EXPLORE_CLASSES] = "Event classes",
		[EXPLORE_THREADS] = "Threads",
		[EXPLORE_STACKS] = "Stacks",
		[EXPLORE_LEAKS] = "Leaks",
		[EXPLORE_LOCKS] = "Locks",
};

static const char screen_keys[] =
		"F1Help qQuit F2Summary F3Functions F4Tree F5Events F6Classes F7Threads F8Stacks F9Leaks F11Locks /Search \\Filter";

static const char *const screen_help[] = {
		"F2, s        summary",
		"F3, f        functions: calls, time, percentiles",
		"F4, t        call tree",
		"F5, e        events",
		"F6, c        event classes",
		"F7, h        threads",
		"F8, b        events by stack",
		"F9, m        memory that was not freed, as `side leaks` prints it",
		"F11, l       locks and deadlocks, as `side locks` prints them",
		"Tab          next view",
		"",
		"Up, Down, Page Up, Page Down, Home, End   select a row",
		"Left, Right  collapse and expand a branch; scroll to the side",
		"Enter        expand a branch; show the whole row and its stacks",
		"Mouse        click selects a row, a second click is Enter, the wheel moves",
		"+, -         expand or collapse all branches",
		"<, >         sort the functions by another column",
		"/, n         search a text, search it again",
		"\\            filter events by an expression; empty: all events",
		"p            pause or continue the updates of a running program",
		"?, F1        help",
		"q, F10       quit",
};

/* ---- the terminal ---- */

static void screen_on_signal(int number)
{
	(void)number;
	screen_stopped = 1;
}

bool screen_open(const struct screen_options *options)
{
	const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	/* Curses replaces only default handlers. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], screen_on_signal);
	screen_terminal = newterm(NULL, stdout, stdin);
	if (!screen_terminal)
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	/* A press is reported at once: there are no double clicks. */
	mouseinterval(0);
	set_escdelay(25);
	curs_set(0);
	draw_start(options->colour);
	return true;
}

void screen_close(void)
{
	if (!screen_terminal)
		return;
	endwin();
	delscreen(screen_terminal);
	screen_terminal = NULL;
}

/* ---- drawing ---- */

static int screen_height(void)
{
	return LINES - SCREEN_HEAD - 1;
}

/* Leaks and locks of a running program have recordings of their own. */
static bool screen_has_recording(const struct screen *screen, enum explore_view view)
{
	return explore_is_answer(view) &&
			screen->options->request_numbers[explore_answer_of(view)] >= 0;
}

static const char *screen_state(const struct screen *screen)
{
	const struct live *live = screen_has_recording(screen, screen->view)
			? &screen->live_answers[explore_answer_of(screen->view)]
			: &screen->live;

	if (live->end < 0)
		return "";
	if (!live->is_growing)
		return "  [ended]";
	return screen->is_paused ? "  [paused]" : "  [live]";
}

static void screen_draw_head(const struct screen *screen)
{
	uint64_t count = explore_row_count(screen->explore, screen->view);
	uint64_t row = count ? screen->positions[screen->view].row + 1 : 0;
	char number[FORMAT_NUMBER_MAX], total[FORMAT_NUMBER_MAX], text[2 * SCREEN_INPUT_MAX];
	bool sorted = screen->view == EXPLORE_FUNCTIONS;
	bool filtered = screen->filter && screen->view != EXPLORE_LEAKS &&
			screen->view != EXPLORE_LOCKS;

	snprintf(text, sizeof(text), " %s%s%s  %s/%s%s%s%s", screen_names[screen->view],
			sorted ? " by " : "",
			sorted ? explore_column_name(screen->explore->sort) : "",
			format_number(row, number), format_number(count, total),
			screen_state(screen), filtered ? "  filter: " : "",
			filtered ? screen->filter : "");
	draw_line(0, DRAW_BAR, 0, text);
	draw_line(1, DRAW_PLAIN, screen->view == EXPLORE_EVENTS ? 0 : screen->skip,
			explore_title(screen->view));
}

/* Returns the text of a row, which the caller frees; NULL: out of memory. */
static char *screen_row(const struct screen *screen, uint64_t row)
{
	struct view_out out = {.begin = NULL};

	explore_row(screen->explore, screen->view, row, &out);
	view_out_char(&out, '\0');
	if (!out.failed)
		return out.begin;
	view_out_free(&out);
	return NULL;
}

static const char *screen_empty_recording(const struct screen *screen)
{
	bool is_growing = screen->live_answers[explore_answer_of(screen->view)].is_growing;

	if (screen->view == EXPLORE_LEAKS)
		return is_growing ? "Allocations are being recorded: none so far."
				  : "No allocations were recorded.";
	return is_growing ? "Operations of locks are being recorded: none so far."
			  : "No operations of locks were recorded.";
}

static const char *screen_empty_answer(const struct screen *screen)
{
	if (screen_has_recording(screen, screen->view))
		return screen_empty_recording(screen);
	if (screen->view == EXPLORE_LEAKS)
		return "No allocations were recorded: `side leaks -o DIR COMMAND` records them.";
	if (screen->view == EXPLORE_LOCKS)
		return "No operations of locks were recorded: `side locks -o DIR COMMAND` records them.";
	return "No event has a stack: `--context backtrace` records stacks.";
}

static const char *screen_empty(const struct screen *screen)
{
	if (explore_is_answer(screen->view))
		return screen_empty_answer(screen);
	if (screen->view == EXPLORE_FUNCTIONS || screen->view == EXPLORE_TREE)
		return "No calls were recorded: `side trace` records them.";
	return screen->filter ? "No event matches the filter." : "The trace has no events.";
}

/* Draws the messages of the recorder of an answer, such as why it cannot begin. */
static void screen_draw_messages(const struct screen *screen, int line)
{
	char text[SCREEN_INPUT_MAX], shown[2 * SCREEN_INPUT_MAX], *end;
	int file = screen->options->answer_recordings[explore_answer_of(screen->view)].messages;
	ssize_t size = pread(file, text, sizeof(text) - 1, 0);
	uint64_t skip = 0;

	text[size > 0 ? size : 0] = '\0';
	for (char *at = text; *at && line < LINES - 1; at = end) {
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		format_printable(at, shown, sizeof(shown));
		line = draw_wrapped(line, LINES - 1, &skip, shown);
	}
}

static void screen_draw_empty(const struct screen *screen)
{
	draw_line(SCREEN_HEAD, DRAW_PLAIN, 0, screen_empty(screen));
	if (screen_has_recording(screen, screen->view))
		screen_draw_messages(screen, SCREEN_HEAD + 1);
}

static void screen_draw_rows(const struct screen *screen)
{
	const struct screen_position *position = &screen->positions[screen->view];
	uint64_t count = explore_row_count(screen->explore, screen->view);

	for (int i = 0; i < screen_height(); i++) {
		uint64_t row = position->top + (uint64_t)i;
		char *text = row < count ? screen_row(screen, row) : NULL;

		draw_line(SCREEN_HEAD + i, text && row == position->row ? DRAW_CURSOR : DRAW_PLAIN,
				screen->skip, text ? text : "");
		free(text);
	}
	if (!count)
		screen_draw_empty(screen);
}

static void screen_draw_help(void)
{
	int count = (int)(sizeof(screen_help) / sizeof(*screen_help));

	draw_line(0, DRAW_BAR, 0, " Keys");
	for (int i = 0; i < count && i + 1 < LINES - 1; i++)
		draw_line(i + 1, DRAW_PLAIN, 0, screen_help[i]);
	draw_line(LINES - 1, DRAW_BAR, 0, "Any key returns");
}

/*
 * Draws the lines of a text without the first `skip` ones. Each line has a newline. Returns by how
 * much `skip` is too large, or 0.
 */
static uint64_t screen_draw_lines(char *text, uint64_t skip)
{
	int line = 1;

	for (char *at = text, *end; (end = strchr(at, '\n')) && line < LINES - 1; at = end + 1) {
		*end = '\0';
		line = draw_wrapped(line, LINES - 1, &skip, at);
		*end = '\n';
	}
	return line > 1 ? 0 : skip + 1;
}

/* Draws the selected row without cutting it, and the lines that explain it. */
static void screen_draw_detail(struct screen *screen)
{
	uint64_t row = screen->positions[screen->view].row, missing;
	struct view_out out = {.begin = NULL};

	explore_row(screen->explore, screen->view, row, &out);
	view_out_char(&out, '\n');
	explore_detail(screen->explore, screen->view, row, &out);
	view_out_char(&out, '\0');
	draw_line(0, DRAW_BAR, 0, " The whole row");
	missing = out.failed ? 0 : screen_draw_lines(out.begin, screen->detail_top);
	if (missing) {
		/* The last line remains on the screen. */
		screen->detail_top -= missing < screen->detail_top ? missing : screen->detail_top;
		screen_draw_lines(out.begin, screen->detail_top);
	}
	draw_line(LINES - 1, DRAW_BAR, 0, "Up and Down scroll, any other key returns");
	view_out_free(&out);
}

static void screen_draw(struct screen *screen)
{
	erase();
	screen->is_detail &= explore_row_count(screen->explore, screen->view) > 0;
	if (COLS < SCREEN_COLUMNS_LEAST || LINES < SCREEN_LINES_LEAST) {
		draw_line(0, DRAW_PLAIN, 0, "The terminal is too small.");
	} else if (screen->is_help) {
		screen_draw_help();
	} else if (screen->is_detail) {
		screen_draw_detail(screen);
	} else {
		screen_draw_head(screen);
		screen_draw_rows(screen);
		draw_line(LINES - 1, DRAW_BAR, 0, *screen->message ? screen->message : screen_keys);
	}
	refresh();
}

/* ---- reading the trace ---- */

static void screen_show_progress(void *user, uint64_t events)
{
	char number[FORMAT_NUMBER_MAX], text[128];

	(void)user;
	if (events % (1u << 18))
		return;
	snprintf(text, sizeof(text), "Reading: %s events", format_number(events, number));
	draw_line(LINES - 1, DRAW_BAR, 0, text);
	refresh();
}

static void screen_take_report(
		void *user, enum analysis_message kind, const char *hint, const char *text)
{
	struct screen *screen = user;

	(void)hint;
	if (kind == ANALYSIS_ERROR)
		format_printable(text, screen->message, sizeof(screen->message));
}

/* Keeps the cursor inside of the rows, and the rows around it on the screen. */
static void screen_settle(struct screen *screen)
{
	struct screen_position *position = &screen->positions[screen->view];
	uint64_t count = explore_row_count(screen->explore, screen->view);
	uint64_t height = screen_height() > 0 ? (uint64_t)screen_height() : 1;

	if (position->row >= count)
		position->row = count ? count - 1 : 0;
	if (position->top > position->row)
		position->top = position->row;
	if (position->row - position->top >= height)
		position->top = position->row - height + 1;
}

/* Takes the filter, which is on the heap. */
static int screen_load(struct screen *screen, char *filter, struct error *error)
{
	const struct analysis_listener listener = {
			screen_take_report, screen_show_progress, screen};
	struct explore *fresh = NULL;
	uint64_t begin = clock_monotonic_ns();
	int ret = explore_load(
			screen->options->dir, filter, &listener, screen->explore, &fresh, error);

	live_note_reading(&screen->live, begin);
	if (ret) {
		free(filter);
		return ret;
	}
	explore_free(screen->explore);
	free(screen->filter);
	screen->explore = fresh;
	screen->filter = filter;
	fresh->answers = screen->options->answers;
	explore_answers_set_filter(fresh->answers, filter);
	return 0;
}

static int screen_load_again(struct screen *screen, const char *filter, struct error *error)
{
	char *copy = filter ? strdup(filter) : NULL;

	if (filter && !copy)
		return error_set_no_memory(error);
	return screen_load(screen, copy, error);
}

/* Returns true if it has read the trace again. */
static bool screen_update(struct screen *screen)
{
	struct error error = {.code = 0};

	/* Rows with recordings of their own do not need it, and a stack does not change. */
	if (screen->is_paused || screen_has_recording(screen, screen->view) ||
			(screen->is_detail && explore_is_answer(screen->view)) ||
			!live_is_due(&screen->live))
		return false;
	live_check(&screen->live);
	if (screen_load_again(screen, screen->filter, &error))
		format_printable(error.text, screen->message, sizeof(screen->message));
	error_clear(&error);
	return true;
}

/* ---- answers ---- */

/* Begins the recording of an answer when its view is shown for the first time. */
static void screen_request(struct screen *screen, enum explore_answer answer)
{
	unsigned char number = (unsigned char)screen->options->request_numbers[answer];

	if (!screen_has_recording(screen, screen->view) || screen->is_requested[answer])
		return;
	screen->is_requested[answer] = true;
	if (write(screen->options->requests, &number, 1) != 1)
		snprintf(screen->message, sizeof(screen->message), "Cannot begin the recording: %s",
				strerror(errno));
}

/* Until when the recording of an answer is complete. */
static int64_t screen_end_ns(const struct live *live)
{
	int64_t now = (int64_t)clock_realtime_ns();

	if (live->end < 0)
		return 0;
	return live->is_growing ? now - SCREEN_WRITTEN_NS : now;
}

static void screen_open_answer(struct screen *screen, enum explore_answer answer)
{
	const struct analysis_listener listener = {
			screen_take_report, screen_show_progress, screen};
	struct explore_answers *answers = screen->options->answers;
	struct live *live = &screen->live_answers[answer];
	uint64_t begin = clock_monotonic_ns();
	struct error error = {.code = 0};
	int ret;

	live_check(live);
	explore_answers_forget(answers, answer, screen_end_ns(live));
	ret = explore_answers_open(answers, answer, &listener, &error);
	/* A recording has no trace until its recorder has begun. */
	if (ret && !(ret == -ENOENT && live->end >= 0))
		format_printable(error.text, screen->message, sizeof(screen->message));
	error_clear(&error);
	live_note_reading(live, begin);
	/* Stacks are read again together with the trace. */
	screen->live.read_ns += answer == EXPLORE_ANSWER_STACKS ? live->read_ns : 0;
}

/* Reads the trace for an answer whose view is shown. Returns true if it has read it. */
static bool screen_update_answer(struct screen *screen)
{
	enum explore_answer answer = explore_answer_of(screen->view);

	if (!explore_is_answer(screen->view))
		return false;
	screen_request(screen, answer);
	if (explore_answers_is_open(screen->options->answers, answer) &&
			(screen->is_paused || screen->is_detail ||
					!live_is_due(&screen->live_answers[answer])))
		return false;
	if (!screen->live_answers[answer].read_ns) {
		draw_line(LINES - 1, DRAW_BAR, 0, "Reading");
		refresh();
	}
	screen_open_answer(screen, answer);
	return true;
}

/* ---- input ---- */

/* Returns false if the user has cancelled with Esc. */
static bool screen_read_line(const char *prompt, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	while (!screen_stopped) {
		char line[SCREEN_INPUT_MAX + 64];
		int key;

		snprintf(line, sizeof(line), "%s%s_", prompt, text);
		draw_line(LINES - 1, DRAW_BAR, 0, line);
		refresh();
		key = getch();
		if (key == '\n' || key == KEY_ENTER)
			return true;
		if (key == SCREEN_ESCAPE)
			return false;
		if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && used) {
			/* Remove all bytes of a character of UTF-8. */
			while (--used && ((unsigned char)text[used] & 0xc0) == 0x80)
				;
			text[used] = '\0';
		} else if (key >= ' ' && key < 256 && key != 127 && used + 1 < size) {
			text[used++] = (char)key;
			text[used] = '\0';
		}
	}
	return false;
}

static void screen_ask_filter(struct screen *screen)
{
	struct error error = {.code = 0};
	char text[SCREEN_INPUT_MAX];

	if (!screen_read_line("Filter: ", text, sizeof(text)))
		return;
	if (screen_load_again(screen, *text ? text : NULL, &error))
		format_printable(error.text, screen->message, sizeof(screen->message));
	error_clear(&error);
}

static bool screen_search_stops(void *user)
{
	int key;

	(void)user;
	nodelay(stdscr, TRUE);
	key = getch();
	timeout(SCREEN_TICK_MS);
	return key != ERR || screen_stopped;
}

/* Searches the rows of a table; events have a search of their own. */
static bool screen_search_rows(const struct screen *screen, uint64_t from, uint64_t *ret_row)
{
	uint64_t count = explore_row_count(screen->explore, screen->view);
	bool found = false;

	for (uint64_t i = 0; i < count && !found; i++) {
		uint64_t row = (from + i) % count;
		char *text = screen_row(screen, row);

		found = text && strcasestr(text, screen->search);
		*ret_row = row;
		free(text);
	}
	return found;
}

static void screen_search(struct screen *screen)
{
	struct screen_position *position = &screen->positions[screen->view];
	uint64_t row = position->row;
	bool found;

	if (!*screen->search)
		return;
	if (screen->view == EXPLORE_EVENTS)
		found = explore_events_find(&screen->explore->events, position->row + 1,
				screen->search, screen_search_stops, NULL, &row);
	else
		found = screen_search_rows(screen, position->row + 1, &row);
	if (found)
		position->row = row;
	else
		snprintf(screen->message, sizeof(screen->message), "No row contains `%.200s`.",
				screen->search);
}

/* ---- keys ---- */

static void screen_move(struct screen *screen, int64_t rows)
{
	struct screen_position *position = &screen->positions[screen->view];

	if (rows < 0)
		position->row -= position->row < (uint64_t)-rows ? position->row : (uint64_t)-rows;
	else
		position->row += (uint64_t)rows;
}

static void screen_expand(struct screen *screen, bool expand)
{
	struct explore_tree *tree = &screen->explore->tree;
	struct screen_position *position = &screen->positions[EXPLORE_TREE];
	uint32_t row = (uint32_t)position->row;

	if (row >= tree->nr_visible)
		return;
	if (explore_tree_has_children(tree, row) && explore_tree_is_expanded(tree, row) != expand)
		explore_tree_expand(tree, row, expand);
	else if (!expand)
		position->row = explore_tree_parent(tree, row);
}

static void screen_enter(struct screen *screen)
{
	const struct explore_tree *tree = &screen->explore->tree;
	uint64_t row = screen->positions[screen->view].row;

	if (!explore_row_count(screen->explore, screen->view))
		return;
	if (screen->view == EXPLORE_TREE && explore_tree_has_children(tree, (uint32_t)row))
		screen_expand(screen, !explore_tree_is_expanded(tree, (uint32_t)row));
	else
		screen->is_detail = true;
	screen->detail_top = 0;
}

static void screen_sort(struct screen *screen, unsigned int step)
{
	unsigned int column = ((unsigned int)screen->explore->sort + step) % EXPLORE_COLUMNS;

	if (screen->view == EXPLORE_FUNCTIONS)
		explore_sort(screen->explore, (enum explore_column)column);
}

static void screen_to_the_side(struct screen *screen, bool right)
{
	if (screen->view == EXPLORE_TREE)
		screen_expand(screen, right);
	else if (right)
		screen->skip += screen->skip < EXPLORE_LINE_MAX ? SCREEN_SCROLL : 0;
	else
		screen->skip -= screen->skip < SCREEN_SCROLL ? screen->skip : SCREEN_SCROLL;
}

static void screen_show(struct screen *screen, enum explore_view view)
{
	screen->view = view;
	screen->skip = 0;
}

/* Returns true if the key selects a view. */
static bool screen_key_of_view(struct screen *screen, int key)
{
	static const char letters[] = "sftechbml";

	if (key >= KEY_F(2) && key <= KEY_F(9))
		screen_show(screen, (enum explore_view)(key - KEY_F(2)));
	else if (key == KEY_F(11))
		screen_show(screen, EXPLORE_LOCKS);
	else if (key > 0 && key < 128 && strchr(letters, key))
		screen_show(screen, (enum explore_view)(strchr(letters, key) - letters));
	else if (key == '\t')
		screen_show(screen, (enum explore_view)((screen->view + 1u) % EXPLORE_VIEWS));
	else
		return false;
	return true;
}

/* Returns true if the key moves the cursor. */
static bool screen_key_of_cursor(struct screen *screen, int key)
{
	int page = screen_height() > 1 ? screen_height() - 1 : 1;

	switch (key) {
	case 'k':
	case KEY_UP: screen_move(screen, -1); return true;
	case 'j':
	case KEY_DOWN: screen_move(screen, 1); return true;
	case KEY_PPAGE: screen_move(screen, -page); return true;
	case ' ':
	case KEY_NPAGE: screen_move(screen, page); return true;
	case KEY_HOME: screen->positions[screen->view].row = 0; return true;
	case KEY_END: screen->positions[screen->view].row = UINT64_MAX; return true;
	case KEY_LEFT:
	case KEY_RIGHT: screen_to_the_side(screen, key == KEY_RIGHT); return true;
	default: return false;
	}
}

static void screen_take_mouse(struct screen *screen)
{
	struct screen_position *position = &screen->positions[screen->view];
	MEVENT event;
	uint64_t row;

	if (getmouse(&event) != OK)
		return;
	if (event.bstate & BUTTON4_PRESSED)
		screen_move(screen, -SCREEN_WHEEL);
	if (event.bstate & BUTTON5_PRESSED)
		screen_move(screen, SCREEN_WHEEL);
	if (!(event.bstate & BUTTON1_PRESSED) || event.y < SCREEN_HEAD ||
			event.y >= SCREEN_HEAD + screen_height())
		return;
	row = position->top + (uint64_t)(event.y - SCREEN_HEAD);
	if (row >= explore_row_count(screen->explore, screen->view))
		return;
	if (row == position->row)
		screen_enter(screen);
	position->row = row;
}

static void screen_key_of_command(struct screen *screen, int key)
{
	switch (key) {
	case '\n':
	case KEY_ENTER: screen_enter(screen); break;
	case KEY_MOUSE: screen_take_mouse(screen); break;
	case '+':
	case '-':
		if (screen->view == EXPLORE_TREE)
			explore_tree_expand_all(&screen->explore->tree, key == '+');
		break;
	case '<': screen_sort(screen, EXPLORE_COLUMNS - 1); break;
	case '>': screen_sort(screen, 1); break;
	case '/':
		if (screen_read_line("Search: ", screen->search, sizeof(screen->search)))
			screen_search(screen);
		break;
	case 'n': screen_search(screen); break;
	case '\\': screen_ask_filter(screen); break;
	case 'p': screen->is_paused = !screen->is_paused; break;
	case '?':
	case KEY_F(1): screen->is_help = true; break;
	case 'q':
	case KEY_F(10): screen->is_done = true; break;
	default: break;
	}
}

/* Returns true if the key scrolls; drawing limits the position. */
static bool screen_scroll_detail(struct screen *screen, int key)
{
	uint64_t page = screen_height() > 1 ? (uint64_t)screen_height() - 1 : 1;
	uint64_t step = key == KEY_PPAGE || key == KEY_NPAGE ? page : 1;

	switch (key) {
	case 'k':
	case KEY_UP:
	case KEY_PPAGE:
		screen->detail_top -= screen->detail_top < step ? screen->detail_top : step;
		return true;
	case 'j':
	case KEY_DOWN:
	case KEY_NPAGE: screen->detail_top += step; return true;
	default: return false;
	}
}

static void screen_take_key(struct screen *screen, int key)
{
	if (key == ERR || key == KEY_RESIZE)
		return;
	screen->message[0] = '\0';
	if (screen->is_detail && screen_scroll_detail(screen, key))
		return;
	if (screen->is_help || screen->is_detail)
		screen->is_help = screen->is_detail = false;
	else if (!screen_key_of_view(screen, key) && !screen_key_of_cursor(screen, key))
		screen_key_of_command(screen, key);
}

/* A recording has no trace until the program has joined: wait. */
static int screen_load_first(struct screen *screen, struct error *error)
{
	int ret = -ENOENT;

	while (ret == -ENOENT && !screen->is_done && !screen_stopped) {
		int key;

		live_check(&screen->live);
		error_clear(error);
		ret = screen_load_again(screen, screen->options->filter, error);
		if (ret != -ENOENT || !screen->live.is_growing)
			break;
		erase();
		draw_line(0, DRAW_BAR, 0, " Waiting for the first events; q quits");
		refresh();
		key = getch();
		screen->is_done = key == 'q' || key == KEY_F(10);
	}
	return screen->is_done || screen_stopped ? 0 : ret;
}

static void screen_start(struct screen *screen, const struct screen_options *options)
{
	*screen = (struct screen){.options = options};
	live_start(&screen->live, options->recording.end);
	for (unsigned int i = 0; i < EXPLORE_ANSWERS; i++)
		live_start(&screen->live_answers[i],
				options->request_numbers[i] < 0
						? -1
						: options->answer_recordings[i].end);
	timeout(SCREEN_TICK_MS);
}

int screen_run(const struct screen_options *options, struct error *error)
{
	struct screen screen;
	bool changed = true;
	int ret;

	screen_start(&screen, options);
	ret = screen_load_first(&screen, error);
	while (!ret && !screen.is_done && !screen_stopped) {
		int key;

		changed |= screen_update_answer(&screen);
		screen_settle(&screen);
		if (changed)
			screen_draw(&screen);
		key = getch();
		screen_take_key(&screen, key);
		changed = screen_update(&screen) || key != ERR;
	}
	explore_free(screen.explore);
	free(screen.filter);
	return ret;
}
