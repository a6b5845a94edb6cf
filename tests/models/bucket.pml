/* One key's two buckets: a check locks its home alone, and only tries for the other; where both are full, room is
   made by moving other keys' entries to their other buckets, while every other thread goes on charging. What a key
   was charged is found wherever its entry has gone, or it had drained before it was overwritten.

   Three threads with one operation each: one charges a key whose buckets are full, one charges any key under a clock
   that is ahead, and one charges, raises, resets or copies. Three buckets in a segment of one leaf, one slot in
   each; three keys, of which two lie at home or away from it, in every combination. Or two threads that charge, raise
   or restore two new keys, for which room is made by moving the same entry, there and back.

   What is left out: memory orders weaker than "one after the other"; splits (segments.pml); several keys of a request
   (joint.pml); debts that were counted by another quota; more than one slot, so that the search for room is a chain and
   not a tree; kMostMissed is 1; the length of time. */

#define BUCKETS 3
#define NODES 3   /* of a search for room */
#define BURST 2   /* T is 1 */
#define A 1       /* the keys; 0: an empty slot */
#define B 2
#define C 3
#define D 4
#define KEYS 4
#define MOST_MISSED 1
#define THREADS 3

bool locked[BUCKETS], overflowed[BUCKETS];
byte tag[BUCKETS], until[BUCKETS];
byte forgotten, search_after;
bool shape;

byte home[5], other[5];  /* by key */
byte charged_to[5];      /* by key: the tat that its last charge left, wherever that is now; 0 when it was reset */
byte ended;

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define FROM(bucket, key) ((bucket) == home[key] -> other[key] : home[key])

/* src/store/bucket.hpp: Bucket::lock */
inline lock(bucket) { atomic { !locked[bucket] -> locked[bucket] = true } }

/* src/store/bucket.hpp: Bucket::unlock */
inline unlock(bucket) { locked[bucket] = false }

/* src/store/bucket.hpp: Bucket::try_lock
   May fail without a reason (compare_exchange_weak). Leaves `got`. */
inline try_lock(bucket) {
  if
  :: atomic { !locked[bucket] -> locked[bucket] = true; got = true }
  :: got = false
  fi
}

/* src/store/spin.hpp: lock_all
   Two, in the order of their addresses. What is held is given back before the thread sleeps. */
inline lock_all(a, b) {
#ifdef LOCKS_ARE_TAKEN_IN_ANY_ORDER
  lock(a);
  lock(b)
#else
  atomic {
    if
    :: a < b -> low = a; high = b
    :: else -> low = b; high = a
    fi
  };
  do
  :: lock(low);
     if
     :: atomic { !locked[high] -> locked[high] = true }; break
     :: locked[high] -> unlock(low)
     fi
  od;
  atomic { low = 0; high = 0 }
#endif
}

/* src/store/segments.cpp: Segments::lock_pair
   Of buckets that no split takes away. */
inline lock_pair(key) { lock_all(home[key], other[key]) }

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
    next = 0;
    done = true
  }
}

/* src/store/segments.hpp: Segments::Segment::put
   Over a slot that is free. */
inline put(bucket, key, new_until) {
#ifndef NOTHING_IS_FORGOTTEN
  forgotten = MAX(forgotten, until[bucket]);
#endif
  tag[bucket] = key;
  until[bucket] = new_until
}

/* src/store/table.cpp: decide_fresh
   In one of the two buckets; leaves `done`. */
inline decide_fresh(bucket, key, now) {
  atomic {
    next = MAX(now, no_earlier) + 1;
    if
    :: until[bucket] <= now ->
       assert(next > charged_to[key]);
       put(bucket, key, next);
       charged_to[key] = next;
       done = true
    :: else
    fi;
    next = 0
  }
}

/* src/store/segments.cpp: Segments::move
   Leaves `missed`. */
