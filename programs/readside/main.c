/* SPDX-License-Identifier: MIT */
/* readside: processes the files that the command line names. */
#include "options.h"

#include "isolate/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct readside_run {
	struct readside_options options;
	struct readside_walk walk;
	FILE *out;          /* the file of options.output, or standard output */
	const char *output; /* path of `out`; NULL: standard output */
	struct readside_listing *listing;
	enum form_kind form; /* of listing */
	struct check *check;
	struct diff_side sides[2];
	unsigned int side;
	int status;
};

static void readside_raise_status(struct readside_run *run, int status)
{
	if (status > run->status)
		run->status = status;
}

bool choice_wants(const struct file_options *choice, const char *provider, const char *event,
		unsigned int level)
{
	bool is_provider = !choice->nr_providers;

	for (size_t i = 0; i < choice->nr_providers && !is_provider; i++)
		is_provider = !fnmatch(choice->providers[i], provider, 0);
	return is_provider &&
			(!choice->nr_patterns ||
					pattern_set_wants(choice->patterns, choice->nr_patterns,
							provider, event, level));
}

static bool readside_event_is_selected(const struct readside_run *run, const char *provider,
		const char *event, unsigned int level)
{
	const struct file_options choice = {run->options.patterns, run->options.nr_patterns,
			run->options.providers, run->options.nr_providers};

	return choice_wants(&choice, provider, event, level);
}

/* ---- callbacks of reading ---- */

static int readside_on_event(void *opaque, struct readside_event *event)
{
	struct readside_run *run = opaque;
	const struct side_event_description *description = event->description;

	if (!readside_event_is_selected(run, side_ptr_get(description->provider_name),
			    side_ptr_get(description->event_name),
			    side_enum_get(description->loglevel))) {
		visit_owned_free(event->owned);
		return 0;
	}
	if (run->options.mode == MODE_DIFF) {
		if (!diff_add(&run->sides[run->side], event))
			return 0;
		return -ENOMEM;
	}
	if (run->options.mode == MODE_CHECK) {
		check_event(run->check, event);
		/* Keep the event: the check of the file's code needs it again. */
		return diff_add(&run->sides[0], event) ? -ENOMEM : 0;
	}
	if (run->listing)
		listing_event(run->listing, event);
	visit_owned_free(event->owned);
	/* The reader of the output may have exited. */
	return ferror(run->out) ? -EIO : 0;
}

static void readside_on_image_end(void *opaque, struct image *image, const char *path)
{
	struct readside_run *run = opaque;

	if (run->options.mode != MODE_CHECK)
		return;
#ifdef READSIDE_CALLS
	check_calls(run->check, image, path, run->sides[0].events, run->sides[0].nr);
#else
	(void)image;
	(void)path;
#endif
	diff_free(&run->sides[0]);
	run->sides[0] = (struct diff_side){0};
}

static void readside_on_broken(void *opaque, const struct broken *broken)
{
	struct readside_run *run = opaque;
	bool is_event = broken->kind == BROKEN_EVENT;

	if (is_event &&
			!readside_event_is_selected(
					run, broken->provider, broken->event, broken->level))
		return;
	if (run->options.mode == MODE_CHECK) {
		check_broken(run->check, broken);
		return;
	}
	if (is_event)
		message_error_hint(broken->hint, "cannot read the event %s:%s of %s: %s",
				broken->provider, broken->event, broken->path, broken->sentence);
	else
		message_error("cannot read %s: %s", broken->path, broken->sentence);
	readside_raise_status(
			run, run->options.mode == MODE_DIFF ? READSIDE_TROUBLE : READSIDE_FOUND);
}

/* ---- the output ---- */

static void readside_close_output(struct readside_run *run)
{
	if (run->listing)
		listing_close(run->listing);
	run->listing = NULL;
	if (!run->out)
		return;
	if (fflush(run->out) || ferror(run->out)) {
		message_error("cannot write %s: %s", run->output ? run->output : "standard output",
				strerror(errno));
		readside_raise_status(run, READSIDE_TROUBLE);
	}
	if (run->output)
		fclose(run->out);
	run->out = NULL;
}

