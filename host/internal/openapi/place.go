package openapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// At returns a server at an address, as NewServer does. Operations with servers of their own
// stay if one of these is the server of the whole document, or has the origin of the
// address. The others are left out: credentials are for that origin.
func (d *Document) At(address string, transport http.RoundTripper, agent string) (*Server, error) {
	s, err := NewServer(address, transport, agent)
	if err != nil {
		return nil, err
	}
	whole, kept := d.represented(s.base), []Operation{}
	for _, o := range d.Operations {
		if len(o.servers) > 0 && !slices.ContainsFunc(o.servers, func(named string) bool { return whole[trimmed(named)] }) {
			if o.base = d.within(s.base, o.servers); o.base == nil {
				d.LeftOut = append(d.LeftOut, LeftOut{Name: o.Name, Reason: "its requests go to another server, and those of a document go to the one of the configuration", Reference: o.servers[0]})
				continue
			}
			o.Description += " at " + o.base.EscapedPath() // so a pin notices another one
		}
		kept = append(kept, o)
	}
	d.Operations = kept
	return s, nil
}

func trimmed(address string) string { return strings.TrimRight(address, "/") }

// represented are the servers of the document for which the address stands: those of its
// origin, or else all, because it is then that of a proxy.
func (d *Document) represented(base *url.URL) map[string]bool {
	all, same := map[string]bool{"": len(d.Servers) == 0}, map[string]bool{}
	for _, named := range d.Servers {
		all[trimmed(named)] = true
		if d.within(base, []string{named}) != nil {
			same[trimmed(named)] = true
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

// within returns the first of addresses that has the origin of the base. Those that are
// relative start where the document stands, if that is the same origin.
func (d *Document) within(base *url.URL, addresses []string) *url.URL {
	from := base
	if source, err := url.Parse(d.source); err == nil && SameOrigin(source, base) {
		from = source
	}
	for _, named := range addresses {
		to, err := from.Parse(named)
		if err == nil && SameOrigin(to, base) && to.User == nil && to.RawQuery == "" && to.Fragment == "" && !strings.ContainsAny(named, "{}") {
			return to
		}
	}
	return nil
}
