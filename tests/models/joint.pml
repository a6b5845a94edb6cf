/* Several keys of a request, charged all or none: first where each has an entry or finds room as the table lies, and
   otherwise in rounds, with claims to the slots that were found or made free. No request is seen half charged, no
   charge is lost, no key gets two entries, no thread waits for good, every request ends, and one that is alone needs
   two rounds, and one more for a split.

   Two threads: a request for A and B, and one for B and A or for C and B; or the first of them alone. A segment of one
   leaf or two, which the first that finds no room splits; four buckets with one slot each, in which two keys lie that
   may move. Each limit has room for one charge or for two, and when_full allows or denies.

   What is left out: memory orders weaker than "one after the other"; the single loads of owner() (segments.pml);
   clocks that lag (bucket.pml); limits that are checked but not enforced; two checks of one key; lines (stripes.pml);
   more than one slot, so that the search for room is a chain and not a tree; kMostMissed is 1; the length of time. */

#define NUMBERS 4 /* buckets in a segment */
#define BUCKETS (2 * NUMBERS)
#define NODES 3   /* of a search for room */
#define MOST_MISSED 1
#define NOW 1
#define BURST 2   /* T is 1 */
#define A 1       /* the keys; 0: an empty slot */
#define B 2
#define C 3
#define D 4
#define E 5
#define KEYS 5
#define NONE 255
#define NOTHING 0 /* Segments::Room */
#define FIRST 1
#define SECOND 2
#define SPLIT 3
#define MISSED 4

bool locked[BUCKETS], overflowed[BUCKETS];
byte tag[BUCKETS], until[BUCKETS];
bool shape[2], searched[2];
byte leaves, progress; /* of the split: the buckets below it have given the keys of leaf 1 away */
bool is_split;

byte leaf[KEYS + 1], number[2 * KEYS + 2]; /* by key; of its home, and of its other bucket */
byte charged_to[KEYS + 1];                 /* by key: the tat that its last charge left */
byte wrote[2], goal[2];                    /* by thread: bits of its keys that it has charged, and will have */
byte ended, threads;

#define MAX(a, b) ((a) > (b) -> (a) : (b))
/* Segments::owner(), and the segment that the directory names. */
#define OWNER(key, which) \
  (number[2 * (key) + (which)] + (leaf[key] == 1 && number[2 * (key) + (which)] < progress -> NUMBERS : 0))
#define SEGMENT(key) (is_split && leaf[key] == 1)
/* Segments::other() */
#define FROM(bucket, key) \
  ((bucket) - (bucket) % NUMBERS + \
   ((bucket) % NUMBERS == number[2 * (key)] -> number[2 * (key) + 1] : number[2 * (key)]))
#define IS_FREE(bucket) (until[bucket] <= NOW)
#define ALLOWED(i) (charged_to[key[i]] < NOW + BURST)

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
   Those of `sorted`. What is held is given back before the thread sleeps. */
inline lock_all() {
  do
  :: at == count -> break
  :: atomic { at < count && !locked[sorted[at]] -> locked[sorted[at]] = true; at++ }
#ifndef LOCKS_ARE_KEPT_IN_ANY_ORDER
  :: at > 0 && at < count && locked[sorted[at]] ->
     do
     :: atomic { at > 0 -> at--; unlock(sorted[at]) }
     :: at == 0 -> break
     od
#endif
  od;
  at = 0
}

/* The model's own. */
inline unlock_all() {
  do
  :: atomic { count > 0 -> count--; unlock(sorted[count]); sorted[count] = 0 }
  :: count == 0 -> break
  od
}

#ifdef LOCKS_ARE_KEPT_IN_ANY_ORDER
#define LOCKS_ARE_TAKEN_IN_ANY_ORDER
#endif
#ifdef LOCKS_ARE_TAKEN_IN_ANY_ORDER
#define IS_AFTER(a, b) (who && (a) < (b) || !who && (a) > (b))
#else
#define IS_AFTER(a, b) ((a) > (b))
#endif

/* src/store/bucket.hpp: HeldAll::sort
   And each once. */