inline move(source, target, key, now) {
#ifndef A_MOVE_LOCKS_NOTHING
  lock_all(source, target);
#endif
  if
#ifdef A_MOVE_IS_NOT_CHECKED_AGAIN
  :: true ->
#else
  :: tag[source] == key && until[target] <= now ->
#endif
     atomic { put(target, key, until[source]) };
     atomic { tag[source] = 0; until[source] = 0 };
#ifndef HOME_IS_NOT_MARKED
     overflowed[source] = overflowed[source] || source == home[key]
#endif
#ifndef A_MOVE_IS_NOT_CHECKED_AGAIN
  :: else -> missed = true
#endif
  fi;
#ifndef A_MOVE_LOCKS_NOTHING
  unlock(source);
  unlock(target)
#endif
}

/* src/store/segments.cpp: Segments::displace
   Leaves `found`: the root has a slot, and `missed`. */
inline displace(root, now) {
  atomic { node[0] = root; nodes = 1; at = 0; found = false };
  do
  :: at == nodes -> break
  :: else ->
     lock(node[at]);
     atomic {
       if
       :: until[node[at]] <= now -> found = true
       :: else ->
          if
          :: nodes < NODES && (at == 0 || FROM(node[at], tag[node[at]]) != node[at - 1]) ->
             moved[nodes] = tag[node[at]];
             node[nodes] = FROM(node[at], moved[nodes]);
             nodes++
          :: else
          fi
       fi
     };
     unlock(node[at]);
     if
     :: found -> break
     :: else -> at++
     fi
  od;
  do
  :: found && at > 0 ->
     move(node[at - 1], node[at], moved[at], now);
     atomic {
       if
       :: missed -> found = false
       :: else -> at--
       fi
     }
  :: else -> break
  od;
  atomic { node[0] = 0; node[1] = 0; node[2] = 0; moved[1] = 0; moved[2] = 0; nodes = 0; at = 0 }
}

/* src/store/segments.cpp: Segments::make_room
   In a segment that cannot be split. Leaves `room`: look again. */
inline make_room(key, now) {
  if
  :: now < search_after -> room = false
  :: else ->
     atomic { !shape -> shape = true };
     displace(home[key], now);
     if
     :: found || missed -> room = true
     :: else ->
        displace(other[key], now);
        if
        :: found || missed -> room = true
        :: else -> atomic { room = false; search_after = now + 1 }
        fi
     fi;
     atomic { shape = false; found = false; missed = false }
  fi
}

/* src/store/segments.cpp: RoomForKey::make
   Leaves `room`: look again. */
inline make(key, now) {
#ifdef ROOM_IS_MADE_FOR_EVER
  make_room(key, now)
#else
  if
  :: made > MOST_MISSED -> room = false
  :: else -> make_room(key, now); made++
  fi
#endif
}

/* src/store/table.cpp: Table::check_pair */
inline check_pair(key, now) {
  do
  :: lock_pair(key);
#ifndef WHAT_WAS_FORGOTTEN_IS_NOT_ASKED
     no_earlier = forgotten;
#endif
     if
     :: tag[home[key]] == key -> decide(home[key], key, now)
     :: tag[other[key]] == key -> decide(other[key], key, now)
     :: else ->
        decide_fresh(home[key], key, now);
        if
        :: done
        :: else ->
           decide_fresh(other[key], key, now);
#ifndef HOME_IS_NOT_MARKED
           overflowed[home[key]] = overflowed[home[key]] || done
#endif
        fi
     fi;
     no_earlier = 0;
     unlock(other[key]);
     unlock(home[key]);
     if
     :: done -> break
     :: else ->
        make(key, now);
        if
        :: room
        :: else -> break /* when_full decides */
        fi
     fi
  od
}

/* src/store/table.cpp: Table::check */
inline check(key, now) {
  lock(home[key]);
  if
  :: tag[home[key]] == key -> decide(home[key], key, now)
  :: else ->
     if
#ifndef OVERFLOWED_IS_NOT_LOOKED_AT
     :: overflowed[home[key]] ->
#ifdef THE_OTHER_IS_WAITED_FOR
        lock(other[key]);
        got = true;
#else
        try_lock(other[key]);
#endif
        if
        :: got && tag[other[key]] == key -> decide(other[key], key, now); unlock(other[key])
        :: got && tag[other[key]] != key -> unlock(other[key])
        :: else
        fi;
        got = false
#endif
     :: else ->
#ifndef WHAT_WAS_FORGOTTEN_IS_NOT_ASKED
        no_earlier = forgotten;
#endif
        decide_fresh(home[key], key, now);
        no_earlier = 0
     fi
  fi;
  unlock(home[key]);
  if
  :: done
  :: else -> check_pair(key, now)
  fi
}

