// SPDX-License-Identifier: MIT
// Exceptions through functions that have probes.
#include "places.h"

int place_destroyed;

namespace
{
struct Guard {
	~Guard() { place_destroyed++; }
};
} // namespace

extern "C" __attribute__((noinline)) int place_throw(int value)
{
	Guard guard;

	if (value > 0)
		throw value;
	__asm__ volatile("" ::: "memory");
	return value;
}

extern "C" __attribute__((noinline)) int place_catch(int value)
{
	Guard guard;

	try {
		return place_throw(value) + 1;
	} catch (int thrown) {
		return thrown + 1000;
	}
}
