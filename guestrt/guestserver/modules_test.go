package guestserver

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// reasonOf prepares a source and returns why it was refused, or "".
func reasonOf(t *testing.T, lang, source string) string {
	t.Helper()
	_, refusal := prepare(wire.Cell{Language: lang, Source: source, Limits: wire.Limits{}.Filled()})
	if refusal == nil {
		return ""
	}
	if refusal.Code != wire.CodeInvalidInput || refusal.Phase != wire.PhaseInput || refusal.Message == "" {
		t.Errorf("refusal %+v is not an input error with a message", refusal)
	}
	return refusal.Reason
}

func TestModuleAccessIsRefused(t *testing.T) {
	for _, source := range []string{
		`import x from "y"`,
		`import "fs"`,
		`import * as fs from "fs"; return 1`,
		`import {readFile} from 'fs'`,
		`import {} from "y"`,
		`import x, {y} from "z"`,
		`import x, * as z from "z"`,
		"return 1\nimport x from 'y'",
		"// a comment\nimport x from 'y'",
		"/* import */ import x from 'y'",
		"import // why\n x from 'y'",
		"import\n\n/* c */ x from 'y'",
		"const quote = /['\"]/\nimport fs from 'fs'",
		"if (true) { import x from 'y' }",
		`import defer * as x from "y"`,
		`import x from "y" with { type: "json" }`,
		`import("fs")`,
		`await import("fs")`,
		`import ( "fs" )`,
		"import/* c */('fs')",
		"import\n('fs')",
		"return import(`fs`)",
		`const f = () => import(name)`,
		"`${import('fs')}`",
		"`a ${`b ${import('fs')}`}`",
		`const quote = /'/; import("fs")`,
		`x = {a: [import("fs")]}`,
		`(a = import("x")) => 1`,
		`for (const x of await import("y"));`,
		`with ({}) { import("fs") }`,
		`if (false) { import("x") }`,
		`return; import("x")`,
		`import("x", { with: { type: "json" } })`,
		`import.meta`,
		`return import.meta.url`,
		`import . meta`,
		`import.source("x")`,
		`require("fs")`,
		`require ("fs")`,
		"require\n('fs')",
		"require/**/('fs')",
		`(require)("fs")`,
		`(0, require)("fs")`,
		`(1, 2, require)("fs")`,
		`require?.("fs")`,
		`(0, require)?.("fs")`,
		`new require("fs")`,
		"require`fs`",
		`requ\u0069re("fs")`,
		`r\u{65}quire("fs")`,
		`require("fs").readFileSync("x")`,
		`const {a} = require("fs")`,
		"`${require('fs')}`",
		`const quote = /"/; require("fs")`,
		`typeof require === "function" && require("fs")`,
		`function f() { let require = 1 } require("fs")`,
		`{ let require = 1 } require("fs")`,
		`try { require("fs") } catch {}`,
		`with ({}) { require("fs") }`,
		`eval("1"); require("fs")`,
		`export const a = 1`,
		`export default 1`,
		`export default function () {}`,
		`export { a }`,
		`export * from "x"`,
		"const a = 1\nexport { a as default }",
	} {
		if got := reasonOf(t, "javascript", source); got != wire.ReasonModuleAccess {
			t.Errorf("%q: reason %q, want module_access_denied", source, got)
		}
	}
}

