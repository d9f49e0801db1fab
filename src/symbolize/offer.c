/* SPDX-License-Identifier: MIT */
/* Offers the name of a function, mangled or demangled, to a search for the nearest name. */
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
