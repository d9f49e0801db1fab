/* SPDX-License-Identifier: MIT */
/*
 * The personality routine and the walks of this program read frame addresses and use them as
 * pointers, as LuaJIT does.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unwind.h>

#define NI __attribute__((noinline))

static uintptr_t seen[64];
static int nr;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *)
{
	if (nr < 64)
		seen[nr++] = _Unwind_GetCFA(context);
	return _URC_NO_REASON;
}

extern "C" NI int innermost(int x)
{
	nr = 0;
	_Unwind_Backtrace(step, nullptr);
	return x + nr;
}
extern "C" NI int watched(int x)
{
	volatile int y = innermost(x);

	return y;
}
extern "C" NI int watched_more(int x)
{
	volatile int y = watched(x) + watched(x + 1);

	return y;
}
extern "C" NI int outer(int x)
{
	volatile int y = watched_more(x);

	return y;
}

int main()
{
	for (int i = 0; i < 3; i++) {
		outer(i);
		/* Up to main(): the sizes of frames. */
		for (int k = 1; k < 5; k++)
			printf("%ld ", (long)(seen[k] - seen[k - 1]));
		puts("");
	}
	return 0;
}
