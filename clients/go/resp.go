package weir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// RESP, as far as weir speaks it. It is our own, and not go-redis, for three reasons that were measured or met
// (README.md has the figures): all goroutines share one connection, and what they ask at one moment is one write,
// which go-redis does not do by itself; nothing that was written is ever sent again, while a Redis client retries;
// and a program that takes the client along takes no dependency.

// What a reply may be. A weir sends far less: a text of its own is the limits file, at most.
const (
	maxBulk  = 64 << 20
	maxArray = 1 << 16
	maxDepth = 4
	maxLine  = 64 << 10
)

// A command is the bytes of one, as an array of bulk strings.
type command struct {
	bytes []byte
	words int
}

// The header's place: an asterisk, up to eleven digits, CR LF.
const headerRoom = 14

func (c *command) begin(verb string) {
	c.bytes = append(c.bytes[:0], "              "[:headerRoom]...)
	c.words = 0
	c.word(verb)
}

func (c *command) length(n int) {
	c.words++
	c.bytes = append(c.bytes, '$')
	c.bytes = strconv.AppendInt(c.bytes, int64(n), 10)
	c.bytes = append(c.bytes, '\r', '\n')
}

func (c *command) word(text string) {
	c.length(len(text))
	c.bytes = append(c.bytes, text...)
	c.bytes = append(c.bytes, '\r', '\n')
}

// pair is the word "name=value".
func (c *command) pair(name, value string) {
	c.length(len(name) + 1 + len(value))
	c.bytes = append(c.bytes, name...)
	c.bytes = append(c.bytes, '=')
	c.bytes = append(c.bytes, value...)
	c.bytes = append(c.bytes, '\r', '\n')
}

func (c *command) number(n int64) {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	c.length(len(text))
	c.bytes = append(c.bytes, text...)
	c.bytes = append(c.bytes, '\r', '\n')
}

// encoded is the whole command; the header is written into the end of its place.
func (c *command) encoded() []byte {
	var header [headerRoom]byte
	text := append(header[:0], '*')
	text = strconv.AppendInt(text, int64(c.words), 10)
	text = append(text, '\r', '\n')
	start := headerRoom - len(text)
	copy(c.bytes[start:], text)
	return c.bytes[start:]
}

// A reply is one value: its kind is the byte that RESP gives it, '-' an error, ':' an integer, '+' and '$' text, '*'
// an array, '>' one that nobody has asked for, and 0 a null. What RESP3 has besides is read as RESP2 has it.
type reply struct {
	kind   byte
	number int64
	text   string
	array  []reply
}

func (r *reply) isText() bool { return r.kind == '$' || r.kind == '+' }

var errProtocol = errors.New("its answer is not RESP")

// read reads one reply into r, whose memory it uses again.
func (r *reply) read(from *bufio.Reader) error { return r.readNested(from, maxDepth) }

func (r *reply) readNested(from *bufio.Reader, depth int) error {
	line, err := readLine(from)
	if err != nil {
		return err
	}
	if len(line) == 0 {
		return errProtocol
	}
	r.kind, r.number, r.text, r.array = line[0], 0, "", r.array[:0]
	switch r.kind {
	case '+', '-':
		r.text = string(line[1:])
		return nil
	case ':':
		r.number, err = parseNumber(line[1:])
		return err
	case '_':
		r.kind = 0
		return nil
	case '$':
		return r.readBulk(from, line[1:])
	case '=': // text for people; what it begins with is its format
		r.kind = '$'
		err := r.readBulk(from, line[1:])
		r.text = r.text[min(len("txt:"), len(r.text)):]
		return err
	case '*', '>':
		return r.readArray(from, line[1:], 1, depth)
	case '%':
		r.kind = '*'
		return r.readArray(from, line[1:], 2, depth)
	}
	return fmt.Errorf("%w: it begins with %q", errProtocol, line[0])
}

func (r *reply) readBulk(from *bufio.Reader, digits []byte) error {
	length, err := parseNumber(digits)
	if err != nil {
		return err
	}
	if length == -1 {
		r.kind = 0
		return nil
	}
	if length < 0 || length > maxBulk {
		return fmt.Errorf("%w: a text of %d bytes", errProtocol, length)
	}
	whole := int(length) + 2
	// What the buffer can hold is looked at in place; a length that is announced reserves nothing beyond it.
	if whole <= from.Size() {
		bytes, err := from.Peek(whole)
		if err != nil {
			return unexpectedEnd(err)
		}
		r.text = string(bytes[:length])
		_, err = from.Discard(whole)
		return err
	}
	var text []byte
	for len(text) < whole {
		part := whole - len(text)
		if part > from.Size() {
			part = from.Size()
		}
		at := len(text)
		text = append(text, make([]byte, part)...)
		if _, err := io.ReadFull(from, text[at:]); err != nil {
			return unexpectedEnd(err)
		}
	}
	r.text = string(text[:length])
	return nil
}

// readArray reads so many members of so many values each.
func (r *reply) readArray(from *bufio.Reader, digits []byte, each, depth int) error {
	length, err := parseNumber(digits)
	if err != nil {
		return err
	}
	if length == -1 {
		r.kind = 0
		return nil
	}
	if length < 0 || length > maxArray || depth == 0 {
		return fmt.Errorf("%w: an array of %d values at depth %d", errProtocol, length, maxDepth-depth)
	}
	for i := 0; i < int(length)*each; i++ {
		if i < cap(r.array) {
			r.array = r.array[:i+1]
		} else {
			r.array = append(r.array, reply{})
		}
		if err := r.array[i].readNested(from, depth-1); err != nil {
			return unexpectedEnd(err)
		}
	}
	return nil
}

func readLine(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := append([]byte(nil), line...)
		for err == bufio.ErrBufferFull && len(long) <= maxLine {
			line, err = from.ReadSlice('\n')
			long = append(long, line...)
		}
		if len(long) > maxLine {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errProtocol, maxLine)
		}
		line = long
	}
	if err != nil {
		if len(line) > 0 {
			err = unexpectedEnd(err)
		}
		return nil, err
	}
	if len(line) < 2 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("%w: a line without CR", errProtocol)
	}
	return line[:len(line)-2], nil
}

func unexpectedEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseNumber reads a decimal of RESP.
func parseNumber(digits []byte) (int64, error) {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is not a number", errProtocol, digits)
	}
	return n, nil
}
