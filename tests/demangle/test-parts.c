/* SPDX-License-Identifier: MIT */
/*
 * Demangled symbols of Rust, C++ and Fortran: each rule of the grammar (RFC 2603), each limit, and
 * each failing call.
 */
#include "symbolize/demangle.h"

#include "../failing-calls.h"
#include "../check.h"

static bool reads(const char *symbol, const char *expected)
{
	char *name = names_readable(symbol);
	bool same = name && expected ? !strcmp(name, expected) : !name && !expected;

	if (!same)
		fprintf(stderr, "%s: found %s, expected %s\n", symbol, name ? name : "nothing",
				expected ? expected : "nothing");
	free(name);
	return same;
}

static const struct {
	const char *symbol, *name;
} symbols[] = {
		/* Basic types, in the order of their letters; other letters are invalid. */
		{"_RINvC1a1fabcdefhijlmnopstuvxyzE",
				"a::f::<i8, bool, char, f64, str, f32, u8, isize, usize, i32, u32, i128, u128, _, i16, u16, (), ..., i64, u64, !>"},
		{"_RINvC1a1fgE", NULL},
		{"_RINvC1a1fwE", NULL},
		{"_RINvC1a1fAhj4_SmE", "a::f::<[u8; 4], [u32]>"},
		{"_RINvC1a1fTEThEThmEE", "a::f::<(), (u8,), (u8, u32)>"},
		{"_RINvC1a1fPhOhRhQhRL_hQL_hE",
				"a::f::<*const u8, *mut u8, &u8, &mut u8, &u8, &mut u8>"},
		{"_RINvC1a1fRL0_hE", NULL},
		{"_RINvC1a1fL_E", "a::f::<'_>"},
		{"_RINvC1a1fE", "a::f::<>"},
		{"_RINvC1a1fh", NULL},
		/* Functions, and bound lifetimes. */
		{"_RINvC1a1fFEuFhEmFUEuFKCEuFK5a_b_cEuE",
				"a::f::<fn(), fn(u8) -> u32, unsafe fn(), extern \"C\" fn(), extern \"a-b-c\" fn()>"},
		{"_RINvC1a1fFG_RL0_hEuFG0_RL0_hRL1_hEuE",
				"a::f::<for<'a> fn(&'a u8), for<'a, 'b> fn(&'b u8, &'a u8)>"},
		{"_RINvC1a1fFG_FG_RL0_hRL1_hEuEuE",
				"a::f::<for<'a> fn(for<'b> fn(&'b u8, &'a u8))>"},
		{"_RINvC1a1fFG_EuRL0_hE", NULL},
		/* Traits. */
		{"_RINvC1a1fDNtC1a1tEL_E", "a::f::<dyn a::t>"},
		{"_RINvC1a1fDNtC1a1tNtC1b1uEL_E", "a::f::<dyn a::t + b::u>"},
		{"_RINvC1a1fDNtC1a1tp4ItemhEL_E", "a::f::<dyn a::t<Item = u8>>"},
		{"_RINvC1a1fDINtC1a1thEp4Itemhp1xmEL_E",
				"a::f::<dyn a::t<u8, Item = u8, x = u32>>"},
		{"_RINvC1a1fDINtC1a1thEEL_E", "a::f::<dyn a::t<u8>>"},
		{"_RINvC1a1fDG_NtC1a1tEL_E", "a::f::<dyn for<'a> a::t>"},
		{"_RINvC1a1fFG_DNtC1a1tEL0_EuE", "a::f::<for<'a> fn(dyn a::t + 'a)>"},
		{"_RINvC1a1fDG_NtC1a1tEL0_E", NULL},
		{"_RINvC1a1fDNtC1a1tEE", NULL},
		{"_RINvC1a1fDNtC1a1tE_E", NULL},
		{"_RINvC1a1fDINtC1a1thEB8_p1xhEL_E", "a::f::<dyn a::t<u8> + a::t<u8, x = u8>>"},
		/* Constants. */
		{"_RINvC1a1fKj2_Kin3_Kb0_Kb1_KpE", "a::f::<2, -3, false, true, _>"},
		{"_RINvC1a1fKc41_Kc20_Kc7e_Kc1f_Kc7f_E", "a::f::<'A', ' ', '~', 0x1f, 0x7f>"},
		{"_RINvC1a1fKyffffffffffffffff_Ko1fffffffffffffff0_Kh9a_E",
				"a::f::<18446744073709551615, 0x1fffffffffffffff0, 154>"},
		{"_RINvC1a1fKy10_KB8_E", "a::f::<16, 16>"},
		{"_RINvC1a1fKj2E", NULL},
		{"_RINvC1a1fKjg_E", NULL},
		{"_RINvC1a1fKz1_E", NULL},
		{"_RINvC1a1fKd1_E", NULL},
		{"_RINvC1a1fK", NULL},
		/* Identifiers. */
		{"_RNvC1a3_foo", "a::foo"},
		{"_RNvC1au3_abc", "a::punycode{abc}"},
		{"_RNvC1a0", "a"},
		{"_RNvC1a9abcdefghi", "a::abcdefghi"},
		{"_RNvC1a10abcdefghij", "a::abcdefghij"},
		{"_RNvC1a10abcdefghi", NULL},
		{"_RNvC1a_1b", NULL},
		{"_RNvCs_1a1b", "a::b"},
		{"_RNC1a0", NULL},
		{"_RNC1as_0", NULL},
		{"_RNCC1a0", "a::{closure#0}"},
		{"_RNCC1as_0", "a::{closure#1}"},
		{"_RNCC1as0_0", "a::{closure#2}"},
		{"_RNCC1as9_0", "a::{closure#11}"},
		{"_RNCC1asa_0", "a::{closure#12}"},
		{"_RNCC1asz_0", "a::{closure#37}"},
		{"_RNCC1asA_0", "a::{closure#38}"},
		{"_RNCC1asZ_0", "a::{closure#63}"},
		{"_RNCC1as10_0", "a::{closure#64}"},
		{"_RNCC1aslYGhA16ahx0_0", "a::{closure#18446744073709551540}"},
		{"_RNCC1aslYGhA16ahy0_0", NULL},
		{"_RNCC1as-_0", NULL},
		{"_RNSC1a6vtable", "a::{shim:vtable#0}"},
		{"_RNAC1a1x", "a::{A:x#0}"},
		{"_RNZC1a0", "a::{Z#0}"},
		{"_RNaC1a1x", "a::x"},
		{"_RNzC1a1x", "a::x"},
		{"_RN1C1a1x", NULL},
		/* Implementations. */
		{"_RNvMC1aNtC1b1s1f", "<b::s>::f"},
		{"_RNvMs_C1aNtC1b1s1f", "<b::s>::f"},
		{"_RNvXC1aNtC1b1sNtC1c1t1f", "<b::s as c::t>::f"},
		{"_RNvYNtC1b1sNtC1c1t1f", "<b::s as c::t>::f"},
		{"_RNvMC1ahINtC1b1shE1f", NULL},
		{"_RINvMC1aINtC1b1shE1fmE", "<b::s<u8>>::f::<u32>"},
		/* Back references: before the reference itself. */
		{"_RINvC1a1fB6_E", "a::f::<f32>"},
		{"_RINvC1a1fB7_E", NULL},
		{"_RINvC1a1fBa_hE", NULL},
		{"_RINvC1a1fNtC1b1sB7_B9_E", "a::f::<b::s, b::s, b>"},
		{"_RNvNtC1b1sB2_", NULL},
		/* Suffixes. */
		{"_RNvC1a1b.llvm.123", "a::b"},
		{"_RNvC1a1b$x", "a::b"},
		{"_RNvC1a1bC1c", "a::b"},
		{"_RNvC1a1bC1c.x", "a::b"},
		{"_RNvC1a1bC1cx", NULL},
		{"_RNvC1a1bx", NULL},
		{"_RB_", NULL},
		{"_Ra", NULL},
		{"_R[", NULL},
		{"_R@", NULL},
		{"_RZ", NULL},
		{"_RNvC1a", NULL},
		/* The older scheme: names of C++ with a hash at the end, and escapes. */
		{"_ZN1a1b17h0123456789abcdefE", "a::b"},
		{"_ZN1a1b17h0123456789abcdegE", "a::b::h0123456789abcdeg"},
		{"_ZN1a1b17g0123456789abcdefE", "a::b::g0123456789abcdef"},
		{"_ZN1a1b16h0123456789abcdeE", "a::b::h0123456789abcde"},
		{"_ZN17h0123456789abcdefE", "h0123456789abcdef"},
		{"_ZN4$SP$4$BP$4$RF$4$LT$4$GT$4$LP$4$RP$3$C$17h0123456789abcdefE",
				"@::*::&::<::>::(::)::,"},
		{"_ZN5$u20$5$u7e$5$u1f$5$u7f$3$u$4$u4x17h0123456789abcdefE",
				" ::~::$u1f$::$u7f$::$u$::$u4x"},
		{"_ZN8_$LT$a..3b.c4_$xx2_a17h0123456789abcdefE", "<a::::b.c::$xx::_a"},
		{"_ZN1a", NULL},
		/* Fortran. */
		{"__m_MOD_f", "m::f"},
		{"__mod_name_MOD_fun_x", "mod_name::fun_x"},
		{"___MOD_f", NULL},
		{"__m_MOD_", NULL},
		{"_m_MOD_f", NULL},
		{"m_MOD_f", NULL},
		{"main", NULL},
		{"", NULL},
};

