/* The locks of reservations: stripes in the order of their numbers, then a shelf, then buckets. A check that finds a
   schedule lets go of its buckets, locks the stripes and begins again. Nobody waits for good, every call ends, an id is
   taken once, and each unit that a key's state owes has one owner: what was charged stays charged, and what was given
   back is given back once.

   Two keys, each with a bucket and a stripe; the numbers of the stripes are the other way round than the addresses of
   the buckets. One reservation is there, which acts now or later. Three threads: one reserves; one cancels or settles
   what is there, or what the first has reserved; and one checks, cancels, resets, gives back, clears away or copies.
   The third one's clock may be so far ahead that all that is owed has drained for it.

   What is left out: memory orders weaker than "one after the other"; how a key's entry is found and gets room
   (joint.pml: here each has a bucket); what a schedule knows beside its holes and who is ahead, so that a settlement
   moves nobody up; reservations without an id, for lack of memory; shadow checks; more than a unit; the length of
   time. */

#define NOW 1
#define LATE 8    /* all that is charged as of NOW has drained */
#define ENDS_BELOW 13
#define BURST 2   /* T is 1 */
#define MOST_WAIT 2
#define THREADS 3
#define BOTH 3    /* keys 0 and 1, as bits */

bool locked[2], lined[2]; /* by key: its bucket, and its state */
byte until[2];
bool stripe[2], shelf[2];
bool stripe_of[2];        /* by key */
bool has_line[2];
byte epoch[2], generation[2], grants[2], busy[2];
short holes[2];           /* bits of their ends */
byte epochs;

bool record[2];           /* by id */
bool is_held[2];
bool is_later[2];         /* its moment is ahead of NOW */
bool has_part[4];         /* by 2 * id + key, as what follows */
byte own_end[4], own_epoch[4], own_generation[4], own_grant[4];

/* Whose is the unit that ends there, by key. */
#define NOBODY 0
#define PLAIN 3   /* a check's; 1 and 2: that of id 0 and 1 */
#define HOLE 4
#define LOST 5    /* nobody's for good, though it is owed */
byte owner[2 * ENDS_BELOW];
byte base[2];             /* what ends no later has drained */
bool taken[2], is_granted;
byte ended;

#define OWNER(key, end) owner[(key) * ENDS_BELOW + (end)]
#define OWN(id, key) (2 * (id) + (key))
#define IS_LINED(key) (lined[key] && until[key] > now)
#define HAS(keys, key) ((keys) >> (key) & 1)
/* The key is not asked for, or allows one more unit by then. */
#define ALLOWS(keys, key, wait) (!HAS(keys, key) || until[key] + 1 <= now + BURST + (wait) || until[key] <= now)

/* Each unit that the state owes has an owner, and no hole has, whenever the key's bucket is locked. */
/* The model's own. */
inline is_whole(key) {
  d_step {
    at = base[key] + 1;
    do
    :: at == ENDS_BELOW -> break
    :: else ->
       assert((OWNER(key, at) != NOBODY) == (at <= until[key]));
       assert(OWNER(key, at) == HOLE || !(holes[key] >> at & 1));
       at++
    od;
    at = 0
  }
}

/* src/store/bucket.hpp: Bucket::lock */
inline lock(key) { atomic { !locked[key] -> locked[key] = true } }

/* src/store/bucket.hpp: Bucket::unlock */
inline unlock(key) { locked[key] = false }

/* src/store/spin.hpp: lock_all
   What is held is given back before the thread sleeps. */
inline lock_all(keys) {
  if
  :: keys == BOTH ->
     do
     :: lock(0);
        if
        :: atomic { !locked[1] -> locked[1] = true }; break
        :: locked[1] -> unlock(0)
        fi
     od
  :: else -> lock(keys >> 1)
  fi
}

/* The model's own. */
inline unlock_all(keys) {
  if
  :: HAS(keys, 1) -> unlock(1)
  :: else
  fi;
  if
  :: HAS(keys, 0) -> unlock(0)
  :: else
  fi
}

/* src/store/spin.hpp: SpinLock::lock
   The name of Bucket's is taken. */
/* The model's own. */
inline hold(one) { atomic { !one -> one = true } }

