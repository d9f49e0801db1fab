/* SPDX-License-Identifier: MIT */
/*
 * A model of the flight recorder's ring: publication that overwrites, and a reader that copies the
 * last window without stopping anybody.
 *
 * As in protocol.pml two threads share a CPU: each store of a section is a step, a thread that the
 * other one preempts starts anew, and one of them may be killed at any step. Each unit of the ring
 * holds the position that was written there, so that a copy shows what has been overwritten. The
 * reader is ring_consumer_snapshot(): head, marks, bytes, claim, in this order.
 *
 * Stores become visible in their order (x86, or releases), and the reader stores nothing: what a
 * store buffer delays is a reader that ran earlier, which is among the interleavings.
 *
 * With one of these defined the model must fail (run-model tries them all):
 *	CLAIM_LATE	the claim is stored after the bytes
 *	CLAIM_FALLS	a shorter record takes back the claim of an aborted longer one
 *	MARK_ONE	a record over several blocks marks the last of them only
 *	NOT_EXTENDED	the first record of a block may be compact
 *	CLAIM_EARLY	the reader looks at the claim before it copies
 *	CLAIM_NOT	the reader goes by the head alone
 *
 * LARGE: three blocks and not two.
 */
#ifdef LARGE
#define SIZE 6
#define END 9 /* Positions that are written, at most. */
#define ENTRIES 4
#else
#define SIZE 4
#define END 7
#define ENTRIES 3
#endif
#define BLOCK 2
#define BLOCKS (SIZE / BLOCK)
#define NOBODY 2
#define NONE 255

/* Shared memory. */
byte head = 0;
bool epoch_valid = false; /* The head's epoch is that of the last record. */
byte claim = 0;
byte marks[BLOCKS] = NONE;
byte unit[SIZE] = NONE;
bool extended_at[SIZE];

byte section = NOBODY;
byte killed = 0;

/* The truth: positions at which published records begin. */
bool begins[END + 3];

#define LEAVE_OR_DIE \
	if \
	:: section != me -> goto start \
	:: section == me && killed == 0 -> killed = 1; section = NOBODY; goto done \
	:: section == me \
	fi

proctype thread(byte me; byte entries)
{
	byte position, end, at;
	bool extended;

start:
	atomic {
		position = 0; end = 0; at = 0; extended = false;
		if
		:: entries == 0 || head + 1 > END -> goto done
		:: else -> entries = entries - 1
		fi;
		section = me;
		position = head;
		if
		:: end = position + 1
		:: position + 2 <= END -> end = position + 2
		:: position + 3 <= END -> end = position + 3 /* A whole block in it. */
		fi;
		/* Compact wherever that is allowed: an extended record is right anywhere. */
		extended = !epoch_valid
	};
#ifndef CLAIM_LATE
	atomic {
		LEAVE_OR_DIE;
#ifdef CLAIM_FALLS
		claim = end
#else
		if
		:: claim < end -> claim = end
		:: else
		fi
#endif
	};
#endif
	at = position;
	do
	:: at == end -> break
	:: at < end ->
		atomic {
			LEAVE_OR_DIE;
			unit[at % SIZE] = at;
			if
			:: at == position -> extended_at[at % SIZE] = extended
			:: else
			fi;
			at = at + 1
		}
	od;
#ifdef CLAIM_LATE
	atomic { LEAVE_OR_DIE; claim = end };
#endif
	/* Blocks that the record reaches or covers: the one after the block of its first byte, and so on. */
	at = position / BLOCK;
#ifdef MARK_ONE
	if
	:: at < end / BLOCK -> at = end / BLOCK - 1
	:: else
	fi;
#endif
	do
	:: at >= end / BLOCK -> break
	:: else -> atomic { LEAVE_OR_DIE; at = at + 1; marks[at % BLOCKS] = end }
	od;
	atomic {
		LEAVE_OR_DIE;
		begins[position] = true;
		head = end;
#ifdef NOT_EXTENDED
		epoch_valid = true;
#else
		epoch_valid = (position / BLOCK == end / BLOCK);
#endif
		section = NOBODY
	};
	goto start;
done:
	skip
}

/*
 * Which window it will be is known only after the copy. So the reader guesses where it begins, looks
 * only at the bytes from there on, and what it saw counts if the guess was right: much fewer states
 * than with a copy of the ring.
 */
proctype reader()
{
	byte h, c, m, p, guess, i;
	byte seen[BLOCKS];
	bool torn, compact;

	h = head;
	if
	:: h == 0 -> goto end
	:: else
	fi;
	i = 0;
	do
	:: i == BLOCKS -> break
	:: else -> seen[i] = marks[i]; i = i + 1
	od;
	atomic {
		if
		:: h <= SIZE -> guess = 0
		:: seen[0] < h && seen[0] + SIZE >= h -> guess = seen[0]
		:: seen[1] < h && seen[1] + SIZE >= h -> guess = seen[1]
#ifdef LARGE
		:: seen[2] < h && seen[2] + SIZE >= h -> guess = seen[2]
#endif
		:: else -> goto end
		fi
	};
#ifdef CLAIM_EARLY
	c = claim;
#endif
	p = guess;
	do
	:: p == h -> break
	:: else ->
		atomic {
			torn = (torn || unit[p % SIZE] != p);
			compact = (compact || (p == guess && !extended_at[p % SIZE]));
			p = p + 1
		}
	od;
#ifdef CLAIM_NOT
	c = head;
#endif
#if !defined(CLAIM_EARLY) && !defined(CLAIM_NOT)
	c = claim;
#endif
	atomic {
		if
		:: c < h -> c = h
		:: else
		fi;
		/* The oldest mark in the window. Position 0 is one while nothing is overwritten. */
		m = h;
		if
		:: c <= SIZE -> m = 0
		:: else ->
			i = 0;
			do
			:: i == BLOCKS -> break
			:: else ->
				if
				:: seen[i] != NONE && seen[i] < m && seen[i] + SIZE >= c -> m = seen[i]
				:: else
				fi;
				i = i + 1
			od
		fi;
		assert(m == h || begins[m]);
		if
		:: m == guess ->
			/* All of the window is what was published there, from a whole time on. */
			assert(!torn);
			assert(!compact)
		:: else
		fi
	};
end:
	skip
}

init {
	atomic {
		run thread(0, ENTRIES);
		run thread(1, 1);
		run reader()
	}
}
