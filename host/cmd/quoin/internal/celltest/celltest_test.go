package celltest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins"
)

// config is of a host for an example in development.
func config(t *testing.T, plugin string) (host.Config, plugins.Candidate) {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := hosttest.Install(dir, plugin); err != nil {
		t.Fatal(err)
	}
	return host.Config{Guests: host.GuestConfig{Path: guest, Prepared: 1}, Plugins: host.PluginConfig{Dir: t.TempDir()}, Settings: host.Settings{Isolation: host.IsolationBestEffort}}, plugins.Find(filepath.Join(dir, plugin))
}

// write makes one cell and loads it.
func write(t *testing.T, name, code string) (*Cell, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cells, err := Load(dir, nil)
	if err != nil || len(cells) != 1 {
		return nil, err
	}
	return cells[0], nil
}

// TestRun runs cells against a real plugin: what they say of themselves is what
// the table wants to be found wrong.
func TestRun(t *testing.T) {
	t.Parallel()
	cfg, issues := config(t, "issues")
	for name, tc := range map[string]struct{ file, code, wrong string }{
		"value":          {"a.js", "return {a: [1, \"x\"]}\n// want: {\"a\": [1, \"x\"]}", ""},
		"order":          {"a.js", "return {b: 1, a: 2}\n// want: {\"a\": 2, \"b\": 1.0}", ""},
		"several lines":  {"a.ts", "return {a: 1, b: [2]} as const\n\n// want: {\"a\": 1,\n//   \"b\": [2]}\n// the end", ""},
		"a real call":    {"a.ts", "const i = await Issues.create({title: \"One\"}); return i\n// want: {\"id\": 1, \"title\": \"One\", \"…\": \"…\"}", ""},
		"anything":       {"a.js", "return [Date.now()]\n// want: [\"…\"]", ""},
		"other value":    {"a.js", "return {a: 1}\n// want: {\"a\": 2}", "2|the value differs|.a: want 2, got 1"},
		"missing":        {"a.js", "return {}\n// want: {\"a b\": 2}", `2|the value differs|["a b"]: want 2, got nothing`},
		"too much":       {"a.js", "return {a: [1, 2]}\n// want: {\"a\": [1]}", "2|the value differs|.a[1]: want nothing, got 2"},
		"output":         {"a.js", "console.log(\"one\"); json({n: 2})\n// want-output: \"one\"\n// want-output: {\"n\": 2}", ""},
		"other output":   {"a.js", "text(\"one\")\n// want-output: \"two\"", `2|the output differs|[0]: want "two", got "one"`},
		"no output":      {"a.js", "return 1\n// want: 1\n// want-output: \"two\"", `3|the output differs|[0]: want "two", got nothing`},
		"yield":          {"a.js", "text(1); await yield_control(); text(2); return 3\n// want: 3\n// want-output: \"1\"\n// want-output: \"2\"", ""},
		"reason":         {"a.js", "throw new TypeError(\"no such thing\")\n// want-error: guest_exception no such", ""},
		"code":           {"a.js", "return nope\n// want-error: internal_error", ""},
		"no failure":     {"a.js", "return 1\n// want-error: guest_exception", "2|the cell did not fail|it completed with 1"},
		"other code":     {"a.js", "return nope\n// want-error: timeout", "2|want code or reason timeout|internal_error, guest_exception: ReferenceError"},
		"other error":    {"a.js", "return nope\n// want-error: guest_exception yes", `2|want an error with "yes"|ReferenceError`},
		"failure":        {"a.js", "return nope\n// want: 1", "2|the cell failed|ReferenceError"},
		"refused call":   {"a.ts", "await Issues.get(99)\n// want-error: nested_tool_failed does not exist", ""},
		"nothing wanted": {"a.js", "return 1", "0|nothing is expected|it completed with 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := write(t, tc.file, tc.code)
			if err != nil {
				t.Fatal(err)
			}
			o, err := c.Run(context.Background(), cfg, issues, Patience)
			if err != nil {
				t.Fatal(err)
			}
			if tc.wrong == "" {
				if len(o.Problems) > 0 {
					t.Errorf("got %+v", o.Problems)
				}
				return
			}
			parts := strings.Split(tc.wrong, "|")
			if len(o.Problems) != 1 {
				t.Fatalf("got %+v, want one", o.Problems)
			}
			p := o.Problems[0]
			if line := string(rune('0' + p.Line)); line != parts[0] || !strings.Contains(p.Text, parts[1]) || !strings.Contains(strings.Join(p.Details, "\n"), parts[2]) {
				t.Errorf("got %+v, want %q", p, parts)
			}
		})
	}
}

// TestCellsShareNothing: what one cell stores is not there for the next.
func TestCellsShareNothing(t *testing.T) {
	t.Parallel()
	cfg, issues := config(t, "issues")
	c, err := write(t, "a.ts", "return (await Issues.create({title: \"One\"})).id\n// want: 1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		o, err := c.Run(context.Background(), cfg, issues, Patience)
		if err != nil || len(o.Problems) > 0 {
			t.Fatalf("%+v, %v", o, err)
		}
	}
}

