package weir

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestCommandsAreArraysOfBulks(t *testing.T) {
	var c command
	c.begin("WEIR.CHECK")
	c.word("COST")
	c.number(12)
	c.pair("user", "4 2")
	c.word("")
	want := "*5\r\n$10\r\nWEIR.CHECK\r\n$4\r\nCOST\r\n$2\r\n12\r\n$8\r\nuser=4 2\r\n$0\r\n\r\n"
	if got := string(c.encoded()); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	c.begin("PING")
	if got := string(c.encoded()); got != "*1\r\n$4\r\nPING\r\n" {
		t.Errorf("used again: %q", got)
	}
}

func readText(text string, size int) (reply, error) {
	var r reply
	err := r.read(bufio.NewReaderSize(strings.NewReader(text), size))
	return r, err
}

func TestRepliesAreRead(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, size := range []int{16, 4096} {
		r, err := readText("*7\r\n:0\r\n:-1\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n+OK\r\n*2\r\n$5000\r\n"+long+"\r\n-ERR no\r\n", size)
		if err != nil {
			t.Fatal(err)
		}
		a := r.array
		if len(a) != 7 || a[0].number != 0 || a[1].number != -1 || a[2].text != "a\r\n" || a[3].kind != 0 || a[4].kind != 0 ||
			a[5].text != "OK" || a[6].array[0].text != long || a[6].array[1].kind != '-' || a[6].array[1].text != "ERR no" {
			t.Errorf("buffer of %d: %+v", size, r)
		}
	}
}

func TestWhatRESP3HasBesidesIsReadAsRESP2HasIt(t *testing.T) {
	r, err := readText(">3\r\n%2\r\n+a\r\n:1\r\n+b\r\n_\r\n=7\r\ntxt:abc\r\n_\r\n", 16)
	if err != nil {
		t.Fatal(err)
	}
	a := r.array
	if r.kind != '>' || len(a) != 3 || a[0].kind != '*' || len(a[0].array) != 4 || a[0].array[1].number != 1 || a[0].array[3].kind != 0 ||
		!a[1].isText() || a[1].text != "abc" || a[2].kind != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNoRESPEndsTheConnection(t *testing.T) {
	for _, each := range []struct{ sent, wrong string }{
		{"HTTP/1.1 400 Bad Request\r\n", `its answer is not RESP: it begins with 'H'`},
		{":1\n", "its answer is not RESP: a line without CR"},
		{":x\r\n", `its answer is not RESP: "x" is not a number`},
		{"$9999999999\r\n", "its answer is not RESP: a text of 9999999999 bytes"},
		{"$-2\r\n", "its answer is not RESP: a text of -2 bytes"},
		{"*99999999\r\n", "its answer is not RESP: an array of 99999999 values at depth 0"},
		{strings.Repeat("*1\r\n", 6), "its answer is not RESP: an array of 1 values at depth 4"},
		{"+" + strings.Repeat("x", 70000) + "\r\n", "its answer is not RESP: a line of more than 65536 bytes"},
		{"*2\r\n:1\r\n", "unexpected EOF"},
		{"$5\r\nab", "unexpected EOF"},
		{":1", "unexpected EOF"},
		{"\r\n", "its answer is not RESP"},
		{"", "EOF"},
	} {
		_, err := readText(each.sent, 16)
		if err == nil || err.Error() != each.wrong {
			t.Errorf("%.20q: %v, expected %s", each.sent, err, each.wrong)
		}
		if strings.HasSuffix(each.wrong, "EOF") == errors.Is(err, errProtocol) && err != io.EOF {
			t.Errorf("%.20q: %v is of another kind", each.sent, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n:5\r\n")
	f.Add("$-1\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		readText(text, 16)
		readText(text, 4096)
	})
}
