package gateway

import (
	"encoding/json"
	"net/http"
	"testing"
)

// FuzzDecodeFields requires that a body is taken exactly when it is one JSON
// object without a member given twice, and that its members are what they are.
func FuzzDecodeFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{"code":"return 1"}`, `{"a":1,"a":2}`, `[`, `{"runId":null,"timeoutMs":5}`, "{\"\xff\":1}", `{"a":{"b":[1,2]}} x`, `{"\u0061":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fs, p := decodeFields(b)
		var whole map[string]json.RawMessage
		object := json.Unmarshal(b, &whole) == nil && whole != nil
		if p != nil {
			if p.Status != 400 || p.Detail == "" || len(p.Errors) != 1 {
				t.Fatalf("%+v", p)
			}
			return
		}
		if !object || len(whole) != len(fs.members) {
			t.Fatalf("%q was taken as %v", b, fs.members)
		}
		for name := range whole {
			fs.text(name)
			fs.millis(name)
		}
		fs.required("runId", "an id")
		if p := fs.problem(); p != nil {
			if _, err := json.Marshal(p); err != nil || len(p.Errors) > 16 {
				t.Fatalf("%+v, %v", p, err)
			}
		}
	})
}

// FuzzSessionOf requires that a session that was read is written and read as
// itself.
func FuzzSessionOf(f *testing.F) {
	f.Add("agent:main", "100%25", "%C3%A9", "")
	f.Add("%", " ", "%0d%0a", "x")
	f.Fuzz(func(t *testing.T, agent, key, id, run string) {
		h := http.Header{HeaderAgentID: {agent}, HeaderSessionKey: {key}, HeaderSessionID: {id}, HeaderTurnID: {run}}
		s, err := SessionOf(h)
		if err != nil {
			return
		}
		again := http.Header{}
		SetSession(again, s)
		if got, err := SessionOf(again); err != nil || got != s {
			t.Fatalf("%+v was written as %v and read as %+v, %v", s, again, got, err)
		}
	})
}