/* src/store/table.cpp: Table::raise
   Asks nobody: here it is to a unit more than all that was charged before. */
inline raise(key, base) {
  next = base + 1;
  assert(next > charged_to[key]);
  charged_to[key] = next
}

/* src/store/table.cpp: change
   For Table::raise(). */
inline change(key, now) {
  lock(home[key]);
  if
  :: tag[home[key]] == key ->
     atomic { base = MAX(until[home[key]], now); raise(key, base); until[home[key]] = next; next = 0; base = 0; done = true }
  :: tag[home[key]] != key && !overflowed[home[key]] && until[home[key]] <= now ->
#ifndef WHAT_IS_OWED_BEGINS_NOW
     no_earlier = forgotten;
#endif
     atomic { base = MAX(now, no_earlier); raise(key, base); put(home[key], key, next); next = 0; base = 0; done = true }
  :: else
  fi;
  unlock(home[key]);
  do
  :: done -> break
  :: else ->
     lock_pair(key);
#ifndef WHAT_IS_OWED_BEGINS_NOW
     no_earlier = forgotten;
#endif
     if
     :: tag[home[key]] == key ->
        atomic { base = MAX(until[home[key]], now); raise(key, base); until[home[key]] = next; next = 0; base = 0; done = true }
     :: tag[other[key]] == key ->
        atomic { base = MAX(until[other[key]], now); raise(key, base); until[other[key]] = next; next = 0; base = 0; done = true }
     :: else ->
        if
        :: until[home[key]] <= now ->
           atomic { base = MAX(now, no_earlier); raise(key, base); put(home[key], key, next); next = 0; base = 0; done = true }
        :: until[home[key]] > now && until[other[key]] <= now ->
           atomic { base = MAX(now, no_earlier); raise(key, base); put(other[key], key, next); next = 0; base = 0; done = true };
           overflowed[home[key]] = true
        :: else
        fi
     fi;
     unlock(other[key]);
     unlock(home[key]);
     if
     :: done -> break
     :: else ->
        make(key, now);
        if
        :: room
        :: else -> break /* it is lost, as Table::raise() says */
        fi
     fi
  od;
  no_earlier = 0
}

/* src/store/table.cpp: Table::reset */
inline reset(key) {
  lock_pair(key);
  if
  :: tag[home[key]] == key -> until[home[key]] = 0
  :: else
  fi;
  if
  :: tag[other[key]] == key -> until[other[key]] = 0
  :: else
  fi;
  charged_to[key] = 0;
  unlock(other[key]);
  unlock(home[key])
}

/* src/store/table.cpp: Table::put_back
   Of what is kept of a key the further in debt stays; leaves `done`. */
inline put_back(key, new_until) {
  lock_pair(key);
  atomic {
    if
    :: tag[home[key]] == key -> until[home[key]] = MAX(until[home[key]], new_until); done = true
    :: tag[other[key]] == key -> until[other[key]] = MAX(until[other[key]], new_until); done = true
    :: tag[home[key]] != key && tag[other[key]] != key && until[home[key]] <= 1 ->
       put(home[key], key, new_until); done = true
    :: tag[home[key]] != key && tag[other[key]] != key && until[home[key]] > 1 && until[other[key]] <= 1 ->
       put(other[key], key, new_until); overflowed[home[key]] = true; done = true
    :: else
    fi;
    if
    :: done -> charged_to[key] = MAX(charged_to[key], new_until)
    :: else
    fi
  };
  unlock(other[key]);
  unlock(home[key])
}

/* src/store/table.cpp: Table::restore
   By a clock that says 1. */
inline restore(key, new_until) {
  do
  :: put_back(key, new_until);
     if
     :: done -> break
     :: else ->
        make(key, 1);
        if
        :: room
        :: else -> break
        fi
     fi
  od
}

