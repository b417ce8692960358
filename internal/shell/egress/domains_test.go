package egress

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// TestDomains checks which names a list has.
func TestDomains(t *testing.T) {
	p, err := New(Config{Domains: []string{"example.org", "*.Example.net", "api.example.com:8443", "xn--bcher-kva.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]bool{
		"example.org:443": true, "EXAMPLE.ORG.:443": true, "xn--bcher-kva.example:443": true,
		"deb.example.net:443": true, "a.b.example.net:443": true, "api.example.com:8443": true,
		"example.net:443": false, "xexample.net:443": false, "www.example.org:443": false, "example.org:8443": false, "api.example.com:443": false,
		".example.net:443": false, "a..example.net:443": false, "example.org..:443": false, "example.org:0": false, "example.org": false, "": false, ":443": false,
		"a b.example.net:443": false, "-x.example.net:443": false, strings.Repeat("a.", 126) + "example.net:443": false,
	} {
		if _, _, err := p.admit(server, portHTTPS); (err == nil) != want {
			t.Errorf("%q: %v, want allowed %v", server, err, want)
		}
	}
}

// TestBadDomainsAreRefused checks what a list may not have.
func TestBadDomainsAreRefused(t *testing.T) {
	for _, bad := range []string{
		"", "*", "*.", "*.org", "**.example.org", "a.*.org", "https://example.org", "example.org/path", "example.org:", "example.org:0", "example.org:70000", "example.org:http",
		"10.0.0.1", "[::1]", "::1", "0x7f.1", "bücher.example", "exa mple.org", "example.org.", "-a.org", "a..org",
	} {
		if err := CheckDomains([]string{"good.org", bad}); err == nil {
			t.Errorf("%q: accepted", bad)
		} else if !strings.Contains(err.Error(), "example.org") {
			t.Errorf("%q: %v, want an example", bad, err)
		}
	}
}

// FuzzAdmit checks that a list of one domain lets nothing else through, however a
// client writes it.
func FuzzAdmit(f *testing.F) {
	for _, seed := range []string{"example.org:443", "a.example.org.:443", "[::1]:443", "example.org:0443", "example.org@x:443", "0x7f.1:443"} {
		f.Add(seed)
	}
	p, err := New(Config{Domains: []string{"example.org", "*.example.org"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, server string) {
		name, port, err := p.admit(server, portHTTPS)
		if err != nil {
			return
		}
		if _, addressErr := netip.ParseAddr(name); addressErr == nil || port != portHTTPS || name != "example.org" && !strings.HasSuffix(name, ".example.org") {
			t.Errorf("%q: lets %q through at %d", server, name, port)
		}
	})
}

// TestHintsHelp: what a refusal tells an operator to add lets the request pass.
func TestHintsHelp(t *testing.T) {
	list := []string{"example.org"}
	entry := regexp.MustCompile(`an operator can add "([^"]+)" to plugins\.shell\.sandbox\.domains`)
	for _, server := range []string{"other.org:443", "Other.org.:443", "example.org:8443"} {
		p, err := New(Config{Domains: list})
		if err != nil {
			t.Fatal(err)
		}
		_, _, refused := p.admit(server, portHTTPS)
		m := entry.FindStringSubmatch(fmt.Sprint(refused))
		if m == nil {
			t.Errorf("%s: no hint in %v", server, refused)
			continue
		}
		if p, err = New(Config{Domains: append(list, m[1])}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.admit(server, portHTTPS); err != nil {
			t.Errorf("%s: the hint %q does not help: %v", server, m[1], err)
		}
	}
}
