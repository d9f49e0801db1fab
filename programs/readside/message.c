/* SPDX-License-Identifier: MIT */
/* Prints messages, and escapes untrusted text from files. */
#include "readside.h"

#include <stdarg.h>
#include <string.h>

#include "base/inside/utf8.h"

static bool verbose, is_out_of_memory;

void output_set_verbose(bool on)
{
	verbose = on;
}

static void readside_message_print(const char *format, va_list arguments)
		__attribute__((format(printf, 1, 0)));

static void readside_message_print(const char *format, va_list arguments)
{
	char text[6144];
	int size = vsnprintf(text, sizeof(text), format, arguments);

	if (size < 0)
		return;
	fputs("readside: ", stderr);
	put_printable(stderr, text, strlen(text));
	putc('\n', stderr);
}

void message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	readside_message_print(format, arguments);
	va_end(arguments);
}

void message_error_hint(const char *hint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	readside_message_print(format, arguments);
	va_end(arguments);
	if (hint)
		put_hint(stderr, hint);
}

void put_hint(FILE *out, const char *hint)
{
	fputs("hint: ", out);
	put_printable(out, hint, strlen(hint));
	putc('\n', out);
}

void message_verbose(const char *format, ...)
{
	va_list arguments;

	if (!verbose)
		return;
	va_start(arguments, format);
	readside_message_print(format, arguments);
	va_end(arguments);
}

void message_out_of_memory(void)
{
	if (!is_out_of_memory)
		message_error("out of memory: the output is not complete");
	is_out_of_memory = true;
}

bool output_is_out_of_memory(void)
{
	return is_out_of_memory;
}

void put_printable(FILE *out, const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t i = 0; i < size;) {
		unsigned int length = utf8_length(at + i, size - i);

		if (length && !utf8_is_control(at + i, length)) {
			fwrite(at + i, 1, length, out);
			i += length;
		} else {
			fprintf(out, "\\x%02x", at[i++]);
		}
	}
}

void put_at_field(FILE *out, const char *field, const char *text)
{
	if (*field) {
		fputs("field ", out);
		put_printable(out, field, strlen(field));
		fputs(": ", out);
	}
	put_printable(out, text, strlen(text));
	putc('\n', out);
}

void put_json_string(FILE *out, const char *text, size_t size)
{
	struct visit_buffer buffer;

	visit_buffer_heap(&buffer);
	if (visit_json_string(&buffer, text, size)) {
		message_out_of_memory();
		fputs("\"\"", out);
	} else {
		fwrite(buffer.data, buffer.size, 1, out);
	}
	visit_buffer_free(&buffer);
}

void put_json_text(FILE *out, const char *text)
{
	put_json_string(out, text, strlen(text));
}
