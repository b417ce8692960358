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
		own := d.resolved(s.base, o.servers)
		if len(o.servers) > 0 && !slices.ContainsFunc(own, func(u *url.URL) bool { return whole[place(u)] }) {
			i := slices.IndexFunc(own, func(u *url.URL) bool { return SameOrigin(u, s.base) })
			if i < 0 {
				d.LeftOut = append(d.LeftOut, LeftOut{Name: o.Name, Reason: "its requests go to another server, and those of a document go to the one of the configuration", Reference: o.servers[0]})
				continue
			}
			o.base = own[i]
			o.Description += " at " + o.base.EscapedPath() // so a pin notices another one
		}
		kept = append(kept, o)
	}
	d.Operations = kept
	return s, nil
}

// represented returns the servers of the document that the address stands for: the servers
// of its origin, or else all, because then it is the address of a proxy.
func (d *Document) represented(base *url.URL) map[string]bool {
	all, same := map[string]bool{}, map[string]bool{}
	servers := d.Servers
	if len(servers) == 0 {
		servers = []string{"/"}
	}
	for _, u := range d.resolved(base, servers) {
		all[place(u)] = true
		if SameOrigin(u, base) {
			same[place(u)] = true
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

// place is an address in the form in which it is compared.
func place(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port(u) + strings.TrimRight(u.EscapedPath(), "/")
}

// resolved returns the addresses that can be used. Those that are relative start where the
// document stands, if that is the origin of the base.
func (d *Document) resolved(base *url.URL, addresses []string) (out []*url.URL) {
	from := base
	if source, err := url.Parse(d.source); err == nil && SameOrigin(source, base) {
		from = source
	}
	for _, named := range addresses {
		to, err := from.Parse(named)
		if err == nil && isWeb(to) && to.User == nil && to.RawQuery == "" && to.Fragment == "" && !strings.ContainsAny(named, "{}") {
			out = append(out, to)
		}
	}
	return out
}
