/* SPDX-License-Identifier: MIT */
/*
 * Variables that compilers keep in many ways: split over registers, calculated, constant, without a
 * location, as parameters of the caller. A test reads them at the lines that end with PLACE.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mood { GLOOMY = -3, CALM, MERRY = 40 };

struct two {
	int64_t left, right;
};

struct deep {
	struct {
		int16_t r;
		char text[6];
	} q[3];
	struct deep *next;
};

struct bits {
	unsigned int a : 5, b : 9;
	int c : 7;
	uint64_t d : 33;
	bool e : 1;
};

struct mixed {
	double weight;
	int count;
};

struct four {
	float x, y, z, w;
};

union either {
	int32_t number;
	float real;
};

int values_global = 1234;
static volatile int16_t values_static[4] = {5, 6, 7, 8};
double values_real = 2.5;
struct deep values_deep = {.q = {{1, "one"}, {2, "two"}, {3, "three"}}, .next = &values_deep};
int values_grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
const char *values_names[] = {"zero", "first", NULL};
volatile int64_t values_sink;
_Thread_local int values_of_thread = 77;

#define NOT_MERGED __attribute__((noinline, noipa))

NOT_MERGED int64_t use(int64_t n)
{
	values_sink = n;
	return n;
}

/* Two halves of a structure, each in its own register; one is lost later. */
NOT_MERGED int64_t split(struct two both, int turn)
{
	struct two sum = {.left = both.left + turn, .right = both.right * 3};

	values_sink = turn; /* PLACE split */
	for (int i = 0; i < turn; i++) {
		sum.left += use(sum.right);
		sum.right ^= sum.left; /* PLACE loop */
	}
	return sum.left - sum.right;
}

/* The compiler does not keep the calculated value, but describes the calculation. */
NOT_MERGED int64_t derived(int64_t n, uint32_t m)
{
	int64_t doubled = 2 * n, less = n - 7, inverse = -n, flipped = ~n;
	uint32_t masked = m & 0xff0f, moved = m << 3, product = m * 5;
	bool even = !(m & 1);

	values_sink = 1; /* PLACE derived */
	return use(n) + (int64_t)m + (even ? doubled : less) + inverse + flipped + masked + moved +
			product;
}

/* Known at compile time. */
NOT_MERGED int64_t constant(int n)
{
	const int answer = 42;
	const double pi = 3.25;
	const float half = 0.5f;
	const char *word = "constant";
	struct two pair = {11, -22};
	enum mood mood = MERRY;

	values_sink = n; /* PLACE constant */
	return use(answer + n) + (int64_t)(pi * half) + word[n] + pair.left + pair.right + mood;
}

static inline __attribute__((always_inline)) int64_t total(const struct two *thing, int by)
{
	values_sink = by; /* PLACE pointed */
	return thing->left * by + thing->right;
}

/* A pointer to an object that is only in registers. */
NOT_MERGED int64_t pointed(int64_t first, int64_t second)
{
	struct two here = {first, second};

	return use(total(&here, 3)) + first;
}

/* The arguments are lost when they are read. */
NOT_MERGED int64_t spent(int64_t n, const char *word)
{
	use(n + *word);
	values_sink = 2; /* PLACE spent */
	return 5;
}

NOT_MERGED int64_t fields(struct bits *p, struct bits flat, enum mood mood, enum mood *moods)
{
	values_sink = p->a + flat.b; /* PLACE fields */
	return p->c + (int64_t)flat.d + mood + moods[1];
}

NOT_MERGED int64_t arrays(
		int (*table)[3], struct deep *p, char **words, int ***far, const char letters[8])
{
	int local[4] = {(int)values_sink, 20, 30, 40};
	char text[8] = "inside";

	use(local[1] + text[0]);
	values_sink = (int64_t)(intptr_t)local + (int64_t)(intptr_t)text; /* PLACE arrays */
	use(local[3] + text[2]);
	return table[1][2] + p->q[2].r + words[1][0] + ***far + letters[0];
}

NOT_MERGED double reals(
		float f, double d, struct mixed mixed, struct four four, union either either)
{
	double sum = (double)f + d;

	values_sink = mixed.count; /* PLACE reals */
	use(either.number);
	return sum + mixed.weight + (double)(four.x + four.w);
}

NOT_MERGED int64_t stacked(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f,
		int64_t seventh, struct deep whole, int8_t ninth)
{
	use(a + b + c + d + e + f);
	values_sink = seventh; /* PLACE stacked */
	return whole.q[1].r + ninth;
}

NOT_MERGED int64_t globals(int n)
{
	values_of_thread += n;
	values_static[0] += (int16_t)n;
	values_grid[n & 1][2] += n;
	values_sink = n + values_static[1]; /* PLACE globals */
	return values_global + values_deep.q[0].r + values_names[0][0] + (int64_t)values_real;
}

int main(void)
{
	struct bits bits = {17, 300, -20, UINT64_C(0x1aaaabbbb), true};
	enum mood moods[] = {CALM, GLOOMY};
	int table[2][3] = {{1, 2, 3}, {4, 5, 6}}, number = 99, *near = &number, **middle = &near;
	char *words[] = {(char *)"alpha", (char *)"beta"};
	/* An unknown string: clang 19 copies a function for a constant one. */
	const char *volatile gone = "gone";

	split((struct two){1000, -1}, 2);
	derived(-5, 0x12345678);
	constant(1);
	pointed(70, -8);
	spent(31, gone);
	fields(&bits, bits, GLOOMY, moods);
	arrays(table, &values_deep, words, &middle, "letters");
	reals(1.5f, -0.25, (struct mixed){9.75, 6}, (struct four){1, 2, 3, 4},
			(union either){.number = 7});
	stacked(1, 2, 3, 4, 5, 6, 7, values_deep, -9);
	globals(2);
	return 0;
}