func TestModuleWordsAreFineElsewhere(t *testing.T) {
	for _, source := range []string{
		`return "import x from 'y'"`,
		`return 'require("fs")'`,
		"return `import x from 'y'`",
		"return `import('fs') require('fs')`",
		"return `${1} import('fs') ${2} require('fs')`",
		`// import x from "y"`,
		"/* import('fs')\nrequire('fs') */ return 1",
		`return /import\("x"\)/.test("a")`,
		`return /require\("x"\)/.test("a")`,
		`return a.b / 2 / import_count`,
		`const important = 1; return important`,
		`const required = 1, importer = 2; return required + importer`,
		`o.import("x")`,
		`o.require("x")`,
		`o?.require("x")`,
		`o.import.meta`,
		`o["import"]("x")`,
		`this.require("x")`,
		`return { import: 1, require: 2, export: 3 }`,
		`return { import() {}, require() {} }`,
		`class A { import() {} require() {} export() {} static require(x) {} } return new A().require("x")`,
		`class A { #import = 1; #require() {} get() { return this.#require("x") } }`,
		`const { import: a, require: b } = o; return a`,
		`return typeof require`,
		`return typeof require === "undefined"`,
		`const r = require`,
		`function require(x) { return x } return require("a")`,
		`const require = (x) => x; return require("a")`,
		`return ((require) => require("a"))((x) => x)`,
		`try { f() } catch (require) { require("a") }`,
		`for (const require of list) require("a")`,
		`return list.with(0, 1), { with: 2 }.with, "import"`,
		`import_: for (;;) { break import_ }`,
		`const $import = 1, import$ = 2, ñimport = 3; return $import + import$`,
		`return "\u0069mport('x')"`,
		"await 1 // export default",
		`const s = "quoinImport0000( quoinRequire0000( imp000"; return s + "import require"`,
	} {
		if got := reasonOf(t, "javascript", source); got != "" {
			t.Errorf("%q: refused as %q", source, got)
		}
	}
}

func TestBrokenImportsAreSyntaxErrorsOfTheEngine(t *testing.T) {
	// Nothing here is module access; what is wrong is found by the engine.
	for _, source := range []string{
		"// import\nlet 5",
		"/* import */ let 5",
		`const s = "import"; let 5`,
		"foo(",
		`let x = "import`,
	} {
		if got := reasonOf(t, "javascript", source); got != "" {
			t.Errorf("%q: refused as %q before the engine saw it", source, got)
		}
	}
}

func TestTypeScriptModuleAccess(t *testing.T) {
	for source, want := range map[string]string{
		`import type { A } from "y"; return 1`:                                 "",
		`import type A from "y"`:                                               "",
		`import type * as N from "y"`:                                          "",
		"import type { A,\n  B as C } from \"y\"\nreturn 1":                    "",
		`import type from from "y"`:                                            "",
		`import type A = require("y")`:                                         "",
		`import type A from "y"; import type B from 'z'`:                       "",
		"/* c */ import /* d */ type { A } from 'y' // e":                      "",
		`import type { A } from "y" with { "resolution-mode": "import" }; f()`: "",
		`import type { "a-b" as C } from "y"`:                                  "",
		`let a: import("x").Foo = 1; return a`:                                 "",
		`type T = typeof import("x")`:                                          "",
		`declare function require(x: string): any; return typeof require`:      "",
		`const f = (require: (x: string) => any) => require("x")`:              "",
		`interface A { import(): void; require(x: string): void }`:             "",
		"return `import('x')` as string":                                       "",
		`enum require { A } return require.A`:                                  "",
		`import { type A, type B as C } from "y"; return 1`:                    "",
		"import { type A } from \"y\"; export type { A } from \"y\"":           "",
		`export type { A } from "y"; return 1`:                                 "",
		"type A = 1\nexport type { A, A as B }\nreturn 1":                      "",
		`export type * from "y"; return 1`:                                     "",
		`export type * as N from "y"; return 1`:                                "",
		`export declare const a: number; return 1`:                             "",
		`export  type A<T> = { a: T }; const a: A<1> = { a: 1 }; return a`:     "",
		`import { type A, B } from "y"`:                                        wire.ReasonModuleAccess,
		`import D, { type A } from "y"`:                                        wire.ReasonModuleAccess,
		`import { type } from "y"`:                                             wire.ReasonModuleAccess,
		`import {} from "y"`:                                                   wire.ReasonModuleAccess,
		`import { /* type A */ } from "y"`:                                     wire.ReasonModuleAccess,
		`export enum E { A }`:                                                  wire.ReasonModuleAccess,
		`export abstract class A {}`:                                           wire.ReasonModuleAccess,
		`export { type A }`:                                                    wire.ReasonModuleAccess,
		`import type from "y"`:                                                 wire.ReasonModuleAccess,
		`import type, { x } from "y"`:                                          wire.ReasonModuleAccess,
		`import { type A } from "y"`:                                           "",
		`import { A } from "y"`:                                                wire.ReasonModuleAccess,
		`import A from "y"; let a: A`:                                          wire.ReasonModuleAccess,
		`import "y"`:                                                           wire.ReasonModuleAccess,
		`import type A from "y"; import B from "z"`:                            wire.ReasonModuleAccess,
		`import x = require("y")`:                                              wire.ReasonModuleAccess,
		`const x: any = await import("y")`:                                     wire.ReasonModuleAccess,
		`import.meta.url as string`:                                            wire.ReasonModuleAccess,
		`require("fs") as any`:                                                 wire.ReasonModuleAccess,
		`declare function require(x: string): any; require("y")`:               wire.ReasonModuleAccess,
		`export type A = 1`:                                                    "",
		`export interface A {}`:                                                "",
		`export const a: number = 1`:                                           wire.ReasonModuleAccess,
		"// import\nlet 5":                                                     wire.ReasonTypeScriptFailed,
		`let x: = 1`:                                                           wire.ReasonTypeScriptFailed,
	} {
		if got := reasonOf(t, "typescript", source); got != want {
			t.Errorf("%q: reason %q, want %q", source, got, want)
		}
	}
}

