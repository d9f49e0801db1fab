/* SPDX-License-Identifier: MIT */
#include <side/trace.h>

static uint64_t key;

static void on_event(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void) priv;
	printf("%s:%s with %u arguments from %p\n", side_ptr_get(desc->provider_name),
		side_ptr_get(desc->event_name), args->len, caller);
}

static void on_batch(enum side_tracer_notification what,
		struct side_event_description **events, uint32_t nr, void *priv)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (!events[i] || (events[i]->flags & SIDE_EVENT_FLAG_VARIADIC))
			continue;
		if (what == SIDE_TRACER_NOTIFICATION_INSERT_EVENTS)
			(void) side_tracer_callback_register(events[i], on_event, priv, key);
		else
			(void) side_tracer_callback_unregister(events[i], on_event, priv, key);
	}
}

side_static_event(ev_probe, "demo", "probe", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("x")));

int main(void)
{
	struct side_tracer_handle *h;

	if (side_tracer_request_key(&key) != SIDE_ERROR_OK)
		return 1;
	h = side_tracer_event_notification_register(on_batch, NULL);
	if (!h)
		return 1;
	side_event(ev_probe, side_arg_list(side_arg_u8(1)));
	side_tracer_event_notification_unregister(h);
	return 0;
}
