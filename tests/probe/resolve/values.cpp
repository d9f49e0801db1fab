// SPDX-License-Identifier: MIT
// Features of C++: members without `this->`, references, strings of the library, entries of
// namespaces and classes.
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

volatile int64_t sink;

namespace shop
{
int opened = 9;
namespace
{
volatile int hidden = 3;
}

enum class state : uint8_t { closed, open = 7 };

struct base {
	virtual ~base() = default;
	int number = 5;
};

class store : public base
{
public:
	__attribute__((noinline)) int sell(const std::string &what, int64_t &rest, std::string paid, state now);
	static int stores;

private:
	std::string name = "corner";
	struct {
		std::string street = "Main Street, which is longer than what fits inside";
		int house = 12;
	} address;
	state own = state::open;
	int *counter = &stores;
	int &counted = stores;
};

int store::stores = 4;

int store::sell(const std::string &what, int64_t &rest, std::string paid, state now)
{
	std::string text = what + "!";
	bool more = rest > 3;

	sink = number + (int64_t)text.size(); // PLACE sell
	rest -= (int64_t)paid.size() + (int64_t)now + opened + hidden;
	return (int)sink + more + counted + (int)name.size() + *counter + (int)own + address.house;
}

__attribute__((noinline)) int weigh(const char *what, const std::vector<std::string> &list)
{
	sink = *what;
	return (int)list.size();
}

static inline __attribute__((always_inline)) int part(int small)
{
	int large = small * 1000;

	sink = large; // PLACE part
	return large + 1;
}

__attribute__((noinline)) int with_part(int number)
{
	return part(number + 4) + number;
}

template <typename T> __attribute__((noinline)) T doubled(T value)
{
	sink = (int64_t)value;
	return value + value;
}
} // namespace shop

int main()
{
	auto inner = [](int given) __attribute__((noinline)) {
		sink = given;
		return given;
	};
	shop::store store;

	inner(3);
	/* An unknown string: clang 19 copies a function for a constant one. */
	const char *volatile tea = "tea";
	shop::weigh(tea, {"green", "black"});
	shop::with_part(3);
	shop::doubled(2);
	shop::doubled(2.5);
	int64_t rest = 40;

	return store.sell("bread", rest, "two coins", shop::state::open) < 0;
}
