package weir

import "time"

// A Decision is what a weir answered, or what OnError did.
type Decision struct {
	Allowed    bool
	Limit      int64         // the burst of the limit that decides; -1 where none applies or nobody decided
	Remaining  int64         // units that would be admitted at once now; -1 as above
	RetryAfter time.Duration // denied: when the same passes; 0 if it is allowed, or Never
	ResetAfter time.Duration // until the key is as if never used
	By         string        // the limit's name, or the key, that decides
	Never      bool          // denied, and waiting does not help
	Granted    int64         // units: the cost, or with AtLeast as many as there were; 0 when denied
	Decided    bool          // a weir has decided; false: OnError did, and Err says why
	Err        error
	Fields     []Field // with Question.Fields: what HTTP would send, Retry-After too
}

// A Field is one of HTTP.
type Field struct{ Name, Value string }

// Charged is the answer to Charge.
type Charged struct {
	Charged    int64         // units that are owed now and were not
	Owed       int64         // units beyond the limit
	Wait       time.Duration // until one more unit would be admitted
	ResetAfter time.Duration
	By         string
}

func fromMilliseconds(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if ms > most {
		ms = most
	}
	return time.Duration(ms) * time.Millisecond
}

// decisionOf reads the six values of CHECK, LOOK and THROTTLE.
func decisionOf(r *reply, q *Question, cost int64) (Decision, error) {
	d, rest, err := firstFive(r)
	if err != nil || len(rest) == 0 || !rest[0].isText() {
		return Decision{}, unexpected(err)
	}
	d.By, rest = rest[0].text, rest[1:]
	if d.Allowed {
		d.Granted = cost
	}
	if q.AtLeast > 0 {
		if len(rest) == 0 || rest[0].kind != ':' {
			return Decision{}, errUnexpected
		}
		d.Granted, rest = rest[0].number, rest[1:]
	}
	err = d.takeFields(rest, q.Fields)
	return d, err
}

// grantOf reads the seven values of RESERVE and ACQUIRE: the decision, the wait of what is granted, and its id.
func grantOf(r *reply, q *Question, cost int64) (d Decision, wait time.Duration, id string, err error) {
	d, rest, err := firstFive(r)
	if err != nil || len(rest) < 2 || !rest[1].isText() {
		return Decision{}, 0, "", unexpected(err)
	}
	if d.Allowed {
		wait = fromMilliseconds(r.array[3].number)
		d.Granted = cost
	}
	id, d.By = rest[0].text, rest[1].text
	err = d.takeFields(rest[2:], q.Fields)
	return d, wait, id, err
}

func firstFive(r *reply) (Decision, []reply, error) {
	if r.kind != '*' || len(r.array) < 5 {
		return Decision{}, nil, errUnexpected
	}
	for i := range r.array[:5] {
		if r.array[i].kind != ':' {
			return Decision{}, nil, errUnexpected
		}
	}
	a := r.array
	d := Decision{Allowed: a[0].number == 0, Limit: a[1].number, Remaining: a[2].number,
		ResetAfter: fromMilliseconds(a[4].number), Decided: true}
	if !d.Allowed {
		if a[3].number < 0 {
			d.Never = true
		} else {
			d.RetryAfter = fromMilliseconds(a[3].number)
		}
	}
	return d, a[5:], nil
}

func (d *Decision) takeFields(rest []reply, asked bool) error {
	if !asked {
		return nil
	}
	if len(rest) == 0 || rest[len(rest)-1].kind != '*' {
		return errUnexpected
	}
	values := rest[len(rest)-1].array
	d.Fields = make([]Field, 0, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		d.Fields = append(d.Fields, Field{values[i].text, values[i+1].text})
	}
	return nil
}

func chargedOf(r *reply) (Charged, error) {
	if r.kind != '*' || len(r.array) < 5 {
		return Charged{}, errUnexpected
	}
	a := r.array
	return Charged{a[0].number, a[1].number, fromMilliseconds(a[2].number), fromMilliseconds(a[3].number), a[4].text}, nil
}

var errUnexpected error = &Refused{"the answer has another form than this version of the client knows"}

func unexpected(err error) error {
	if err != nil {
		return err
	}
	return errUnexpected
}
