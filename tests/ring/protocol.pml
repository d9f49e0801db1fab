/* SPDX-License-Identifier: MIT */
/*
 * A model of publication and consumption on one ring, for spin.
 *
 * Two threads on one CPU publish; each store is a step. What stands between section entry and commit
 * is not atomic here: a thread may be preempted by the other one at any step, is then aborted as
 * the kernel does it (the other thread's entry takes the "section" away from it), and starts anew. Either
 * may be killed anywhere. Each enters a section a few times only. A consumer reads last, head, last, head, as ring_consumer_peek() does, with
 * the threads running in between.
 *
 * Scaled down: 3 records fit the ring; time is a small number, of which the upper part (time / 2) is
 * what must be equal for compact records, and epochs are that modulo 3.
 *
 *	spin -a protocol.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 */
#define SLOTS 3
#define RECORDS 3
#define TIMES 10
#define UPPER(t) ((t) / 2)
#define EPOCHS 3
#define EPOCH(t) (UPPER(t) % EPOCHS)
/* An epoch that is neither of the two. */
#define OTHER(a, b) ((a) == (b) -> ((a) + 1) % EPOCHS : EPOCHS - (a) - (b))
#define NOBODY 2

/* Shared memory. The head word: position and epoch change together. */
byte head_position = 0;
byte head_epoch = 2;
byte last = 0;
byte tail = 0;
byte slot_time[SLOTS];
bool slot_extended[SLOTS];

/* The kernel: whose section is running. A thread that is not the one must start anew. */
byte section = NOBODY;

/* The truth. */
byte now = 1;
byte true_time[RECORDS + 1];
byte latest_end = 0;
byte killed = 0; /* At most one of the two, at any step. */

/* Time passes when somebody looks: not at all, a tick, until epochs repeat. */
inline look_at_clock(t)
{
	if
	:: true
	:: now + 1 < TIMES -> now = now + 1
	:: now + 6 < TIMES -> now = now + 6 /* Epochs repeat. */
	fi;
	t = now
}

/* A step within the section, or out of it if the section was taken away. */
#define MINE (section == me)

proctype thread(byte me; byte entries)
{
	byte position, epoch, time, seen;
	bool extended;

start:
	/* Entering preempts whoever is inside. Registers are forgotten: fewer states. */
	atomic {
		time = 0;
		if
		:: head_position >= RECORDS || entries == 0 -> entries = 0; goto done
		:: head_position < RECORDS && entries > 0 -> entries = entries - 1
		fi;
		section = me;
		position = head_position;
		epoch = head_epoch;
		seen = last;
		if
		:: position - tail >= SLOTS -> section = NOBODY; goto start
		:: else -> look_at_clock(time)
		fi;
		if
		:: time < seen -> time = seen
		:: else
		fi;
		extended = (UPPER(time) != UPPER(seen) || EPOCH(time) != epoch);
		if
		:: UPPER(time) != UPPER(seen) && EPOCH(time) == epoch ->
			/* The section that makes the epoch invalid: one store, and from the start. */
			look_at_clock(time);
			goto invalidate
		:: else
		fi
	};
	/* The bytes of the record. */
	atomic {
		if
		:: !MINE -> goto start
		:: MINE && killed == 0 -> killed = 1; section = NOBODY; goto done
		:: MINE
		fi;
		seen = 0;
		assert(position - tail < SLOTS);
		slot_time[position % SLOTS] = time;
		slot_extended[position % SLOTS] = extended
	};
	atomic {
		if
		:: !MINE -> goto start
		:: MINE && killed == 0 -> killed = 1; section = NOBODY; goto done
		:: MINE
		fi;
		last = time
	};
	/* The commit. */
	atomic {
		if
		:: !MINE -> goto start
		:: MINE && killed == 0 -> killed = 1; section = NOBODY; goto done
		:: MINE
		fi;
		assert(time >= latest_end);
		assert(position == 0 || time >= true_time[position - 1]);
		true_time[position] = time;
		head_position = position + 1;
		head_epoch = EPOCH(time);
		section = NOBODY;
		position = 0; epoch = 0; time = 0; seen = 0; extended = false
	};
	goto start;
invalidate:
	atomic {
		section = me;
		head_epoch = OTHER(EPOCH(last), EPOCH(time));
		section = NOBODY
	};
	goto start;
done:
	skip
}

/* The latest upper part not after that of t with this epoch. */
inline extend(result, t, epoch)
{
	result = UPPER(t);
	do
	:: result % EPOCHS == epoch -> break
	:: else -> assert(result > 0); result = result - 1
	od
}

proctype consumer()
{
	byte before, position, epoch, after, further, end, upper, first, ended = 0;

	do
	:: tail >= RECORDS -> break
	:: true -> break
	:: true ->
again:
		before = last;
		atomic { position = head_position; epoch = head_epoch };
		if
		:: position == tail -> goto next
		:: else
		fi;
		after = last;
		further = head_position;
		atomic {
			end = after;
			if
			:: further == position
			:: further > position && slot_extended[position % SLOTS] ->
				end = slot_time[position % SLOTS]
			:: further > position && !slot_extended[position % SLOTS] ->
				if
				:: UPPER(after) - UPPER(before) > EPOCHS - 1 -> goto again
				:: else
				fi;
				extend(upper, after, epoch);
				/* The low bits are in the record. */
				end = upper * 2 + slot_time[position % SLOTS] % 2
			fi;
			assert(end >= true_time[position - 1]);
			assert(head_position == position || end <= true_time[position]);
			if
			:: end > latest_end -> latest_end = end
			:: else
			fi;
			/* The first record of the span. */
			if
			:: slot_extended[tail % SLOTS] -> first = slot_time[tail % SLOTS]
			:: else -> first = UPPER(ended) * 2 + slot_time[tail % SLOTS] % 2
			fi;
			assert(tail > 0 || slot_extended[0]);
			assert(first == true_time[tail]);
			ended = end
		};
		/* All that is read is what was published. */
		do
		:: tail < position ->
			atomic {
				assert(slot_time[tail % SLOTS] == true_time[tail]);
				assert(slot_extended[tail % SLOTS] ||
					(tail > 0 && UPPER(true_time[tail]) == UPPER(true_time[tail - 1])));
				tail = tail + 1
			}
		:: else -> break
		od;
next:
		atomic { before = 0; position = 0; epoch = 0; after = 0; further = 0; end = 0; upper = 0; first = 0 }
	od
}

init {
	atomic {
		run thread(0, 3);
		run thread(1, 1);
		run consumer()
	}
}
