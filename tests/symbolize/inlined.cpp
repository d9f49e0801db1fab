// SPDX-License-Identifier: MIT
/* Functions that are copied into others: nested, twice in one, in a namespace, a template and a lambda. */
#include <cstdio>
#include <cstdlib>

#define COPIED inline __attribute__((always_inline))

volatile int inlined_data[16];

namespace inlined
{
struct pair_of_numbers {
	int first;
	long second;
};
pair_of_numbers numbers[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};

COPIED int innermost(int value)
{
	inlined_data[value & 15] = value;
	return inlined_data[(value + 1) & 15] + 1;
}

template <typename T> COPIED T middle(T value)
{
	if (value > 2)
		value = innermost(static_cast<int>(value));
	return value + innermost(static_cast<int>(value) * 3);
}

struct worker {
	int sum = 0;
	COPIED void add(int value) { sum += middle<long>(value); }
	__attribute__((noinline)) int run(int count)
	{
		auto twice = [this](int value) __attribute__((always_inline))
		{
			add(value);
			add(value + 1);
		};

		for (int i = 0; i < count; i++)
			twice(i);
		return sum;
	}
};
} // namespace inlined

int main(int argc, char **argv)
{
	inlined::worker worker;

	(void)argv;
	std::printf("%d\n",
			worker.run(argc) + inlined::middle<int>(argc) +
					static_cast<int>(inlined::numbers[argc & 3].second));
	return 0;
}
