/* SPDX-License-Identifier: MIT */
/*
 * The components of the processor's state that a borrowed thread keeps, on simulated processors.
 * The test includes code.c.
 */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/parts.h"

#include "../check.h"

/* The values of CPUID leaves 1 and 13, and whether the leaves exist. */
static bool has_features, has_sizes;
static uint32_t features, bytes;

static int played_cpuid(unsigned int leaf, unsigned int *a, unsigned int *b, unsigned int *c,
		unsigned int *d)
{
	CHECK(leaf == 1);
	*a = *b = *d = UINT32_MAX;
	*c = features;
	return has_features;
}

static int played_cpuid_count(unsigned int leaf, unsigned int part, unsigned int *a,
		unsigned int *b, unsigned int *c, unsigned int *d)
{
	CHECK(leaf == 13 && part == 0);
	*a = *c = *d = UINT32_MAX;
	*b = bytes;
	return has_sizes;
}

#define __get_cpuid played_cpuid
#define __get_cpuid_count played_cpuid_count
#include "attach/code.c"

static uint64_t states_of(bool features_are_there, uint32_t its_features, bool sizes_are_there,
		uint32_t its_bytes)
{
	has_features = features_are_there;
	features = its_features;
	has_sizes = sizes_are_there;
	bytes = its_bytes;
	return inject_code_states();
}

int main(void)
{
	const uint32_t xsave = 1u << 27, most = INJECT_SCRATCH_SIZE / 2;
	unsigned int a, b, c, d;

	CHECK(!states_of(false, xsave, true, 512));
	CHECK(!states_of(true, ~xsave, true, 512));
	/* The next calls execute an instruction that only processors with XSAVE have. */
	__cpuid(1, a, b, c, d);
	if (!(c & xsave))
		return 77;
	CHECK(states_of(true, xsave, true, 512) & 1);
	CHECK(states_of(true, xsave, true, most) == states_of(true, xsave, true, 512));
	CHECK(!states_of(true, xsave, true, most + 1));
	CHECK(!states_of(true, xsave, false, 512));
	return 0;
}
