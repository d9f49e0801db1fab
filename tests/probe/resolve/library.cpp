// SPDX-License-Identifier: MIT
// Arguments of C++ and its library: strings and arrays with a length, smart pointers, optional
// values, numbers of all types, and thread-local variables. Each function is called once, with
// values that test-library.py knows.
#include <atomic>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#define KEPT __attribute__((noinline))
#define USED(x) asm volatile("" : : "r"(&(x)) : "memory")

extern thread_local int library_of_library;
int library_count(int n);

enum class color : short { red = 1, green = 5, blue = -2 };

struct bits {
	unsigned int a : 3;
	int b : 5;
	bool c : 1;
	uint64_t d : 40;
};

union either {
	int32_t number;
	float real;
};

struct node {
	int id;
	std::string name;
	std::unique_ptr<node> child;
};

struct message {
	uint32_t length;
	const char *data;
	unsigned char digest[4];
};

struct meters {
	double value;
};

thread_local long library_own[3] = {1, 2, 3};
thread_local char library_name[8] = "thread";

KEPT size_t texts(const std::string &text, std::string_view view, std::string copy, const std::vector<char> &letters)
{
	USED(text);
	USED(view);
	USED(copy);
	return text.size() + view.size() + copy.size() + letters.size();
}

KEPT uint32_t counted(const message *m, const char *from, int8_t few)
{
	USED(m);
	USED(from);
	return m->length + (uint32_t)few + (uint32_t)*from;
}

KEPT size_t several(const std::vector<int> &numbers, std::span<double> reals, std::span<const uint16_t, 3> fixed,
		const std::array<short, 4> &array, const std::vector<std::string> &names, int (&table)[2][2])
{
	USED(reals);
	USED(fixed);
	return numbers.size() + reals.size() + fixed.size() + array.size() + names.size() + (size_t)table[0][0];
}

KEPT int pointed(const std::unique_ptr<node> &own, std::shared_ptr<node> shared, const std::optional<int> &some,
		const std::optional<int> &none, const std::atomic<int> &count, meters length)
{
	USED(length);
	return own->id + shared->id + some.value_or(0) + none.value_or(0) + count;
}

KEPT int numbers(color c, bits b, either e, bool t, char letter, float f, long double wide, int &reference, __int128 huge,
		const bits &same, long double behind, double last)
{
	USED(wide);
	USED(huge);
	USED(behind);
	return (int)c + (int)b.a + e.number + t + letter + (int)f + reference + (int)same.b + (int)last + (int)(huge >> 64);
}

KEPT int failing(const char *path)
{
	library_own[1]++;
	errno = ENOTDIR;
	USED(path);
	return -1;
}

int main()
{
	const char letters[] = {'c', 'o', 'u', 'n', 't', 'e', 'd', 'X'};
	message m = {7, letters, {0xde, 0xad, 0, 0xef}};
	std::vector<double> reals = {1.5, -2.5};
	const uint16_t fixed[3] = {7, 8, 65535};
	int table[2][2] = {{1, 2}, {-3, 4}}, referred = 77;
	auto own = std::make_unique<node>(node{7, "seven", nullptr});
	bits b = {5, -3, true, 0x123456789a};
	either e;
	int sum = 0;

	own->child = std::make_unique<node>(node{9, "a child whose name is too long to be in it", nullptr});
	e.real = 1.25f;
	errno = 0;
	sum += (int)texts("standard", std::string_view("viewed, and more").substr(0, 6),
			"a value that is so long that it is on the heap", {'a', 'b', 'c'});
	sum += (int)counted(&m, letters + 1, 3);
	sum += (int)several({10, -20, 30}, reals, fixed, {4, -3, 2, 1}, {"first", "second"}, table);
	sum += pointed(own, std::make_shared<node>(node{8, "eight", nullptr}), 5, std::nullopt, std::atomic<int>(-12), {2.5});
	sum += numbers(color::green, b, e, true, 'q', 3.25f, 1.125L, referred, (__int128)5 << 64, b, -1e300L, 0.5);
	sum += library_count(3);
	return sum + failing("/no/such") == 0;
}
