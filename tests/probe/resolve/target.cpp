// SPDX-License-Identifier: MIT
// C++ names: classes, overloads, templates, operators, references.
#include <stdint.h>

volatile int name_mark;

namespace net
{
struct address {
	int32_t port;
	const char *host;
};

class server
{
public:
	explicit server(int limit) : limit(limit)
	{
	}
	int read(int count);
	int read(const char *text) const;
	int take(const address &from);
	bool operator==(const server &other) const;
	template <typename T> T twice(T value);

private:
	int limit;
};

__attribute__((noinline)) int server::read(int count)
{
	name_mark = 1;
	return limit + count;
}

__attribute__((noinline)) int server::read(const char *text) const
{
	name_mark = 2;
	return limit + *text;
}

__attribute__((noinline)) int server::take(const address &from)
{
	name_mark = *from.host;
	return from.port + limit;
}

__attribute__((noinline)) bool server::operator==(const server &other) const
{
	name_mark = 4;
	return limit == other.limit;
}

template <typename T> __attribute__((noinline)) T server::twice(T value)
{
	name_mark = 5;
	return value + value;
}
} // namespace net

int main(int argc, char **argv)
{
	net::server one(argc), two(2);
	net::address from = {8080, argv[0] ? "localhost" : ""};

	return one.read(3) + two.read("a") + one.take(from) + (one == two) + one.twice(3) > 100000;
}
