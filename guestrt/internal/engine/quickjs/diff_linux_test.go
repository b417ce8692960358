//go:build linux && (amd64 || arm64)

package quickjs

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	oracle "modernc.org/quickjs"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// show renders any value as text, in either engine.
const show = `
const show = (v, seen = []) => {
  if (typeof v === 'string') return JSON.stringify(v);
  if (typeof v === 'bigint') return v + 'n';
  if (typeof v === 'symbol') return String(v);
  if (typeof v === 'function') return 'function ' + v.name;
  if (Object.is(v, -0)) return '-0';
  if (typeof v !== 'object' || v === null) return String(v);
  if (seen.includes(v)) return 'cycle';
  seen = [...seen, v];
  const list = a => Array.from(a, x => show(x, seen)).join(', ');
  if (v instanceof Error) return v.name + '(' + JSON.stringify(v.message) + ')';
  if (v instanceof RegExp || v instanceof Date) return String(v);
  if (v instanceof Map) return 'Map(' + list(v) + ')';
  if (v instanceof Set) return 'Set(' + list(v) + ')';
  if (Array.isArray(v)) return '[' + list(v) + ']' + Object.keys(v).filter(k => !/^\d+$/.test(k)).map(k => ' ' + k + '=' + show(v[k], seen)).join('');
  if (ArrayBuffer.isView(v)) return v[Symbol.toStringTag] + '[' + (v.length ? list(v) : '') + ']';
  return '{' + Reflect.ownKeys(v).map(k => String(k) + ': ' + show(v[k], seen)).join(', ') + '}';
};`

// expression wraps a program so that its value is the text of its outcome.
func expression(program string) string {
	return "async () => {" + show + "try { return show(await (async function () {" + program + "\n}).call(undefined)) } catch (e) { return 'threw ' + show(e) } }"
}

// ask runs a program in the high-level VM of the same QuickJS.
func ask(t *testing.T, program string) string {
	t.Helper()
	vm, err := oracle.NewVM()
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	if _, err := vm.Eval("globalThis.__answer = 'pending'; ("+expression(program)+")().then(v => { __answer = v }); 0", oracle.EvalGlobal); err != nil {
		return "did not compile: " + firstLine(err.Error())
	}
	for {
		n, err := vm.ExecutePendingJobs()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	answer, err := vm.Eval("__answer", oracle.EvalGlobal)
	if err != nil {
		t.Fatal(err)
	}
	return answer.(string)
}

func firstLine(s string) string { s, _, _ = strings.Cut(s, "\n"); return s }

// TestSameAnswersAsTheOracle runs every program of testdata/diff in our VM,
// with both preludes, and in the high-level VM.
func TestSameAnswersAsTheOracle(t *testing.T) {
	type program struct{ name, source, want string }
	var all []program
	files, err := fs.Glob(testdata, "testdata/diff/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, part := range strings.Split(readTestdata(t, strings.TrimPrefix(f, "testdata/")), "//// ")[1:] {
			name, source, _ := strings.Cut(part, "\n")
			all = append(all, program{strings.TrimPrefix(f, "testdata/diff/") + ": " + name, source, ask(t, source)})
		}
	}
	other := answersIn(t, otherAnswers)
	for i, p := range all {
		if want, ok := other[p.name]; ok {
			if want == p.want {
				t.Errorf("%s: %s has the oracle's answer", p.name, otherAnswers)
			}
			all[i].want = want
		}
	}
	if len(all) < 150 {
		t.Errorf("only %d programs", len(all))
	}
	for name, prelude := range map[string]string{"test prelude": testPrelude, "real prelude": ""} {
		t.Run(name, func(t *testing.T) {
			e := openWith(t, Config{Prelude: prelude})
			for _, p := range all {
				vm := newVM(t, e, engine.Options{})
				r, err := vm.Load(engine.Cell{Source: []byte(expression(p.source)), FileName: "cell.js", Config: cell("").Config}, soon())
				if err != nil {
					t.Fatal(err)
				}
				if got := outcome(t, r); got != p.want {
					t.Errorf("%s\n ours   %s\n oracle %s", p.name, got, p.want)
				}
				discard(t, vm)
			}
		})
	}
}

// answersIn reads answers by the names of programs: a line each, one after the other.
func answersIn(t *testing.T, file string) map[string]string {
	answers := map[string]string{}
	if file == "" {
		return answers
	}
	lines := strings.Split(strings.TrimSpace(readTestdata(t, file)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		answers[lines[i]] = lines[i+1]
	}
	return answers
}

// outcome is the text of a report's value, or why a report has no value.
func outcome(t *testing.T, r wire.Report) string {
	t.Helper()
	if r.Err != nil {
		return "did not compile: " + r.Err.Name + ": " + r.Err.Message
	}
	var s string
	if err := json.Unmarshal(r.Value, &s); err != nil {
		t.Fatalf("%v in %s", err, r.Value)
	}
	return s
}
