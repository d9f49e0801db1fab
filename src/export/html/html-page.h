/* SPDX-License-Identifier: MIT */
/* The parts of the page around its data. make-page.py writes them. */
#ifndef SIDE_EXPORT_HTML_HTML_PAGE_H
#define SIDE_EXPORT_HTML_HTML_PAGE_H

#include <stddef.h>

/* Empty if side was built without d3. */
extern const unsigned char html_page_head[];   /* before the lines of reports */
extern const unsigned char html_page_middle[]; /* before the data of charts */
extern const unsigned char html_page_tail[];
extern const size_t html_page_head_size, html_page_middle_size, html_page_tail_size;

#endif /* SIDE_EXPORT_HTML_HTML_PAGE_H */
