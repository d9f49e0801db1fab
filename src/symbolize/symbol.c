/* SPDX-License-Identifier: MIT */
/* The inlined functions of a symbol as bytes of a message between the two processes. */
#include <stdlib.h>
#include <string.h>

#include "symbolize/module.h"

struct symbol_reader {
	const char *at;
	size_t left;
};

size_t symbol_pack_inlined(const struct symbol *symbol, char bytes[SYMBOL_BYTES_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		const struct symbol_inlined *inlined = &symbol->inlined[i];
		const char *file = inlined->file ? inlined->file : "";
		size_t function_size = strlen(inlined->function) + 1, file_size = strlen(file) + 1;
		uint32_t line = inlined->line;

		if (SYMBOL_BYTES_MAX - used < sizeof(line) + function_size + file_size)
			break;
		memcpy(bytes + used, &line, sizeof(line));
		used += sizeof(line);
		memcpy(bytes + used, inlined->function, function_size);
		used += function_size;
		memcpy(bytes + used, file, file_size);
		used += file_size;
	}
	return used;
}

/* The next text, or NULL if no NUL ends it. */
static const char *symbol_take_text(struct symbol_reader *reader)
{
	const char *text = reader->at, *end = memchr(text, '\0', reader->left);

	if (!end)
		return NULL;
	reader->left -= (size_t)(end - text) + 1;
	reader->at = end + 1;
	return text;
}

static bool symbol_take_inlined(struct symbol_reader *reader, struct symbol_inlined *ret_inlined)
{
	const char *function, *file;
	uint32_t line;

	if (reader->left <= sizeof(line))
		return false;
	memcpy(&line, reader->at, sizeof(line));
	reader->at += sizeof(line);
	reader->left -= sizeof(line);
	function = symbol_take_text(reader);
	file = function ? symbol_take_text(reader) : NULL;
	if (!file || !*function)
		return false;
	*ret_inlined = (struct symbol_inlined){
			.function = strdup(function),
			.file = *file ? strdup(file) : NULL,
			.line = *file ? line : 0,
	};
	return ret_inlined->function;
}

void symbol_unpack_inlined(struct symbol *symbol, const char *bytes, size_t size)
{
	struct symbol_reader reader = {bytes, size};
	struct symbol_inlined *inlined =
			size ? calloc(SYMBOLS_INLINED_MAX, sizeof(*inlined)) : NULL;
	size_t count = 0;

	while (inlined && count < SYMBOLS_INLINED_MAX &&
			symbol_take_inlined(&reader, &inlined[count]))
		count++;
	if (count) {
		symbol->inlined = inlined;
		symbol->nr_inlined = count;
	} else {
		free(inlined);
	}
}

void symbol_free_inlined(struct symbol *symbol)
{
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		/* The strings are malloc'ed; free() takes no pointer to const. */
		free((void *)(uintptr_t)symbol->inlined[i].function);
		free((void *)(uintptr_t)symbol->inlined[i].file);
	}
	free((void *)(uintptr_t)symbol->inlined);
	symbol->inlined = NULL;
	symbol->nr_inlined = 0;
}
