/* How the table grows while it is used: a segment gives the upper half of its leaves away, bucket by bucket, while
   others charge keys in it, and a second split follows on the first. Segments::owner() under a bucket's lock is the
   judge of where a key belongs, and nothing that was charged is lost on the way.

   Four threads: two make room (for different leaves, so that either half of the first split is split again), one
   charges a key that moves, by one bucket or by both, and one charges a key that stays, into the same bucket.
   Four leaves, two buckets in a segment, one slot in a bucket. A thread's clock may lag: the one that charges the
   key that stays is ahead of the one that charges the key that moves, whose debt has drained for it.

   What is left out: memory orders weaker than "one after the other" (threads/split_threads_test.cpp under
   ThreadSanitizer); more than one slot, the search for room and entries that lie in a key's other bucket
   (bucket.pml); several keys; debts that were counted by another quota; the length of time. */

#define LEAVES 4
#define NUMBERS 2 /* buckets in a segment */
#define SEGMENTS 3
#define BUCKETS (SEGMENTS * NUMBERS)
#define NONE 255
#define HOME 0    /* the number of the bucket that is home to both keys */
#define BURST 2   /* T is 1 */
#define MOVES 1   /* the keys; 0: an empty slot */
#define STAYS 2
#define THREADS 4

byte directory[LEAVES];
byte begin[SEGMENTS], end[SEGMENTS], mid[SEGMENTS], progress[SEGMENTS], upper[SEGMENTS], forgotten[SEGMENTS];
bool shape[SEGMENTS];
byte used = 1;

bool locked[BUCKETS];
byte tag[BUCKETS], until[BUCKETS];

byte leaf_of[3]; /* by key */
byte charged_to[3]; /* by key: the tat that its last charge left, wherever that is now */
byte ended;

#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* src/store/bucket.hpp: Bucket::lock */
inline lock(bucket) { atomic { !locked[bucket] -> locked[bucket] = true } }

/* src/store/bucket.hpp: Bucket::unlock */
inline unlock(bucket) { locked[bucket] = false }

/* src/store/spin.hpp: lock_all
   Two, in the order of their addresses. What is held is given back before the thread sleeps. */
inline lock_all(a, b) {
  do
  :: lock(a);
     if
     :: atomic { !locked[b] -> locked[b] = true }; break
     :: locked[b] -> unlock(a)
     fi
  od
}

/* src/store/segments.hpp: Segments::owner
   One step for each load. What was found in `found`, `in_segment`. */
inline owner(leaf, number) {
#ifdef END_IS_READ_FIRST
  atomic { in_segment = directory[leaf]; from = in_segment };
  found = 0;
  if
  :: leaf >= end[from] -> found = NONE
  :: else
  fi;
  if
  :: leaf >= mid[from] ->
     if
     :: number < progress[from] -> in_segment = upper[from]
     :: else
     fi
  :: else
  fi;
  d_step {
    if
    :: found == 0 -> found = in_segment * NUMBERS + number
    :: else
    fi;
    from = 0
  }
#else
  atomic { in_segment = directory[leaf]; from = in_segment };
  if
  :: leaf >= mid[from] ->
     if
     :: number < progress[from] -> in_segment = upper[from]
     :: else
     fi
  :: else
  fi;
  if
  :: d_step { leaf >= end[from] -> found = NONE; from = 0; in_segment = 0 }
  :: d_step { leaf < end[from] -> found = in_segment * NUMBERS + number; from = 0 }
  fi
#endif
}

/* src/store/segments.cpp: Segments::lock_pair
   Into `first`, `second`. */
inline lock_pair(leaf) {
  do
  :: owner(leaf, HOME);
     first = found;
     owner(leaf, 1 - HOME);
     second = found;
     if
     :: first == NONE || second == NONE
     :: else ->
        if
        :: first < second -> lock_all(first, second)
        :: else -> lock_all(second, first)
        fi;
#ifdef HOMES_ARE_NOT_READ_AGAIN
        break
#else
        owner(leaf, HOME);
        if
        :: found != first -> skip
        :: else ->
           owner(leaf, 1 - HOME);
           if
           :: found == second -> break
           :: else
           fi
        fi;
        unlock(first);
        unlock(second)
#endif
     fi
  od
}

