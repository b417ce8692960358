package plugins

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// FuzzCheckDescription checks descriptions that a plugin could have sent: what is
// accepted keeps every rule that the host relies on, its scopes included.
func FuzzCheckDescription(f *testing.F) {
	m := manifest.Manifest{ID: "p", Version: "1"}
	for _, s := range []string{
		`{"ID":"p","Version":"1","Tools":[{"Name":"t","Description":"d","Parameters":{"type":"object","properties":{"a":{"type":"string"}}},"Examples":[{"Input":{"a":"b"}}]}],
			"Namespaces":[{"ID":"n","GlobalName":"N","Description":"d","RequiredTools":["t"],"Scope":{"kind":"object","entries":{"go":{"kind":"call","tool":"t","mapping":{"kind":"positional","positional":["a"]}}}}}]}`,
		`{"ID":"p","Version":"1","Tools":[{"Name":"t","Description":"d","Parameters":{"$ref":"#"}}]}`,
		`{"ID":"p","Version":"1","Tools":[{"Name":"t","Description":"d","Parameters":{"type":"object","pattern":"("},"Output":{"type":[]}}]}`,
		`{"ID":"p","Version":"1","Namespaces":[{"ID":"n","GlobalName":"Object","RequiredTools":["x"],"Scope":{"kind":"call","tool":"other"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d protocol.Description
		if json.Unmarshal(b, &d) != nil {
			return
		}
		if err := checkDescription(m, &d); err != nil {
			return
		}
		if d.ID != m.ID || d.Version != m.Version || len(d.Tools) > maxTools || len(d.Namespaces) > maxNamespaces {
			t.Fatalf("accepted %+v", d)
		}
		for _, tool := range d.Tools {
			if !toolName.MatchString(tool.Name) || len(tool.Description) > maxDescription || len(tool.Label) > maxLabel {
				t.Fatalf("accepted tool %+v", tool)
			}
		}
		scopes, err := fixedScopes(&d)
		if err != nil {
			var typed *namespaces.Error
			if !errors.As(err, &typed) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		for id, s := range scopes {
			if !json.Valid(s.Guest()) {
				t.Fatalf("scope %s shows the guest %q", id, s.Guest())
			}
		}
	})
}
