/* SPDX-License-Identifier: MIT */
/*
 * The functions that the library exports (also listed in libside.map), and when it starts and ends.
 */
#ifndef SIDE_LIBSIDE_EXPORT_H
#define SIDE_LIBSIDE_EXPORT_H

#ifdef LIBSIDE_STATIC
/* A copy in a program or library is private to it: other objects find it by its note (copies.h). */
#define EXPORT
/*
 * Before the constructors and after the destructors that register the program's events, which have
 * the priority 101.
 */
#define LIBRARY_BEGIN constructor(100)
#define LIBRARY_END destructor(100)
#else
#define EXPORT __attribute__((visibility("default")))
#define LIBRARY_BEGIN constructor
#define LIBRARY_END destructor
#endif

#endif /* SIDE_LIBSIDE_EXPORT_H */