/* src/store/reservations.cpp: Reservations::Locked */
inline Locked(keys) {
  wanted = (HAS(keys, 0) -> 1 << stripe_of[0] : 0) | (HAS(keys, 1) -> 1 << stripe_of[1] : 0);
#ifdef STRIPES_ARE_LOCKED_AS_KEYS_ARE_NAMED
  if
  :: HAS(wanted, 1) && names_backwards -> hold(stripe[1])
  :: else
  fi;
#endif
  if
  :: HAS(wanted, 0) -> hold(stripe[0])
  :: else
  fi;
  if
#ifdef STRIPES_ARE_LOCKED_AS_KEYS_ARE_NAMED
  :: HAS(wanted, 1) && !names_backwards -> hold(stripe[1])
#else
  :: HAS(wanted, 1) -> hold(stripe[1])
#endif
  :: else
  fi
}

/* The model's own. */
inline unlock_stripes() {
  if
  :: HAS(wanted, 0) -> stripe[0] = false
  :: else
  fi;
  if
  :: HAS(wanted, 1) -> stripe[1] = false
  :: else
  fi;
  wanted = 0
}

/* src/store/schedule.cpp: Schedule::lose */
inline lose(key) {
  d_step {
    generation[key]++;
    at = 0;
    do
    :: at == ENDS_BELOW -> break
    :: holes[key] >> at & 1 -> OWNER(key, at) = LOST; holes[key] = holes[key] & ~(1 << at); at++
    :: else -> at++
    od;
    at = 0
  }
}

/* The model's own. */
inline erase_line(key) { atomic { lose(key); has_line[key] = false; busy[key] = 0; generation[key] = 0; grants[key] = 0 } }

/* src/store/reservations.cpp: Reservations::clear_away
   Of a stripe: what can be settled until then is over. */
inline clear_away(which) {
  if
  :: now == LATE ->
     if
     :: has_line[0] && stripe_of[0] == which -> erase_line(0)
     :: else
     fi;
     if
     :: has_line[1] && stripe_of[1] == which -> erase_line(1)
     :: else
     fi
  :: else
  fi
}

