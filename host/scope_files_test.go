package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
	"github.com/quoinhq/quoin/namespaces"
)

// scopeFiles returns the declaration files of namespaces, as a program reads them.
func scopeFiles(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	r := exec(h, `const utf8 = new TextEncoder(), files = {};
for (const f of (await API.list("namespaces")).files) {
  const read = await API.read(f.path);
  if (read.bytes !== f.bytes || utf8.encode(read.content).length !== f.bytes || read.description !== f.description) throw new Error(f.path);
  files[f.path] = read.content;
}
return files`)
	var files map[string]string
	if r.Status != host.StatusCompleted || json.Unmarshal(r.Value, &files) != nil {
		t.Fatal(show(r))
	}
	return files
}

// TestExampleNamespacesAreDeclared: what the example plugins put into programs is
// declared as they can use it, and the same program runs.
func TestExampleNamespacesAreDeclared(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "issues", "calendar")}})
	files := scopeFiles(t, h)
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	files["guest.d.ts"] = hosttest.GuestDeclarations(t)
	use := `
const made = await Issues.create({ title: "a" });
await Issues.close(made.id, undefined);
const titles: string[] = (await Issues.list({ state: "closed" })).items.map((i) => i.title);
const zone: string = Calendar.timeZone;
const day = await Calendar.day("2026-03-02");
`
	files["use.ts"] = use + "export { titles, zone, day };"
	typescript.Check(t, files)
	wantValue(t, h.Exec(context.Background(), me, host.ExecInput{Language: "typescript", Code: use + "return [titles, day.items, zone]"}), `[["a"],[],"UTC"]`)
	for _, bad := range []string{`await Issues.create({ title: 1 })`, `await Issues.create()`, `await Issues.get()`, `await Issues.get({})`, `await Calendar.freeBusy(7)`,
		`await Calendar.remove("one")`, `Calendar.timeZone = "mine"`} {
		files["use.ts"] = bad + "; export {};"
		if said := typescript.Complaints(t, files); !strings.Contains(said, "use.ts") {
			t.Errorf("%s is accepted: %s", bad, said)
		}
	}
}

// TestScopeFiles: a scope is made for who reads its file or lists the files, once
// per run, and for the run alone.
func TestScopeFiles(t *testing.T) {
	t.Parallel()
	var made atomic.Int32
	reg := notes("notes_get")
	content := reg.CreateScope
	reg.CreateScope = func(ctx context.Context, rc namespaces.RunContext) (any, error) {
		made.Add(1)
		return content(ctx, rc)
	}
	other := namespaces.Registration{PluginID: "denied", ID: "denied", GlobalName: "Denied", RequiredTools: []string{"denied_get"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			t.Error("the scope of a namespace that is not visible was made")
			return map[string]any{}, nil
		}}
	h := start(t, host.Config{
		Tools:      []catalog.Tool{owned("notes_get", "notes"), owned("denied_get", "denied")},
		Namespaces: []namespaces.Registration{reg, other},
		Rules:      policy.Scopes{Rules: policy.Rules{Deny: []string{"denied_get"}}},
	})
	for _, tc := range []struct {
		name, code, want string
		scopes           int32
	}{
		{"nobody looks", `return (await API.read("tools/notes_get.d.ts")).bytes > 0`, `true`, 0},
		{"list", `return (await API.list()).files.map(f => f.path)`, `["guest.d.ts","namespaces/Notes.d.ts","tools/index.d.ts","tools/notes_get.d.ts"]`, 1},
		{"description", `return (await API.list("namespaces/")).files[0].description`, `"Short notes."`, 1},
		{"read", `return (await API.read("namespaces/Notes.d.ts")).content.includes('readonly who: "session";')`, `true`, 1},
		{"everything", `await Notes.get(); await API.list(); return [(await API.read("namespaces/Notes.d.ts")).bytes === (await API.read("namespaces/Notes.d.ts")).content.length, Notes.who]`, `[true,"session"]`, 1},
		{"denied", `try { await API.read("namespaces/Denied.d.ts") } catch (e) { return e.message }`, `"Unknown API file: namespaces/Denied.d.ts. API.list() names every file."`, 0},
		{"no such file", `try { await API.read("namespaces/notes.d.ts") } catch (e) { return e.message }`, `"Unknown API file: namespaces/notes.d.ts. Did you mean \"namespaces/Notes.d.ts\"? API.list() names every file."`, 0},
		{"the entry is no file", `try { await API.read("namespaces/Notes.d.ts.json") } catch (e) { return e.message }`, `"Unknown API file: namespaces/Notes.d.ts.json. Did you mean \"namespaces/Notes.d.ts\"? API.list() names every file."`, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			made.Store(0)
			wantValue(t, exec(h, tc.code), tc.want)
			if got := made.Load(); got != tc.scopes {
				t.Errorf("the scope was made %d times, want %d", got, tc.scopes)
			}
		})
	}
	r := h.Exec(context.Background(), host.Session{SessionID: "another"}, host.ExecInput{Code: `return (await API.read("namespaces/Notes.d.ts")).content.includes('readonly who: "another";')`})
	wantValue(t, r, `true`)
}

// TestScopeFileOfAFailure: a scope that cannot be made leaves a file that says why,
// and the list as it was.
func TestScopeFileOfAFailure(t *testing.T) {
	t.Parallel()
	reg := notes("notes_get")
	var fine atomic.Bool
	reg.CreateScope = func(context.Context, namespaces.RunContext) (any, error) {
		if fine.Load() {
			return map[string]any{"a": 1}, nil
		}
		return nil, errors.New("no database */\n\u2028at all")
	}
	mend := echo("mend")
	mend.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		fine.Store(true)
		return nil, nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{owned("notes_get", "notes"), mend}, Namespaces: []namespaces.Registration{reg}})
	files := scopeFiles(t, h)
	text := files["namespaces/Notes.d.ts"]
	if !strings.HasPrefix(text, "// ") || !strings.Contains(text, "no database") || !strings.Contains(text, "plugin notes") {
		t.Errorf("the file says %q", text)
	}
	files["guest.d.ts"] = hosttest.GuestDeclarations(t)
	typescript.Check(t, files)
	wantValue(t, exec(h, `const before = (await API.read("namespaces/Notes.d.ts")).content.includes("unavailable"); await tools.mend();
return [before, (await API.read("namespaces/Notes.d.ts")).content.includes("readonly a: 1"), Notes.a]`), `[true,true,1]`)
}

// TestReadingAScopeFileIsUsingItsTools: as with the file of a tool.
func TestReadingAScopeFileIsUsingItsTools(t *testing.T) {
	t.Parallel()
	turned := func(schema string) catalog.Tool {
		tool := withSchema("notes_get", schema)
		tool.Owner = "notes"
		return tool
	}
	h := start(t, host.Config{Tools: []catalog.Tool{turned(oneWord)}, Namespaces: []namespaces.Registration{notes("notes_get")}})
	id := wantWaiting(t, exec(h, `
const read = async () => (await API.read("namespaces/Notes.d.ts")).content, before = await read();
await yield_control();
return [before.includes("word: string"), await Notes.get({word: "a"}).catch(e => e.code), (await read()).includes("word: string")]`), codemode.ReasonYield)
	if err := h.Replace(turned(number)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, h.Wait(context.Background(), me, id), `[true,"catalog_changed",false]`)
}