inline sort() {
  at = 1;
  do
  :: at == count -> break
  :: else ->
     with = at;
     do
     :: with > 0 ->
        if
        :: IS_AFTER(sorted[with - 1], sorted[with]) ->
           one = sorted[with];
           sorted[with] = sorted[with - 1];
           sorted[with - 1] = one;
           with--
        :: else -> break
        fi
     :: else -> break
     od;
     at++
  od;
  at = 0;
  with = 1;
  do
  :: with == count -> break
  :: else ->
     if
     :: sorted[with] != sorted[at] -> at++; sorted[at] = sorted[with]
     :: else
     fi;
     with++
  od;
  with = at + 1;
  do
  :: count == with -> break
  :: else -> count--; sorted[count] = 0
  od;
  at = 0;
  with = 0;
  one = 0
}

/* What was found of a key, or that nothing was, is all that it was charged. */
/* The model's own. */
inline is_all_there(i) {
  assert(charged_to[key[i]] == (place[i] != NONE && known[i] -> MAX(until[place[i]], NOW) : NOW))
}

/* No request is seen half charged by one that has its keys' buckets. */
/* The model's own. */
inline is_all_or_none() {
  assert(wrote[who] == 0);
  assert(wrote[1 - who] == 0 || wrote[1 - who] == goal[1 - who] || !same_keys)
}

