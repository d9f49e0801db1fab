/* SPDX-License-Identifier: MIT */
/* The lines of all streams of a trace, in batches that worker threads fill ahead. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/view-feed.h"

/* Bytes of text in a batch: few at first, so that the first lines appear soon. */
#define BATCH_FIRST ((size_t)4 << 10)
#define BATCH_MAX ((size_t)256 << 10)
/* Bytes of all batches together, unless there are thousands of streams. */
#define BATCHES_SIZE ((size_t)32 << 20)
/* Limits the entries with few bytes (damage). */
#define ENTRIES_MAX 8192

enum feed_state {
	FEED_IDLE,    /* nothing to do: both batches are full, or the stream has ended */
	FEED_QUEUED,  /* in the queue */
	FEED_FILLING, /* a thread fills a batch */
};

struct feed_stream {
	struct view_batch batches[2];
	uint32_t shown;      /* batches that were returned, … */
	uint32_t handed_out; /* … handed out … */
	uint32_t filled;     /* … and filled; each at most two more than the first */
	enum feed_state state;
	bool over;
	int error;
	size_t size;                         /* bytes of the next batch */
	struct feed_stream *before, *behind; /* neighbours in the queue */
};

struct feed_worker {
	pthread_t thread;
	struct view_feed *feed;
	struct view_line line;
};

struct view_feed {
	struct ctf_reader *reader;
	struct feed_stream *streams;
	uint32_t stream_count;
	size_t batch_max;
	struct view_line line; /* of the showing thread */
	/* protects the following members, and the states and counts of the streams */
	pthread_mutex_t mutex;
	pthread_cond_t work;      /* the queue has a stream, or the threads must end */
	pthread_cond_t done;      /* a batch has been filled */
	struct feed_stream queue; /* a ring of streams; its successor is the first one */
	bool stopping;
	struct feed_worker *workers;
	unsigned int worker_count;
};

/* ---- filling ---- */

