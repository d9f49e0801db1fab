/* SPDX-License-Identifier: MIT */
/* State dump, polling mode. What the console tracer prints for it: */
/*= provider: side, event: statedump_begin, fields: { name: { value: "connections" } } */
/*= provider: server, event: connection, fields: { fd: { value: 3 } } */
/*= provider: server, event: connection, fields: { fd: { value: 4 } } */
/*= provider: side, event: statedump_end, fields: { name: { value: "connections" } } */
#include <side/trace.h>

side_static_event(ev_conn, "server", "connection", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_s32("fd")));

static void dump_connections(void *key)
{
	int fd;

	for (fd = 3; fd < 5; fd++)
		side_statedump_event_call(ev_conn, key, side_arg_list(side_arg_s32(fd)));
}

int main(void)
{
	struct side_statedump_request_handle *h;

	h = side_statedump_request_notification_register(
			"connections", dump_connections, SIDE_STATEDUMP_MODE_POLLING);
	if (!h)
		return 1;
	/* event loop */
	if (side_statedump_poll_pending_requests(h))
		(void)side_statedump_run_pending_requests(h);
	side_statedump_request_notification_unregister(h);
	return 0;
}
