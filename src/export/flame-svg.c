/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as a picture: SVG without scripts, for a browser, a wiki or print.
 *
 * The outermost functions are at the bottom. The width of a function is its weight with the
 * functions that it called. A viewer shows the title of a function under the mouse.
 */
#include <string.h>

#include "analysis/flame-print.h"
#include "analysis/report-text.h"
#include "base/inside/utf8.h"
#include "export/export.h"
#include "export/flame-export.h"

#define FLAME_SVG_WIDTH 1200
#define FLAME_SVG_MARGIN 10
#define FLAME_SVG_HEAD 40 /* the height of the title */
#define FLAME_SVG_ROW 17  /* the height of a function */
#define FLAME_SVG_LETTER 6.7
#define FLAME_SVG_VISIBLE 0.1 /* the width of the narrowest functions that are drawn */

struct flame_svg {
	struct flame_export *export;
	struct view_out name; /* of a function, in UTF-8 */
	double scale;         /* width of a weight of 1 */
	uint32_t rows;
	uint32_t narrow;                      /* functions that are not drawn */
	uint64_t begins[FLAME_DEPTH_MAX + 2]; /* where the next function of each depth begins */
};

/* ---- texts ---- */

/* Not shown: U+FFFE and U+FFFF are no characters of XML, and controls would change other text. */
static bool flame_svg_is_invalid(const char *at, size_t size)
{
	return utf8_is_control((const unsigned char *)at, (unsigned int)size) ||
			(size >= 3 &&
					(!memcmp(at, "\xef\xbf\xbe", 3) ||
							!memcmp(at, "\xef\xbf\xbf", 3)));
}

static size_t flame_svg_character_size(const char *at, size_t size)
{
	size_t length = 1;

	while (length < size && ((unsigned char)at[length] & 0xc0) == 0x80)
		length++;
	return length;
}

static void flame_svg_character(struct view_out *out, const char *at, size_t size)
{
	if (*at == '<')
		view_out_text(out, "&lt;");
	else if (*at == '>')
		view_out_text(out, "&gt;");
	else if (*at == '&')
		view_out_text(out, "&amp;");
	else if (flame_svg_is_invalid(at, size))
		view_out_char(out, '?');
	else
		view_out_put(out, at, size);
}

/* Characters of three and more bytes may be as wide as two letters. */
static size_t flame_svg_columns(size_t character_size)
{
	return character_size > 2 ? 2 : 1;
}

/* At most `limit` columns; a longer text ends in "…". */
static void flame_svg_text(struct flame_svg *svg, const char *text, size_t limit)
{
	struct view_out *out = &svg->export->out, *name = &svg->name;
	size_t size, at = 0, columns = 0, length;

	name->at = name->begin;
	export_put_utf8(name, text, strlen(text));
	out->failed |= name->failed;
	size = view_out_size(name);
	for (; at < size; at += length) {
		length = flame_svg_character_size(name->begin + at, size - at);
		columns += flame_svg_columns(length);
		/* Only the last character needs no space for "…". */
		if (columns + (at + length < size) > limit) {
			view_out_text(out, "…");
			return;
		}
		flame_svg_character(out, name->begin + at, length);
	}
}

static void flame_svg_number(struct view_out *out, const char *name, double number)
{
	view_out_format(out, " %s=\"%.1f\"", name, number);
}

/* ---- functions ---- */

/* Equal names have equal colours: light ones, on which black text is readable. */
static uint32_t flame_svg_colour(const char *name)
{
	uint32_t hash = 2166136261;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return (225 + hash % 31) << 16 | (125 + (hash >> 8) % 90) << 8 | (60 + (hash >> 16) % 55);
}

/* Red: heavier than in the base. Blue: lighter. */
static uint32_t flame_svg_change_colour(const struct flame_node *node)
{
	double before = (double)node->base_total, after = (double)node->total;
	double change = (after - before) / (after > before ? after : before);
	uint32_t pale = (uint32_t)(245 - 135 * (change < 0 ? -change : change));

	return change > 0 ? 245u << 16 | pale << 8 | pale : pale << 16 | pale << 8 | 245u;
}

static void flame_svg_title(struct flame_svg *svg, const struct flame_node *node, const char *name)
{
	const struct flame *flame = svg->export->flame;
	const struct flame_node *root = &flame->tree.nodes[FLAME_TREE_ROOT];
	struct view_out *out = &svg->export->out;
	char text[FORMAT_NUMBER_MAX];

	view_out_text(out, "<title>");
	flame_svg_text(svg, name, SIZE_MAX);
	view_out_format(out, ": %s, %.1f%%", flame_print_weight(flame, node->total, text),
			(double)node->total * 100 / (double)root->total);
	view_out_format(out, "; itself %s", flame_print_weight(flame, node->self, text));
	if (root->base_total)
		view_out_format(out, "; before %s",
				flame_print_weight(flame, node->base_total, text));
	view_out_text(out, "</title>");
}