/* Files with the same output and format are one listing. */
static bool readside_open_output(struct readside_run *run)
{
	const struct readside_options *options = &run->options;
	bool same_output = run->out && run->output == options->output;

	if (same_output && (options->mode != MODE_LIST || run->form == options->form))
		return true;
	/* The results of a check go to the output of its first file. */
	if (run->out && options->mode != MODE_LIST)
		return true;
	readside_close_output(run);
	run->output = options->output;
	run->out = options->output ? fopen(options->output, "ae") : stdout;
	if (!run->out) {
		message_error("cannot write %s: %s", options->output, strerror(errno));
		return false;
	}
	run->form = options->form;
	if (options->mode == MODE_CHECK)
		run->check = check_open(run->out, options->form == FORM_EXACT, options->strict);
	else if (options->mode == MODE_LIST)
		run->listing = listing_open(run->out, options->form);
	return options->mode == MODE_DIFF || run->check || run->listing;
}

/* ---- running ---- */

static void readside_read_all(struct readside_run *run, int argc, char **argv)
{
	const char *path;
	enum readside_step step;
	int result;

	while ((step = options_next(argc, argv, &run->options, &path)) == STEP_FILE) {
		if (!readside_open_output(run)) {
			readside_raise_status(run, READSIDE_TROUBLE);
			return;
		}
		walk_forget(&run->walk);
		result = walk_path(&run->walk, path);
		if (result == -ENOMEM)
			message_out_of_memory();
		else if (result == -EIO || result == -EMFILE || result == -ENFILE) {
			message_error("cannot read %s and its libraries: %s", path,
					strerror(-result));
			readside_raise_status(run, READSIDE_TROUBLE);
		}
		if (result)
			return;
		run->side = 1;
	}
	if (step == STEP_USAGE)
		readside_raise_status(run, READSIDE_TROUBLE);
}

static int readside_finish(struct readside_run *run)
{
	bool json = run->options.form == FORM_EXACT;

	if (run->check)
		readside_raise_status(run, check_close(run->check));
	if (run->options.mode == MODE_DIFF && run->out && run->status == READSIDE_DONE)
		readside_raise_status(
				run, diff_show(run->out, json, &run->sides[0], &run->sides[1]));
	readside_close_output(run);
	diff_free(&run->sides[0]);
	diff_free(&run->sides[1]);
	walk_free(&run->walk);
#ifdef READSIDE_CALLS
	check_calls_finish();
#endif
	options_free(&run->options);
	if (output_is_out_of_memory())
		readside_raise_status(run, READSIDE_TROUBLE);
	return run->status;
}

/*
 * Restrict this process: it may read all files, because libraries and links can be anywhere, but
 * write only the outputs, and execute nothing.
 */
static void readside_restrict(const struct readside_options *options)
{
	static const char *const everything = "/";
	const struct isolate_limits limits = {
			.readable = &everything,
			.nr_readable = 1,
			.writable = options->outputs,
			.nr_writable = options->nr_outputs,
	};

	for (size_t i = 0; i < options->nr_outputs; i++) {
		int fd = open(options->outputs[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

		if (fd >= 0)
			close(fd);
	}
#ifdef READSIDE_CALLS
	if (options->mode == MODE_CHECK)
		check_calls_prepare();
#endif
	(void)isolate_parser(&limits);
}

int main(int argc, char **argv)
{
	struct readside_run run = {0};
	enum readside_step step = options_scan(argc, argv, &run.options);

	if (step == STEP_USAGE)
		fputs("Try `readside --help`.\n", stderr);
	if (step != STEP_FILE)
		return step == STEP_LEAVE ? READSIDE_DONE : READSIDE_TROUBLE;
	output_set_verbose(run.options.verbose);
	readside_restrict(&run.options);
	run.walk.options = &run.options.walk;
	run.walk.ops = (struct source_ops){
			readside_on_event, readside_on_broken, NULL, readside_on_image_end, &run};
	readside_read_all(&run, argc, argv);
	return readside_finish(&run);
}
