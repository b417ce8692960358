package guestserver

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/wire"
)

// FuzzPrepare feeds the preparation of sources with anything: it must answer
// with a program or a refusal that the wire accepts.
func FuzzPrepare(f *testing.F) {
	for _, list := range [][]string{parsingShell, brokenShell, notShell} {
		for _, source := range list {
			f.Add(source, false)
		}
	}
	for _, source := range []string{
		`import type { A } from "y"; return 1`, `import x from "y"`, "import // c\n x from 'y'", `import type A = require("y")`,
		`export const a = 1`, "return `${import('x')}`", `requ\u0069re("x")`, "using a = b", "enum E { A }", "/* import", `import type "`,
		"import type {\u2028} from 'y' with {", "let é = ;", "\r\nimport type A from 'y'\r\n)",
	} {
		f.Add(source, true)
		f.Add(source, false)
	}
	f.Fuzz(func(t *testing.T, source string, isTypeScript bool) {
		if !utf8.ValidString(source) {
			return // the wire carries no such source
		}
		lang := "javascript"
		if isTypeScript {
			lang = "typescript"
		}
		p, refusal := prepare(wire.Cell{Language: lang, Source: source, Limits: wire.Limits{}.Filled()})
		if refusal == nil {
			if !isTypeScript && string(p.cell.Source) != wrapHead+source+wrapTail {
				t.Fatal("a JavaScript source was changed")
			}
			return
		}
		b, err := wire.Encode(failed(refusal))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.Decode(wire.Worker, wire.TypeReport, b); err != nil {
			t.Fatalf("refusal %+v: %v", refusal, err)
		}
		if strings.Contains(refusal.Message, "panic") {
			t.Fatalf("the transform panics: %s", refusal.Message)
		}
	})
}
