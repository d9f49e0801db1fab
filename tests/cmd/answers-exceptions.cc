// SPDX-License-Identifier: MIT
// A program whose exceptions pass through frames that own memory: most of it is freed, some is not. Its library frees
// memory when the program ends.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int user_count();

struct entry {
	std::string name;
	std::vector<int> values;
	explicit entry(int number)
	    : name("an entry with a name of some length, number " + std::to_string(number)),
	      values(number)
	{
	}
};

static __attribute__((noinline)) void parse(int number)
{
	auto owned = std::make_unique<entry>(number);
	auto *unowned = new entry(number);

	if (number % 7 == 0)
		throw std::runtime_error(
				"the number " + std::to_string(number) + " is a multiple of seven");
	delete unowned;
}

static __attribute__((noinline)) void convert(int number)
{
	std::map<std::string, int> numbers{
			{"a rather long key that is not stored in place", number}};

	try {
		parse(number);
	} catch (const std::logic_error &) {
		std::puts("never");
	}
}

int main()
{
	int failed = 0;

	for (int number = 1; number <= 100; number++)
		try {
			convert(number);
		} catch (const std::exception &error) {
			failed++;
		}
	std::printf("%d failed\n", failed);
	return failed == 14 && user_count() == 50 ? 0 : 1;
}
