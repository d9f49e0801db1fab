/* SPDX-License-Identifier: MIT */
/* The same with mangled names. */
#include <cstdint>
#include <string>

#include <side/trace.h>

side_static_event(cxx_here, "cxx", "here", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("number")));

namespace known
{
template <typename T> struct holder {
	__attribute__((noinline)) void say(const T &value, std::uint32_t number) const
	{
		side_event(cxx_here, side_arg_list(side_arg_u32(number + (value == T()))));
	}
};
} // namespace known

extern "C" __attribute__((visibility("default"))) void library_call(void)
{
	known::holder<int>().say(1, 10);
	known::holder<long>().say(1, 20);
}