static void test_symbols(void)
{
	bool all = true;

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		all &= reads(symbols[i].symbol, symbols[i].name);
	CHECK(all);
}

/* ---- limits ---- */

static char text[1 << 16], expected[1 << 16];

/*
 * 200 levels; 100 lifetimes that are bound at one location, the first ones with letters, and those
 * from the 27th on with numbers.
 */
static void test_depth(void)
{
	static const char *const bound[] = {"1A", "1B"};

	for (unsigned int levels = 199; levels <= 200; levels++) {
		strcpy(text, "_RINvC1a1f");
		strcpy(expected, "a::f::<");
		for (unsigned int i = 0; i < levels; i++) {
			strcat(text, "R");
			strcat(expected, "&");
		}
		strcat(text, "hE");
		strcat(expected, "u8>");
		CHECK(reads(text, levels == 199 ? expected : NULL));
	}
	for (unsigned int i = 0; i < 2; i++) {
		char *end;

		sprintf(text, "_RINvC1a1fFG%s_EuE", bound[i]);
		end = stpcpy(expected, "a::f::<for<");
		for (unsigned int k = 0; k < 100; k++)
			end += k < 26 ? sprintf(end, "%s'%c", k ? ", " : "", 'a' + k)
				      : sprintf(end, ", '_%u", k);
		strcpy(end, "> fn()>");
		CHECK(reads(text, i ? NULL : expected));
	}
}

