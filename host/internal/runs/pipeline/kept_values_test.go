package pipeline

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestKeptValuesAreOfTheirSession alone, in number and in bytes bounded, for their time.
func TestKeptValuesAreOfTheirSession(t *testing.T) {
	t.Parallel()
	var k keptValues
	ada, eve := codemode.Session{AgentID: "a", SessionID: "ada"}, codemode.Session{AgentID: "a", SessionID: "eve"}
	later := time.Now().Add(time.Hour)
	path := k.put(ada, []byte(`1`), later)
	if got, found := k.file(ada, path); !found || string(got) != "1" {
		t.Errorf("its session gets %s, %t", got, found)
	}
	for _, p := range []string{path, path + ".entry.json", path + "/../" + path, prefixKept} {
		if got, found := k.file(eve, p); found {
			t.Errorf("another session gets %s of %s", got, p)
		}
	}
	if path := k.put(codemode.Session{TurnID: "t"}, []byte(`1`), later); path != "" {
		t.Errorf("a value of a caller without a name is kept as %s, for all such callers", path)
	}
	for i := range 2 * maxKeptOfSession {
		k.put(eve, fmt.Append(nil, i), later)
	}
	if _, found := k.file(ada, path); !found || len(k.list) != 1+maxKeptOfSession {
		t.Errorf("%d values, that of ada is there: %t", len(k.list), found)
	}
	large := bytes.Repeat([]byte("1"), maxKeptBytes/4)
	for i := range 8 {
		k.put(codemode.Session{SessionID: fmt.Sprint(i)}, large, later)
	}
	if k.bytes > maxKeptBytes || len(k.list) != 4 {
		t.Errorf("%d values of %d bytes", len(k.list), k.bytes)
	}
	past := k.put(ada, []byte(`2`), time.Now())
	if _, found := k.file(ada, past); found {
		t.Error("a value stays longer than it is to be kept")
	}
}
