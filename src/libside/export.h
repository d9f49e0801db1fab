/* SPDX-License-Identifier: MIT */
/*
 * What the library exports; libside.map lists the same names.
 */
#ifndef LIBSIDE_EXPORT_H
#define LIBSIDE_EXPORT_H

#define EXPORT __attribute__((visibility("default")))

#endif /* LIBSIDE_EXPORT_H */
