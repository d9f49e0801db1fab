/* SPDX-License-Identifier: MIT */
/*
 * Numbers of all types as arguments, in structures, behind pointers, in registers of all classes,
 * and returned: test-numbers.py knows them.
 */
#include <complex.h>

#ifdef __clang__
typedef __float128 quad;
#else
typedef _Float128 quad;
#endif

struct one {
	quad q;
};
struct two {
	float _Complex c;
	float f;
};
struct wide_vector {
	__attribute__((vector_size(16))) float v;
};
struct number {
	quad q;
	float _Complex c;
	double _Complex z;
	long double _Complex l;
	__int128 w;
	unsigned __int128 u;
};

#define NEVER_INLINE __attribute__((noinline))
#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

struct number global;

NEVER_INLINE int quads(quad q, long double x, struct number *n, quad r, double d, int i)
{
	KEEP(n);
	return (int)q + (int)x + (int)r + (int)d + i;
}

NEVER_INLINE int complexes(
		float _Complex c, double _Complex z, long double _Complex l, float f, int i)
{
	KEEP(&i);
	/* Uses all of it: compilers need not pass unused parts. */
	return (int)(crealf(c) + cimagf(c)) + (int)(creal(z) + cimag(z)) +
			(int)(creall(l) + cimagl(l)) + (int)f + i;
}

NEVER_INLINE int wides(int a, __int128 w, unsigned __int128 u, int b, __int128 x, int c)
{
	KEEP(&c);
	return a + (int)w + (int)u + b + (int)x + c;
}

/* Uses only the first halves of the numbers of 16 bytes. */
NEVER_INLINE int parts(__int128 w, double _Complex c, int i)
{
	KEEP(&i);
	return (int)w + (int)creal(c) + i;
}

NEVER_INLINE int structures(struct one o, struct two t, struct wide_vector v, double d, int i)
{
	KEEP(&i);
	return (int)o.q + (int)(crealf(t.c) + cimagf(t.c)) + (int)t.f + (int)v.v[3] + (int)d + i;
}

NEVER_INLINE quad give_quad(quad q)
{
	return q / 2;
}

NEVER_INLINE float _Complex give_complex_float(float f)
{
	return f + 2 * I;
}

NEVER_INLINE double _Complex give_complex(double f)
{
	return f + 2.5 * I;
}

NEVER_INLINE long double _Complex give_long_complex(int k, int m)
{
	KEEP(&k);
	return k + m * I;
}

NEVER_INLINE __int128 give_wide(__int128 w)
{
	return w * 3;
}

NEVER_INLINE long double give_extended(int k)
{
	return k / 2.0L;
}

#ifndef __clang__
NEVER_INLINE int decimals(_Decimal64 d, double x, _Decimal32 e, _Decimal128 f, float y, int i)
{
	KEEP(&i);
	return (int)d + (int)x + (int)e + (int)f + (int)y + i;
}

NEVER_INLINE _Decimal64 give_decimal(int k)
{
	return k * 1.5DD;
}

NEVER_INLINE int halves(_Float16 h, float f, _Float16 g, _Float16 m, int i)
{
	KEEP(&i);
	return (int)h + (int)f + (int)g + (int)m + i;
}
#endif

int main(void)
{
	struct number n = {(quad)0.1L, 1 + 2 * I, 3 + 4 * I, 5 + 6 * I, -((__int128)1 << 100) - 7,
			~(unsigned __int128)0 - 5};
	struct one o = {7.5};
	struct two t = {1 + 2 * I, 3};
	struct wide_vector v = {{1, 2, 3, 4}};
	/* Unknown to the compiler, which would copy functions for constants. */
	volatile int sum, k = 1, m = 2, five = 5;

	global = n;
	sum = quads(n.q, 9.25L, &n, 4.125, 1.5, 77);
	sum += complexes(n.c, n.z, n.l, 8.5f, 77);
	sum += wides(1, n.w, n.u, 2, n.w + 1, 3);
	sum += parts(n.w, n.z, 77);
	sum += structures(o, t, v, 2.25, 77);
	sum += (int)give_quad(n.q) + (int)crealf(give_complex_float((float)k)) +
			(int)creal(give_complex(m + k)) + (int)creall(give_long_complex(k, m)) +
			(int)give_wide(n.w) + (int)give_extended(five);
#ifndef __clang__
	sum += decimals(2.5DD, 1.5, 3.5DF, 4.5DL, 2.5f, 77) + (int)give_decimal(m);
	sum += halves((_Float16)1.5f, 2.5f, (_Float16)6e-8f, (_Float16)-65504.0f, 77);
#endif
	return 0;
}