/* src/store/bucket.hpp: Bucket::decide
   Of the key that lies in the bucket. No charge is lost: each is added to all that were before. */
inline decide(bucket, key, now) {
  atomic {
    next = MAX(until[bucket], now) + 1;
    if
    :: next <= now + BURST ->
       assert(next > charged_to[key]);
       until[bucket] = next;
       charged_to[key] = next
    :: else
    fi;
    next = 0
  }
}

/* src/store/segments.hpp: Segments::Segment::put
   Of a key that has no entry, decided no earlier than what was forgotten. Where no slot is free nothing happens:
   see bucket.pml. */
inline put(bucket, segment, key, now, no_earlier) {
  atomic {
    if
    :: until[bucket] <= now ->
       next = MAX(now, no_earlier) + 1;
       assert(next > charged_to[key]);
       forgotten[segment] = MAX(forgotten[segment], until[bucket]);
       tag[bucket] = key;
       until[bucket] = next;
       charged_to[key] = next
    :: else
    fi;
    next = 0;
    no_earlier = 0
  }
}

/* src/store/table.cpp: Table::check */
inline check(key, now) {
  guess = directory[leaf_of[key]] * NUMBERS + HOME;
  do
  :: lock(guess);
#ifdef OWNER_IS_NOT_ASKED
     in_segment = guess / NUMBERS;
     break
#else
     owner(leaf_of[key], HOME);
     if
     :: found == guess -> break
     :: else ->
        unlock(guess);
        d_step {
          if
          :: found != NONE -> guess = found
          :: else
          fi;
          found = 0;
          in_segment = 0
        }
     fi
#endif
  od;
  if
  :: tag[guess] == key -> decide(guess, key, now)
  :: else ->
     no_earlier = forgotten[in_segment];
     put(guess, in_segment, key, now, no_earlier)
  fi;
  unlock(guess);
  d_step { guess = 0; found = 0; in_segment = 0 }
}

/* src/store/table.cpp: Table::check_pair */
inline check_pair(key, now) {
  lock_pair(leaf_of[key]);
  if
  :: tag[first] == key -> decide(first, key, now)
  :: else ->
     no_earlier = forgotten[first / NUMBERS];
     no_earlier = MAX(no_earlier, forgotten[second / NUMBERS]);
     put(first, first / NUMBERS, key, now, no_earlier)
  fi;
  unlock(second);
  unlock(first);
  d_step { first = 0; second = 0; found = 0; in_segment = 0 }
}

/* src/store/segments.cpp: Segments::split_bucket */
inline split_bucket(lower, to, number) {
#ifdef SPLIT_LOCKS_NOTHING
  skip;
#else
  lock_all(lower * NUMBERS + number, to * NUMBERS + number);
#endif
#ifdef PROGRESS_COMES_FIRST
  progress[lower] = number + 1;
  unlock(to * NUMBERS + number);
  unlock(lower * NUMBERS + number);
  lock_all(lower * NUMBERS + number, to * NUMBERS + number);
#endif
  atomic {
    if
    :: tag[lower * NUMBERS + number] != 0 && leaf_of[tag[lower * NUMBERS + number]] >= begin[to] ->
       tag[to * NUMBERS + number] = tag[lower * NUMBERS + number];
       until[to * NUMBERS + number] = until[lower * NUMBERS + number];
       tag[lower * NUMBERS + number] = 0;
       until[lower * NUMBERS + number] = 0
    :: else
    fi
  };
#ifndef FORGOTTEN_IS_COPIED_ONCE
  forgotten[to] = MAX(forgotten[to], forgotten[lower]);
#endif
  progress[lower] = number + 1;
#ifndef SPLIT_LOCKS_NOTHING
  unlock(to * NUMBERS + number);
  unlock(lower * NUMBERS + number)
#endif
}