/* src/store/reservations.cpp: Reservations::clear_away_all */
inline clear_away_all() {
  hold(stripe[0]);
  clear_away(0);
  stripe[0] = false;
  hold(stripe[1]);
  clear_away(1);
  stripe[1] = false;
  hold(shelf[0]);
  record[0] = record[0] && now != LATE;
  shelf[0] = false;
  hold(shelf[1]);
  record[1] = record[1] && now != LATE;
  shelf[1] = false
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::write
   After AllOrNoneCheck::charge(). Leaves `end`. */
inline write(key) {
  d_step {
    if
    :: until[key] <= now ->
       until[key] = now;
       base[key] = now;
       lined[key] = false
    :: else
    fi;
    until[key]++;
    end[key] = until[key];
    lined[key] = lined[key] || keeps;
    OWNER(key, until[key]) = (reserving -> 2 : PLAIN)
  }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::round
   Leaves `needs_lines`; or `charged` and `wait`. */
inline round(keys) {
  lock_all(keys);
  if
  :: HAS(keys, 0) -> is_whole(0)
  :: else
  fi;
  if
  :: HAS(keys, 1) -> is_whole(1)
  :: else
  fi;
#ifndef A_LINE_IS_NOT_SEEN
  needs_lines = !with_lines && ((HAS(keys, 0) && IS_LINED(0)) || (HAS(keys, 1) && IS_LINED(1)));
#endif
  if
  :: needs_lines
  :: else ->
     d_step {
       charged = ALLOWS(keys, 0, 0) && ALLOWS(keys, 1, 0);
       wait = reserving && !charged && ALLOWS(keys, 0, MOST_WAIT) && ALLOWS(keys, 1, MOST_WAIT);
       charged = charged || wait;
       keeps = reserving && (holds || wait)
     };
     if
     :: charged && HAS(keys, 0) -> write(0)
     :: else
     fi;
     if
     :: charged && HAS(keys, 1) -> write(1)
     :: else
     fi
  fi;
#ifdef STRIPES_ARE_LOCKED_UNDER_BUCKETS
  if
  :: needs_lines -> Locked(keys)
  :: else
  fi;
#endif
  unlock_all(keys)
}

/* src/store/table.cpp: Table::check_scheduled
   And Reservations::check_all(). */
inline check_scheduled(keys) {
#ifndef STRIPES_ARE_LOCKED_UNDER_BUCKETS
  Locked(keys);
#endif
  if
  :: HAS(wanted, 0) -> clear_away(0)
  :: else
  fi;
  if
  :: HAS(wanted, 1) -> clear_away(1)
  :: else
  fi;
  with_lines = true;
  round(keys);
  unlock_stripes();
  with_lines = false
}

/* src/store/table.cpp: Table::check_all */
inline check_all(keys) {
  round(keys);
  if
  :: needs_lines -> needs_lines = false; check_scheduled(keys)
  :: else
  fi;
  atomic { end[0] = 0; end[1] = 0; keeps = false }
}

/* src/store/reservations.cpp: Reservations::make_schedule */
inline make_schedule(key) {
  if
  :: !has_line[key] -> d_step { epochs++; epoch[key] = epochs; has_line[key] = true; made = made | (1 << key) }
  :: else
  fi
}

/* src/store/table.cpp: Table::state_of
   And what Reservations::Used makes of it: leaves `before` and `was_lined`. */
inline state_of(key) {
  lock(key);
  is_whole(key);
  d_step { before = until[key]; was_lined = lined[key] };
  unlock(key);
  if
  :: !was_lined || before <= now -> lose(key)
  :: else
  fi
}

/* src/store/reservations.cpp: Reservations::take_hole
   Of a request with one key. Leaves `charged` and `wait`. */
inline take_hole(key) {
  if
  :: holes[key] != 0 ->
     lock(key); /* Table::look_all() */
     is_whole(key);
     charged = !ALLOWS(1 << key, key, 0);
     unlock(key);
     if
     :: charged ->
        d_step {
          at = 0;
          do
          :: holes[key] >> at & 1 -> break
          :: else -> at++
          od;
#ifndef A_HOLE_STAYS
          holes[key] = holes[key] & ~(1 << at);
#endif
          assert(OWNER(key, at) == HOLE);
          OWNER(key, at) = 2;
          end[key] = at;
          at = 0;
          wait = true
        }
     :: else
     fi
  :: else
  fi
}

/* src/store/schedule.cpp: Schedule::append
   As the part of id 1. */
inline append(key) {
  d_step {
    grants[key]++;
    has_part[OWN(1, key)] = true;
    own_end[OWN(1, key)] = end[key];
    own_epoch[OWN(1, key)] = epoch[key];
    own_generation[OWN(1, key)] = generation[key];
    own_grant[OWN(1, key)] = grants[key];
    busy[key]++
  }
}

/* src/store/reservations.cpp: Reservations::decide */
inline decide(keys) {
  if
  :: HAS(keys, 0) -> state_of(0)
  :: else
  fi;
  if
  :: HAS(keys, 1) -> state_of(1)
  :: else
  fi;
  if
  :: keys == 1 -> take_hole(0)
  :: else
  fi;
  if
  :: charged
  :: else ->
     with_lines = true;
     reserving = true;
     round(keys); /* Table::reserve_all() */
     d_step { with_lines = false; reserving = false }
  fi;
  if
  :: charged && (wait || holds) ->
     if
     :: HAS(keys, 0) -> append(0)
     :: else
     fi;
     if
     :: HAS(keys, 1) -> append(1)
     :: else
     fi
  :: charged && !wait && !holds -> plain(keys)
  :: else
  fi;
  atomic { end[0] = 0; end[1] = 0; before = 0; was_lined = false }
}

/* Of a reservation that acts at once and is not held nothing is kept. */
/* The model's own. */
inline plain(keys) {
  d_step {
    at = 0;
    do
    :: at == 2 * ENDS_BELOW -> break
    :: owner[at] == 2 -> owner[at] = PLAIN; at++
    :: else -> at++
    od;
    at = 0
  }
}

/* src/store/reservations.cpp: Reservations::keep
   Under the locks of the schedules. */
inline keep() {
  hold(shelf[1]);
  d_step { record[1] = true; is_later[1] = wait; is_held[1] = holds; is_granted = true };
  shelf[1] = false
}

/* src/store/reservations.cpp: Reservations::unmake */
inline unmake() {
  if
  :: HAS(made, 0) -> erase_line(0)
  :: else
  fi;
  if
  :: HAS(made, 1) -> erase_line(1)
  :: else
  fi
}

/* src/store/reservations.cpp: Reservations::reserve_later */
inline reserve_later(keys) {
  if /* Reservations::make_room(): memory is full, or is not */
  :: clear_away_all()
  :: true
  fi;
  Locked(keys);
  if
  :: HAS(keys, 0) -> make_schedule(0)
  :: else
  fi;
  if
  :: HAS(keys, 1) -> make_schedule(1)
  :: else
  fi;
#ifdef LINES_ARE_UNLOCKED_BEFORE_IT_IS_DECIDED
  unlock_stripes();
#endif
  decide(keys);
  if
  :: charged && (wait || holds) -> keep()
  :: else -> unmake()
  fi;
#ifndef LINES_ARE_UNLOCKED_BEFORE_IT_IS_DECIDED
  unlock_stripes();
#endif
  made = 0
}

/* src/store/reservations.cpp: Reservations::reserve
   As id 1. */
inline reserve(keys) {
  if
  :: holds
  :: else -> check_all(keys) /* Reservations::reserve_now() */
  fi;
  if
  :: charged
  :: else -> reserve_later(keys)
  fi
}

/* src/store/reservations.cpp: Reservations::take_record
   Leaves `found`. */
inline take_record(id, before_its_moment) {
  hold(shelf[id]);
  found = record[id] && (!before_its_moment || (is_later[id] && now == NOW));
#ifdef A_RECORD_IS_TAKEN_IN_TWO_STEPS
  shelf[id] = false;
  hold(shelf[id]);
#endif
  if
  :: found -> d_step { assert(!taken[id]); taken[id] = true; record[id] = false }
  :: else
  fi;
  shelf[id] = false
}

/* src/store/table.cpp: Table::exchange */
inline exchange(key, after) {
  lock(key);
  is_whole(key);
  d_step {
    if
#ifdef WHATEVER_IT_IS_NOW_IS_EXCHANGED
    :: true ->
#else
    :: until[key] == before && lined[key] == was_lined ->
#endif
       at = before;
       do
       :: at == after -> break
       :: else -> OWNER(key, at) = NOBODY; at--
       od;
       until[key] = after;
       at = 0
#ifndef WHATEVER_IT_IS_NOW_IS_EXCHANGED
    :: else -> assert(before <= base[key]) /* nothing but a check for which it has drained comes between */
#endif
    fi
  };
  unlock(key)
}

/* src/store/schedule.cpp: Schedule::take_last
   Also the unit itself. Leaves in `end` where the state is then. */
inline take_last(id, key) {
  d_step {
    end[key] = before - 1;
    do
    :: holes[key] >> end[key] & 1 -> holes[key] = holes[key] & ~(1 << end[key]); end[key]--
    :: else -> break
    od
  }
}

/* src/store/reservations.cpp: Reservations::cancel
   Of a part; and Reservations::settle(), of one that cost nothing: one that has acted, or is cancelled before it
   acts, is taken back at the end of its schedule. */
inline cancel(id, key, at_its_end) {
  if
#ifdef EPOCHS_ARE_NOT_COMPARED
  :: has_line[key] ->
#else
  :: has_line[key] && epoch[key] == own_epoch[OWN(id, key)] ->
#endif
     state_of(key);
     if
     :: generation[key] == own_generation[OWN(id, key)] ->
        assert(OWNER(key, own_end[OWN(id, key)]) == id + 1);
        if
        :: before == own_end[OWN(id, key)] && at_its_end ->
           take_last(id, key);
           exchange(key, end[key])
        :: else ->
           d_step {
             OWNER(key, own_end[OWN(id, key)]) = HOLE;
             holes[key] = holes[key] | (1 << own_end[OWN(id, key)])
           }
        fi
     :: else
     fi;
     d_step { end[key] = 0; before = 0; was_lined = false }
  :: else
  fi
}

/* src/store/table.cpp: Table::owe
   Asks nobody. */
inline owe(key) {
  lock(key);
  is_whole(key);
  d_step {
    if
    :: until[key] <= now -> until[key] = now; base[key] = now; lined[key] = false
    :: else
    fi;
    until[key]++;
    OWNER(key, until[key]) = PLAIN
  };
  unlock(key)
}

#define PARTS(id) (has_part[OWN(id, 0)] | has_part[OWN(id, 1)] << 1)

/* Reservations::cancel(), of a request. */
/* The model's own. */
inline cancel_id(id) {
  take_record(id, true);
  if
  :: found ->
     Locked(PARTS(id));
     if
     :: has_part[OWN(id, 0)] -> cancel(id, 0, true)
     :: else
     fi;
     if
     :: has_part[OWN(id, 1)] -> cancel(id, 1, true)
     :: else
     fi;
     atomic { is_over(id, 0); is_over(id, 1) };
     unlock_stripes()
  :: else
  fi
}

/* Nobody waits for what is over. */
/* The model's own. */
inline is_over(id, key) {
  if
  :: has_part[OWN(id, key)] && has_line[key] && epoch[key] == own_epoch[OWN(id, key)] -> busy[key]--
  :: else
  fi
}

/* Of a unit that cost nothing, one, or two. */
/* The model's own. */
inline settle_part(id, key, cost) {
  if
  :: !has_part[OWN(id, key)]
  :: has_part[OWN(id, key)] && cost == 0 -> cancel(id, key, !is_later[id])
  :: has_part[OWN(id, key)] && cost == 1
  :: has_part[OWN(id, key)] && cost == 2 ->
     if
     :: has_line[key] && epoch[key] == own_epoch[OWN(id, key)] -> state_of(key); owe(key)
     :: else
     fi;
     d_step { before = 0; was_lined = false }
  fi
}

/* src/store/reservations.cpp: Reservations::settle */
inline settle(id) {
  hold(shelf[id]);
  found = record[id];
  shelf[id] = false;
  if
  :: found && !is_held[id] -> /* it is refused, unless all schedules are gone */
     Locked(PARTS(id));
     unlock_stripes()
  :: found && is_held[id] ->
     take_record(id, false);
     if
     :: found ->
        Locked(PARTS(id));
        if
        :: cost = 0
        :: cost = 1
        :: cost = 2
        fi;
        settle_part(id, 0, cost);
        settle_part(id, 1, cost);
        atomic {
          cost = 0;
          if
          :: !is_later[id] -> is_over(id, 0); is_over(id, 1)
          :: else
          fi
        };
        unlock_stripes()
     :: else
     fi
  :: else
  fi
}

/* src/store/reservations.cpp: Reservations::reset */
inline reset(key) {
  hold(stripe[stripe_of[key]]);
#ifndef A_RESET_LEAVES_THE_LINE
  if
  :: has_line[key] -> erase_line(key)
  :: else
  fi;
#endif
  lock(key);
  is_whole(key);
  d_step {
    at = 0;
    do
    :: at == ENDS_BELOW -> break
    :: else -> OWNER(key, at) = NOBODY; at++
    od;
    until[key] = 0;
    lined[key] = false;
    base[key] = 0;
    at = 0
  };
  unlock(key);
  stripe[stripe_of[key]] = false
}

#define IS_OPEN(id, key) \
  (has_part[OWN(id, key)] && has_line[key] && epoch[key] == own_epoch[OWN(id, key)] && \
   generation[key] == own_generation[OWN(id, key)] && busy[key] != 0)

/* src/store/reservations.cpp: Reservations::give_back
   Of what a check has charged. */
inline give_back(key) {
  hold(stripe[stripe_of[key]]);
  if
#ifndef IT_IS_GIVEN_BACK_BEFORE_A_MOMENT
  :: has_line[key] && (holes[key] != 0 || busy[key] != 0)
#endif
  :: else ->
     lock(key);
     is_whole(key);
     d_step {
       if
       :: until[key] > base[key] ->
          /* The last unit is one that has acted, and nobody can take it back any more. */
          assert(OWNER(key, until[key]) == PLAIN || OWNER(key, until[key]) == LOST ||
                 OWNER(key, until[key]) != HOLE && !IS_OPEN(OWNER(key, until[key]) - 1, key));
          OWNER(key, until[key]) = NOBODY;
          until[key]--
       :: else
       fi
     };
     unlock(key)
  fi;
  stripe[stripe_of[key]] = false
}
/* src/store/reservations_copy.cpp: Reservations::copy
   What is cancelled or settled meanwhile is left out: it is not there to be given back again. */
inline copy() {
#ifdef RECORDS_ARE_COPIED_FIRST
  copy_records();
  copy_lines(0);
  copy_lines(1)
#else
  copy_lines(0);
  copy_lines(1);
  copy_records()
#endif
}

/* The model's own. */
inline copy_lines(which) {
  hold(stripe[which]);
  if
  :: stripe_of[0] == which -> copy_line(0)
  :: else
  fi;
  if
  :: stripe_of[1] == which -> copy_line(1)
  :: else
  fi;
  stripe[which] = false
}

/* The model's own. */
inline copy_line(key) {
  if
  :: has_line[key] ->
     lock(key); /* Table::state_of() */
     d_step {
       copied_epoch[key] = epoch[key];
       copied_grants[key] = grants[key];
       in_copy[OWN(0, key)] = has_part[OWN(0, key)] && OWNER(key, own_end[OWN(0, key)]) == 1;
       in_copy[OWN(1, key)] = has_part[OWN(1, key)] && OWNER(key, own_end[OWN(1, key)]) == 2
     };
     unlock(key)
  :: else
  fi
}

/* The model's own. */
inline copy_records() {
  hold(shelf[0]);
  copied[0] = record[0];
  shelf[0] = false;
  hold(shelf[1]);
  copied[1] = record[1];
  shelf[1] = false
}

/* The record is copied, and its schedule was copied when it had that part, or later. */
#define IS_KNOWN(id, key) \
  (copied[id] && has_part[OWN(id, key)] && copied_epoch[key] == own_epoch[OWN(id, key)] && \
   own_grant[OWN(id, key)] <= copied_grants[key])

/* The model's own. */
inline restores() {
  d_step {
    assert(!IS_KNOWN(0, 0) || in_copy[0]);
    assert(!IS_KNOWN(0, 1) || in_copy[1]);
    assert(!IS_KNOWN(1, 0) || in_copy[2]);
    assert(!IS_KNOWN(1, 1) || in_copy[3])
  }
}

proctype reserves(byte keys; bool holds) {
  byte now = NOW;
  byte end[2], at, wanted, made, before;
  bool with_lines, reserving, needs_lines, charged, wait, keeps, was_lined, names_backwards;
  names_backwards = true;
  reserve(keys);
  is_granted = true; /* or never will be */
  ended++
}

/* The model's own. */
inline any_id() {
  if
  :: id = 0
  :: is_granted -> id = 1
  fi
}

proctype takes_back() {
  byte now = NOW;
  byte end[2], at, wanted, before, cost, id;
  bool found, was_lined, names_backwards;
  any_id();
  if
  :: cancel_id(id)
  :: settle(id)
  fi;
  ended++
}

proctype does_anything(byte now) {
  byte end[2], at, wanted, before, keys, id, copied_epoch[2], copied_grants[2];
  bool with_lines, reserving, holds, needs_lines, charged, wait, keeps, found, was_lined, names_backwards;
  bool copied[2], in_copy[4];
  if
  :: true ->
     if
     :: now == LATE -> keys = 1
     :: keys = BOTH
     fi;
     check_all(keys)
  :: now == LATE -> clear_away_all()
  :: now == NOW -> any_id(); cancel_id(id)
  :: now == NOW -> reset(0)
  :: now == NOW -> give_back(0)
  :: now == NOW -> copy(); restores()
  fi;
  ended++
}

init {
  byte at;
  atomic {
    /* Key 0 owes what a check and the reservation were charged, and perhaps what another check was; key 1, what the
       reservation was. */
    until[0] = 3; OWNER(0, 2) = PLAIN; OWNER(0, 3) = 1; own_end[0] = 3;
    until[1] = 2; OWNER(1, 2) = 1; own_end[1] = 2;
    base[0] = NOW; base[1] = NOW;
    lined[0] = true; lined[1] = true;
    has_line[0] = true; epoch[0] = 1; grants[0] = 1; busy[0] = 1;
    has_line[1] = true; epoch[1] = 2; grants[1] = 1; busy[1] = 1;
    epochs = 2;
    record[0] = true;
    has_part[0] = true; own_epoch[0] = 1; own_grant[0] = 1;
    has_part[1] = true; own_epoch[1] = 2; own_grant[1] = 1;
    /* The first reservation of a schedule has found no state that the schedule knew. */
    generation[0] = 1; generation[1] = 1; own_generation[0] = 1; own_generation[1] = 1;
    if /* the reservation has acted, or is to, and is the last of key 0, or is not */
#if !defined(ENDS) || defined(LONG)
    :: is_held[0] = true
    :: is_held[0] = true; is_later[0] = true
#endif
    :: is_held[0] = true; is_later[0] = true; until[0] = 4; OWNER(0, 4) = PLAIN
    fi;
    if
    :: stripe_of[0] = 1
    fi;
    if
    :: run reserves(1, false)
    :: run reserves(BOTH, true)
#if !defined(ENDS) || defined(LONG)
    :: run reserves(1, true)
    :: run reserves(BOTH, false)
#endif
    fi;
    run takes_back();
    if
    :: run does_anything(NOW)
    :: run does_anything(LATE)
    fi;
    ended == THREADS;
    is_whole(0);
    is_whole(1);
    assert(!stripe[0] && !stripe[1] && !shelf[0] && !shelf[1] && !locked[0] && !locked[1])
  }
}

ltl ends { <> (ended == THREADS) }
