/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: a line for each call path, its functions separated by semicolons, and its weight.
 *
 * Names contain neither semicolons nor control characters in this format: others replace them.
 */
#include <string.h>

#include "export/export.h"
#include "export/flame-export.h"

static void flame_folded_name(struct view_out *out, const char *name)
{
	size_t run = 0, at = 0;

	for (; name[at]; at++) {
		unsigned char c = (unsigned char)name[at];

		if (c != ';' && c >= ' ' && c != 0x7f)
			continue;
		export_put_utf8(out, name + run, at - run);
		view_out_char(out, c == ';' ? ':' : '?');
		run = at + 1;
	}
	export_put_utf8(out, name + run, at - run);
}

int flame_export_folded(struct flame_export *export)
{
	const struct flame_tree *tree = &export->flame->tree;
	uint32_t path[FLAME_DEPTH_MAX + 1];
	int ret = 0;

	for (uint32_t i = 1; i < flame_tree_count(tree) && !ret; i++) {
		const struct flame_node *node = &tree->nodes[export->order[i]];

		path[node->depth] = export->order[i];
		if (!node->self)
			continue;
		for (uint32_t depth = 1; depth <= node->depth; depth++) {
			if (depth > 1)
				view_out_char(&export->out, ';');
			flame_folded_name(
					&export->out, flame_tree_frame_of(tree, path[depth])->name);
		}
		view_out_char(&export->out, ' ');
		view_out_unsigned(&export->out, node->self);
		view_out_char(&export->out, '\n');
		ret = flame_export_continue(export);
	}
	return ret;
}
