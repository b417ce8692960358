package prelude_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/prelude"
)

// unsafe forms reach code that a guest can replace.
var unsafeForms = map[string]*regexp.Regexp{
	"a loop over an iterator":      regexp.MustCompile(`\bfor\s*(await\s*)?\([^;)]*\bof\b`),
	"await":                        regexp.MustCompile(`\bawait\b`),
	"a generator":                  regexp.MustCompile(`function\s*\*`),
	"spread":                       regexp.MustCompile(`[([,]\s*\.\.\.[\w$.]+\s*[,)\]](?:\s*[^=:\s]|$)`),
	"array destructuring":          regexp.MustCompile(`\b(const|let|var)\s*\[`),
	"a built-in looked up late":    regexp.MustCompile(`(^|[^\w$."'/*-])(Object|Array|Reflect|JSON|Math|Promise|Symbol|String|Number|BigInt|Date|Map|Set|WeakMap|WeakSet|Error|TypeError|RangeError|Proxy|RegExp)\.\w`),
	"construction of a late name":  regexp.MustCompile(`\bnew [A-Z]`),
	"instanceof":                   regexp.MustCompile(`\binstanceof\b`),
	"a method of a built-in value": regexp.MustCompile(`[^$]\.(push|pop|shift|map|filter|forEach|join|slice|splice|concat|indexOf|includes|charCodeAt|split|replace|trim|then|catch|finally|toString|call|apply|bind|test|exec)\(`),
	"optional chaining":            regexp.MustCompile(`\?\.`),
}

// quotedText is said to people, and may say what the code may not do.
var quotedText = regexp.MustCompile(`"[^"]*"`)

func TestSourcesAvoidWhatGuestsCanReplace(t *testing.T) {
	names, err := filepath.Glob("src/*.ts")
	extras, errExtras := filepath.Glob("src/extra/*.ts")
	names, err = append(names, extras...), errors.Join(err, errExtras)
	if err != nil || len(names) < 10 {
		t.Fatalf("sources: %v %v", names, err)
	}
	for _, name := range names {
		if base := filepath.Base(name); base == "intrinsics.ts" || base == "native.d.ts" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if code := strings.TrimSpace(line); strings.HasPrefix(code, "//") || strings.HasPrefix(code, "*") || strings.HasPrefix(code, "/*") {
				continue
			}
			code := quotedText.ReplaceAllString(line, `""`)
			for what, form := range unsafeForms {
				if form.MatchString(code) {
					t.Errorf("%s:%d: %s: %s", name, i+1, what, line)
				}
			}
		}
	}
}

func TestUnsafeFormsAreRecognised(t *testing.T) {
	for what, line := range map[string]string{
		"a loop over an iterator":      "for (const x of list) {}",
		"await":                        "  await p;",
		"a generator":                  "function* g() {}",
		"spread":                       "f(...args);",
		"array destructuring":          "const [a, b] = pair;",
		"a built-in looked up late":    "x = Object.keys(y);",
		"construction of a late name":  "new Map()",
		"instanceof":                   "e instanceof Error",
		"a method of a built-in value": "list.push(1);",
		"optional chaining":            "a?.b",
	} {
		if !unsafeForms[what].MatchString(line) {
			t.Errorf("%s goes unnoticed in %q", what, line)
		}
	}
	if rest := "const f = (...args: unknown[]) => {"; unsafeForms["spread"].MatchString(rest) {
		t.Errorf("a rest parameter counts as spread: %q", rest)
	}
}

// TestScriptNamesNoReplaceableConstant: the engine lets a guest redefine the
// global undefined, so the bundler must have written void 0 for it.
func TestScriptNamesNoReplaceableConstant(t *testing.T) {
	for _, form := range []string{`[^"\w]undefined\b[^"]`, `[^"\w]NaN\b`, `[^"\w]Infinity\b`} {
		if at := regexp.MustCompile(form).FindString(prelude.JS); at != "" {
			t.Errorf("the script refers to a global constant: %q", at)
		}
	}
}