/* src/store/segments.cpp: Segments::copy_bucket
   Leaves in `copied` which keys were found. */
inline copy_bucket(bucket) {
  lock(bucket);
  copied = copied | (1 << tag[bucket]);
  unlock(bucket)
}

/* src/store/segments.cpp: Segments::copy
   No entry that is live throughout is missed. In the order against which the entries of this model can move. */
inline copy() {
#ifndef A_COPY_LETS_ENTRIES_MOVE
  atomic { !shape -> shape = true };
#endif
  live = (until[0] > 2) << tag[0] | (until[1] > 2) << tag[1] | (until[2] > 2) << tag[2];
  copy_bucket(2);
  copy_bucket(1);
  copy_bucket(0);
#ifndef A_COPY_LETS_ENTRIES_MOVE
  shape = false;
#endif
  assert((live & copied) == live)
}

/* The model's own. */
inline any_key() {
  if
  :: key = A
  :: key = B
  :: key = C
  fi
}

proctype charges(byte key; byte now) {
  byte low, high, next, no_earlier, nodes, at, made;
  byte node[NODES], moved[NODES];
  bool got, done, found, missed, room;
  if
  :: key == 0 -> any_key()
  :: else
  fi;
  check(key, now);
  ended++
}

proctype does_anything(byte now) {
  byte key, low, high, next, no_earlier, base, nodes, at, live, copied, made;
  byte node[NODES], moved[NODES];
  bool got, done, found, missed, room;
  if
  :: any_key(); check(key, now)
  :: any_key(); change(key, now)
  :: any_key(); reset(key)
  :: copy()
  fi;
  ended++
}

/* Each wants the slot of the entry that the other one has moved out of its way. */
proctype makes_room_too() {
  byte low, high, next, no_earlier, base, nodes, at, made;
  byte node[NODES], moved[NODES];
  bool got, done, found, missed, room;
  if
  :: check(D, 1)
  :: change(D, 1)
  :: restore(D, 3)
  fi;
  ended++
}

/* The model's own. */
inline find_all() {
  key = A;
  do
  :: key > KEYS -> break
  :: else ->
     found = (tag[0] == key) + (tag[1] == key) + (tag[2] == key);
     assert(found <= 1);
     assert(charged_to[key] <= forgotten || (tag[home[key]] == key && until[home[key]] == charged_to[key]) ||
            (tag[other[key]] == key && until[other[key]] == charged_to[key] && overflowed[home[key]]));
     key++
  od
}

init {
  byte key, found;
  atomic {
    tag[0] = A; until[0] = 3; charged_to[A] = 3;
    tag[1] = B; until[1] = 2; charged_to[B] = 2;
    if
    :: home[A] = 0; other[A] = 1
#if !defined(ENDS) || defined(LONG)
    :: home[A] = 1; other[A] = 0; overflowed[1] = true
#endif
    fi;
    if
#if !defined(ENDS) || defined(LONG)
    :: home[B] = 1; other[B] = 2
#endif
    :: home[B] = 2; other[B] = 1; overflowed[2] = true
    fi;
    if
    :: home[C] = 0; other[C] = 1
    :: home[C] = 1; other[C] = 0
    fi;
    if
    :: overflowed[home[C]] = true
#if !defined(ENDS) || defined(LONG)
    :: true
#endif
    fi;
    if
    :: home[D] = 0; other[D] = 0;
       run charges(C, 1);
       run charges(0, 2);
       run does_anything(1)
    :: home[C] == 0 && home[B] == 2 && overflowed[home[C]] ->
       /* A lies in 0 and may in 1, which is free; C belongs into 0 and D into 1, and either into 2, where B stays. */
       home[A] = 0; other[A] = 1; tag[1] = 0; until[1] = 0; tag[2] = B; until[2] = 3; charged_to[B] = 3;
       home[B] = 2; other[B] = 1;
       home[C] = 0; other[C] = 2; home[D] = 1; other[D] = 2;
       ended = 1;
       run charges(C, 1);
       run makes_room_too()
    fi;
    ended == THREADS;
    find_all() /* each key has one entry, or none when all that it owed has drained and was forgotten */
  }
}

ltl ends { <> (ended == THREADS) }
