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
		{"one\ntwo\n", "two"},
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
	})
}
