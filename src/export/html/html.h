/* SPDX-License-Identifier: MIT */
/*
 * A report as one HTML file, which needs no network and no other file (docs/spec/report-html.md).
 *
 * The file contains the page of page.html, the library d3, and the data of the trace as JSON: the
 * lines of `report --json`, `leaks --json` and `locks --json`, and what the charts draw. The file
 * has at most HTML_SIZE_MAX bytes for any trace, because each part has a limit. Data beyond a limit
 * is merged or left out, and the page reports that.
 *
 *     html_prepare(&html, options, dir, &listener, &error);   starts the readers of debug files
 *     html_write(html, file, path, &error);                   after confine()
 *     html_free(html);                                        in any case
 */
#ifndef SIDE_EXPORT_HTML_HTML_H
#define SIDE_EXPORT_HTML_HTML_H

#include <stdbool.h>
#include <stdio.h>

struct analysis_listener;
struct error;
struct html;
struct report;
struct report_options;

#define HTML_SIZE_MAX 5000000
#define HTML_TIMELINE_SIZE_MAX 800000
#define HTML_TREE_SIZE_MAX 300000      /* of each flame graph */
#define HTML_FUNCTIONS_SIZE_MAX 200000 /* names of the functions in the timeline */
#define HTML_BUCKETS_FUNCTIONS 100     /* functions with a distribution */
#define HTML_CALLERS 100               /* callers, unless `--callers` has a number */

/* False: side was built without d3, and html_write() fails. */
bool html_is_available(void);

/*
 * Checks the options and the directory. The options, the directory and the user of the listener
 * must live as long as the page. `version` is that of side. 0 or a negative errno.
 */
int html_prepare(struct html **ret_html, const struct report_options *options, const char *dir,
		const char *version, const struct analysis_listener *listener, struct error *error);
/* Reads the trace and writes the page, without flushing. 0 or a negative errno. */
int html_write(struct html *html, FILE *out, struct error *error);
/* The report that the page was made from, for notes. */
const struct report *html_report(const struct html *html);
void html_free(struct html *html);

#endif /* SIDE_EXPORT_HTML_HTML_H */
