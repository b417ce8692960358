package typescript

import (
	"strings"
	"testing"
)

func TestAccepts(t *testing.T) {
	Check(t, map[string]string{
		"guest.d.ts":      "declare function text(value?: unknown): void;",
		"tools/echo.d.ts": "declare const echo: (input: { a?: number }) => Promise<string[]>;",
		"use.ts":          "text((await echo({ a: 1 })).toSorted()); export {};",
	})
}

func TestComplains(t *testing.T) {
	for what, files := range map[string]map[string]string{
		"(1,7): error TS2322": {"a.ts": "const n: string = 1"},
		"TS7006":              {"a.ts": "export const f = (x) => x"},
		"TS2304":              {"a.d.ts": "declare const a: Missing;"},
		"b.d.ts(1,":           {"a.d.ts": "declare const a: number;", "b.d.ts": "declare const a: string;"},
		"'document'":          {"a.ts": "document.title"},
		"'process'":           {"a.ts": "process.exit()"},
		"'console'":           {"a.ts": "console.log()"},
	} {
		if said := Complaints(t, files); !strings.Contains(said, what) {
			t.Errorf("%v: the compiler says %q, want something with %q", files, said, what)
		}
	}
}
