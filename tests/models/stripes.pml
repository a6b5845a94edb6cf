/* The locks of reservations: stripes in the order of their numbers, then a shelf, then buckets. A check that finds a
   key in a ledger lets go of its buckets, locks the stripes and begins again. Nobody waits for good, every call ends, an
   id is taken once, and what the ledgers and the states owe is what was charged, less what was given back: each once.

   Two keys, each with a bucket and a stripe; the numbers of the stripes are the other way round than the addresses of
   the buckets. Each is in a ledger, in which one reservation is open that has acted or acts later, and the first may be
   paused. Three threads: one reserves, now or for later; one cancels, settles, extends or asks for the moment of what is
   there or of what the first has reserved, or resets; and one checks, cancels, resets, gives back, pauses, clears away
   or copies. The third one's clock may be so far ahead that all that is owed has drained for it.

   What is left out: memory orders weaker than "one after the other"; how a key's entry is found and gets room
   (joint.pml: here each has a bucket); what is denied; moments, of which two grants never have the same; slots and
   windows; an id that is asked for instead of another; reservations without an id, for lack of memory; shadow checks;
   more than a unit; the length of time. */

#define NOW 1
#define LATE 8    /* all that is charged as of NOW has drained */
#define FAR 20    /* the end of a pause, in what is owed by then */
#define THREADS 3
#define BOTH 3    /* keys 0 and 1, as bits */

bool locked[2];           /* by key: its bucket, and its state: */
bool has_bit[2];          /* it is in a ledger */
byte units[2];            /* what it owes; of one in a ledger, until when that is not idle */
bool stripe[2], shelf[2];
bool stripe_of[2];        /* by key */
bool has_ledger[2], is_paused[2];
byte epoch[2], front[2], numbers[2];
byte grants[6];           /* by 2 * number + key: whose it is that is open there, 1 more than the id */
byte epochs;

bool record[2];           /* by id */
bool is_held[2];
bool is_later[2];         /* its moment is ahead of NOW */
bool has_part[4];         /* by 2 * id + key, as what follows */
byte own_epoch[4], own_number[4];

byte owes[2];             /* by key: what was charged, less what was given back, or has drained for anybody */
bool is_copying[2], has_left[2];
byte left[2], least[2], most[2];
bool taken[2], is_granted;
byte ended;

#define OWN(id, key) (2 * (id) + (key))
#define GRANT(number, key) grants[2 * (number) + (key)]
#define IS_OPEN(number, key) (GRANT(number, key) != 0)
#define OWED(key) (front[key] + IS_OPEN(1, key) + IS_OPEN(2, key))
#define IS_IDLE(key) (!IS_OPEN(1, key) && !IS_OPEN(2, key) && !is_paused[key])
#define UNTIL(key) (is_paused[key] -> FAR : OWED(key))
#define HAS(keys, key) ((keys) >> (key) & 1)
#define IS_IN_LEDGER(key) (has_bit[key] && now == NOW)

/* Whenever the key's bucket is locked. */
/* The model's own. */
inline is_whole(key) { assert(has_bit[key] || units[key] == owes[key]) }

/* Whenever its stripe is let go. */
/* The model's own. */
inline is_whole_in_ledger(key) {
  d_step {
    assert(!has_bit[key] || !has_ledger[key] || (OWED(key) == owes[key] && UNTIL(key) == units[key]));
    assert(!has_bit[key] || units[key] >= owes[key])
  }
}

