/* SPDX-License-Identifier: MIT */
/*
 * C++: events in namespaces and templates; a library that is loaded and unloaded more than once:
 * host LIBRARY.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include <side/trace.h>

namespace shop
{
side_static_event(event_sold, "shop", "sold", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("pieces"), side_field_string("what")));

template <typename T> class Till
{
public:
	__attribute__((noinline)) void sell(T pieces, const char *what)
	{
		side_event(event_sold, side_arg_list(side_arg_u32(pieces), side_arg_string(what)));
	}
};
} // namespace shop

int main(int argc, char **argv)
{
	shop::Till<uint32_t> till;

	for (uint32_t round = 1; round <= 2; round++) {
		void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
		void (*fire)(uint32_t);

		till.sell(round, "tea");
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		fire = reinterpret_cast<void (*)(uint32_t)>(dlsym(library, "late_fire"));
		fire(round);
		dlclose(library);
	}
	return 0;
}
