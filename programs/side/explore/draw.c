/* SPDX-License-Identifier: MIT */
/* Draws text on the terminal by columns. */
#include "programs/side/explore/draw.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define DRAW_PAIR_BAR 1
#define DRAW_PAIR_CURSOR 2

static chtype draw_attributes[DRAW_STYLES] = {A_NORMAL, A_REVERSE, A_REVERSE | A_BOLD};

void draw_start(bool colour)
{
	if (!colour || !has_colors() || start_color() == ERR)
		return;
	init_pair(DRAW_PAIR_BAR, COLOR_BLACK, COLOR_GREEN);
	init_pair(DRAW_PAIR_CURSOR, COLOR_BLACK, COLOR_CYAN);
	draw_attributes[DRAW_BAR] = COLOR_PAIR(DRAW_PAIR_BAR);
	draw_attributes[DRAW_CURSOR] = COLOR_PAIR(DRAW_PAIR_CURSOR);
}

/* Returns the characters, which the caller frees; NULL: out of memory. */
static wchar_t *draw_characters(const char *text)
{
	size_t size = strlen(text), used = 0;
	wchar_t *wide = calloc(size + 1, sizeof(*wide));
	mbstate_t state = {0};

	while (wide && size) {
		size_t bytes = mbrtowc(&wide[used], text, size, &state);

		if (!bytes || bytes > size) {
			memset(&state, 0, sizeof(state));
			bytes = 1;
			wide[used] = L'?';
		}
		/* Text directions and joined characters of a name must not change other columns. */
		if (wcwidth(wide[used]) < 1)
			wide[used] = L'?';
		used++;
		text += bytes;
		size -= bytes;
	}
	return wide;
}

/* Returns how many characters fit in `columns`. */
static size_t draw_fit(const wchar_t *wide, int columns, int *ret_used)
{
	size_t count = 0;

	*ret_used = 0;
	while (wide[count] && *ret_used + wcwidth(wide[count]) <= columns)
		*ret_used += wcwidth(wide[count++]);
	return count;
}

void draw_line(int line, enum draw_style style, size_t skip, const char *text)
{
	wchar_t *wide = draw_characters(text);
	const wchar_t *begin = wide;
	int used = 0;

	if (!wide)
		return;
	for (size_t column = 0; column < skip && *begin; begin++)
		column += (size_t)wcwidth(*begin);
	attrset(draw_attributes[style]);
	mvaddnwstr(line, 0, begin, (int)draw_fit(begin, COLS, &used));
	while (used++ < COLS)
		addch(' ');
	attrset(A_NORMAL);
	free(wide);
}

int draw_wrapped(int line, int end, uint64_t *skip, const char *text)
{
	wchar_t *wide = draw_characters(text);
	const wchar_t *begin = wide;

	while (wide && line < end && *begin) {
		int used;
		size_t count = draw_fit(begin, COLS, &used);

		if (*skip)
			(*skip)--;
		else
			mvaddnwstr(line++, 0, begin, (int)count);
		begin += count;
		if (!count)
			break;
	}
	free(wide);
	return line;
}
