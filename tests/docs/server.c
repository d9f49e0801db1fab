/* SPDX-License-Identifier: MIT */
/*
 * The program `server` of the guide: fires a query and an error, makes the file `up`, and runs as
 * long as there is a file `stay` (a minute at most).
 */
#include <side/trace.h>

#include <fcntl.h>
#include <unistd.h>

side_static_event(db_query, "db", "query", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("rows"), side_field_s8("shard"),
				side_field_string("text")));
side_static_event(db_error, "db", "error", SIDE_LOGLEVEL_ERR,
		side_field_list(side_field_s32("code")));

int main(void)
{
	int up;

	for (uint32_t rows = 500; rows <= 1500; rows += 500)
		side_event(db_query,
				side_arg_list(side_arg_u32(rows), side_arg_s8(-1),
						side_arg_string("select *")));
	side_event(db_error, side_arg_list(side_arg_s32(-2)));
	up = open("up", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (up >= 0)
		close(up);
	for (int i = 0; i < 6000 && !access("stay", F_OK); i++)
		usleep(10000);
	return 0;
}
