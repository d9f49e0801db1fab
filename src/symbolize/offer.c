/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"
#include "base/nearest/nearest.h"

#include <stdlib.h>
#include <string.h>

void nearest_offer_function(struct nearest *nearest, const char *symbol)
{
	char *readable = names_readable(symbol);

	nearest_offer(nearest, readable ? readable : symbol);
	if (readable) {
		readable[strcspn(readable, "(")] = '\0';
		nearest_offer(nearest, readable);
	}
	free(readable);
}
