/* SPDX-License-Identifier: MIT */
/*
 * A small libside of another implementation, for tests: only the functions and layouts of
 * docs/spec/abi.md, and callbacks in a form of its own. One batch, one tracer.
 */
#define constructor(priority)
#define destructor(priority)
#include <side/trace.h>
#undef constructor
#undef destructor

#define CALLBACKS_MAX 64
#define BATCHES_MAX 8

/* What `callbacks` of a state points to: a number, which the agent must not interpret. */
struct other_callback {
	struct side_event_description *event;
	side_tracer_callback_func call;
	side_tracer_callback_variadic_func call_variadic;
	void *priv;
};

struct side_events_register_handle {
	struct side_event_description **events;
	uint32_t nr_events;
};

const char side_empty_callback[sizeof(void *)];

static struct other_callback callbacks[CALLBACKS_MAX];
static struct side_events_register_handle batches[BATCHES_MAX];
static void (*tracer)(
		enum side_tracer_notification, struct side_event_description **, uint32_t, void *);
static void *tracer_priv;

static void other_notify(enum side_tracer_notification notification,
		const struct side_events_register_handle *batch)
{
	if (tracer && batch->events)
		tracer(notification, batch->events, batch->nr_events, tracer_priv);
}

void side_init(void) {}

void side_exit(void) {}

struct side_events_register_handle *side_events_register(
		struct side_event_description **events, uint32_t nr_events)
{
	for (int i = 0; i < BATCHES_MAX; i++)
		if (!batches[i].events) {
			batches[i].events = events;
			batches[i].nr_events = nr_events;
			other_notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, &batches[i]);
			return &batches[i];
		}
	return NULL;
}

void side_events_unregister(struct side_events_register_handle *handle)
{
	if (!handle)
		return;
	other_notify(SIDE_TRACER_NOTIFICATION_REMOVE_EVENTS, handle);
	handle->events = NULL;
}

int side_tracer_request_key(uint64_t *key)
{
	static uint64_t last = 8;

	*key = last++;
	return SIDE_ERROR_OK;
}

static int other_register(struct side_event_description *event, struct other_callback callback)
{
	struct side_event_state_0 *state =
			(struct side_event_state_0 *)(void *)side_ptr_get(event->state);

	callback.event = event;
	for (int i = 0; i < CALLBACKS_MAX; i++)
		if (!callbacks[i].event) {
			callbacks[i] = callback;
			state->enabled++;
			return SIDE_ERROR_OK;
		}
	return SIDE_ERROR_NOMEM;
}

static int other_unregister(struct side_event_description *event, void *priv)
{
	struct side_event_state_0 *state =
			(struct side_event_state_0 *)(void *)side_ptr_get(event->state);

	for (int i = 0; i < CALLBACKS_MAX; i++)
		if (callbacks[i].event == event && callbacks[i].priv == priv) {
			callbacks[i].event = NULL;
			state->enabled--;
			return SIDE_ERROR_OK;
		}
	return SIDE_ERROR_NOENT;
}

int side_tracer_callback_register(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key)
{
	(void)key;
	return other_register(desc, (struct other_callback){.call = call, .priv = priv});
}

int side_tracer_callback_unregister(struct side_event_description *desc,
		side_tracer_callback_func call, void *priv, uint64_t key)
{
	(void)call;
	(void)key;
	return other_unregister(desc, priv);
}

int side_tracer_callback_variadic_register(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key)
{
	(void)key;
	return other_register(desc,
			(struct other_callback){.call_variadic = call_variadic, .priv = priv});
}

int side_tracer_callback_variadic_unregister(struct side_event_description *desc,
		side_tracer_callback_variadic_func call_variadic, void *priv, uint64_t key)
{
	(void)call_variadic;
	(void)key;
	return other_unregister(desc, priv);
}

struct side_tracer_handle *side_tracer_event_notification_register(
		void (*cb)(enum side_tracer_notification notif,
				struct side_event_description **events, uint32_t nr_events,
				void *priv),
		void *priv)
{
	tracer = cb;
	tracer_priv = priv;
	for (int i = 0; i < BATCHES_MAX; i++)
		other_notify(SIDE_TRACER_NOTIFICATION_INSERT_EVENTS, &batches[i]);
	return (struct side_tracer_handle *)(void *)batches;
}

int side_tracer_statedump_request(uint64_t key)
{
	return key ? SIDE_ERROR_OK : SIDE_ERROR_INVAL;
}

static void other_call(const struct side_event_state *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	const struct side_event_state_0 *known =
			(const struct side_event_state_0 *)(const void *)state;

	for (int i = 0; i < CALLBACKS_MAX; i++) {
		const struct other_callback *callback = &callbacks[i];

		if (callback->event != known->desc)
			continue;
		if (var)
			callback->call_variadic(known->desc, args, var, callback->priv, caller);
		else
			callback->call(known->desc, args, callback->priv, caller);
	}
}

void side_call(const struct side_event_state *state, const struct side_arg_vec *args)
{
	other_call(state, args, NULL, __builtin_return_address(0));
}

void side_call_variadic(const struct side_event_state *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var)
{
	other_call(state, args, var, __builtin_return_address(0));
}