static char *base_62(char *to, size_t number)
{
	static const char digits[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (number) {
		char reversed[16];
		size_t count = 0;

		for (number--; number || !count; number /= 62)
			reversed[count++] = digits[number % 62];
		while (count)
			*to++ = reversed[--count];
	}
	*to++ = '_';
	*to = '\0';
	return to;
}

/*
 * Names of 1,000 letters, of which all but the first are references: 16,384 bytes in all, and one
 * more.
 */
static void test_bytes(void)
{
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		char *to = stpcpy(text, "_RINvC1a1f"), *found;
		size_t at = (size_t)(to - text) - 2, used = strlen("a::f::<>");

		to += sprintf(to, "C1000");
		memset(to, 'x', 1000);
		to += 1000;
		for (used += 1000; used + 1002 < 16300; used += 1002) {
			*to++ = 'B';
			to = base_62(to, at);
		}
		to += sprintf(to, "C%zu", 16384 - used - 2 + beyond);
		memset(to, 'y', 16384 - used - 2 + beyond);
		to += 16384 - used - 2 + beyond;
		strcpy(to, "E");
		CHECK(strlen(text) < 4096);
		found = names_readable(text);
		CHECK((found == NULL) == beyond);
		CHECK(!found ||
				(strlen(found) == 16384 && !strncmp(found, "a::f::<xxx", 10) &&
						!strcmp(found + 16382, "y>")));
		free(found);
	}
}

