package childprocess

import (
	"fmt"
	"strings"
	"testing"
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
		{"Error: handled\ngoing on\n", "going on"},
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
