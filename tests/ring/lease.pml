/* SPDX-License-Identifier: MIT */
/*
 * Model of the lease of ring memory (src/ring/lease.h), for spin.
 *
 * Threads publish records: two threads, or a thread and its signal handler. The control thread leaves memory that is recalled. The
 * consumer drains, recalls, reclaims, provides and denies memory at any time. It can be killed between any two steps; the next consumer
 * adopts what it finds. A wait for an answer can end at any time. Each access to shared memory is a separate step.
 *
 * Not modelled: the order of accesses of one thread. The code ensures it: changes of the word are compare-and-swap, ring_producer_open()
 * has a fence, and the grace period has a membarrier.
 *
 * The assertions: no thread writes to reclaimed memory. No record is lost with reclaimed memory. The next consumer finds a word that is
 * consistent with the memory. run-lease-model removes one safeguard at a time, and spin must then find a violated assertion.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef RECORDS
#define RECORDS 1	/* of each thread */
#endif
#ifndef KILLS
#define KILLS 0		/* of the consumer */
#endif
#define STEPS 2		/* of a claim; RING_LEASE_STEPS */
#define ATTEMPTS 2	/* of a record; RING_ATTEMPTS */

#define FREE 0
#define USED 1
#define RECALLED 2
#define REVOKED 3
#define ASKED 4

#define MORE 1		/* RING_LEASE_TAKEN_ONCE */

/* The word: its two parts are read and changed together. */
byte state = FREE;
byte taken = 0;

/* The producer's rings are open if both are set: payload_limit and usable. */
bool limit = false;
bool usable = false;

bool present = true;	/* the memory */
byte unread = 0;	/* records in it */
bool in_call[THREADS];	/* a grace period waits for these */

/* Read the word into s and t, in one access. */
#define LOAD(s, t) atomic { s = state; t = taken }

/* ring_lease_change() */
#define CHANGE(s, t, to, more) \
	atomic { \
		if \
		:: state == s && taken == t -> state = to; taken = taken + more \
		:: else \
		fi \
	}

/* ring_lease_claim(): is_there is the result. */
inline claim()
{
	step = 0;
	is_there = false;
	do
	:: true ->
		LOAD(s, t);
		if
		:: s == USED ->
			/* lease_open() */
			if
			:: usable && limit -> is_there = true; break
			:: else ->
				limit = true;
				usable = true;
				LOAD(s, t);
				if
				:: s == USED /* still */ -> is_there = true; break
				:: else
				fi
			fi
		:: else
		fi;
		/* lease_step() */
		LOAD(s, t);
		if
		:: s == USED
		:: s == FREE || s == RECALLED -> CHANGE(s, t, USED, MORE)
		:: s == REVOKED || s == ASKED ->
			/* lease_ask() */
			if
			:: s == REVOKED -> CHANGE(s, t, ASKED, 0)
			:: else
			fi;
			/* An answer, or the end of the wait. */
			LOAD(s, t);
			if
			:: s > RECALLED -> break
			:: else
			fi
		fi;
		step++;
		if
		:: step == STEPS -> break
		:: else
		fi
	od;
	/* Clear unused values, which would only add states. */
	atomic { step = 0; s = 0; t = 0 }
}

proctype thread(byte me)
{
	byte records = 0, step, attempt, s, t;
	bool is_there, is_closed;

	do
	:: records == RECORDS -> break
	:: records < RECORDS ->
		in_call[me] = true;
		attempt = 0;
		is_closed = !limit;
		do
		:: attempt == ATTEMPTS -> break /* counted as lost */
		:: attempt < ATTEMPTS ->
			if
			:: is_closed ->
				claim();
				if
				:: !is_there -> break /* counted as lost: no ring memory */
				:: else
				fi
			:: else
			fi;
			/* The critical section. Other processes can act between its check and its store. */
			if
			:: usable ->
				skip;
				atomic { assert(present); unread++ };
				break
			:: else -> is_closed = true
			fi;
			attempt++
		od;
		in_call[me] = false;
		records++
	od
}

/* agent_leases_check() */
active proctype control()
{
	byte s, t, i;

end:	do
	:: true ->
		LOAD(s, t);
		if
		:: s == RECALLED ->
			/* ring_producer_leave() */
			limit = false;
			usable = false;
			/* side_tracer_synchronize() */
			i = 0;
			do
			:: i == THREADS -> break
			:: i < THREADS -> !in_call[i]; i++
			od;
			/* ring_producer_left() */
			CHANGE(s, t, FREE, 0);
			atomic { s = 0; t = 0; i = 0 }
		:: else -> s = 0; t = 0; state == RECALLED
		fi
	od
}

/* lease_lend() */
inline lend()
{
	do
	:: atomic { state == REVOKED -> state = FREE }; break
	:: atomic { state == ASKED -> state = USED }; break
	:: state != REVOKED && state != ASKED -> break
	od
}

active proctype consumer()
{
	bool is_revoked = false;	/* the consumer's own state */
	byte kills = 0;

end:	do
	:: unread > 0 -> atomic { assert(present); unread = 0 }
	/* ring_lease_recall() */
	:: atomic { state == USED -> state = RECALLED }
	/* ring_lease_revoke() */
	:: atomic { !is_revoked && state == FREE -> state = REVOKED };
		if
		:: kills < KILLS -> goto killed
		:: true
		fi;
		if
		:: unread == 0 ->
			atomic { assert(unread == 0); present = false };
			if
			:: kills < KILLS -> goto killed
			:: true
			fi;
			is_revoked = true
		:: else -> lend()
		fi
	/* ring_lease_grant() */
	:: is_revoked ->
		present = true;
		if
		:: kills < KILLS -> goto killed
		:: true
		fi;
		is_revoked = false;
		lend()
	/* ring_lease_deny() */
	:: atomic { state == ASKED && is_revoked -> state = REVOKED }
	:: kills < KILLS ->
killed:		kills++;
		/* the next consumer: ring_lease_adopt() */
		is_revoked = !present;
		if
		:: is_revoked -> assert(state == REVOKED || state == ASKED)
		:: else ->
			if
			:: state == REVOKED || state == ASKED -> lend()
			:: else
			fi
		fi
	od
}

init
{
	atomic {
		run thread(0);
#if THREADS > 1
		run thread(1)
#endif
	}
}