/* 100,000 parts in the path of an implementation, which is parsed but not printed; and one more. */
static void test_steps(void)
{
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		char *to = stpcpy(text, "_RNvMIC1a"), *name;
		/*
		 * The function, the implementation, its path of two parts, and the type after it,
		 * which has three.
		 */
		size_t steps = 2 + 2 + 3, at[13], cost[13];

		/* Tuples of two references to the previous tuple. */
		for (unsigned int i = 0; i < 13; i++) {
			at[i] = (size_t)(to - text) - 2;
			*to++ = 'T';
			for (unsigned int k = 0; k < 2 && i; k++) {
				*to++ = 'B';
				to = base_62(to, at[i - 1]);
			}
			*to++ = 'E';
			cost[i] = i ? 1 + 2 * (1 + cost[i - 1]) : 1;
			steps += cost[i];
		}
		for (unsigned int i = 13; i-- > 0;) {
			for (; steps + 1 + cost[i] <= 100000 + beyond; steps += 1 + cost[i]) {
				*to++ = 'B';
				to = base_62(to, at[i]);
			}
		}
		for (; steps < 100000 + beyond; steps++)
			to = stpcpy(to, "TE");
		strcpy(to, "ENtC1b1s1f");
		name = names_readable(text);
		CHECK((name == NULL) == beyond);
		CHECK(!name || !strcmp(name, "<b::s>::f"));
		free(name);
	}
}

/* ---- copies ---- */

static bool is_copy(const char *symbol, enum names_copy kind, size_t length)
{
	size_t found = 99;
	char *without = names_without_copy(symbol);
	bool same = names_copy(symbol, &found) == kind && found == length && without &&
			strlen(without) == length && !strncmp(without, symbol, length);

	if (!same)
		fprintf(stderr, "%s: %zu\n", symbol, found);
	free(without);
	return same;
}

static void test_copies(void)
{
	CHECK(is_copy("f", NAMES_NO_COPY, 1) && is_copy("", NAMES_NO_COPY, 0));
	CHECK(is_copy("f.isra.0", NAMES_COPY, 1) && is_copy("f.constprop.12", NAMES_COPY, 1) &&
			is_copy("f.specialized.1", NAMES_COPY, 1));
	CHECK(is_copy("f.llvm.123", NAMES_COPY, 1) && is_copy("f.lto_priv.0", NAMES_COPY, 1) &&
			is_copy("f.__uniq.9", NAMES_COPY, 1));
	CHECK(is_copy("f.part.0", NAMES_PIECE, 1) && is_copy("f.part.0.isra.1", NAMES_PIECE, 1) &&
			is_copy("f.isra.0.part.1", NAMES_PIECE, 1));
	CHECK(is_copy("f.isra", NAMES_NO_COPY, 6) && is_copy("f.isra.", NAMES_NO_COPY, 7) &&
			is_copy("f.isra.0x", NAMES_NO_COPY, 9));
	CHECK(is_copy("main.f.isra.0", NAMES_COPY, 6) && is_copy("f.isra.0.g", NAMES_NO_COPY, 10) &&
			is_copy("f.isra.0.g.part.2", NAMES_PIECE, 10));
	CHECK(is_copy("f.isra.0.", NAMES_NO_COPY, 9) && is_copy(".isra.0", NAMES_NO_COPY, 0));
}

static void test_failing_calls(void)
{
	static const char *const some[] = {"_RNvC1a1b", "__m_MOD_f"};

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int failures = 0;

		for (unsigned int call = 1;; call++) {
			char *name;

			failing_arm(call);
			name = names_readable(some[i]);
			if (!failing_has_failed()) {
				CHECK(name);
				free(name);
				break;
			}
			CHECK(!name);
			failures++;
		}
		CHECK(failures == (i ? 1 : 2));
	}
}

int main(void)
{
	test_symbols();
	test_depth();
	test_bytes();
	test_steps();
	test_copies();
	test_failing_calls();
	return 0;
}
