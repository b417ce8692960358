package egress

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// domain is an entry of the list.
type domain struct {
	name  string // without the "*."
	below bool   // the names below name, and not name itself
	port  uint16 // 0 for the usual one
}

// CheckDomains says what is wrong with a list of domains.
func CheckDomains(list []string) error {
	_, err := parseDomains(list)
	return err
}

func parseDomains(list []string) ([]domain, error) {
	all := make([]domain, 0, len(list))
	for _, text := range list {
		d, err := parseDomain(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func parseDomain(text string) (domain, error) {
	var d domain
	name, port, hasPort := strings.Cut(text, ":")
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return domain{}, errors.New("after the colon comes a port, as in example.org:8443; leave out https:// and paths")
		}
		d.port = uint16(n)
	}
	name, d.below = strings.CutPrefix(name, "*.")
	d.name = strings.ToLower(name)
	if !isName(d.name) {
		return domain{}, errors.New("write a name such as example.org, or *.example.org for the names below it; no address, and other letters as xn--")
	}
	if d.below && !strings.Contains(d.name, ".") {
		return domain{}, errors.New("a pattern needs two labels, as *.example.org: one for a whole top-level domain is too wide")
	}
	return d, nil
}

// has reports whether the entry lets a name and port through. usual is the port of
// entries without one.
func (d domain) has(name string, port, usual uint16) bool {
	if d.port != 0 {
		usual = d.port
	}
	if port != usual {
		return false
	}
	if d.below {
		return strings.HasSuffix(name, "."+d.name)
	}
	return name == d.name
}

// hasName reports whether the entry lets a name through on some port.
func (d domain) hasName(name string) bool {
	return d.has(name, 0, 0) || d.port != 0 && d.has(name, d.port, 0)
}

// isName reports whether a text in lower case is the name of a host and cannot be read
// as an address: some resolvers take 127.1 and 0x7f.1 for one.
func isName(name string) bool {
	labels := strings.Split(name, ".")
	if len(name) > 253 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}
