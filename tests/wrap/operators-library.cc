/* SPDX-License-Identifier: MIT */
/* An allocator with operators of its own, which do not call its malloc(), as some allocators have. */
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

/* Blocks are not reused. The size precedes each of them. */
static char area[4 << 20] __attribute__((aligned(4096)));
static std::size_t used = 64;

static void *take(std::size_t alignment, std::size_t size)
{
	std::size_t space = size + alignment + 16, begin;

	if (size > sizeof(area))
		return nullptr;
	begin = __atomic_fetch_add(&used, space, __ATOMIC_RELAXED) + 16;
	if (begin + space > sizeof(area))
		return nullptr;
	begin = (begin + alignment - 1) / alignment * alignment;
	std::memcpy(area + begin - sizeof(size), &size, sizeof(size));
	return area + begin;
}

static void *take_or_throw(std::size_t alignment, std::size_t size)
{
	void *block = take(alignment, size);

	if (!block)
		throw std::bad_alloc();
	return block;
}

extern "C" {
void *malloc(std::size_t size) noexcept
{
	return take(16, size);
}
void *calloc(std::size_t count, std::size_t size) noexcept
{
	return take(16, count * size);
}
void *memalign(std::size_t alignment, std::size_t size) noexcept
{
	return take(alignment, size);
}
void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
	return take(alignment, size);
}
int posix_memalign(void **block, std::size_t alignment, std::size_t size) noexcept
{
	*block = take(alignment, size);
	return *block ? 0 : ENOMEM;
}
void *realloc(void *block, std::size_t size) noexcept
{
	void *result = take(16, size);
	std::size_t old = 0;

	if (block)
		std::memcpy(&old, static_cast<char *>(block) - sizeof(old), sizeof(old));
	if (result && old)
		std::memcpy(result, block, old < size ? old : size);
	return result;
}
void free(void *) noexcept {}
}

using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void *operator new(size_t size)
{
	return take_or_throw(16, size);
}
void *operator new[](size_t size)
{
	return take_or_throw(16, size);
}
void *operator new(size_t size, const nothrow_t &) noexcept
{
	return take(16, size);
}
void *operator new[](size_t size, const nothrow_t &) noexcept
{
	return take(16, size);
}
void *operator new(size_t size, align_val_t alignment)
{
	return take_or_throw(static_cast<size_t>(alignment), size);
}
void *operator new[](size_t size, align_val_t alignment)
{
	return take_or_throw(static_cast<size_t>(alignment), size);
}
void *operator new(size_t size, align_val_t alignment, const nothrow_t &) noexcept
{
	return take(static_cast<size_t>(alignment), size);
}
void *operator new[](size_t size, align_val_t alignment, const nothrow_t &) noexcept
{
	return take(static_cast<size_t>(alignment), size);
}
void operator delete(void *) noexcept {}
void operator delete[](void *) noexcept {}
void operator delete(void *, size_t) noexcept {}
void operator delete[](void *, size_t) noexcept {}
void operator delete(void *, const nothrow_t &) noexcept {}
void operator delete[](void *, const nothrow_t &) noexcept {}
void operator delete(void *, align_val_t) noexcept {}
void operator delete[](void *, align_val_t) noexcept {}
void operator delete(void *, size_t, align_val_t) noexcept {}
void operator delete[](void *, size_t, align_val_t) noexcept {}
void operator delete(void *, align_val_t, const nothrow_t &) noexcept {}
void operator delete[](void *, align_val_t, const nothrow_t &) noexcept {}
