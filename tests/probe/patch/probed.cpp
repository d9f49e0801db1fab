// SPDX-License-Identifier: MIT
// Exceptions through functions that have probes.
#include "probed.h"

int probed_destroyed;

namespace
{
struct Guard {
	~Guard() { probed_destroyed++; }
};
} // namespace

extern "C" __attribute__((noinline)) int probed_throw(int value)
{
	Guard guard;

	if (value > 0)
		throw value;
	__asm__ volatile("" ::: "memory");
	return value;
}

extern "C" __attribute__((noinline)) int probed_catch(int value)
{
	Guard guard;

	try {
		return probed_throw(value) + 1;
	} catch (int thrown) {
		return thrown + 1000;
	}
}
