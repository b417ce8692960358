package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/statecmd"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// installation is a quoin with its guest.
type installation struct{ quoin, guest string }

// TestPreviousVersionAlsoInPostgres: servers of an earlier commit suspend runs and are killed. This
// version finishes each run, with every effect once: with the old guest from guest.builds, and
// without it, by a replay.
func TestPreviousVersionAlsoInPostgres(t *testing.T) {
	t.Parallel()
	commit := os.Getenv("QUOIN_TEST_PREVIOUS")
	if commit == "" {
		t.Skip("builds an earlier commit, which takes minutes: make test-upgrade runs it")
	}
	dir := t.TempDir()
	old := buildPrevious(t, commit, filepath.Join(dir, "previous"))
	now := buildThis(t, dir, old)
	ledger := filepath.Join(dir, "plugins", "ledger")
	runGo(t, ".", "build", "-pgo=off", "-o", filepath.Join(ledger, "ledger"), "./testdata/ledger")
	writeFile(t, filepath.Join(ledger, "plugin.json"), `{"id": "ledger", "version": "1.0.0", "protocol": 2, "command": "./ledger", "configSchema": {"type": "object"}}`)
	stores := map[string]func(t *testing.T) string{"directory": func(*testing.T) string { return "" }}
	if err := postgrestest.Missing(); err != nil {
		t.Logf("LEFT OUT are runs in PostgreSQL: %v", err)
	} else {
		stores["database"] = func(t *testing.T) string { return postgrestest.Database(t) }
	}
	for name, database := range stores {
		for _, by := range []string{"builds", "replay"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				u := &upgrade{old: old, now: now, dir: t.TempDir(), plugins: filepath.Dir(ledger), database: database(t)}
				u.suspend(t)
				u.finish(t, by)
			})
		}
	}
}