/* src/store/segments.cpp: Segments::split */
inline split(segment) {
  if
  :: end[segment] - begin[segment] < 2
  :: else ->
     atomic {
       last = end[segment];
       at = begin[segment] + (last - begin[segment]) / 2;
       to = used;
       used++
     };
#ifndef UPPER_HAS_NO_LOCK
     atomic { !shape[to] -> shape[to] = true };
#endif
     d_step { begin[to] = at; end[to] = last; mid[to] = last }; /* nobody knows of it yet */
#ifdef FORGOTTEN_IS_COPIED_ONCE
     forgotten[to] = forgotten[segment];
#endif
#ifdef DIRECTORY_COMES_FIRST
     directory[at] = to;
     directory[last - 1] = to;
#endif
#ifndef PROGRESS_STAYS
     progress[segment] = 0;
#endif
#ifndef UPPER_COMES_LATE
     upper[segment] = to;
#endif
     mid[segment] = at;
#ifdef PROGRESS_STAYS
     progress[segment] = 0;
#endif
     split_bucket(segment, to, 0);
#ifdef UPPER_COMES_LATE
     upper[segment] = to;
#endif
     split_bucket(segment, to, 1);
     do
     :: at < last -> directory[at] = to; at++
     :: else -> break
     od;
     end[segment] = begin[to];
#ifndef UPPER_HAS_NO_LOCK
     shape[to] = false
#endif
  fi
}

/* src/store/segments.cpp: Segments::make_room
   For a table in which nothing but a split makes any. */
inline make_room(leaf) {
  do
  :: segment = directory[leaf];
     atomic { !shape[segment] -> shape[segment] = true };
     if
     :: leaf < end[segment] -> break
     :: else -> shape[segment] = false
     fi
  od;
  split(segment);
  shape[segment] = false;
  d_step { segment = 0; at = 0; last = 0; to = 0 }
}

proctype makes_room(byte leaf) {
  byte segment, at, last, to;
  make_room(leaf);
  ended++
}

proctype charges(byte key; byte now; bool by_both) {
  byte guess, found, in_segment, from, next, no_earlier, first, second;
  if
  :: by_both -> check_pair(key, now)
  :: else -> check(key, now)
  fi;
  ended++
}

/* Each key is where owner() says, once, and owes what it was charged; or all that it owed has drained. */
proctype asks_at_the_end() {
  byte found, in_segment, from, key, bucket;
  ended == THREADS;
  key = MOVES;
  do
  :: key > STAYS -> break
  :: else ->
     owner(leaf_of[key], HOME);
     assert(found != NONE);
     d_step {
       assert(charged_to[key] == 0 || (tag[found] == key && until[found] == charged_to[key]) ||
              forgotten[in_segment] >= charged_to[key]);
       bucket = 0;
       do
       :: bucket == BUCKETS -> break
       :: else ->
          assert(bucket == found || tag[bucket] != key);
          bucket++
       od
     };
     key++
  od;
  assert(used == SEGMENTS)
}

init {
  byte split_again;
  atomic {
    end[0] = LEAVES;
    mid[0] = LEAVES;
    tag[HOME] = MOVES;
    until[HOME] = 2;
    charged_to[MOVES] = 2;
    if /* the key moves with the second split of the lower half, with both, or with the first alone */
    :: leaf_of[MOVES] = 1; split_again = 0
#if !defined(ENDS) || defined(LONG)
    :: leaf_of[MOVES] = 3; split_again = 2
    :: leaf_of[MOVES] = 3; split_again = 0
#endif
    fi;
    run makes_room(split_again);
    run makes_room(split_again + 1);
    if
    :: run charges(MOVES, 1, false)
    :: run charges(MOVES, 1, true)
    fi;
    run charges(STAYS, 2, false);
    run asks_at_the_end()
  }
}

ltl ends { <> (ended == THREADS) }
