/* SPDX-License-Identifier: MIT */
/* Prints messages on standard error, as text for people or as JSON for programs. */
#include "message.h"

#include "progress.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer messages are cut. */
#define MESSAGE_MAX 6144

static struct {
	const char *verb;
	bool json;
	bool quiet;
	bool verbose;
	bool color;
	bool paged;
} output;

bool output_has_color(FILE *stream, int mode)
{
	const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	if (off && *off)
		return false;
	if (terminal && !strcmp(terminal, "dumb"))
		return false;
	return (output.paged && stream == stdout) || isatty(fileno(stream));
}

/*
 * If a standard stream is closed, the next opened file gets its number, and output goes into that
 * file. Open /dev/null there instead, in the wrong direction, so that reads and writes fail. A
 * program that side executes finds the stream closed.
 */
static void output_occupy_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
				open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
			return;
}

void output_start(const struct common_options *common, const char *verb)
{
	output_occupy_streams();
	output.verb = verb;
	output.json = common->json;
	output.quiet = common->quiet;
	output.verbose = common->verbose;
	output.color = output_has_color(stderr, common->color);
}

const char *message_label(bool severe)
{
	if (!output.color)
		return "side:";
	return severe ? "\033[1;31mside:\033[0m" : "\033[1mside:\033[0m";
}

const char *message_hint_label(void)
{
	return output.color ? "\033[1mhint:\033[0m" : "hint:";
}

void output_set_paged(void)
{
	output.paged = true;
}

bool output_is_json(void)
{
	return output.json;
}

bool output_is_silent(void)
{
	return output.quiet;
}

void print_json_hint(FILE *out, const char *hint)
{
	fputs(",\"hint\":", out);
	print_json_string(out, hint);
	fputs(",\"mend\":", out);
	print_json_string(out, hint);
}

/* A position in a text that the user wrote. */
struct source_position {
	const char *text;
	unsigned int column;
};

#define SOURCE_LINE_MAX 240

/* The width on a terminal: characters, not bytes. */
static size_t message_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Prints the text, and a mark below the column. */
static void message_print_source_line(FILE *out, const struct source_position *location)
{
	char before[4 * SOURCE_LINE_MAX], after[4 * SOURCE_LINE_MAX], head[SOURCE_LINE_MAX];
	size_t length = strlen(location->text),
	       column = location->column ? location->column - 1 : 0;

	if (length >= SOURCE_LINE_MAX)
		return;
	column = column < length ? column : length;
	memcpy(head, location->text, column);
	head[column] = '\0';
	format_printable(head, before, sizeof(before));
	format_printable(location->text + column, after, sizeof(after));
	fprintf(out, "  %s%s\n  %*s^\n", before, after, (int)message_width(before), "");
}

/* Prints "hint: ..." for each line of the hint. */
static void message_print_hint(FILE *out, const char *hint)
{
	char line[MESSAGE_MAX], printable[4 * MESSAGE_MAX];

	while (*hint) {
		size_t length = strcspn(hint, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, hint);
		fprintf(out, "%s %s\n", message_hint_label(),
				format_printable(line, printable, sizeof(printable)));
		hint += length + (hint[length] == '\n');
	}
}

static void message_print_json(FILE *out, const char *type, enum command_status status,
		const char *message, const char *hint, const struct source_position *location)
{
	fprintf(out, "{\"schema\":%d,\"type\":\"%s\"", OUTPUT_JSON_SCHEMA, type);
	if (output.verb) {
		fputs(",\"verb\":", out);
		print_json_string(out, output.verb);
	}
	if (status != COMMAND_DONE)
		fprintf(out, ",\"status\":%d", status);
	fputs(",\"message\":", out);
	print_json_string(out, message);
	if (hint && *hint)
		print_json_hint(out, hint);
	if (location) {
		fputs(",\"text\":", out);
		print_json_string(out, location->text);
		fprintf(out, ",\"column\":%u", location->column);
	}
	fputs("}\n", out);
}

static void message_print_text(FILE *out, const char *color, const char *message, const char *hint,
		const struct source_position *location)
{
	char printable[4 * MESSAGE_MAX];

	format_printable(message, printable, sizeof(printable));
	fprintf(out, "%sside:%s %s\n", output.color ? color : "", output.color ? "\033[0m" : "",
			printable);
	if (location)
		message_print_source_line(out, location);
	if (hint)
		message_print_hint(out, hint);
}

static void message_write(FILE *out, const char *type, const char *color,
		enum command_status status, const char *message, const char *hint,
		const struct source_position *location)
{
	if (output.json)
		message_print_json(out, type, status, message, hint, location);
	else
		message_print_text(out, color, message, hint, location);
}

/*
 * Prints a message with one write, so that lines of traced programs on the same terminal do not
 * interrupt it. If memory is short, prints it in parts.
 */
static void message_print(const char *type, const char *color, enum command_status status,
		const char *message, const char *hint, const struct source_position *location)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool is_whole = out;

	if (out) {
		message_write(out, type, color, status, message, hint, location);
		is_whole = text_stream_end(out, &text);
	}
	progress_clear();
	fflush(stdout);
	if (is_whole)
		fputs(text, stderr);
	else
		message_write(stderr, type, color, status, message, hint, location);
	fflush(stderr);
	free(text);
}

int message_error(enum command_status status, const char *hint, const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	message_print("error", "\033[1;31m", status, message, hint, NULL);
	return (int)status;
}

int message_search_error(int ret)
{
	return message_error(COMMAND_FAILED, NULL, "cannot find the programs that run: %s",
			error_strerror(ret));
}

int message_error_at(enum command_status status, const char *hint, const char *text,
		unsigned int column, const char *format, ...)
{
	const struct source_position location = {.text = text, .column = column};
	char message[MESSAGE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	message_print("error", "\033[1;31m", status, message, hint, &location);
	return (int)status;
}

int message_error_status(enum command_status status, const struct error *error)
{
	if (*error->input || error->column)
		return message_error_at(status, error->hint, error->input, error->column, "%s",
				error->text);
	return message_error(status, error->hint, "%s", error->text);
}

int message_library_error(const struct error *error)
{
	enum command_status status = error->kind == ERROR_USAGE ? COMMAND_USAGE
			: error->kind == ERROR_PERMISSION       ? COMMAND_NOT_PERMITTED
								: COMMAND_FAILED;

	return message_error_status(status, error);
}

static __attribute__((format(printf, 2, 0))) void message_print_note(
		const char *hint, const char *format, va_list arguments)
{
	char message[MESSAGE_MAX];

	if (output.quiet)
		return;
	vsnprintf(message, sizeof(message), format, arguments);
	message_print("note", "\033[1m", COMMAND_DONE, message, hint, NULL);
}

void message_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print_note(NULL, format, arguments);
	va_end(arguments);
}

void message_note_hint(const char *hint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print_note(hint, format, arguments);
	va_end(arguments);
}

void message_detail(const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list arguments;

	if (!output.verbose || output.quiet)
		return;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	message_print("detail", "\033[2m", COMMAND_DONE, message, NULL, NULL);
}

int output_flush(FILE *out)
{
	if (!fflush(out) && !ferror(out))
		return COMMAND_DONE;
	/* The reader of the pipe has closed it (`| head`): the usual end, without a message. */
	if (errno == EPIPE)
		return COMMAND_SIGNAL + SIGPIPE;
	return message_error(COMMAND_FAILED, NULL, "cannot write to standard output: %s",
			strerror(errno));
}
