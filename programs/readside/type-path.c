/* SPDX-License-Identifier: MIT */
/* Formats the location of a type in a description for people. */
#include "readside.h"

#include <string.h>

/* Nodes point to what contains them, but the text begins with the outermost. */
static size_t readside_path_append_node(const struct visit_node *node, char *text, size_t size)
{
	size_t used = node->up ? readside_path_append_node(node->up, text, size) : 0;
	int more = 0;

	if (used >= size)
		return size;
	switch (node->role) {
	case VISIT_ROLE_FIELD:
		more = snprintf(text + used, size - used, "%s%s", used ? "." : "",
				node->name ? node->name : "");
		break;
	case VISIT_ROLE_ELEMENT: more = snprintf(text + used, size - used, "[]"); break;
	case VISIT_ROLE_LENGTH: more = snprintf(text + used, size - used, ".length"); break;
	case VISIT_ROLE_SELECTOR: more = snprintf(text + used, size - used, ".selector"); break;
	case VISIT_ROLE_OPTION:
		more = snprintf(text + used, size - used, ".option %u", (unsigned int)node->index);
		break;
	}
	return more < 0 ? used : used + (size_t)more;
}

char *location_text(const struct visit_node *node, char *text, size_t size)
{
	text[0] = '\0';
	if (node)
		readside_path_append_node(node, text, size);
	return text;
}