static void flame_svg_function(struct flame_svg *svg, uint32_t number, double x, double width)
{
	const struct flame_tree *tree = &svg->export->flame->tree;
	const struct flame_node *node = &tree->nodes[number];
	const char *name = flame_tree_frame_of(tree, number)->name;
	uint32_t y = FLAME_SVG_HEAD + (svg->rows - node->depth) * FLAME_SVG_ROW;
	struct view_out *out = &svg->export->out;
	size_t letters = (size_t)((width - 4) / FLAME_SVG_LETTER);

	view_out_text(out, "<g>");
	flame_svg_title(svg, node, name);
	view_out_text(out, "<rect");
	flame_svg_number(out, "x", x);
	view_out_format(out, " y=\"%u\"", y);
	flame_svg_number(out, "width", width);
	view_out_format(out, " height=\"%d\" fill=\"#%06x\"/>", FLAME_SVG_ROW - 1,
			tree->nodes[FLAME_TREE_ROOT].base_total ? flame_svg_change_colour(node)
								: flame_svg_colour(name));
	if (width > 4 + 3 * FLAME_SVG_LETTER) {
		view_out_text(out, "<text");
		flame_svg_number(out, "x", x + 2);
		view_out_format(out, " y=\"%u\">", y + FLAME_SVG_ROW - 5);
		flame_svg_text(svg, name, letters);
		view_out_text(out, "</text>");
	}
	view_out_text(out, "</g>\n");
}

static int flame_svg_functions(struct flame_svg *svg)
{
	const struct flame_tree *tree = &svg->export->flame->tree;
	int ret = 0;

	for (uint32_t i = 1; i < flame_tree_count(tree) && !ret; i++) {
		uint32_t number = svg->export->order[i];
		const struct flame_node *node = &tree->nodes[number];
		double width = (double)node->total * svg->scale;
		uint64_t begin = svg->begins[node->depth];

		svg->begins[node->depth] += node->total;
		svg->begins[node->depth + 1] = begin;
		if (width >= FLAME_SVG_VISIBLE)
			flame_svg_function(svg, number,
					FLAME_SVG_MARGIN + (double)begin * svg->scale, width);
		else
			svg->narrow += node->total != 0;
		ret = flame_export_continue(svg->export);
	}
	return ret;
}

/* ---- the picture ---- */

/* The depth of the functions that are wide enough. */
static uint32_t flame_svg_count_rows(const struct flame_svg *svg)
{
	const struct flame_tree *tree = &svg->export->flame->tree;
	uint32_t rows = 1;

	for (uint32_t i = 1; i < flame_tree_count(tree); i++) {
		const struct flame_node *node = &tree->nodes[i];

		if ((double)node->total * svg->scale >= FLAME_SVG_VISIBLE && node->depth > rows)
			rows = node->depth;
	}
	return rows;
}

static void flame_svg_begin(struct flame_svg *svg, uint32_t height)
{
	const struct flame *flame = svg->export->flame;
	struct view_out *out = &svg->export->out;
	char text[FORMAT_NUMBER_MAX];

	view_out_format(out,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"11\">\n",
			FLAME_SVG_WIDTH, height, FLAME_SVG_WIDTH, height);
	view_out_format(out,
			"<rect width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"24\" font-size=\"14\">",
			FLAME_SVG_WIDTH, height, FLAME_SVG_MARGIN);
	flame_svg_text(svg, flame->walk.options.dir, 80);
	view_out_format(out, ": %s by call path, %s</text>\n", flame_weight_name(flame->weight),
			flame_print_weight(flame, flame->tree.nodes[FLAME_TREE_ROOT].total, text));
}

int flame_export_svg(struct flame_export *export)
{
	struct flame_svg svg = {.export = export};
	uint64_t whole = export->flame->tree.nodes[FLAME_TREE_ROOT].total;
	uint32_t height;
	int ret;

	svg.scale = whole ? (FLAME_SVG_WIDTH - 2 * FLAME_SVG_MARGIN) / (double)whole : 0;
	svg.rows = flame_svg_count_rows(&svg);
	height = FLAME_SVG_HEAD + svg.rows * FLAME_SVG_ROW + 2 * FLAME_SVG_MARGIN;
	flame_svg_begin(&svg, height);
	ret = flame_svg_functions(&svg);
	if (svg.narrow)
		view_out_format(&export->out,
				"<text x=\"%d\" y=\"%u\">%u call paths are too narrow to be drawn</text>\n",
				FLAME_SVG_MARGIN, height - FLAME_SVG_MARGIN / 2, svg.narrow);
	view_out_text(&export->out, "</svg>\n");
	view_out_free(&svg.name);
	return ret;
}