/* What is owed while it is copied. */
/* The model's own. */
inline note(key) {
  if
  :: is_copying[key] && owes[key] < least[key] -> least[key] = owes[key]
  :: is_copying[key] && owes[key] > most[key] -> most[key] = owes[key]
  :: else
  fi
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

/* src/store/reservations_locked.hpp: Reservations::Locked */
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
  :: HAS(wanted, stripe_of[0]) -> is_whole_in_ledger(0)
  :: else
  fi;
  if
  :: HAS(wanted, stripe_of[1]) -> is_whole_in_ledger(1)
  :: else
  fi;
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

/* The model's own. */
inline erase_ledger(key) {
  d_step {
    has_ledger[key] = false; is_paused[key] = false;
    front[key] = 0; numbers[key] = 0; GRANT(1, key) = 0; GRANT(2, key) = 0
  }
}

/* src/store/reservations.cpp: Reservations::find_ledger
   Leaves whether there is one in `has`. */
inline find_ledger(key) {
  if
  :: has_ledger[key] ->
     lock(key); /* Table::state_of() */
     d_step { is_whole(key); has[key] = IS_IN_LEDGER(key) };
     unlock(key);
     if
     :: !has[key] -> erase_ledger(key)
     :: else
     fi
  :: else -> has[key] = false
  fi
}

/* src/store/reservations.cpp: Reservations::find_ledgers */
inline find_ledgers(keys) {
  if
  :: HAS(keys, 0) -> find_ledger(0)
  :: else
  fi;
  if
  :: HAS(keys, 1) -> find_ledger(1)
  :: else
  fi
}

/* src/store/table.cpp: Table::exchange
   Leaves in `is_known` whether the state was still that. */
inline exchange(key) {
  lock(key);
  d_step {
    is_whole(key);
#ifndef WHATEVER_IT_IS_NOW_IS_EXCHANGED
    is_known = has_bit[key] == had_bit && units[key] == before;
#endif
    if
    :: is_known -> has_bit[key] = !IS_IDLE(key); units[key] = UNTIL(key)
    :: else
    fi
  };
  unlock(key)
}

/* src/store/reservations.cpp: Reservations::put_state */
inline put_state(key) {
  lock(key); /* Table::state_of() */
  d_step { is_whole(key); had_bit = has_bit[key]; before = units[key]; is_known = IS_IN_LEDGER(key) };
  unlock(key);
  if
  :: is_known -> exchange(key)
  :: else
  fi;
  if
  :: is_known && !IS_IDLE(key)
  :: else ->
     d_step {
       has_left[key] = is_copying[key];
       left[key] = (is_copying[key] -> (is_known -> OWED(key) : units[key]) : 0)
     };
     erase_ledger(key)
  fi;
  d_step { had_bit = false; before = 0; is_known = false }
}

/* src/store/reservations.cpp: Reservations::clear_away
   Of a stripe: by that clock all are idle. For others what it owed may be forgotten: it has drained. */
inline clear_away(which) {
  if
  :: now == LATE && has_ledger[0] && stripe_of[0] == which -> put_state(0); drain(0)
  :: else
  fi;
  if
  :: now == LATE && has_ledger[1] && stripe_of[1] == which -> put_state(1); drain(1)
  :: else
  fi
}

/* The model's own. */
inline drain(key) {
  d_step {
    if
    :: has_bit[key] -> owes[key] = 0
    :: else
    fi
  }
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

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::find_keys
   Of one: its ledger, or the one that is made for it, is what the key's state is, unless that is in it. */
inline find_keys(key) {
  if
  :: !IS_IN_LEDGER(key) ->
#ifndef A_LEDGER_STAYS_AS_IT_WAS_FOUND
     is_paused[key] = false; GRANT(1, key) = 0; GRANT(2, key) = 0;
     front[key] = (now == LATE -> 0 : units[key])
#else
     skip
#endif
  :: IS_IN_LEDGER(key) && !has[key] ->
     is_paused[key] = false; GRANT(1, key) = 0; GRANT(2, key) = 0; front[key] = 0
  :: else
  fi
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::write_in_ledger
   What a pause asks for is not modelled. */
inline write_in_ledger(key) {
  if
  :: keeps -> numbers[key]++; GRANT(numbers[key], key) = 2
  :: pauses -> is_paused[key] = true
  :: else -> front[key]++
  fi
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::write
   After AllOrNoneCheck::charge(), of one key. */
inline write(key) {
  d_step {
    is_whole(key);
    if
    :: has[key] || keeps || pauses ->
       owes[key] = (IS_IN_LEDGER(key) -> owes[key] : (now == LATE -> 0 : units[key])) + !pauses;
       find_keys(key);
       write_in_ledger(key);
       has_bit[key] = !IS_IDLE(key);
       units[key] = UNTIL(key)
    :: else ->
       assert(!IS_IN_LEDGER(key) || !has_ledger[key]); /* nobody is charged past a ledger */
       units[key] = (now == LATE -> 1 : units[key] + 1);
       has_bit[key] = false;
       owes[key] = units[key]
    fi;
    note(key)
  }
}

/* src/store/all_or_none_check.cpp: AllOrNoneCheck::round
   Leaves `needs_ledgers`. */
inline round(keys) {
  lock_all(keys);
#ifndef A_LEDGER_IS_NOT_SEEN
  needs_ledgers = !with_ledgers && ((HAS(keys, 0) && IS_IN_LEDGER(0)) || (HAS(keys, 1) && IS_IN_LEDGER(1)));
#endif
  if
  :: !needs_ledgers && HAS(keys, 0) -> write(0)
  :: else
  fi;
  if
  :: !needs_ledgers && HAS(keys, 1) -> write(1)
  :: else
  fi;
#ifdef STRIPES_ARE_LOCKED_UNDER_BUCKETS
  if
  :: needs_ledgers -> Locked(keys)
  :: else
  fi;
#endif
  unlock_all(keys)
}

/* src/store/table.cpp: Table::check_in_ledgers
   And Reservations::check_all(). */
inline check_in_ledgers(keys) {
#ifndef STRIPES_ARE_LOCKED_UNDER_BUCKETS
  Locked(keys);
#endif
  find_ledgers(keys);
  with_ledgers = true;
  round(keys);
  unlock_stripes();
  d_step { with_ledgers = false; has[0] = false; has[1] = false }
}

/* src/store/table.cpp: Table::check_all */
inline check_all(keys) {
  round(keys);
  if
  :: needs_ledgers -> needs_ledgers = false; check_in_ledgers(keys)
  :: else
  fi
}

/* src/store/reservations.cpp: Reservations::keep_ledger
   If the key's state says so. */
inline keep_ledger(key) {
  if
  :: !has[key] ->
     lock(key); /* Table::state_of() */
     d_step {
       if
       :: IS_IN_LEDGER(key) -> has_ledger[key] = true; epochs++; epoch[key] = epochs
       :: else -> is_paused[key] = false; front[key] = 0; numbers[key] = 0; GRANT(1, key) = 0; GRANT(2, key) = 0
       fi
     };
     unlock(key)
  :: else
  fi
}

/* The model's own. */
inline keep_part(key) {
  keep_ledger(key);
  find_ledger(key);
  d_step {
    has_part[OWN(1, key)] = true;
    if
    :: has[key] -> own_epoch[OWN(1, key)] = epoch[key]; own_number[OWN(1, key)] = numbers[key]
    :: else
    fi
  }
}

/* src/store/reservations.cpp: Reservations::keep
   Under the locks of its stripes. */
inline keep(keys) {
  if
  :: HAS(keys, 0) -> keep_part(0)
  :: else
  fi;
  if
  :: HAS(keys, 1) -> keep_part(1)
  :: else
  fi;
  hold(shelf[1]); /* Reservations::put_back() */
  d_step { record[1] = true; is_later[1] = waits; is_held[1] = holds; is_granted = true };
  shelf[1] = false
}

/* src/store/reservations.cpp: Reservations::reserve_later
   As id 1. */
inline reserve_later(keys) {
  if /* Reservations::make_room(): memory is full, or is not */
  :: clear_away_all()
  :: true
  fi;
  Locked(keys);
  find_ledgers(keys); /* Reservations::decide() */
  d_step { with_ledgers = true; keeps = true };
  round(keys); /* Table::reserve_all() */
  d_step { with_ledgers = false; keeps = false };
#ifdef STRIPES_ARE_UNLOCKED_BEFORE_IT_IS_KEPT
  unlock_stripes();
#endif
  keep(keys);
#ifndef STRIPES_ARE_UNLOCKED_BEFORE_IT_IS_KEPT
  unlock_stripes();
#endif
  d_step { has[0] = false; has[1] = false }
}

/* src/store/reservations.cpp: Reservations::reserve_rates */
inline reserve_rates(keys) {
  if
  :: !holds && !waits -> check_all(keys) /* Reservations::reserve_now() */
  :: else -> reserve_later(keys)
  fi
}

/* src/store/reservations_ends.cpp: Reservations::copy_record
   Leaves `found`. */
inline copy_record(id) {
  hold(shelf[id]);
  found = record[id];
  shelf[id] = false
}

/* src/store/reservations_ends.cpp: Reservations::take_record
   Leaves `found`. */
inline take_record(id) {
  hold(shelf[id]);
  found = record[id];
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

#define PARTS(id) (has_part[OWN(id, 0)] | has_part[OWN(id, 1)] << 1)
#ifdef EPOCHS_ARE_NOT_COMPARED
#define IS_ITS(id, key) has[key]
#else
#define IS_ITS(id, key) (has[key] && epoch[key] == own_epoch[OWN(id, key)])
#endif

/* src/store/reservations_ends.cpp: Reservations::settle
   Of a part, at no unit, one or two. Reservations::cancel() of a part is that at none. Where a clock that is ahead has
   charged the key meanwhile, nothing of the ledger counts. */
inline settle(id, key, cost) {
  if
  :: has_part[OWN(id, key)] ->
     find_ledger(key);
     if
     :: IS_ITS(id, key) ->
        d_step {
          if
          :: own_number[OWN(id, key)] != 0 && IS_OPEN(own_number[OWN(id, key)], key) ->
             assert(GRANT(own_number[OWN(id, key)], key) == id + 1);
             GRANT(own_number[OWN(id, key)], key) = 0;
             front[key] = front[key] + cost;
             owes[key] = (has_bit[key] -> owes[key] + cost - 1 : owes[key]);
             note(key)
          :: else
          fi
        };
        put_state(key)
     :: else
     fi;
     has[key] = false
  :: else
  fi
}

/* src/store/reservations_ends.cpp: Reservations::cancel_all
   Under the locks of its stripes. */
inline cancel_all(id) {
  settle(id, 0, 0);
  settle(id, 1, 0)
}

/* src/store/reservations_ends.cpp: Reservations::cancel
   Of a request. */
inline cancel(id) {
  copy_record(id);
  if
  :: found && is_later[id] -> take_record(id)
  :: else -> found = false
  fi;
  if
  :: found -> Locked(PARTS(id)); cancel_all(id); unlock_stripes()
  :: else
  fi;
  found = false
}

/* Reservations::settle(), of a request. */
/* The model's own. */
inline settle_id(id) {
  copy_record(id);
  if
  :: found && !is_later[id] && is_held[id] -> take_record(id)
  :: else -> found = false
  fi;
  if
  :: found ->
     if
     :: cost = 0
     :: cost = 1
     :: cost = 2
     fi;
     Locked(PARTS(id));
     settle(id, 0, cost);
     settle(id, 1, cost);
     unlock_stripes();
     cost = 0
  :: else
  fi;
  found = false
}

/* src/store/reservations_ends.cpp: Reservations::moment
   A pause of key 0 lies over it. */
inline moment(id) {
  copy_record(id);
  if
  :: found ->
     Locked(PARTS(id));
     if
     :: has_part[OWN(id, 0)] -> find_ledger(0)
     :: else
     fi;
     if
     :: IS_ITS(id, 0) && is_paused[0] && is_later[id] ->
        take_record(id);
        if
        :: found -> cancel_all(id)
        :: else
        fi
     :: else
     fi;
     has[0] = false;
     unlock_stripes()
  :: else
  fi;
  found = false
}

/* src/store/reservations_ends.cpp: Reservations::extend */
inline extend(id) {
  copy_record(id);
  if
  :: found && is_held[id] ->
     Locked(PARTS(id));
     hold(shelf[id]);
     if
     :: record[id] && has_part[OWN(id, 0)] ->
        find_ledger(0);
        if
        :: IS_ITS(id, 0) -> put_state(0)
        :: else
        fi;
        has[0] = false
     :: else
     fi;
     shelf[id] = false;
     unlock_stripes()
  :: else
  fi;
  found = false
}

/* src/store/reservations_pauses.cpp: Reservations::pause
   Of one key. */
inline pause(key) {
  Locked(1 << key);
  find_ledger(key);
  d_step { with_ledgers = true; pauses = true };
  round(1 << key); /* Table::check_all() */
  d_step { with_ledgers = false; pauses = false };
  keep_ledger(key);
  has[key] = false;
  unlock_stripes()
}

/* src/store/reservations_pauses.cpp: Reservations::reset */
inline reset(key) {
  hold(stripe[stripe_of[key]]);
  if
  :: has_ledger[key] ->
#ifndef A_RESET_IS_NOT_COPIED
     d_step { has_left[key] = is_copying[key]; left[key] = 0 };
#endif
     erase_ledger(key)
  :: else
  fi;
  lock(key); /* Table::reset() */
  d_step { is_whole(key); has_bit[key] = false; units[key] = 0; owes[key] = 0; note(key) };
  unlock(key);
  stripe[stripe_of[key]] = false
}

/* src/store/reservations_pauses.cpp: Reservations::give_back
   Of what a check has charged. */
inline give_back(key) {
  hold(stripe[stripe_of[key]]);
#ifndef IT_IS_GIVEN_BACK_FROM_A_LEDGER
  find_ledger(key);
#endif
  if
  :: has[key]
  :: !has[key] ->
     lock(key); /* Table::give_back() */
     d_step {
       is_whole(key);
       if
       :: units[key] > 0 ->
          assert(!has_bit[key] || !has_ledger[key]);
          units[key]--;
          owes[key] = (owes[key] > 0 -> owes[key] - 1 : 0)
       :: else
       fi;
       note(key)
     };
     unlock(key)
  fi;
  has[key] = false;
  stripe[stripe_of[key]] = false
}

/* Reservations::begin_copy(), then the table. */
/* The model's own. */
inline copy_state(key) {
  hold(stripe[stripe_of[key]]);
  d_step { is_copying[key] = true; least[key] = owes[key]; most[key] = owes[key] };
  stripe[stripe_of[key]] = false;
  lock(key);
  copied[key] = units[key];
  unlock(key)
}

/* src/store/reservations_copy.cpp: Reservations::copy
   Of a ledger: what a key is restored to owe is what it owed once meanwhile. */
inline copy(key) {
  hold(stripe[stripe_of[key]]);
  find_ledger(key);
  d_step {
    if
    :: has[key] -> copied[key] = OWED(key)
    :: !has[key] && has_left[key] -> copied[key] = left[key]
    :: else
    fi;
    assert(least[key] <= copied[key] && copied[key] <= most[key]);
    is_copying[key] = false; has_left[key] = false; left[key] = 0; least[key] = 0; most[key] = 0;
    copied[key] = 0; has[key] = false
  };
  stripe[stripe_of[key]] = false
}

proctype reserves(byte keys; bool holds; bool waits) {
  byte now = NOW;
  byte wanted, before;
  bool has[2], with_ledgers, needs_ledgers, keeps, pauses, had_bit, is_known, names_backwards;
  names_backwards = true;
  reserve_rates(keys);
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
  byte wanted, before, cost, id;
  bool has[2], found, had_bit, is_known, names_backwards;
  any_id();
  if
  :: cancel(id)
  :: settle_id(id)
  :: extend(id)
  :: moment(id)
  :: reset(0)
  fi;
  ended++
}

proctype does_anything(byte now) {
  byte wanted, before, keys, id, copied[2];
  bool has[2], with_ledgers, needs_ledgers, keeps, pauses, found, had_bit, is_known, names_backwards;
  if
  :: true ->
     if
     :: now == LATE -> keys = 1
     :: keys = BOTH
     fi;
     check_all(keys)
  :: now == LATE -> clear_away_all()
  :: now == NOW -> any_id(); cancel(id)
  :: now == NOW -> reset(0)
  :: now == NOW -> give_back(0)
  :: now == NOW -> pause(0)
  :: now == NOW -> copy_state(0); copy(0)
  fi;
  ended++
}

init {
  atomic {
    /* Key 0 owes what a check and the reservation were charged; key 1, what the reservation was. */
    has_bit[0] = true; has_ledger[0] = true; epoch[0] = 1; front[0] = 1; numbers[0] = 1; GRANT(1, 0) = 1; owes[0] = 2;
    has_bit[1] = true; has_ledger[1] = true; epoch[1] = 2; numbers[1] = 1; GRANT(1, 1) = 1; owes[1] = 1; units[1] = 1;
    epochs = 2;
    record[0] = true; is_held[0] = true;
    has_part[0] = true; own_epoch[0] = 1; own_number[0] = 1;
    has_part[1] = true; own_epoch[1] = 2; own_number[1] = 1;
    if
    :: is_later[0] = true
#if !defined(ENDS) || defined(LONG)
    :: is_later[0] = false
#endif
    fi;
    if
    :: is_paused[0] = true
    :: is_paused[0] = false
    fi;
    units[0] = UNTIL(0);
    stripe_of[0] = 1;
    if
    :: run reserves(1, false, false)
    :: run reserves(BOTH, true, false)
#if !defined(ENDS) || defined(LONG)
    :: run reserves(1, true, false)
    :: run reserves(BOTH, false, true)
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
    is_whole_in_ledger(0);
    is_whole_in_ledger(1);
    assert(!stripe[0] && !stripe[1] && !shelf[0] && !shelf[1] && !locked[0] && !locked[1])
  }
}

ltl ends { <> (ended == THREADS) }
