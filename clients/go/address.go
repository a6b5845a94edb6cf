package weir

import (
	"net"
	"net/url"
	"os"
	"strings"
)

const (
	forms       = "the form is weir://[[user]:password@]host[:6390][,host2...], weirs://..., unix:/path or weir+local:"
	defaultPort = "6390"
)

// An address is one place where a weir may be.
type address struct {
	network string // tcp or unix
	text    string
	host    string // whom its certificate has to name
}

// name is for people.
func (a address) name() string {
	if a.network == "unix" {
		return "unix:" + a.text
	}
	return a.text
}

// A place is what a URL says.
type place struct {
	addresses      []address
	tls, local     bool
	user, password string
}

func parseURL(text string) (place, error) {
	switch {
	case text == "weir+local:" || text == "weir+local://":
		return place{local: true}, nil
	case strings.HasPrefix(text, "unix:"):
		return unixPlace(strings.TrimPrefix(strings.TrimPrefix(text, "unix:"), "//"))
	case strings.HasPrefix(text, "weir+unix://"):
		return unixPlace(strings.TrimPrefix(text, "weir+unix://"))
	case strings.HasPrefix(text, "weir://"):
		return tcpPlace(strings.TrimPrefix(text, "weir://"), false)
	case strings.HasPrefix(text, "weirs://"):
		return tcpPlace(strings.TrimPrefix(text, "weirs://"), true)
	}
	scheme, _, found := strings.Cut(text, ":")
	if !found || strings.ContainsAny(scheme, "/@") {
		return place{}, refuse("a URL without weir:// before it; %s", forms)
	}
	return place{}, refuse("unknown scheme '%s:'; %s", scheme, forms)
}

func unixPlace(path string) (place, error) {
	if path == "" || path[0] != '/' {
		return place{}, refuse("unix: needs the whole path of a socket, as in unix:/run/weir.sock")
	}
	if path, query, found := strings.Cut(path, "?"); found {
		return place{}, refuse("unix:%s: unknown parameter '%s'; settings are options of Connect", path, query)
	}
	return place{addresses: []address{{network: "unix", text: path}}}, nil
}

func tcpPlace(rest string, tls bool) (place, error) {
	where := place{tls: tls}
	if before, query, found := strings.Cut(rest, "?"); found {
		name, _, _ := strings.Cut(query, "=")
		_ = before // it may hold a password
		return where, refuse("unknown parameter '%s' in the URL; settings are options of Connect, and %s", name, forms)
	}
	rest = strings.TrimSuffix(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		var err error
		if where.user, err = url.PathUnescape(user); err == nil {
			where.password, err = url.PathUnescape(password)
		}
		if err != nil {
			return where, refuse("user or password of the URL: a %% is not followed by two hex digits")
		}
		rest = rest[at+1:]
	}
	if strings.ContainsRune(rest, '/') {
		return where, refuse("a URL has no path; %s", forms)
	}
	for _, each := range strings.Split(rest, ",") {
		one, err := tcpAddress(each)
		if err != nil {
			return where, err
		}
		where.addresses = append(where.addresses, one)
	}
	return where, nil
}

func tcpAddress(text string) (address, error) {
	host, port := text, defaultPort
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		if colon := strings.LastIndexByte(text, ':'); colon >= 0 {
			host, port = text[:colon], text[colon+1:]
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" {
		return address{}, refuse("a URL without a host; %s", forms)
	}
	if n, err := parseNumber([]byte(port)); err != nil || n < 1 || n > 65535 {
		return address{}, refuse("port '%s' is not a number from 1 to 65535; %s", port, forms)
	}
	return address{network: "tcp", text: net.JoinHostPort(host, port), host: host}, nil
}

// String is all its addresses, for people.
func (p place) String() string {
	if p.local {
		return "weir local"
	}
	names := make([]string, len(p.addresses))
	for i, each := range p.addresses {
		names[i] = each.name()
	}
	return strings.Join(names, ",")
}

// findPlace is where Connect's URL leads, by WEIR_URL where it is empty. A local one that nobody has asked for is told
// by the second result.
func findPlace(text string) (place, bool, error) {
	assumed := false
	if text == "" {
		text = os.Getenv("WEIR_URL")
	}
	if text == "" {
		if os.Getenv("WEIR_LOCAL") == "never" {
			return place{}, false, refuse("no URL: WEIR_LOCAL=never, so give Connect one, or set WEIR_URL; %s", forms)
		}
		text, assumed = "weir+local:", true
	}
	where, err := parseURL(text)
	return where, assumed, err
}
