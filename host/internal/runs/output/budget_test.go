package output

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestOutputBudget: whatever a guest emits, what is kept is a prefix of it, whole
// characters only, within the limit, and what is omitted is counted to the byte.
func TestOutputBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 500).Draw(t, "limit")
		texts := rapid.SliceOfN(rapid.String(), 0, 20).Draw(t, "texts")
		b := Budget{Limit: limit}
		var total int64
		for _, s := range texts {
			q, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			it := wire.Output{Kind: wire.OutputText, JSON: q}
			total += itemBytes(codemode.Output{Kind: codemode.OutputKind(it.Kind), Value: it.JSON})
			if f := b.Add([]wire.Output{it}); f != nil {
				t.Fatal(f)
			}
		}
		var kept int64
		var all, want strings.Builder
		for _, o := range b.Items {
			kept += itemBytes(o)
			all.WriteString(o.Text())
			if !utf8.ValidString(o.Text()) {
				t.Fatalf("kept %q", o.Text())
			}
		}
		for _, s := range texts {
			want.WriteString(strings.ToValidUTF8(s, "\uFFFD"))
		}
		if kept != b.Used || kept > limit || kept+b.Omitted != total {
			t.Fatalf("kept %d (counted %d), omitted %d of %d under the limit %d", kept, b.Used, b.Omitted, total, limit)
		}
		if !strings.HasPrefix(want.String(), all.String()) {
			t.Fatalf("kept %q of %q", all.String(), want.String())
		}
	})
}

// texts draws JSON texts with characters of every length and every kind of escape.
func texts(max int) *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{`a`, `é`, "\u2028", `世`, "\U0001F600", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\/`, ` `}),
		rapid.StringMatching(`[a-z]{0,40}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(part, 0, max).Draw(t, "parts"), "") + `"`
	})
}

// TestPrefixesAreWhole: a text is cut between characters, wherever that is, and
// nothing that fits is left out.
func TestPrefixesAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(texts(20).Draw(t, "text"))
		inner := text[1 : len(text)-1]
		room := rapid.IntRange(0, len(inner)+3).Draw(t, "room")
		n := cut(inner, room, tokenBytes)
		var whole, part string
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(append(append([]byte{'"'}, inner[:n]...), '"'), &part); err != nil {
			t.Fatalf("%q cut at %d: %v", inner, n, err)
		}
		if n > room || !strings.HasPrefix(whole, part) {
			t.Fatalf("%d of %q in %d: %q", n, inner, room, part)
		}
		if n < len(inner) && room-n >= 2*len(`\u0000`) {
			t.Fatalf("%d of %q in %d: more would fit", n, inner, room)
		}
	})
}

// TestTruncatedSharesTheBudget: value and output together stay within the limit,
// say to the byte what is missing, and each keeps what fits of its half.
func TestTruncatedSharesTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1<<10, 4<<10).Draw(t, "limit")
		value := json.RawMessage(texts(100).Draw(t, "value"))
		b := Budget{Limit: limit}
		var emitted int64
		for _, s := range rapid.SliceOfN(texts(60), 0, 6).Draw(t, "items") {
			kind := rapid.SampledFrom([]wire.OutputKind{wire.OutputText, wire.OutputJSON}).Draw(t, "kind")
			emitted += itemBytes(codemode.Output{Kind: codemode.OutputKind(kind), Value: json.RawMessage(s)})
			if f := b.Add([]wire.Output{{Kind: kind, JSON: []byte(s)}}); f != nil {
				t.Fatal(f)
			}
		}
		gotValue, items := b.Truncated(value, func(json.RawMessage) string { return " It is kept." })
		size := int64(len(gotValue))
		for _, o := range items {
			size += itemBytes(o)
			if !json.Valid(o.Value) {
				t.Fatalf("item %s", o.Value)
			}
		}
		if size > limit {
			t.Fatalf("%d bytes under the limit of %d", size, limit)
		}
		if emitted+int64(len(value)) <= limit && (string(gotValue) != string(value) || size != emitted+int64(len(value))) {
			t.Fatalf("all of it fits, and %d bytes of it were kept", size)
		}
		if string(gotValue) == string(value) {
			return
		}
		var m marker
		if err := json.Unmarshal(gotValue, &m); err != nil {
			t.Fatal(err)
		}
		if !m.Truncated || m.OmittedBytes <= 0 || m.OmittedBytes > int64(len(value)) || !json.Valid(m.Value) || !strings.HasSuffix(m.Guidance, " It is kept.") {
			t.Fatalf("marker %+v of %s", m, value)
		}
		if int64(len(value)) <= limit/2 || len(gotValue) < int(limit/2)-64 {
			t.Fatalf("%d of %d bytes of value kept under the limit %d", len(m.Value), len(value), limit)
		}
	})
}

func TestWorkerOutputIsChecked(t *testing.T) {
	t.Parallel()
	for _, it := range []wire.Output{
		{Kind: wire.OutputJSON, JSON: []byte(`{`)},
		{Kind: wire.OutputJSON, JSON: nil},
		{Kind: wire.OutputText, JSON: []byte(`7`)},
	} {
		b := Budget{Limit: 100}
		if f := b.Add([]wire.Output{it}); f == nil || f.Reason != codemode.ReasonWorkerCrashed {
			t.Errorf("%s %q: %v, want it refused", it.Kind, it.JSON, f)
		}
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"short", strings.Repeat("é", 3000), strings.Repeat("é", 9000), strings.Repeat("\U0001F600", 4000)} {
		got := codemode.BoundMessage(s)
		if len(got) > 8<<10 || !utf8.ValidString(got) {
			t.Errorf("%d bytes of error from %d, valid %v", len(got), len(s), utf8.ValidString(got))
		}
		if len(s) <= 8<<10 && got != s {
			t.Errorf("an error of %d bytes was changed", len(s))
		}
	}
}
