package host

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/guestrt/wire"
)

// TestOutputBudget: whatever a guest emits, what is kept is a prefix of it, whole
// characters only, within the limit, and what is omitted is counted to the byte.
func TestOutputBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 500).Draw(t, "limit")
		texts := rapid.SliceOfN(rapid.String(), 0, 20).Draw(t, "texts")
		b := outputBudget{limit: limit}
		var total int64
		for _, s := range texts {
			q, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			it := wire.Output{Kind: wire.OutputText, JSON: q}
			total += itemBytes(Output{Kind: it.Kind, Value: it.JSON})
			if f := b.add([]wire.Output{it}); f != nil {
				t.Fatal(f)
			}
		}
		var kept int64
		var all, want strings.Builder
		for _, o := range b.items {
			kept += itemBytes(o)
			all.WriteString(o.Text())
			if !utf8.ValidString(o.Text()) {
				t.Fatalf("kept %q", o.Text())
			}
		}
		for _, s := range texts {
			want.WriteString(strings.ToValidUTF8(s, "\uFFFD"))
		}
		if kept != b.used || kept > limit || kept+b.omitted != total {
			t.Fatalf("kept %d (counted %d), omitted %d of %d under the limit %d", kept, b.used, b.omitted, total, limit)
		}
		if !strings.HasPrefix(want.String(), all.String()) {
			t.Fatalf("kept %q of %q", all.String(), want.String())
		}
	})
}

func TestTruncatedMarkerFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1<<10, 4<<10).Draw(t, "limit")
		value, err := json.Marshal(rapid.StringN(0, 5000, -1).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		b := outputBudget{limit: limit}
		got := b.truncated(value)
		var m marker
		if err := json.Unmarshal(got, &m); err != nil {
			t.Fatal(err)
		}
		if int64(len(got)) > limit || !m.Truncated || int(m.OmittedBytes)+len(m.Prefix) != len(value) || !strings.HasPrefix(string(value), m.Prefix) {
			t.Fatalf("marker of %d bytes under %d: %+v", len(got), limit, m)
		}
	})
}

func TestWorkerOutputIsChecked(t *testing.T) {
	for _, it := range []wire.Output{
		{Kind: wire.OutputJSON, JSON: []byte(`{`)},
		{Kind: wire.OutputJSON, JSON: nil},
		{Kind: wire.OutputText, JSON: []byte(`7`)},
	} {
		b := outputBudget{limit: 100}
		if f := b.add([]wire.Output{it}); f == nil || f.Reason != ReasonWorkerCrashed {
			t.Errorf("%s %q: %v, want it refused", it.Kind, it.JSON, f)
		}
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	for _, s := range []string{"short", strings.Repeat("é", 3000), strings.Repeat("é", 9000), strings.Repeat("\U0001F600", 4000)} {
		got := boundError(s)
		if len(got) > maxErrorBytes || !utf8.ValidString(got) {
			t.Errorf("%d bytes of error from %d, valid %v", len(got), len(s), utf8.ValidString(got))
		}
		if len(s) <= maxErrorBytes && got != s {
			t.Errorf("an error of %d bytes was changed", len(s))
		}
	}
}
