//go:build linux && (amd64 || arm64)

package quickjs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// upstreamEnv makes TestUpstreamPrograms fetch the tests of quickjs-ng and run them.
const upstreamEnv = "QUOIN_UPSTREAM_TESTS"

// What carries the tests of quickjs-ng is what carries the source of the native engine.
const (
	upstreamModule = "github.com/buke/quickjs-go@v0.7.7"
	upstreamSum    = "h1:kuG3d0Vnn7LBvO64vgW+fwSZ5E3XK5pcYDttiIYmatw="
)

var (
	// moduleOnly are tests of what guests do not have: modules, and the library of the
	// command qjs.
	moduleOnly = regexp.MustCompile(`(?m)from\s+"(qjs:|\./(?:[^a]|a[^s]))|import\(|import\.meta|^import \w|^export|\bstd\.|\bos\.|\bbjson\b|scriptArgs|qjs:|Worker`)
	ofAssert   = regexp.MustCompile(`(?s)import\s*\{[^}]*\}\s*from\s*"\./assert\.js";?`)
)

// TestUpstreamPrograms runs the tests of quickjs-ng that apply to guests, twice in one
// guest, with an image in between.
func TestUpstreamPrograms(t *testing.T) {
	if os.Getenv(upstreamEnv) == "" {
		t.Skip("needs the module proxy: make test-upstream runs it")
	}
	dir := filepath.Join(fetchUpstream(t), "deps/quickjs/tests")
	assert, err := os.ReadFile(filepath.Join(dir, "assert.js"))
	if err != nil {
		t.Fatal(err)
	}
	prologue := readTestdata(t, "safety/prologue.txt") + "const gc = collect, print = () => {}, console = { log: print };\n" +
		strings.ReplaceAll(string(assert), "export function", "function")
	files, err := filepath.Glob(filepath.Join(dir, "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	e := openTest(t)
	ran := 0
	for _, file := range files {
		name := filepath.Base(file)
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := ofAssert.ReplaceAllString(string(src), "")
		if moduleOnly.MatchString(body) || name == "assert.js" {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			strict := ""
			if body != string(src) {
				strict = "'use strict';"
			}
			body = "const all = async () => {" + strict + body + "\n};\nawait all(); await tools.call('turn'); await all(); return 'passed'"
			vm := newVM(t, e, engine.Options{})
			defer func() { discard(t, vm) }()
			r := load(t, vm, prologue+body)
			for r.Status == wire.StatusIdle {
				vm = rebirth(t, e, vm)
				r = turn(t, vm, answer(r.Requests)...)
			}
			passed := string(r.Value) == `"passed"`
			if strings.Contains(body, "negative:\n") {
				passed = r.Err != nil && r.Err.Code == codeInternal && r.Err.Reason == reasonException
			}
			why := upstreamFailure(name)
			switch {
			case !passed && why == "":
				t.Errorf("%s %+v", r.Value, r.Err)
			case passed && why != "":
				t.Errorf("passes, though it should not: %s", why)
			}
		})
	}
	if ran < 30 {
		t.Errorf("only %d tests ran", ran)
	}
}

// fetchUpstream returns the directory of the module that has the tests.
func fetchUpstream(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", upstreamModule)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GONOSUMDB="+strings.Split(upstreamModule, "@")[0])
	out, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil || err != nil || m.Sum != upstreamSum {
		t.Fatalf("%s: %v %v, sum %q, %s", upstreamModule, err, jsonErr, m.Sum, m.Error)
	}
	return m.Dir
}

// upstreamFailures are tests that fail on both engines, or on one, and why. They do
// not concern memory.
var upstreamFailures = map[string]string{
	"bug1221.js":                       "expects at which size a regular expression is refused",
	"bug1498.js":                       "expects the stacks of the command qjs",
	"bug858.js":                        "expects its own name in a stack, and Error.stackTraceLimit",
	"bug904.js":                        "needs Error.stackTraceLimit",
	"test_base64.js":                   "needs atob, which the prelude has",
	"test_domexception.js":             "needs DOMException, which the prelude has",
	"test_for_of_line_numbers.js":      "expects the stacks of the command qjs",
	"test_language.js":                 "is no body of an async function",
	"default: bug492.js":               "expects zeros where the buffer shrank",
	"default: null_or_undefined.js":    "expects the messages of quickjs-ng",
	"default: test_queue_microtask.js": "needs queueMicrotask, which the prelude has",
}

func upstreamFailure(name string) string {
	if why := upstreamFailures[name]; why != "" || strings.HasPrefix(engineID, "quickjs-ng") {
		return why
	}
	return upstreamFailures["default: "+name]
}