static int view_feed_add_entry(struct view_batch *batch, const struct view_entry *entry)
{
	if (batch->count == batch->capacity) {
		uint32_t capacity = batch->capacity ? batch->capacity * 2 : 64;
		struct view_entry *entries = realloc(batch->entries, capacity * sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		batch->entries = entries;
		batch->capacity = capacity;
	}
	batch->entries[batch->count++] = *entry;
	return 0;
}

/* The end of the feed is checked only now and then, because a filter can reject many events. */
#define ATTEMPTS_MAX 4096

/* 1: more can follow; 0: the end of the stream; -ENOMEM. */
static int view_feed_fill_batch(
		struct view_feed *feed, struct feed_stream *stream, struct view_line *line)
{
	struct view_batch *batch = &stream->batches[stream->filled & 1];
	uint32_t index = (uint32_t)(stream - feed->streams), attempts = ATTEMPTS_MAX;
	struct view_entry entry;
	const struct ctf_item *item;
	int ret = 1;

	batch->count = 0;
	batch->out.at = batch->out.begin;
	line->sink.out = &batch->out;
	while (view_out_size(&batch->out) < stream->size && batch->count < ENTRIES_MAX) {
		ret = ctf_reader_stream_next(feed->reader, index, &item);
		if (ret <= 0)
			break;
		ret = view_line_item(line, item, &entry);
		if (ret > 0)
			ret = view_feed_add_entry(batch, &entry);
		if (ret < 0)
			break;
		ret = 1;
		/*
		 * Relaxed: only a hint. The thread that sets it, view_feed_stop(), joins this one
		 * afterwards.
		 */
		if (!--attempts && __atomic_load_n(&feed->stopping, __ATOMIC_RELAXED))
			return 0;
		attempts = attempts ? attempts : ATTEMPTS_MAX;
	}
	stream->size = stream->size * 4 < feed->batch_max ? stream->size * 4 : feed->batch_max;
	return ret;
}

/* ---- the queue; the mutex is held ---- */

static bool wants_work(const struct feed_stream *stream)
{
	return stream->state == FEED_IDLE && !stream->over && stream->filled - stream->shown < 2;
}

static void view_feed_enqueue(struct view_feed *feed, struct feed_stream *stream)
{
	stream->state = FEED_QUEUED;
	stream->behind = &feed->queue;
	stream->before = feed->queue.before;
	stream->before->behind = stream;
	feed->queue.before = stream;
	pthread_cond_signal(&feed->work);
}

static void dequeue(struct feed_stream *stream)
{
	stream->before->behind = stream->behind;
	stream->behind->before = stream->before;
	stream->state = FEED_IDLE;
}

/* Fills one batch of a stream that is not in the queue and that no other thread fills. */
static void work_on(struct view_feed *feed, struct feed_stream *stream, struct view_line *line)
{
	int ret;

	stream->state = FEED_FILLING;
	pthread_mutex_unlock(&feed->mutex);
	ret = view_feed_fill_batch(feed, stream, line);
	pthread_mutex_lock(&feed->mutex);
	stream->state = FEED_IDLE;
	if (stream->batches[stream->filled & 1].count)
		stream->filled++;
	stream->over = ret <= 0;
	stream->error = ret < 0 ? ret : 0;
	if (feed->worker_count && wants_work(stream))
		view_feed_enqueue(feed, stream);
	pthread_cond_broadcast(&feed->done);
}

static void *view_feed_run_thread(void *argument)
{
	struct feed_worker *worker = argument;
	struct view_feed *feed = worker->feed;

	pthread_mutex_lock(&feed->mutex);
	while (!feed->stopping) {
		struct feed_stream *first = feed->queue.behind;

		if (first == &feed->queue) {
			pthread_cond_wait(&feed->work, &feed->mutex);
			continue;
		}
		dequeue(first);
		work_on(feed, first, &worker->line);
	}
	pthread_mutex_unlock(&feed->mutex);
	return NULL;
}

/* ---- the one who shows ---- */

static bool has_batch(const struct feed_stream *stream)
{
	return stream->filled != stream->handed_out || stream->over;
}

bool view_feed_is_empty(struct view_feed *feed, uint32_t index)
{
	bool empty;

	pthread_mutex_lock(&feed->mutex);
	empty = !has_batch(&feed->streams[index]);
	pthread_mutex_unlock(&feed->mutex);
	return empty;
}

const struct view_batch *view_feed_next(struct view_feed *feed, uint32_t index, int *ret_error)
{
	struct feed_stream *stream = &feed->streams[index];
	const struct view_batch *batch = NULL;

	pthread_mutex_lock(&feed->mutex);
	stream->shown = stream->handed_out;
	while (!has_batch(stream)) {
		/*
		 * The showing thread first fills the batch that it needs. While another thread does
		 * so, it fills batches of other streams.
		 */
		struct feed_stream *next = stream;

		if (stream->state == FEED_FILLING)
			next = feed->queue.behind;
		if (next == &feed->queue) {
			pthread_cond_wait(&feed->done, &feed->mutex);
			continue;
		}
		if (next->state == FEED_QUEUED)
			dequeue(next);
		work_on(feed, next, &feed->line);
	}
	if (feed->worker_count && wants_work(stream))
		view_feed_enqueue(feed, stream);
	if (stream->filled != stream->handed_out) {
		batch = &stream->batches[stream->handed_out & 1];
		stream->handed_out++;
	} else if (stream->error) {
		*ret_error = stream->error;
	}
	pthread_mutex_unlock(&feed->mutex);
	return batch;
}

/* ---- the whole ---- */

/* Fewer threads than wanted are not an error. */
static void start_workers(struct view_feed *feed, struct view_lines *lines, unsigned int threads)
{
	feed->workers = calloc(threads, sizeof(*feed->workers));
	if (!feed->workers)
		return;
	pthread_mutex_lock(&feed->mutex);
	for (unsigned int i = 0; i < threads; i++) {
		struct feed_worker *worker = &feed->workers[feed->worker_count];

		worker->feed = feed;
		view_line_start(&worker->line, lines, NULL);
		if (pthread_create(&worker->thread, NULL, view_feed_run_thread, worker))
			break;
		feed->worker_count++;
	}
	for (uint32_t i = 0; feed->worker_count && i < feed->stream_count; i++)
		view_feed_enqueue(feed, &feed->streams[i]);
	pthread_mutex_unlock(&feed->mutex);
}

int view_feed_start(struct view_feed **ret_feed, struct view_lines *lines,
		struct ctf_reader *reader, unsigned int threads)
{
	struct view_feed *feed = calloc(1, sizeof(*feed));
	uint32_t count = ctf_reader_stream_count(reader);

	if (!feed)
		return -ENOMEM;
	feed->reader = reader;
	feed->streams = calloc((size_t)count + 1, sizeof(*feed->streams));
	if (!feed->streams) {
		free(feed);
		return -ENOMEM;
	}
	feed->stream_count = count;
	feed->batch_max = BATCH_MAX;
	if (count && feed->batch_max > BATCHES_SIZE / 2 / count)
		feed->batch_max = BATCHES_SIZE / 2 / count;
	for (uint32_t i = 0; i < count; i++)
		feed->streams[i].size =
				feed->batch_max < BATCH_FIRST ? feed->batch_max : BATCH_FIRST;
	feed->queue.before = feed->queue.behind = &feed->queue;
	pthread_mutex_init(&feed->mutex, NULL);
	pthread_cond_init(&feed->work, NULL);
	pthread_cond_init(&feed->done, NULL);
	view_line_start(&feed->line, lines, NULL);
	if (threads)
		start_workers(feed, lines, threads);
	*ret_feed = feed;
	return 0;
}

void view_feed_stop(struct view_feed *feed)
{
	pthread_mutex_lock(&feed->mutex);
	/* Relaxed: a hint for view_feed_fill_batch(), which reads it without the mutex. */
	__atomic_store_n(&feed->stopping, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&feed->work);
	pthread_mutex_unlock(&feed->mutex);
	for (unsigned int i = 0; i < feed->worker_count; i++) {
		pthread_join(feed->workers[i].thread, NULL);
		view_line_stop(&feed->workers[i].line);
	}
	view_line_stop(&feed->line);
	for (uint32_t i = 0; i < feed->stream_count; i++) {
		for (unsigned int k = 0; k < 2; k++) {
			view_out_free(&feed->streams[i].batches[k].out);
			free(feed->streams[i].batches[k].entries);
		}
	}
	pthread_cond_destroy(&feed->work);
	pthread_cond_destroy(&feed->done);
	pthread_mutex_destroy(&feed->mutex);
	free(feed->workers);
	free(feed->streams);
	free(feed);
}