// buildPrevious builds a commit of this repository.
func buildPrevious(t *testing.T, commit, dir string) installation {
	t.Helper()
	if out, err := osexec.Command("git", "rev-parse", "--verify", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("this clone has no commit %s: %s\nIf the clone is shallow, run: git fetch --unshallow\nOr name a commit that it has: make test-upgrade PREVIOUS=COMMIT", commit, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// From its root, git archive takes the whole tree.
	archive := osexec.Command("sh", "-c", `cd "$(git rev-parse --show-toplevel)" && git archive "$0" | tar -x -C "$1"`, commit, dir)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("the tree of %s: %v: %s", commit, err, out)
	}
	v := installation{filepath.Join(dir, "bin", "quoin"), filepath.Join(dir, "bin", "quoin-guest")}
	runGo(t, dir, "build", "-pgo=off", "-o", v.quoin, "./host/cmd/quoin")
	runGo(t, dir, "run", "-pgo=off", "./guestrt/cmd/quoin-optimize", "-o", v.guest)
	return v
}

// buildThis builds this tree. Where its guest is the guest of the earlier commit, it gets one
// of other code, so that there is something to upgrade.
func buildThis(t *testing.T, dir string, old installation) installation {
	t.Helper()
	v := installation{quoin: filepath.Join(dir, "quoin")}
	runGo(t, ".", "build", "-pgo=off", "-o", v.quoin, ".")
	var err error
	if v.guest, err = hosttest.DefaultGuest(); err != nil {
		t.Fatal(err)
	}
	if buildOf(t, v.guest) == buildOf(t, old.guest) {
		t.Log("the guest has not changed since that commit: this version gets one of other code")
		if v.guest, err = hosttest.OtherGuest(); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func buildOf(t *testing.T, guest string) [32]byte {
	t.Helper()
	id, err := guestrt.BuildOf(guest)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func runGo(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := osexec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v: %s", args[0], err, out)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// upgrade is one state that goes from the old version to this one.
type upgrade struct {
	old, now      installation
	dir, database string // no database: runs are in the state directory
	plugins       string
	runs          map[string]string // ids by name
}

// upgradedPrograms are the programs that the old version suspends, with the entries that each
// makes before, and its result.
var upgradedPrograms = map[string]struct{ code, entries, want string }{
	"yields":   {`const kept = new Map([["n", await tools.ledger_add({name: "yields"})]]); await yield_control(); return kept.get("n")`, "yields", `"yields"`},
	"timer":    {`const kept = await tools.ledger_add({name: "timer"}); await new Promise((r) => setTimeout(r, 5000)); return kept`, "timer", `"timer"`},
	"approval": {`const kept = await tools.ledger_add({name: "approval"}); return [kept, await tools.ledger_asked({name: "asked"})].join()`, "approval", `"approval,asked"`},
	"flight":   {`const kept = await tools.ledger_add({name: "flight"}); return [kept, await tools.ledger_hold({name: "held"})].join()`, "flight held", `"flight,held"`},
	"parallel": {`const held = tools.ledger_hold({name: "longer"}); const all = await Promise.all(["a", "b", "c"].map((name) => tools.ledger_add({name})));
		return [...all, await held, await tools.ledger_add({name: "d"})].join()`, "longer a b c", `"a,b,c,longer,d"`},
}

const upgradedEntries = "a approval asked b c d flight held longer timer yields"

var upgradeSession = host.Session{SessionID: "upgraded"}

// suspend has the old version suspend the programs, and kills it.
func (u *upgrade) suspend(t *testing.T) {
	config := u.configure(t, "old.json", map[string]any{"path": u.old.guest})
	if u.database != "" {
		u.run(t, u.old, "state", "migrate", "--config", config)
	}
	c, kill := u.serve(t, u.old, config)
	u.runs = map[string]string{}
	for name, p := range upgradedPrograms {
		res, err := c.Exec(t.Context(), upgradeSession, host.ExecInput{Code: p.code, Wait: 500 * time.Millisecond})
		// A slow machine may not have answered its calls by now.
		for err == nil && res.Status == host.StatusWaiting && !u.has(t, p.entries) {
			res, err = c.WaitFor(t.Context(), upgradeSession, res.RunID, 100*time.Millisecond)
		}
		if err != nil || res.Status != host.StatusWaiting {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		u.runs[name] = res.RunID
	}
	kill()
}

// has reports whether the plugin has written down all these entries.
func (u *upgrade) has(t *testing.T, entries string) bool {
	written := slices.Collect(maps.Values(u.entries(t)))
	return !slices.ContainsFunc(strings.Fields(entries), func(name string) bool { return !slices.Contains(written, name) })
}

// entries are what the plugin has written down, by idempotency key. A call that may be
// made again has one key.
func (u *upgrade) entries(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(u.dir, "entries"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if out[key] != "" && name != "held" && name != "longer" {
			t.Errorf("the effect %s of the call %s took place twice", name, key)
		}
		out[key] = name
	}
	return out
}

// finish has this version finish what the old one has suspended.
func (u *upgrade) finish(t *testing.T, by string) {
	config := u.configure(t, "now.json", map[string]any{"path": u.now.guest})
	if u.database != "" {
		u.run(t, u.now, "state", "migrate", "--config", config)
	}
	if by == "replay" {
		if err := os.RemoveAll(filepath.Join(u.dir, "state", "guest-builds")); err != nil {
			t.Fatal(err)
		}
		if !u.replay(t, config) {
			return
		}
	}
	writeFile(t, filepath.Join(u.dir, "open"), "")
	c, kill := u.serve(t, u.now, config)
	defer kill()
	asked, err := c.Approvals(t.Context(), policy.Filter{})
	if err != nil || len(asked) != 1 {
		t.Fatalf("approvals %+v, %v", asked, err)
	}
	if _, err := c.Decide(t.Context(), asked[0].ID, policy.AllowOnce, "test"); err != nil {
		t.Fatal(err)
	}
	for name, p := range upgradedPrograms {
		res, err := c.Wait(t.Context(), upgradeSession, u.runs[name])
		for err == nil && (res.Status == host.StatusWaiting || res.Reason == codemode.ReasonRunBusy) { // the lease of the old one lasts for a while
			res, err = c.Wait(t.Context(), upgradeSession, u.runs[name])
		}
		if err != nil || res.Status != host.StatusCompleted || string(res.Value) != p.want {
			t.Errorf("%s came to %s %s %s %v, want %s", name, res.Status, res.Value, res.Error, err, p.want)
		}
	}
	got := slices.Sorted(maps.Values(u.entries(t)))
	if strings.Join(got, " ") != upgradedEntries {
		t.Errorf("effects %q, want %q", got, upgradedEntries)
	}
}

// replay replays the runs ahead of time. It reports whether the old version recorded what a
// replay needs.
func (u *upgrade) replay(t *testing.T, config string) bool {
	t.Helper()
	for {
		cmd := osexec.Command(u.now.quoin, "state", "upgrade", "--config", config, "--json")
		out, err := cmd.Output()
		var list []statecmd.Upgraded
		if jsonErr := json.Unmarshal(out, &list); jsonErr != nil {
			t.Fatalf("quoin state upgrade: %v, %v: %s", err, jsonErr, out)
		}
		busy := false
		for _, r := range list {
			switch {
			case r.OK:
			case strings.Contains(r.Error, "its guest was of a build that cannot be replayed"):
				t.Log("that commit records no traces: what it has suspended cannot be replayed")
				return false
			case strings.Contains(r.Error, "already being resumed"): // the lease of the old one lasts for a while
				busy = true
			default:
				t.Errorf("run %s is not replayed: %s", r.ID, r.Error)
			}
		}
		if !busy {
			return true
		}
	}
}

// configure writes the configuration of a version.
func (u *upgrade) configure(t *testing.T, name string, guest map[string]any) string {
	t.Helper()
	state := map[string]any{"dir": filepath.Join(u.dir, "state")}
	if u.database != "" {
		url := filepath.Join(u.dir, "url")
		writeFile(t, url, u.database)
		state["url"] = "file:" + url
	}
	text, err := json.Marshal(map[string]any{
		"state": state, "guest": guest, "server": map[string]any{"listen": "127.0.0.1:0"},
		"plugins":   map[string]any{"dir": u.plugins, "config": map[string]any{"ledger": map[string]any{"dir": u.dir}}},
		"approvals": []any{map[string]any{"tools": []string{"ledger_asked"}}},
		"tools":     map[string]any{"codeMode": map[string]any{"enabled": true, "isolation": "best-effort"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(u.dir, name)
	writeFile(t, path, string(text))
	return path
}

// run runs a command of a version.
func (u *upgrade) run(t *testing.T, v installation, args ...string) {
	t.Helper()
	if out, err := osexec.Command(v.quoin, args...).CombinedOutput(); err != nil {
		t.Fatalf("quoin %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// serve starts a server, which kill ends with SIGKILL.
func (u *upgrade) serve(t *testing.T, v installation, config string) (c *client.Client, kill func()) {
	t.Helper()
	address := config + ".address"
	log, err := os.Create(config + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := osexec.Command(v.quoin, "serve", "--config", config, "--address-file", address)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := childprocess.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		p.Kill()
		<-p.Done()
	})
	t.Cleanup(kill)
	ready, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ready.Done():
		}
	}()
	if err := hosttest.AwaitFile(ready, address, "http"); err != nil {
		text, _ := os.ReadFile(log.Name()) // what there is of it
		t.Fatalf("quoin serve: %v: %s", err, text)
	}
	text, err := os.ReadFile(address)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(strings.TrimSpace(string(text)), client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, kill
}
