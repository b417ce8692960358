package guestserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

func TestStackKeepsMappedCellFramesOnly(t *testing.T) {
	p := positions{lang: javascript}
	raw := strings.Join([]string{
		"    at null.x (native)",
		"    at first (cell.js:1:19)",
		"    at <anonymous> (cell.js:3:4)",
		"    at settle (quoin:prelude:10:2)",
		"    at evil (/etc/passwd:1:1)",
		"    at cell.js:2:1",
		"    at spoof (cell.ts:1:1)",
		"    at host (cell.js:99999999999999999999:1)",
		"secret text",
		"    at noColumn (cell.js:7)",
	}, "\n")
	want := strings.Join([]string{
		"    at first (cell.js:1:8)",
		"    at <anonymous> (cell.js:3:4)",
		"    at cell.js:2:1",
		"    at noColumn (cell.js:7:1)",
	}, "\n")
	if got := p.mapStack(raw); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestStackIsBounded(t *testing.T) {
	p := positions{lang: javascript}
	var raw strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&raw, "    at f (cell.js:%d:20)\n", i+1)
	}
	got := p.mapStack(raw.String())
	if n := strings.Count(got, "\n") + 1; n != maxFrames {
		t.Errorf("%d frames, want %d", n, maxFrames)
	}
}

func TestTypeScriptErrorsSayWhere(t *testing.T) {
	for _, c := range []struct{ source, message string }{
		{"let x: = 1", `Unexpected "=" (cell.ts:1:8)`},
		{"\n\n  let x: = 1", `Unexpected "=" (cell.ts:3:10)`},
		{"let é: string = ;", `Unexpected ";" (cell.ts:1:17)`},
		{"let a = 1;\nfoo(", `Unexpected end of file (cell.ts:2:5)`},
		{"return 1 }", `Unexpected "}" (cell.ts:1:10)`},
		{"await f()\nreturn 1 }\n", `Unexpected "}" (cell.ts:2:10)`},
		{"let s = 'abc", `Unterminated string literal (cell.ts:1:13)`},
		{"namespace X { export const a = 1 }", "a cell cannot declare a TypeScript namespace or module, use an object (cell.ts:1:11)"},
	} {
		_, refusal := prepare(wire.Cell{Language: "typescript", Source: c.source})
		if refusal == nil {
			t.Errorf("%q passes", c.source)
			continue
		}
		if refusal.Name != "SyntaxError" || refusal.Message != c.message || refusal.Reason != wire.ReasonTypeScriptFailed {
			t.Errorf("%q: %s: %s (%s), want %s", c.source, refusal.Name, refusal.Message, refusal.Reason, c.message)
		}
	}
}

func TestLoweringHelpersStayOutOfTheGlobalScope(t *testing.T) {
	const source = "using a = f()\nconst b = `\n`; return a"
	p, refusal := prepare(wire.Cell{Language: "typescript", Source: source, Limits: wire.Limits{}.Filled()})
	if refusal != nil {
		t.Fatal(refusal.Message)
	}
	program := string(p.cell.Source)
	if !strings.HasPrefix(program, "(()=>{") || !strings.HasSuffix(program, "})()") || !strings.Contains(program, ";return (async()=>{") {
		t.Errorf("program is no single expression:\n%s", program)
	}
	wantOriginal(t, &p, "f()", 1, 11)
	wantOriginal(t, &p, "const b", 2, 1)
	wantOriginal(t, &p, "return a", 3, 4)
}

func TestWideCharactersMoveTheirOwnLineAlone(t *testing.T) {
	const source = "using a = f()\nconst b = /😀/u\nreturn a"
	p, refusal := prepare(wire.Cell{Language: "typescript", Source: source, Limits: wire.Limits{}.Filled()})
	if refusal != nil {
		t.Fatal(refusal.Message)
	}
	wantOriginal(t, &p, "return a", 3, 1)
}

// wantOriginal checks the place in the source of the last occurrence of a text in
// the engine's program.
func wantOriginal(t *testing.T, p *prepared, text string, line, col int) {
	t.Helper()
	program := string(p.cell.Source)
	at := placeAt(program, strings.LastIndex(program, text))
	if l, c, ok := p.at.original(at.line, at.col); !ok || l != line || c != col {
		t.Errorf("%q at %d:%d maps to %d:%d, %v, want %d:%d in\n%s", text, at.line, at.col, l, c, ok, line, col, program)
	}
}

func TestImageKeepsTheSourceMap(t *testing.T) {
	p, refusal := prepare(wire.Cell{Language: "typescript", Source: "let a: number = 1\n\nthrow a", Limits: wire.Limits{}.Filled()})
	if refusal != nil {
		t.Fatal(refusal.Message)
	}
	e := &fakeEngine{}
	g := &guest{vm: &fakeVM{engine: e}, at: p.at}
	image, err := g.image(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	back, err := restoreGuest(e, image, wire.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if back.at.lang != typescript || string(back.at.sourceMap) != string(p.at.sourceMap) {
		t.Error("the source map is lost")
	}
	for n := range image {
		if g, err := restoreGuest(e, image[:n], wire.Limits{}, nil); err == nil && n < imageHeader {
			t.Errorf("an image cut to %d bytes gives %v", n, g)
		}
	}
}

// TestRepeatedFramesAreFolded: a stack overflow says what overflows, not how.
func TestRepeatedFramesAreFolded(t *testing.T) {
	lines := func(frames ...string) []string { return frames }
	times := func(n int, frames ...string) (out []string) {
		for range n {
			out = append(out, frames...)
		}
		return out
	}
	for _, c := range []struct{ in, want []string }{
		{nil, nil},
		{lines("a", "b", "a", "b"), lines("a", "b", "a", "b")},
		{times(64, "f"), lines("f", "    ... 63 more of this")},
		{append(times(3, "f"), "main"), lines("f", "    ... 2 more of this", "main")},
		{append(lines("g"), times(30, "f", "g")...), lines("g", "f", "    ... 29 more of these 2", "g")},
		{times(5, "a", "b", "c", "d"), lines("a", "b", "c", "d", "    ... 4 more of these 4")},
		{times(3, "a", "b", "c", "d", "e"), times(3, "a", "b", "c", "d", "e")},
	} {
		if got := fold(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q\nfolds to %q\nwant     %q", c.in, got, c.want)
		}
	}
}
