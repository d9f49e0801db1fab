/* SPDX-License-Identifier: MIT */
/* The topic "contexts": takes the names from protocol/context.h. */
#include "programs/common/command.h"

#include "protocol/context.h"

#define TERMS_MAX 64

const struct term *command_context_terms(void)
{
	static struct term terms[TERMS_MAX];

	for (size_t i = 0; i < TERMS_MAX - 1 && context_name(i); i++)
		terms[i] = (struct term){context_name(i), context_description(i)};
	return terms;
}
