/* SPDX-License-Identifier: MIT */
/*
 * Model of the read-copy-update of libside (src/libside/rcu.h and callbacks.c), for spin.
 *
 * A writer that unregisters and waits; a writer that registers and retires the old array without
 * waiting; and readers: with SIGNALS one thread with two sections, which a signal handler that is a
 * reader itself interrupts anywhere (same epoch, same store buffer); otherwise two threads.  Arrays
 * are numbered; using one that was freed is the error.
 *
 * The machine: each reader's store of its epoch sits in a store buffer for any time, while its
 * later loads go ahead (what x86 does, and what the membarrier is for).  The load of gp and the
 * store of the epoch are separate steps, so the stored value may be as old as it likes.
 *
 * The BUG_ definitions leave out one part each; test-model.py checks that spin then finds the error.
 */

#ifdef SIGNALS
#define READERS 1
#define ROUNDS 2
#else
#define READERS 2
#ifdef DEEP
#define ROUNDS 2
#else
#define ROUNDS 1
#endif
#endif
#define ARRAYS 5
#define IDLE 0

byte gp = 1;
byte last_passed = 0;
byte current = 0;       /* the published array */
byte next_array = 1;
bool freed[ARRAYS];
bool retired[ARRAYS];
byte retired_at[ARRAYS];

byte epoch[READERS];    /* in memory */
bool buffered[READERS]; /* a newer value is in the store buffer ... */
byte buffer[READERS];   /* ... this one */
bool interrupted[READERS];
bool locked;            /* the registry's lock */

#define MY_EPOCH(r) (buffered[r] -> buffer[r] : epoch[r])

/* One step of a thread that may be interrupted: only while its signal handler does not run. */
#define RUNS(in_handler, r) (in_handler || !interrupted[r])

inline drain(r)
{
	if
	:: buffered[r] -> epoch[r] = buffer[r]; buffered[r] = false
	:: else
	fi
}

inline store_epoch(r, value)
{
	drain(r);
	buffer[r] = value;
	buffered[r] = true
}

/* rcu_enter(), the use of the array, rcu_leave(); in the thread or in its handler. */
inline section(in_handler, r, before, seen, array)
{
	atomic { RUNS(in_handler, r) -> before = MY_EPOCH(r) }
	if
	:: before == IDLE ->
		atomic { RUNS(in_handler, r) -> seen = gp }
		atomic { RUNS(in_handler, r) -> store_epoch(r, seen) }
	:: else
	fi;
	atomic { RUNS(in_handler, r) -> array = current }
	atomic { RUNS(in_handler, r) -> assert(!freed[array]); array = 0; seen = 0 }
#ifdef BUG_INNER_LEAVES
	atomic { RUNS(in_handler, r) -> store_epoch(r, IDLE) }
#else
	if
	:: before == IDLE -> atomic { RUNS(in_handler, r) -> store_epoch(r, IDLE) }
	:: else
	fi;
#endif
	skip
}

proctype thread(byte r)
{
	byte before, seen, array;

#if defined(SIGNALS) || defined(DEEP)
	section(false, r, before, seen, array);
#endif
	section(false, r, before, seen, array)
}

proctype handler(byte r)
{
	byte before, seen, array;

	atomic { !interrupted[r] -> interrupted[r] = true }
	section(true, r, before, seen, array);
	interrupted[r] = false
}

/* The hardware drains store buffers when it likes. */
proctype hardware(byte r)
{
end:
	do
	:: atomic { buffered[r] -> drain(r) }
	od
}

inline lock()
{
	atomic { !locked -> locked = true }
}

inline unlock()
{
	locked = false
}

/* publish() and retire() in callbacks.c. */
inline replace(old)
{
	lock();
	old = current;
	current = next_array;
	next_array++;
	retired_at[old] = gp;
	retired[old] = true;
	unlock()
}

/* rcu_synchronize() */
inline synchronize(target, i)
{
	atomic { gp++; target = gp }
#ifndef BUG_NO_MEMBARRIER
	i = 0;
	do
	:: i < READERS -> atomic { drain(i); i++ }
	:: else -> break
	od;
#endif
	i = 0;
	do
	:: i < READERS ->
#ifndef BUG_NO_WAIT
		(epoch[i] == IDLE || epoch[i] >= target);
#endif
		i++
	:: else -> break
	od;
	atomic {
		if
		:: last_passed < target -> last_passed = target
		:: else
		fi
	}
}

/* callbacks_reclaim() */
inline reclaim(i)
{
	d_step {
		!locked;
		i = 0;
		do
		:: i < ARRAYS ->
			if
#ifdef BUG_STAMP
			:: retired[i] && retired_at[i] <= last_passed ->
#else
			:: retired[i] && retired_at[i] < last_passed ->
#endif
				retired[i] = false;
				freed[i] = true
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

proctype unregistering_writer()
{
	byte old, target, i, round;

	do
	:: round < ROUNDS ->
		replace(old);
		synchronize(target, i);
		reclaim(i);
		/* The promise: nobody is in an array with the entry any more. */
		assert(freed[old]);
		atomic { round++; old = 0; target = 0 }
	:: else -> break
	od
}

proctype registering_writer()
{
	byte old, i;

	replace(old);
	reclaim(i)
}

init
{
	atomic {
		run thread(0);
		run hardware(0);
#ifdef SIGNALS
		run handler(0);
#else
		run thread(1);
		run hardware(1);
#endif
		run unregistering_writer();
		run registering_writer()
	}
}
