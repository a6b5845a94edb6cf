package weir

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"example.com/weir/go/internal/beside"
)

func init() { beside.Dial = dialBeside }

// A besideLine is a connection of weirtest: no lane, no outage.
type besideLine struct {
	c        *conn
	patience time.Duration
}

func dialBeside(url string, patience time.Duration) (beside.Line, error) {
	where, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if len(where.addresses) != 1 {
		return nil, refuse("%s is not one place", where)
	}
	set, out := defaults(), &outage{}
	set.timeout, set.connectTimeout = patience, patience
	if err := set.complete(where); err != nil {
		return nil, err
	}
	c, err := newDialer(&set, where, out).dial(context.Background())
	if err != nil {
		return nil, err
	}
	return &besideLine{c, patience}, nil
}

func (l *besideLine) Tell(words ...string) ([]string, error) {
	l.c.net.SetDeadline(time.Now().Add(l.patience))
	told, err := ask(l.c, words...)
	if err != nil {
		return nil, awayOf(l.c.server, err)
	}
	if told.kind == '-' {
		return nil, errors.New(strings.TrimPrefix(told.text, "ERR "))
	}
	return told.values(nil), nil
}

func (l *besideLine) End() {
	l.c.net.SetDeadline(time.Now().Add(l.patience))
	if half, ok := l.c.net.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		io.Copy(io.Discard, l.c.reader)
	}
	l.c.net.Close()
}

// values are those of arrays too, one after the other.
func (r *reply) values(before []string) []string {
	switch r.kind {
	case '*', '>':
		for i := range r.array {
			before = r.array[i].values(before)
		}
		return before
	case ':':
		return append(before, strconv.FormatInt(r.number, 10))
	}
	return append(before, r.text)
}
