package mcpserver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
)

// FuzzRequestState: whatever a client sends as a state, only what the server has sealed
// for this session and call opens.
func FuzzRequestState(f *testing.F) {
	o, err := Options{}.filled()
	if err != nil {
		f.Fatal(err)
	}
	s := &Server{options: o}
	caller, call, now := host.Session{SessionID: "mine"}, callDigest("exec", []byte(`{}`)), time.Now()
	st := requestState{Caller: identity(caller), Call: call, RunID: "run_1", Approvals: []string{"apr_1"}, Round: 1, Expires: now.Add(time.Hour)}
	sealed, err := s.sealState(st)
	if err != nil {
		f.Fatal(err)
	}
	if got, err := s.openState(sealed, caller, call, now); err != nil || got.RunID != st.RunID {
		f.Fatalf("%v: %+v", err, got)
	}
	if _, err := s.openState(sealed, caller, call, st.Expires); err != errExpired {
		f.Errorf("expired: %v", err)
	}
	f.Add("", uint(0), byte(0))
	f.Add("AAAA", uint(3), byte(1))
	f.Add(`{"run":"run_1"}`, uint(1000), byte('\n'))
	f.Fuzz(func(t *testing.T, given string, at uint, flip byte) {
		changed := []byte(sealed)
		changed[at%uint(len(changed))] ^= flip
		for _, given := range []string{given, string(changed), sealed + given} {
			if _, err := s.openState(given, caller, call, now); err == nil && given != sealed {
				t.Errorf("%q opens", given)
			}
			if _, err := s.openState(given, host.Session{SessionID: "other"}, call, now); err == nil {
				t.Errorf("%q opens for another session", given)
			}
			if _, err := s.openState(given, caller, callDigest("wait", []byte(`{}`)), now); err == nil {
				t.Errorf("%q opens for another call", given)
			}
		}
	})
}

// FuzzContentBlocks: what a tool returns makes a result or none, and never one that asks
// the client for something.
func FuzzContentBlocks(f *testing.F) {
	for _, seed := range []string{`{}`, `{"content":[]}`, `{"content":[{"type":"text","text":"x"}],"isError":true}`, `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`,
		`{"content":[{"type":"text"}],"inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"x","_meta":{"a":1}}`,
		`{"content":[{"type":"resource","resource":null}]}`, `{"content":[null]}`, `[]`, `{"content":{"type":"text"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		res := contentBlocks(value)
		if res == nil {
			return
		}
		if res.InputRequests != nil || res.RequestState != "" || res.Meta != nil {
			t.Errorf("%s asks for something: %+v", value, res)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Errorf("%s cannot be sent: %v", value, err)
		}
	})
}
