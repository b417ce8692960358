package host_test

import (
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
)

// TestResultsSurviveJSON reads results and writes them again.
func TestResultsSurviveJSON(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for _, r := range []*host.Result{
		exec(h, `text("<é>\u2028"); json({b: 1, a: [null, 1e400]}); console.log("x"); return {z: "<&>", a: 12345678901234567890n}`),
		exec(h, `return`),
		exec(h, `text("before"); await yield_control(); return 1`),
		exec(h, `throw new Error("no")`),
		exec(h, ``),
	} {
		var got host.Result
		if err := json.Unmarshal([]byte(show(r)), &got); err != nil {
			t.Errorf("%v\n%s", err, show(r))
		}
		if show(&got) != show(r) {
			t.Errorf("got  %s\nwant %s", show(&got), show(r))
		}
	}
}

func TestWrongResultsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"status": "done"}`, `[]`, `{"status": "completed", "output": [{"type": "image"}]}`, `{"status": "completed", "output": [{"type": "text"}]}`, `{"status": "completed", "output": [{"type": "json"}]}`, `{"status": 1}`} {
		var r host.Result
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// FuzzResult requires that what was read is written and read as itself.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"status":"completed","value":[1],"output":[{"type":"text","text":"x"}],"telemetry":{"catalogSize":1}}`))
	f.Add([]byte(`{"status":"waiting","runId":"run_1","reason":"yield","pendingToolCalls":[{"id":"1","method":"call"}]}`))
	f.Add([]byte(`{"status":"failed","error":"e","code":"timeout","phase":"guest","dispatched":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second host.Result
		if json.Unmarshal(b, &first) != nil || first.Status == host.StatusCompleted && first.Value == nil {
			return
		}
		if err := json.Unmarshal([]byte(show(&first)), &second); err != nil {
			t.Fatalf("%v\n%s", err, show(&first))
		}
		if show(&first) != show(&second) {
			t.Fatalf("%s became %s", show(&first), show(&second))
		}
	})
}
