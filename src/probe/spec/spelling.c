/* SPDX-License-Identifier: MIT */
/* Rewrite names of functions with types in them to one spelling. */
#include "spelling.h"

#include <string.h>

/* Remove spaces: users write them in different positions. */
static void spelling_remove_spaces(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool word = to > text && (from[1] == '_' || (from[1] | 32) >= 'a') &&
				((to[-1] | 32) >= 'a' && (to[-1] | 32) <= 'z');

		if (*from != ' ' || word)
			*to++ = *from;
	}
	*to = '\0';
}

/* Returns the text after the argument list that begins at `at`; NULL: it does not end. */
static char *spelling_after_arguments(char *at)
{
	int depth = 0;

	for (; *at; at++) {
		depth += (*at == '<') - (*at == '>' && at[-1] != '-');
		if (!depth)
			return at + 1;
	}
	return NULL;
}

static void spelling_remove_range(char *from, const char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/* Remove template arguments that have their default value. */
static void spelling_drop_defaults(char *name)
{
	static const char *const standard[] = {",std::allocator<", ",std::char_traits<",
			",std::default_delete<", ",std::less<", ",std::hash<", ",std::equal_to<"};

	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
		char *at = name;

		while ((at = strstr(at, standard[i]))) {
			char *end = spelling_after_arguments(at + strlen(standard[i]) - 1);

			if (!end)
				return;
			spelling_remove_range(at, end);
		}
	}
}

static void spelling_shorten_strings(char *name)
{
	static const char *const forms[] = {
			"std::__cxx11::basic_string<char>", "std::basic_string<char>"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *at;

		while ((at = strstr(name, forms[i]))) {
			char *remainder = at + strlen(forms[i]);
			bool word = *remainder >= 'a' && *remainder <= 'z';

			/* The rest of the name follows.
			   NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
			memcpy(at, "std::string ", 12);
			spelling_remove_range(at + 11 + word, remainder);
		}
	}
}

/* `const char*` becomes `char const*`, which has the same length. */
static void spelling_move_const(char *name)
{
	static const char word[] = "const ";
	const size_t length = sizeof(word) - 1;

	for (char *at = name; (at = strstr(at, word)); at++) {
		int depth = 0;
		char *end = at + length;

		if (at == name || !strchr("(,<", at[-1]))
			continue;
		while (*end && (depth || !strchr("*&,)>", *end))) {
			depth += (*end == '<') - (*end == '>');
			end++;
		}
		memmove(at, at + length, (size_t)(end - at) - length);
		memcpy(end - length, " const", length);
		if (end[-(ptrdiff_t)length - 1] == '>')
			spelling_remove_range(end - length, end - length + 1);
	}
}

void spelling_normalize(char *name)
{
	spelling_remove_spaces(name);
	spelling_drop_defaults(name);
	spelling_shorten_strings(name);
	spelling_move_const(name);
}

/* Returns where the parameters begin: the last parenthesis that is not inside another one. */
static size_t spelling_parameters_begin(const char *name)
{
	size_t length = strlen(name), end = length;
	int depth = 0;

	while (end && name[end - 1] != ')')
		end--;
	for (size_t i = end; i-- > 0;) {
		depth += (name[i] == ')') - (name[i] == '(');
		if (!depth)
			return i ? i : length;
	}
	return length;
}

/* Returns where the name begins, after the return type that functions made from templates have. */
static size_t spelling_name_begin(const char *name, size_t length)
{
	size_t begin = 0;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		if (!strncmp(name + i, "operator", 8))
			break;
		depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
		if (!depth && name[i] == ' ')
			begin = i + 1;
	}
	return begin;
}

size_t spelling_plain_name(const char *name, size_t *ret_begin)
{
	size_t length = spelling_parameters_begin(name);

	*ret_begin = spelling_name_begin(name, length);
	return length;
}

bool spelling_drop_arguments(char *name)
{
	bool some = false;
	char *at = name;

	while ((at = strchr(at, '<'))) {
		bool sign = at - name >= 8 && !strncmp(at - 8, "operator", 8);
		char *end = sign ? NULL : spelling_after_arguments(at);

		/* An operator's name contains brackets. */
		if (!end)
			break;
		spelling_remove_range(at, end);
		some = true;
	}
	return some;
}
