/* SPDX-License-Identifier: MIT */
/* Writes a listing: events in the order of reading, in one of the formats. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

struct readside_listing {
	enum form_kind kind;
	struct form form;
};

struct readside_listing *listing_open(FILE *out, enum form_kind kind)
{
	static const struct form_ops *const ops[] = {
			[FORM_JSON] = &form_json,
			[FORM_TEXT] = &form_text,
			[FORM_SEXPR] = &form_sexpr,
			[FORM_EXACT] = NULL,
	};
	struct readside_listing *listing = calloc(1, sizeof(*listing));

	if (!listing) {
		message_out_of_memory();
	} else {
		listing->kind = kind;
		listing->form.out = out;
		listing->form.ops = ops[kind];
	}
	return listing;
}

/* The events of one file are a group with a begin and an end. */
static void readside_listing_change_path(struct form *form, const char *path)
{
	if (form->path && !strcmp(form->path, path))
		return;
	if (form->path)
		form->ops->end(form);
	form->ops->begin(form, path);
	free(form->path);
	form->path = strdup(path);
	if (!form->path)
		message_out_of_memory();
}

void listing_event(struct readside_listing *listing, const struct readside_event *event)
{
	struct form *form = &listing->form;

	if (listing->kind == FORM_EXACT) {
		if (exact_event(form->out, event))
			message_out_of_memory();
		return;
	}
	readside_listing_change_path(form, event->path);
	form_event(form, event);
	form->nr_events++;
}

void listing_close(struct readside_listing *listing)
{
	struct form *form = &listing->form;

	if (form->ops) {
		if (form->path)
			form->ops->end(form);
		form->ops->finish(form);
	}
	free(form->path);
	free(listing);
}

int exact_event(FILE *out, const struct readside_event *event)
{
	const struct side_event_description *description = event->description;
	struct visit_buffer buffer, name;
	int result;

	visit_buffer_heap(&buffer);
	visit_buffer_heap(&name);
	visit_buffer_printf(&name, "%s:%s", side_ptr_get(description->provider_name),
			side_ptr_get(description->event_name));
	result = visit_description_json(description, &buffer, NULL);
	if (!result && !name.error) {
		fprintf(out, "{\"schema\":%d,\"type\":\"event\",\"event\":", READSIDE_JSON_SCHEMA);
		put_json_string(out, (const char *)name.data, name.size);
		fputs(",\"source\":", out);
		put_json_text(out, event->path);
		fputs(",\"origin\":\"section\",\"found\":\"section\",\"description\":", out);
		fwrite(buffer.data, buffer.size, 1, out);
		fputs("}\n", out);
	}
	visit_buffer_free(&buffer);
	result = result ? result : name.error;
	visit_buffer_free(&name);
	return result;
}