/* src/store/segments.hpp: Segments::Segment::put */
inline put(bucket, new_key, new_until) {
  assert(IS_FREE(bucket));
  tag[bucket] = new_key;
  until[bucket] = new_until
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::write
   And as check_in_place() does. */
inline write(i) {
  if
  :: atomic {
       place[i] != NONE ->
       assert(ALLOWED(i));
       charged_to[key[i]] = charged_to[key[i]] + 1;
       if
       :: known[i] -> until[place[i]] = charged_to[key[i]]
       :: else -> put(place[i], key[i], charged_to[key[i]])
       fi;
       wrote[who] = wrote[who] | (1 << i)
     };
     if
#ifndef HOME_IS_NOT_MARKED
     :: place[i] != homes[2 * i] && !known[i] -> overflowed[homes[2 * i]] = true
#endif
     :: else
     fi
  :: place[i] == NONE
  fi
}

/* src/store/in_place.cpp: look_away
   Not `simple`: another thread is about that bucket, or another key of the request. */
inline look_away(i) {
  homes[2 * i + 1] = OWNER(key[i], 1);
#ifdef THE_OTHER_IS_WAITED_FOR
  atomic { !locked[homes[2 * i + 1]] -> locked[homes[2 * i + 1]] = true; got = true };
#else
  try_lock(homes[2 * i + 1]);
#endif
  if
  :: !got -> homes[2 * i + 1] = NONE; simple = false
  :: else ->
     got = false;
     if
#ifdef THE_OTHER_IS_NOT_ASKED_FOR_AGAIN
     :: d_step {
#else
     :: homes[2 * i + 1] != OWNER(key[i], 1) -> simple = false
     :: d_step {
          homes[2 * i + 1] == OWNER(key[i], 1) ->
#endif
          known[i] = tag[homes[2 * i + 1]] == key[i];
          if
          :: known[i] || (place[i] == NONE && IS_FREE(homes[2 * i + 1])) -> place[i] = homes[2 * i + 1]
          :: else
          fi;
          is_all_there(i)
        }
     fi
  fi
}

/* src/store/in_place.cpp: find */
inline find(i) {
  if
  :: homes[2 * i] != OWNER(key[i], 0) -> simple = false
  :: d_step {
       homes[2 * i] == OWNER(key[i], 0) ->
       known[i] = tag[homes[2 * i]] == key[i];
       place[i] = (known[i] || IS_FREE(homes[2 * i]) -> homes[2 * i] : NONE)
     };
     if
     :: d_step { known[i] || (place[i] != NONE && !overflowed[homes[2 * i]]) -> is_all_there(i) }
     :: else -> look_away(i)
     fi
  fi
}

/* What a round does not take from the one before: of a claim only the bucket stays, in `home`. */
/* The model's own. */
inline clear() {
  place[0] = NONE; place[1] = NONE;
  known[0] = false; known[1] = false;
  claims[0] = false; claims[1] = false;
  homes[0] = NONE; homes[1] = NONE; homes[2] = NONE; homes[3] = NONE
}

/* src/store/in_place.cpp: check_in_place
   Leaves `done`. */
inline check_in_place() {
  homes[0] = OWNER(key[0], 0);
  homes[2] = OWNER(key[1], 0);
  d_step { sorted[0] = homes[0]; sorted[1] = homes[2]; count = 2; simple = true; sort() };
  lock_all();
  if
  :: count == 2 ->
     find(0);
     if
     :: simple -> find(1)
     :: else
     fi
  :: else -> simple = false
  fi;
  if
  :: simple && !(ALLOWED(0) && ALLOWED(1)) -> done = true
  :: simple && ALLOWED(0) && ALLOWED(1) && place[0] != NONE && place[1] != NONE ->
     d_step { is_all_or_none(); goal[who] = 3 };
     write(0);
     write(1);
     done = true
  :: else
  fi;
  if
  :: homes[3] != NONE -> unlock(homes[3])
  :: else
  fi;
  if
  :: homes[1] != NONE -> unlock(homes[1])
  :: else
  fi;
  unlock_all();
  atomic { clear(); simple = false }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::find_homes */
inline find_homes() {
  d_step { homes[0] = OWNER(key[0], 0); homes[1] = OWNER(key[0], 1) };
  d_step { homes[2] = OWNER(key[1], 0); homes[3] = OWNER(key[1], 1) };
  d_step {
    sorted[0] = homes[0]; sorted[1] = homes[1];
    sorted[2] = homes[2]; sorted[3] = homes[3];
    count = 4;
#ifdef THE_SECOND_KEY_IS_NOT_LOCKED
    count = 2;
#endif
    sort()
  }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::homes_still_hold
   Leaves `hold`. */
inline homes_still_hold() {
#ifdef HOMES_ARE_NOT_READ_AGAIN
  hold = true
#else
  hold = homes[0] == OWNER(key[0], 0) && homes[1] == OWNER(key[0], 1) &&
         homes[2] == OWNER(key[1], 0) && homes[3] == OWNER(key[1], 1)
#endif
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::find_keys */
inline find_keys(i) {
  d_step {
    if
    :: tag[homes[2 * i]] == key[i] -> known[i] = true; home[i] = 0
#ifndef ONLY_HOMES_ARE_LOOKED_INTO
    :: tag[homes[2 * i]] != key[i] && tag[homes[2 * i + 1]] == key[i] -> known[i] = true; home[i] = 1
#endif
    :: else
    fi;
    if
    :: known[i] ->
       place[i] = homes[2 * i + home[i]];
#ifndef A_DRAINED_ENTRY_IS_NO_CLAIM
       claims[i] = IS_FREE(place[i])
#endif
    :: else
    fi;
    is_all_there(i)
  }
}

#ifdef A_SLOT_IS_FOUND_TWICE
#define IS_TAKEN(i, which) (!IS_FREE(homes[2 * i + which]))
#else
#define IS_TAKEN(i, which) (place[1 - i] == homes[2 * i + which] || !IS_FREE(homes[2 * i + which]))
#endif
#define HAS_SLOT(i) (place[i] != NONE || unstored[i])

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::find_slot
   In the bucket that is claimed for the key, or else in its other one. */
inline find_slot(i) {
  d_step {
    if
    :: !known[i] && !unstored[i] ->
       if
       :: !IS_TAKEN(i, home[i])
       :: else -> home[i] = 1 - home[i]
       fi;
       if
       :: !IS_TAKEN(i, home[i]) -> place[i] = homes[2 * i + home[i]]; claims[i] = true
       :: else -> home[i] = 1 - home[i]
       fi
    :: else
    fi
  }
}
/* src/store/segments.cpp: Segments::move
   Leaves `lost`: it no longer fits. */
inline move(source, target, moving) {
  d_step { sorted[0] = source; sorted[1] = target; count = 2; sort() };
  lock_all();
  if
  :: atomic {
       tag[source] == moving && IS_FREE(target) ->
       put(target, moving, until[source]);
       tag[source] = 0;
       until[source] = 0
     };
     if
     :: source % NUMBERS == number[2 * moving] -> overflowed[source] = true
     :: else
     fi
  :: else -> lost = true
  fi;
  unlock_all()
}

#ifdef CLAIMED_SLOTS_ARE_FREE
#define SPOKEN_FOR(bucket) 0
#else
#define SPOKEN_FOR(bucket) (claimed[0] == (bucket) || claimed[1] == (bucket))
#endif

/* src/store/segments.cpp: Segments::displace
   Leaves `found`: the root has a slot, or `lost`: another thread filled one meanwhile. */
inline displace(root) {
  d_step { node[0] = root; nodes = 1; at = 0 };
  do
  :: at == nodes -> break
  :: else ->
     /* under the bucket's lock */
     atomic {
       !locked[node[at]] ->
       if
       :: IS_FREE(node[at]) && !SPOKEN_FOR(node[at]) -> found = true
       :: else ->
          if
          :: !IS_FREE(node[at]) && nodes < NODES && (at == 0 || FROM(node[at], tag[node[at]]) != node[at - 1]) ->
             moved[nodes] = tag[node[at]];
             node[nodes] = FROM(node[at], moved[nodes]);
             nodes++
          :: else
          fi
       fi
     };
     if
     :: found -> break
     :: else -> at++
     fi
  od;
  atomic { step = (found -> at : 0); at = 0 };
  do
  :: step > 0 && !lost ->
     d_step { from = node[step - 1]; to = node[step]; moving = moved[step] };
     move(from, to, moving);
     atomic { from = 0; to = 0; moving = 0; step-- }
  :: else -> break
  od;
  atomic {
    found = found && !lost;
    node[0] = 0; node[1] = 0; node[2] = 0; moved[1] = 0; moved[2] = 0; nodes = 0; step = 0
  }
}

/* src/store/segments.cpp: Segments::split_bucket
   Also of the segment that gives: its number is 0. */
inline split_bucket() {
  d_step { sorted[0] = step; sorted[1] = step + NUMBERS; count = 2 };
  lock_all();
  d_step {
#ifndef A_SPLIT_LEAVES_THE_MARK
    overflowed[step + NUMBERS] = overflowed[step];
#endif
    if
    :: until[step] != 0 && leaf[tag[step]] == 1 ->
       tag[step + NUMBERS] = tag[step];
       until[step + NUMBERS] = until[step];
       tag[step] = 0;
       until[step] = 0
    :: else
    fi;
    progress = step + 1
  };
  unlock_all()
}

/* src/store/segments.cpp: Segments::split
   Leaves `room`. */
inline split(segment) {
  if
  :: leaves == 2 && !is_split ->
     atomic { !shape[1] -> shape[1] = true };
     do
     :: step == NUMBERS -> break
     :: else -> split_bucket(); step++
     od;
     step = 0;
     d_step { is_split = true; room = SPLIT };
     shape[1] = false
  :: else
  fi
}

/* src/store/segments.cpp: Segments::make_room_in
   Leaves `room`. */
inline make_room_in(i) {
  displace(segment * NUMBERS + number[2 * key[i]]);
  if
  :: found -> room = FIRST
  :: else ->
     missing = lost;
     lost = false;
     displace(segment * NUMBERS + number[2 * key[i] + 1]);
     if
     :: found -> room = SECOND
     :: !found && (lost || missing) -> room = MISSED
     :: else ->
        split(segment);
        if
        :: room == SPLIT
        :: else -> searched[segment] = true
        fi
     fi
  fi;
  d_step { found = false; lost = false; missing = false }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::refuse
   Leaves `done`: the whole request is refused. */
inline refuse(i) {
  if
  :: unstored[i] = true
  :: done = true
  fi
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::make_room */
inline make_room() {
#ifndef LOST_CLAIMS_ARE_NOT_COUNTED
  missed = missed + had_room;
#endif
  d_step {
    assert(!(had_room && threads == 1));
    had_room = false;
    claimed[0] = (claims[0] -> place[0] : NONE);
    claimed[1] = (claims[1] -> place[1] : NONE);
    one = 0
  };
  do
  :: one == 2 -> had_room = true; break
  :: one < 2 && HAS_SLOT(one) -> one++
  :: else ->
     which = one;
     room = NOTHING;
     do
     :: missed > MOST_MISSED -> break
     :: else ->
        segment = SEGMENT(key[which]);
        if
        :: searched[segment] -> break
        :: else
        fi;
        atomic { !shape[segment] -> shape[segment] = true };
        if
        :: segment == SEGMENT(key[which]) -> make_room_in(which); shape[segment] = false; break
        :: else -> shape[segment] = false
        fi
     od;
     atomic { one = which; which = 0; segment = 0 };
     if
     :: room == FIRST || room == SECOND ->
        d_step { home[one] = room - FIRST; claimed[one] = homes[2 * one + home[one]] }
     :: room == SPLIT -> break
     :: room == MISSED -> missed++; break
     :: room == NOTHING -> refuse(one)
     fi;
     if
     :: done -> break
     :: else -> one++
     fi
  od;
  atomic { one = 0; room = NOTHING; claimed[0] = NONE; claimed[1] = NONE }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::round */
inline round() {
  atomic { rounds = rounds + (threads == 1); assert(rounds <= 2 + is_split) };
  find_homes();
  lock_all();
  homes_still_hold();
  if
  :: !hold -> unlock_all()
  :: else ->
     hold = false;
     find_keys(0);
     find_keys(1);
     if
     :: !(ALLOWED(0) && ALLOWED(1)) ->
#ifdef ONE_THAT_IS_DENIED_STOPS_NOBODY
        if
        :: ALLOWED(0) -> write(0)
        :: else
        fi;
#endif
        done = true;
        unlock_all()
     :: else ->
        find_slot(0);
#ifdef ONE_IS_CHARGED_BEFORE_ALL_HAVE_SLOTS
        write(0);
#endif
        find_slot(1);
        if
        :: HAS_SLOT(0) && HAS_SLOT(1) ->
           d_step { is_all_or_none(); goal[who] = (place[0] == NONE -> 0 : 1) + (place[1] == NONE -> 0 : 2) };
#ifndef ONE_IS_CHARGED_BEFORE_ALL_HAVE_SLOTS
           write(0);
#endif
           write(1);
           done = true;
           unlock_all()
        :: else ->
           unlock_all();
           make_room()
        fi
     fi
  fi;
  atomic { clear() }
}

/* src/store/table.cpp: Table::check_all */
inline check_all() {
  check_in_place();
  do
  :: done -> break
  :: else -> round()
  od
}

proctype asks(bool who; byte first; byte second; bool same_keys) {
  byte key[2], homes[4], place[2], claimed[2], sorted[4], node[NODES], moved[NODES];
  bool home[2], known[2], claims[2], unstored[2];
  bool got, simple, hold, done, found, lost, missing, had_room, segment;
  byte count, at, with, one, nodes, step, from, to, moving, which, missed, room, rounds;
  d_step { key[0] = first; key[1] = second; clear(); claimed[0] = NONE; claimed[1] = NONE };
  check_all();
  assert(wrote[who] == goal[who]);
  ended++
}

/* The model's own. */
inline lies(one, a, b) { number[2 * one] = a; number[2 * one + 1] = b }

/* The model's own. */
inline find_all() {
  one = A;
  do
  :: one > KEYS -> break
  :: else ->
     at = 0;
     count = 0;
     do
     :: at == BUCKETS -> break
     :: at < BUCKETS && tag[at] == one && (at == OWNER(one, 0) || at == OWNER(one, 1)) ->
        assert(until[at] == charged_to[one]);
        count++;
        at++
     :: else -> assert(tag[at] != one || IS_FREE(at)); at++
     od;
     assert(count == 1 || (count == 0 && charged_to[one] == NOW));
     one++
  od
}

init {
  byte one, at, count;
  bool same;
  atomic {
    charged_to[A] = NOW; charged_to[B] = NOW; charged_to[C] = NOW; charged_to[D] = 2; charged_to[E] = 2;
    lies(D, 0, 1); tag[0] = D; until[0] = 2;
    if
    :: lies(E, 2, 3)
    :: lies(E, 2, 1)
    fi;
    tag[2] = E; until[2] = 2;
    if
    :: lies(A, 0, 1)
    :: lies(A, 0, 3)
#ifdef LONG
    :: lies(A, 1, 2)
    :: lies(A, 3, 0)
#endif
    fi;
    if
    :: lies(B, 2, 1)
    :: lies(B, 2, 3)
#if !defined(ENDS) || defined(LONG)
    :: lies(B, 0, 1)
#endif
#ifdef LONG
    :: lies(B, 0, 3)
#endif
    fi;
    if
    :: lies(C, 3, 2)
#ifdef LONG
    :: lies(C, 0, 1)
    :: lies(C, 2, 1)
#endif
    fi;
    if /* B has no entry, one that has drained, or one that owes */
    :: true
    :: tag[number[2 * B + 1]] = B; until[number[2 * B + 1]] = 1; overflowed[number[2 * B]] = true
    :: tag[number[2 * B + 1]] = B; until[number[2 * B + 1]] = 2; overflowed[number[2 * B]] = true; charged_to[B] = 2
    fi;
    if
    :: leaves = 1
    :: leaves = 2; leaf[D] = 1
    :: leaves = 2; leaf[B] = 1
    fi;
    if
    :: threads = 1
    :: threads = 2; same = true; run asks(1, B, A, true)
    :: threads = 2; run asks(1, C, B, false)
    fi;
    run asks(0, A, B, same);
    ended == threads;
    find_all()
  }
}

ltl ends { <> (threads != 0 && ended == threads) }
