package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestOwnServers: those that are the server of the document, or of its origin, are kept.
func TestOwnServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, own, source, configured, want string }{
		{`"https://api.example"`, `"https://api.example/"`, "", "https://api.example", "https://api.example/a"},
		{`"https://api.example/v1"`, `"https://API.example:443/v2"`, "", "https://api.example/v1", "https://API.example:443/v2/a"},
		{`"https://api.example"`, `"https://api.example"`, "", "http://127.0.0.1:9/proxy", "http://127.0.0.1:9/proxy/a"},
		{`"https://api.example"`, `"/base"`, "", "https://api.example", "https://api.example/base/a"},
		{`"https://api.example"`, `"next"`, "https://api.example/docs/api.json", "https://api.example/v1", "https://api.example/docs/next/a"},
		{`"/v1"`, `"/v1/"`, "", "https://api.example/proxy", "https://api.example/proxy/a"},
		{``, `"/"`, "", "https://api.example/v1", "https://api.example/v1/a"},
		{`"https://api.example"`, `"https://files.example","https://api.example"`, "", "https://api.example", "https://api.example/a"},
		{`"//cluster.local"`, `"https://cluster.local"`, "", "https://10.0.0.1:6443", "https://10.0.0.1:6443/a"},
		{`"https://api.example","https://eu.example"`, `"https://eu.example"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"https://files.example"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"http://api.example"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"https://me:pw@api.example"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"https://api.example/{tenant}"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"https://api.example/?x"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"//files.example"`, "", "https://api.example", ""},
		{`"https://api.example"`, `"::"`, "", "https://api.example", ""},
	} {
		list := func(of string) string {
			if of == "" {
				return `[]`
			}
			return `[{"url":` + strings.ReplaceAll(of, ",", `},{"url":`) + `}]`
		}
		for _, place := range []string{`"servers":%s,"get":{"operationId":"a"}`, `"get":{"operationId":"a","servers":%s}`} {
			d := parse(t, one("3.0.0", "/a", fmt.Sprintf(place, list(c.own)), `,"servers":`+list(c.root)))
			d.source = c.source
			s, err := d.At(c.configured, http.DefaultTransport, "quoin/1")
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(d.Operations) != 0 || len(d.LeftOut) != 1 || d.LeftOut[0].Reference == "" {
					t.Errorf("%+v: %+v", c, d)
				}
				continue
			}
			if len(d.Operations) != 1 {
				t.Errorf("%+v: %+v", c, d.LeftOut)
				continue
			}
			r, err := s.request(t.Context(), &d.Operations[0], json.RawMessage(`{}`))
			if err != nil || r.URL.String() != c.want {
				t.Errorf("%+v: %v, %v", c, r.URL, err)
			}
		}
	}
}

// TestFragments: operations of one path and method are told apart by what is never sent.
func TestFragments(t *testing.T) {
	t.Parallel()
	o := parse(t, one("3.0.0", "/a#share", `"put":{"operationId":"share"}`, "")).Operations[0]
	if r, err := server(t, "https://api.example").request(t.Context(), &o, nil); err != nil || r.URL.String() != "https://api.example/a" {
		t.Errorf("%v, %v", r, err)
	}
}

// TestOwnServerIsPinned: what a pin holds differs when the place of an operation does.
func TestOwnServerIsPinned(t *testing.T) {
	t.Parallel()
	d := parse(t, one("3.0.0", "/a", `"get":{"servers":[{"url":"/admin"}]}`, ""))
	if _, err := d.At("https://api.example/v1", http.DefaultTransport, ""); err != nil || d.Operations[0].Description != "GET /a at /admin" {
		t.Errorf("%+v, %v", d, err)
	}
}
