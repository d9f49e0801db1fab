/* SPDX-License-Identifier: MIT */
/* Lines on standard error, if SIDE_DEBUG is set. */
#include <stdarg.h>
#include <stdio.h>

#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/agent-state.h"
#include "base/inside/raw.h"

bool agent_debug_is_on(void)
{
	return agent.debug.is_on;
}

void agent_print(const char *format, ...)
{
	char line[512];
	va_list arguments;
	int head, size;

	head = snprintf(line, sizeof(line), "side-agent[%d]: ", (int)raw_call(SYS_getpid));
	va_start(arguments, format);
	size = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, arguments);
	va_end(arguments);
	size = size < 0 ? 0 : size;
	size = head + size < (int)sizeof(line) - 1 ? head + size : (int)sizeof(line) - 2;
	line[size++] = '\n';
	raw_call(SYS_write, 2, line, (size_t)size);
}
