package weburl

import (
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// MaxBytes is the most bytes of an input, of a base and of a new part.
const MaxBytes = 64 << 10

// Parts are the pieces of a URL, as the properties of a URL object name them.
// They encode as a JSON array in this order.
type Parts [11]string

// The places of the pieces in Parts.
const (
	Href = iota
	Origin
	Protocol
	Username
	Password
	Host
	Hostname
	Port
	Pathname
	Search
	Hash
)

// Parse parses a URL, against a base unless it is nil. It reports false if the
// input or the base is no URL or is too long.
func Parse(input string, base *string) (p Parts, ok bool) {
	if len(input) > MaxBytes || base != nil && len(*base) > MaxBytes {
		return p, false
	}
	defer refuseIfPanics(&p, &ok)
	var u *url.Url
	var err error
	if base == nil {
		u, err = url.Parse(input)
	} else {
		u, err = url.ParseRef(*base, input)
	}
	if err != nil {
		return p, false
	}
	return partsOf(u)
}

// Change replaces one part of a URL, named as in the properties of a URL
// object. A value that does not fit leaves the URL unchanged. It reports false
// if href is no URL, the result is too long, or there is no such part.
func Change(href, part, value string) (p Parts, ok bool) {
	set, known := setters[part]
	if !known || len(href) > MaxBytes || len(value) > MaxBytes {
		return p, false
	}
	defer refuseIfPanics(&p, &ok)
	u, err := url.Parse(href)
	if err != nil {
		return p, false
	}
	set(u, value)
	if p, ok = partsOf(u); !ok {
		return p, false
	}
	// What the setter made must be a URL that reads back as itself.
	again, err := url.Parse(p[Href])
	if err != nil || again.Href(false) != p[Href] {
		return Parse(href, nil)
	}
	return p, true
}

var setters = map[string]func(*url.Url, string){
	"protocol": (*url.Url).SetProtocol,
	"username": (*url.Url).SetUsername,
	"password": (*url.Url).SetPassword,
	"host":     (*url.Url).SetHost,
	"hostname": (*url.Url).SetHostname,
	"port":     (*url.Url).SetPort,
	"pathname": (*url.Url).SetPathname,
	"search":   (*url.Url).SetSearch,
	"hash":     (*url.Url).SetHash,
}

func refuseIfPanics(p *Parts, ok *bool) {
	if recover() != nil {
		*p, *ok = Parts{}, false
	}
}

func partsOf(u *url.Url) (Parts, bool) {
	p := Parts{
		u.Href(false), origin(u), u.Protocol(), u.Username(), u.Password(), u.Host(), u.Hostname(), u.Port(),
		u.Pathname(), u.Search(), u.Hash(),
	}
	return p, len(p[Href]) <= MaxBytes
}

// origin is the serialised origin: schemes without one have "null".
func origin(u *url.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		inner, err := url.Parse(u.Pathname())
		if err == nil && strings.HasPrefix(inner.Scheme(), "http") {
			return origin(inner)
		}
	}
	return "null"
}