// TestABrokenPlugin: a plugin that does not come up is no failure of a cell.
func TestABrokenPlugin(t *testing.T) {
	t.Parallel()
	cfg, _ := config(t, "issues")
	ill := filepath.Join(t.TempDir(), "ill")
	if err := os.Mkdir(ill, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest := `{"id": "ill", "version": "1", "protocol": 1, "command": "./ill"}`
	if err := os.WriteFile(filepath.Join(ill, "plugin.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := write(t, "a.js", "return 1\n// want: 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(context.Background(), cfg, plugins.Find(ill), Patience); err == nil || !strings.Contains(err.Error(), "ill does not exist") {
		t.Errorf("%v; want the reason", err)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	const long = `return Object.fromEntries(Array.from({length: 20}, (_, i) => ["field" + i, i]))`
	for name, tc := range map[string]struct{ code, want string }{
		"new":               {"return 1\n\n", "return 1\n\n// want: 1\n"},
		"other":             {"// want: 1\nreturn [2]", "// want: [2]\nreturn [2]"},
		"several lines":     {"return 3\n// want: [1,\n// 2]\n// more", "return 3\n// want: 3\n// more"},
		"equal":             {"return {a: Date.now()}\n// want: {\"a\": \"…\"}", "return {a: Date.now()}\n// want: {\"a\": \"…\"}"},
		"failure":           {"return nope\n// want: 1", "return nope\n// want: 1"},
		"failure wanted":    {"return 1\n// want-error: timeout", "return 1\n// want-error: timeout"},
		"output is enough":  {"text(\"a\")\n// want-output: \"a\"", "text(\"a\")\n// want-output: \"a\""},
		"in several lines":  {long, long + "\n\n// want: {\n//   \"field0\": 0,\n"},
		"lines end with CR": {"return 1\r\n// want: 2\r\nlet a\r\n", "return 1\r\n// want: 1\nlet a\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := write(t, "a.js", tc.code)
			if err != nil {
				t.Fatal(err)
			}
			cfg, calendar := config(t, "calendar")
			o, err := c.Run(context.Background(), cfg, calendar, Patience)
			if err != nil {
				t.Fatal(err)
			}
			before := len(o.Problems)
			if err := o.Update(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(c.Path)
			if err != nil || !strings.HasPrefix(string(got), tc.want) {
				t.Errorf("%q (%v), want %q", got, err, tc.want)
			}
			if changed := string(got) != tc.code; changed != o.Updated || changed && (before != 1 || len(o.Problems) > 0) {
				t.Errorf("updated %v, %d problems before, %v after", o.Updated, before, o.Problems)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"// want: {\"a\":":              "a.js:1: what is wanted is not JSON",
		"\n// want: {\"a\":\nreturn":    "a.js:2: what is wanted is not JSON",
		"// want: 1 2":                  "something follows the value",
		"// want: 1\n// want: 2":        "a.js:2: want in line 1 is there already",
		"// want: 1\n// want-error: x":  "a.js:2: want in line 1 is there already",
		"// want-error:":                "want-error has no code",
		"// want-result: 1":             "there is no want-result, expected one of want, want-output, want-error",
		"// want: [\n// want-output: 1": "a.js:1: what is wanted is not JSON",
	} {
		if _, err := write(t, "a.js", code); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", code, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.ts", "a.js", "types.d.ts", "data.json", "c.ts"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("return 1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cells, err := Load(dir, regexp.MustCompile("^[ab]"))
	if err != nil || len(cells) != 2 || cells[0].Name != "a.js" || cells[0].Language != "javascript" || cells[1].Language != "typescript" {
		t.Errorf("got %+v, %v", cells, err)
	}
	if cells, err := Load(filepath.Join(dir, "none"), nil); err != nil || cells != nil {
		t.Errorf("got %v, %v", cells, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.js"), make([]byte, maxSource+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v; want a limit", err)
	}
}

// TestNumbers: numbers are equal by value, and none asks for much memory.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b  string
		equal bool
	}{
		{"1", "1.0", true}, {"9007199254740993", "9007199254740992", false}, {"1e3", "1000", true},
		{"1e999999999", "1e999999998", false}, {"-0", "0", true}, {"0.1", "0.10", true},
	} {
		if got := same(json.Number(tc.a), json.Number(tc.b)); got != tc.equal {
			t.Errorf("%s and %s: %v", tc.a, tc.b, got)
		}
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	want, got := make([]any, 100), make([]any, 100)
	for i := range got {
		got[i] = strings.Repeat("ü", 1000)
	}
	list := differences(want, got)
	if len(list) != maxDifferences+1 || list[maxDifferences] != "and 80 more" || len(list[0]) > 2*maxShown {
		t.Errorf("got %d, the last %q", len(list), list[len(list)-1])
	}
}
