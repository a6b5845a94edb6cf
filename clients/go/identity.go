package weir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// What a limit that travels with requests counts by: APP, NAME, WHO and the rule, in one key that no value can pretend
// to be (clients/cases/identity.json).

const mostPartBytes = 200 // a longer part is told by its hash

// identityKey is its parts as netstrings, so that "a" and "b:c" are another key than "a:b" and "c".
func identityKey(parts ...string) string {
	var key strings.Builder
	for _, part := range parts {
		if len(part) > mostPartBytes {
			sum := sha256.Sum256([]byte(part))
			part = hex.EncodeToString(sum[:])
		}
		fmt.Fprintf(&key, "%d:%s,", len(part), part)
	}
	return key.String()
}

var withPort = regexp.MustCompile(`^(?:([0-9.]+):[0-9]+|\[([^\]]*)\](?::[0-9]+)?)$`)

// whoOf is what an address is counted as: without its port, a mapped IPv4 one as that, an IPv6 one by its network of 64
// bits. What is no address stays as it is.
func whoOf(address string) string {
	text := address
	if port := withPort.FindStringSubmatch(address); port != nil {
		text = port[1] + port[2]
	}
	text, _, _ = strings.Cut(text, "%")
	found, err := netip.ParseAddr(text)
	if err != nil {
		return address
	}
	if found = found.Unmap(); found.Is4() {
		return found.String()
	}
	network, _ := found.Prefix(64)
	return network.String()
}

var toldOfGuess sync.Once // once for the process

// App is the name that limits without a key of their own count under: that of WithApp or WEIR_APP, and else the path of
// the program's main package. A guess is told in the log, once, where others may count at the same server.
func (c *Client) App() string {
	c.named.Do(func() {
		if c.app = c.set.app; c.app == "" {
			c.app = os.Getenv("WEIR_APP")
		}
		if c.app != "" {
			return
		}
		if c.app = guessedApp(); c.asksElsewhere() {
			toldOfGuess.Do(func() {
				c.Logger().Warn(fmt.Sprintf("weir: limits are counted under the name %q, a guess; WEIR_APP or WithApp says another", c.app))
			})
		}
	})
	return c.app
}

func (c *Client) asksElsewhere() bool {
	if c.url == "" {
		return os.Getenv("WEIR_URL") != ""
	}
	return !c.dialer.place.local
}

// guessedApp is the main package's path; that of files which are named one by one, as in `go run main.go`, is their folder's
// name.
func guessedApp() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return strings.TrimSuffix(info.Path, ".test")
	}
	if folder, err := os.Getwd(); err == nil {
		return filepath.Base(folder)
	}
	return filepath.Base(os.Args[0])
}

// The limits of this process that have a name. Two of one name would be one, and nobody would have said so.
var named = struct {
	mu   sync.Mutex
	made map[limitName]limitMade
}{made: map[limitName]limitMade{}}

type limitName struct{ where, app, name string }

type limitMade struct {
	client *Client
	given  bool // its name: else it is its rules
	rules  string
}

// claim takes a name for a limit. One that is made again with the name and the rules that it had is the same.
func (c *Client) claim(name string, given bool, rules string) error {
	named.mu.Lock()
	defer named.mu.Unlock()
	where := "WEIR_URL" // as long as nobody has asked
	if c.url != "" {
		where = c.dialer.place.String()
	}
	its := limitName{where, c.App(), name}
	switch other, taken := named.made[its]; {
	case taken && !(given && other.given):
		return refuse("a limit of the name '%s' is there already in this process, and both would be counted as one: use that one in both "+
			"places, or give this one a name of its own by WithName; two that are one limit are given one name", name)
	case taken && other.rules != rules:
		return refuse("a limit of the name '%s' is there already in this process with other rules, %s: give this one another name by WithName",
			name, other.rules)
	case !taken:
		named.made[its] = limitMade{c, given, rules}
	}
	return nil
}

// releaseNames gives the names of a client's limits back.
func (c *Client) releaseNames() {
	named.mu.Lock()
	defer named.mu.Unlock()
	for its, made := range named.made {
		if made.client == c {
			delete(named.made, its)
		}
	}
}
