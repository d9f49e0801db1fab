// SPDX-License-Identifier: MIT
// Functions whose events would have the same names.
#define ALIKE __attribute__((noinline, noclone))

ALIKE long alike(long value) { return value + 1; }
ALIKE long alike(int value) { return value + 2; }
ALIKE long alike_2(long value) { return value + 3; }
ALIKE long alike(short value) { return value + 4; }

int main()
{
	volatile long value = 10;

	return alike((long)value) + alike((int)value) + alike_2(value) + alike((short)value) != 50;
}
