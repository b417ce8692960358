package childprocess

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLastWords(t *testing.T) {
	frames := strings.Repeat("    at finalizeResolution (node:internal/modules/esm/resolve:257:11)\n", 12)
	for _, tc := range []struct{ output, want string }{
		{"zero\none\ntwo\n\nthree\n", "one | two | three"},
		{"panic: out of cheese\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: out of cheese"},
		{"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/x/nope.js'\n" + frames + "  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n",
			"Error: Cannot find module '/x/nope.js'"},
		{"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /y.mjs\n" + frames + "  code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v22.1.0\n",
			"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /y.mjs"},
		{"TypeError: x is not a function\n    at main.js:1:1\n\nNode.js v20.20.2\n", "TypeError: x is not a function"},
		{"it ends here\nNode.js v20.20.2\n", "it ends here"},
		{"Error: handled\ngoing on\n", "Error: handled | going on"},
		{"Fatal error in main(): Error: ACME_API_KEY is not set; create one at https://example.com/keys\n    at load (file:///srv/a.mjs:2:25)\n    at file:///srv/a.mjs:3:7\n",
			"Fatal error in main(): Error: ACME_API_KEY is not set; create one at https://example.com/keys"},
		{"Traceback (most recent call last):\n  File \"/srv/app.py\", line 12, in <module>\n    main()\n  File \"/srv/app.py\", line 8, in main\n    raise RuntimeError(\"ACME_API_KEY is not set\")\nRuntimeError: ACME_API_KEY is not set\n",
			"RuntimeError: ACME_API_KEY is not set"},
		{"Traceback (most recent call last):\n  File \"/srv/app.py\", line 12, in <module>\n    Settings()\npydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\nACME_API_KEY\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.10/v/missing\n",
			"pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings | ACME_API_KEY | Field required [type=missing, input_value={}, input_type=dict]"},
		{"starting\nFailed to connect to the database: invalid DSN\n{\n  code: 'EDSN'\n}\n", "Failed to connect to the database: invalid DSN"},
		{"(node:12) Warning: an error of old\nlistening\nError: address in use\n", "Error: address in use"},
		{"npm warn deprecated x@1: it has an error\nnpm error code E404\nnpm error 404 Not Found - GET https://registry.example/x\n", "npm error code E404 | npm error 404 Not Found - GET https://registry.example/x"},
		{"throw err;\nError: Could not locate the bindings file. Tried:\n" + frames + "  tries: [\n" + strings.Repeat("    '/x/build/y.node',\n", 40) + "  ]\n}\n",
			"Error: Could not locate the bindings file. Tried:"},
		{"\nthread 'main' panicked at src/main.rs:12:34:\ncalled `Result::unwrap()` on an `Err` value: NotPresent\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", "thread 'main' panicked at src/main.rs:12:34: | called `Result::unwrap()` on an `Err` value: NotPresent"},
		{"  × No solution found when resolving tool dependencies:\n  ╰─▶ Because mcp-server-foo was not found in the package registry and you\n      require mcp-server-foo, we can conclude that your requirements are\n      unsatisfiable.\n", "No solution found when resolving tool dependencies: | Because mcp-server-foo was not found in the package registry and you | require mcp-server-foo, we can conclude that your requirements are | unsatisfiable."},
		{"   Building lxml==4.9.3\n  × Failed to build `lxml==4.9.3`\n  ├─▶ The build backend returned an error\n  ╰─▶ Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)\n\n      [stderr]\n      Error: Please make sure the libxml2 and libxslt development packages are installed.\n\n      hint: This usually indicates a problem with the package or the build environment.\n", "Failed to build `lxml==4.9.3` | The build backend returned an error | Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1) | Error: Please make sure the libxml2 and libxslt development packages are installed."},
		{"ZodError: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"string\",\n    \"received\": \"undefined\",\n    \"path\": [\n      \"ACME_KEY\"\n    ],\n    \"message\": \"Required\"\n  }\n]\n    at get error (/srv/node_modules/zod/index.js:1:1)\n", "ZodError: [ | \"code\": \"invalid_type\", | \"expected\": \"string\", | \"received\": \"undefined\", | \"path\": [ | \"ACME_KEY\" | \"message\": \"Required\""},
		{"Exception in thread \"main\" java.lang.IllegalStateException: Failed to load ApplicationContext\n\tat org.x.Y.main(Y.java:10)\nCaused by: java.lang.IllegalArgumentException: ACME_KEY must be set\n\tat org.x.Z.f(Z.java:3)\n\t... 8 more\n", "Exception in thread \"main\" java.lang.IllegalStateException: Failed to load ApplicationContext | Caused by: java.lang.IllegalArgumentException: ACME_KEY must be set"},
		{"Traceback (most recent call last):\n  File \"a.py\", line 2, in f\nKeyError: 'ACME_KEY'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 5, in <module>\nRuntimeError: configuration is incomplete\n", "KeyError: 'ACME_KEY' | RuntimeError: configuration is incomplete"},
		{"  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/app.py\", line 3, in <module>\n  |     anyio.run(main)\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/srv/app.py\", line 9, in main\n    |     raise ValueError(\"API key missing\")\n    | ValueError: API key missing\n    +------------------------------------\n", "ValueError: API key missing"},
		{"Acme Server 1.0\nCopyright (c) Acme\nLicense expired on 2024-01-01\nGoodbye\n", "License expired on 2024-01-01 | Goodbye"},
		{"Fehler: Die Umgebungsvariable ACME_KEY fehlt\nBeende.\n", "Fehler: Die Umgebungsvariable ACME_KEY fehlt | Beende."},
		{"错误:缺少 ACME_KEY\n退出\n", "错误:缺少 ACME_KEY | 退出"},
		{"\x1b[31m✖ ERROR\x1b[39m  \x1b[1mmissing ACME_KEY\x1b[22m\n\x1b[90m  see docs\x1b[39m\n", "✖ ERROR  missing ACME_KEY | see docs"},
		{"downloading 10%\rdownloading 50%\rdownloading 100%\nFailed to parse config: unexpected end of JSON input\n\n\n", "Failed to parse config: unexpected end of JSON input"},
		{"(node:1) ExperimentalWarning: Error recovery is experimental\n(Use `node --trace-warnings ...` to show where the warning was created)\nPlease set ACME_KEY\n", "Please set ACME_KEY"},
		{"/srv/app.rb:3:in `fetch': key not found: \"ACME_KEY\" (KeyError)\n\tfrom /srv/app.rb:3:in `<main>'\n", "/srv/app.rb:3:in `fetch': key not found: \"ACME_KEY\" (KeyError)"},
		{"PHP Fatal error:  Uncaught RuntimeException: ACME_KEY missing in /srv/a.php:3\nStack trace:\n#0 {main}\n  thrown in /srv/a.php on line 3\n", "PHP Fatal error:  Uncaught RuntimeException: ACME_KEY missing in /srv/a.php:3"},
		{"downloading 10%\rdownloading 100%\r\n\x1b]0;title\x07bye\x1b[3\n", "downloading 100% | bye"},
		{"bye\n}\n  ^\n", "bye"},
		{"\n", ""},
	} {
		var w OutputTail
		for line := range strings.Lines(tc.output) {
			w.Add([]byte(strings.TrimSuffix(line, "\n")))
		}
		if got := w.Last(); got != tc.want {
			t.Errorf("%q\n got %q\nwant %q", tc.output, got, tc.want)
		}
	}
	var w OutputTail
	for i := range 1000 {
		w.Add(fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", 1000)))
	}
	if len(w.tail) != tailLines || len(w.Last()) != MaxTailLine {
		t.Errorf("%d lines, the last of %d bytes, are kept", len(w.tail), len(w.Last()))
	}
}

// TestLastWordsAfterAPause: an error of before counts only if there was no other since.
func TestLastWordsAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		var w OutputTail
		w.Add([]byte("Error: a request failed"))
		time.Sleep(time.Minute)
		w.Add([]byte("stopping"))
		if got := w.Last(); got != "Error: a request failed | stopping" {
			t.Errorf("without an error since: %q", got)
		}
		w.Add([]byte("Error: out of disk"))
		if got := w.Last(); got != "Error: out of disk" {
			t.Errorf("with one: %q", got)
		}
		w = OutputTail{}
		w.Add([]byte("listening"))
		time.Sleep(time.Minute)
		w.Add([]byte("stopping"))
		if got := w.Last(); got != "stopping" {
			t.Errorf("without any error: %q", got)
		}
	})
}