func TestErasedStatementsKeepThePlaces(t *testing.T) {
	const source = "import { type A } from 'x'; export type B = 1; let y: = 1"
	_, refusal := prepare(wire.Cell{Language: "typescript", Source: source, Limits: wire.Limits{}.Filled()})
	if refusal == nil || refusal.Message != `Unexpected "=" (cell.ts:1:55)` {
		t.Errorf("%+v", refusal)
	}
}

func TestModuleAccessSaysWhere(t *testing.T) {
	for _, tc := range []struct{ lang, source, at string }{
		{"javascript", `import fs from "fs"`, "cell.js:1:1"},
		{"javascript", "const a = 1\n  import fs from 'fs'", "cell.js:2:3"},
		{"javascript", "const é = 1; await import('fs')", "cell.js:1:20"},
		{"javascript", "text('require(1)')\nconst f = () => {\n\treturn require('fs')\n}", "cell.js:3:9"},
		{"javascript", "import.meta.url; require('x')", "cell.js:1:1"},
		{"javascript", "const a = 1;\nexport default a", "cell.js:2:1"},
		{"typescript", "const a: number = 1\nreturn await import('fs')", "cell.ts:2:14"},
		{"typescript", "interface A {}\n\nimport fs from 'fs'", "cell.ts:3:1"},
		{"typescript", "export const a: number = 1", "cell.ts:1:1"},
		{"typescript", "type A = 1\nlet x: A = require('x')", "cell.ts:2:12"},
	} {
		_, refusal := prepare(wire.Cell{Language: tc.lang, Source: tc.source, Limits: wire.Limits{}.Filled()})
		if refusal == nil || refusal.Reason != wire.ReasonModuleAccess || !strings.HasSuffix(refusal.Message, "("+tc.at+")") {
			t.Errorf("%s %q: %+v, want it at %s", tc.lang, tc.source, refusal, tc.at)
		}
	}
}

func TestManyTypeImportsAreBounded(t *testing.T) {
	var source string
	for range maxTypeImports + 1 {
		source += "import type A from \"y\"\n"
	}
	if got := reasonOf(t, "typescript", source); got != wire.ReasonTypeScriptFailed {
		t.Errorf("reason %q", got)
	}
}
