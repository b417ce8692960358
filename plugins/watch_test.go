//go:build linux

package plugins

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// until waits until ok, looking after every change.
func (c *changes) until(t testing.TB, s *Supervisor, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-c.c:
		case <-t.Context().Done():
			t.Fatalf("it did not happen: %+v", s.Plugins())
		}
	}
}

// says waits until a plugin answers with a word.
func (c *changes) says(t testing.TB, s *Supervisor, id, word string) {
	t.Helper()
	c.until(t, s, func() bool {
		b, err := s.CallTool(t.Context(), id, call("gen", none{}), nil)
		return err == nil && said(t, b) == word
	})
}

// fails waits until the last load of a plugin failed with a reason.
func (c *changes) fails(t testing.TB, s *Supervisor, id string, parts ...string) {
	t.Helper()
	c.until(t, s, func() bool {
		for _, part := range parts {
			if !strings.Contains(statusOf(t, s, id).LastError, part) {
				return false
			}
		}
		return true
	})
}

// manifestText returns a manifest with a text that differs from the text of another revision.
func manifestText(id string, revision int) string {
	return fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": 1, "command": "./plugin", "description": "Revision %d."}`, id, revision)
}

func swapFile(t testing.TB, path, text string) {
	t.Helper()
	writeFile(t, path+".tmp", text)
	rename(t, path+".tmp", path)
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func relink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path+".tmp"); err != nil {
		t.Fatal(err)
	}
	rename(t, path+".tmp", path)
}

// copyPlugin writes the test binary to a file, slowly if pause is given.
func copyPlugin(t testing.TB, path string, pause func()) *os.File {
	t.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if pause != nil {
		if _, err := io.CopyN(out, in, 1<<20); err != nil {
			t.Fatal(err)
		}
		pause()
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	return out
}

func closeFile(t testing.TB, f *os.File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// watched is a watched plugin alpha in dir that says "one".
type watched struct {
	dir string
	s   *Supervisor
	ch  *changes
}

func (w *watched) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}

// TestAWatchedDirectory: whatever way a plugin is changed, the change is in service
// without anyone asking, and once.
func TestAWatchedDirectory(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, w *watched) // before it is watched
		change  func(t *testing.T, w *watched) // after which it says "two"
	}{
		{"a manifest is written in place", nil, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			writeFile(t, w.path("alpha", manifest.Name), manifestText("alpha", 2))
		}},
		{"a manifest is replaced", nil, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			swapFile(t, w.path("alpha", manifest.Name), manifestText("alpha", 2))
		}},
		{"an editor saves", nil, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			name := w.path("alpha", manifest.Name)
			writeFile(t, w.path("alpha", "."+manifest.Name+".swp"), "b0VIM")
			writeFile(t, w.path("alpha", "4913"), "")
			if err := os.Remove(w.path("alpha", "4913")); err != nil {
				t.Fatal(err)
			}
			rename(t, name, name+"~")
			writeFile(t, name, manifestText("alpha", 2))
			if err := os.Remove(name + "~"); err != nil {
				t.Fatal(err)
			}
		}},
		{"a binary is replaced", nil, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			closeFile(t, copyPlugin(t, w.path("alpha", "plugin.new"), nil))
			rename(t, w.path("alpha", "plugin.new"), w.path("alpha", "plugin"))
		}},
		{"a link to a binary is swapped", nil, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			closeFile(t, copyPlugin(t, w.path("elsewhere"), nil))
			relink(t, w.path("elsewhere"), w.path("alpha", "plugin"))
		}},
		{"what a link leads to is replaced", func(t *testing.T, w *watched) {
			out := filepath.Join(shortDir(t), "plugin")
			closeFile(t, copyPlugin(t, out, nil))
			relink(t, out, w.path("alpha", "plugin"))
		}, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			out, err := os.Readlink(w.path("alpha", "plugin"))
			if err != nil {
				t.Fatal(err)
			}
			closeFile(t, copyPlugin(t, out+".new", nil))
			rename(t, out+".new", out)
		}},
		{"a link to a folder is swapped", func(t *testing.T, w *watched) {
			rename(t, w.path("alpha"), w.path(".v1"))
			relink(t, ".v1", w.path("alpha"))
			versions := shortDir(t)
			install(t, versions, "alpha", "gen two")
			relink(t, filepath.Join(versions, "alpha"), w.path(".v2"))
		}, func(t *testing.T, w *watched) {
			relink(t, ".v2", w.path("alpha"))
		}},
		{"a link on the way is swapped", func(t *testing.T, w *watched) {
			deploy := shortDir(t)
			for _, v := range []string{"v1", "v2"} {
				install(t, filepath.Join(deploy, v), "alpha", map[string]string{"v1": "gen one", "v2": "gen two"}[v])
			}
			relink(t, "v1", filepath.Join(deploy, "current"))
			if err := os.RemoveAll(w.path("alpha")); err != nil {
				t.Fatal(err)
			}
			relink(t, filepath.Join(deploy, "current", "alpha"), w.path("alpha"))
		}, func(t *testing.T, w *watched) {
			target, err := os.Readlink(w.path("alpha"))
			if err != nil {
				t.Fatal(err)
			}
			relink(t, "v2", filepath.Dir(target))
		}},
		{"a folder is replaced", nil, func(t *testing.T, w *watched) {
			other := shortDir(t)
			install(t, other, "alpha", "gen two")
			rename(t, w.path("alpha"), filepath.Join(other, "old"))
			rename(t, filepath.Join(other, "alpha"), w.path("alpha"))
		}},
		{"a file that the manifest names", func(t *testing.T, w *watched) {
			writeFile(t, w.path("alpha", "more", "words.txt"), "one")
			writeFile(t, w.path("alpha", manifest.Name),
				`{"id": "alpha", "version": "1.0.0", "protocol": 1, "command": "./plugin", "files": ["more"]}`)
		}, func(t *testing.T, w *watched) {
			become(t, w.dir, "alpha", "gen two")
			writeFile(t, w.path("alpha", "more", "words.txt"), "two!")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &watched{dir: shortDir(t), ch: newChanges()}
			install(t, w.dir, "alpha", "gen one")
			if tc.prepare != nil {
				tc.prepare(t, w)
			}
			w.s = supervise(t, w.dir, SupervisorOptions{Watch: true, OnChange: w.ch.note})
			w.ch.says(t, w.s, "alpha", "one")
			tc.change(t, w)
			w.ch.says(t, w.s, "alpha", "two")
			if st := statusOf(t, w.s, "alpha"); st.LastError != "" || len(w.s.Plugins()) != 1 {
				t.Errorf("%+v", w.s.Plugins())
			}
		})
	}
}

// watchedAlpha is a watched plugin alpha that says "one".
func watchedAlpha(t *testing.T, o SupervisorOptions) *watched {
	t.Helper()
	w := &watched{dir: shortDir(t), ch: newChanges()}
	install(t, w.dir, "alpha", "gen one")
	o.Watch, o.OnChange = true, w.ch.note
	w.s = supervise(t, w.dir, o)
	return w
}

func TestPluginsThatAppearAreLoadedAndThoseThatGoAreRemoved(t *testing.T) {
	t.Parallel()
	w := watchedAlpha(t, SupervisorOptions{})
	if err := os.Mkdir(w.path("beta"), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	relink(t, self, w.path("beta", "plugin"))
	writeFile(t, w.path("beta", roleFile), "gen b")
	writeFile(t, w.path("beta", manifest.Name), manifestText("beta", 1))
	w.ch.says(t, w.s, "beta", "b")
	other := shortDir(t)
	install(t, other, "gamma", "gen c")
	rename(t, filepath.Join(other, "gamma"), w.path("gamma"))
	w.ch.says(t, w.s, "gamma", "c")
	if err := os.RemoveAll(w.path("beta")); err != nil {
		t.Fatal(err)
	}
	w.ch.until(t, w.s, func() bool { return len(w.s.Plugins()) == 2 })
	_, err = w.s.CallTool(t.Context(), "beta", call("gen", none{}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, `"beta"`)
	if got := answer(t, t.Context(), w.s, "alpha"); got != "one" || statusOf(t, w.s, "alpha").Generation != 1 {
		t.Errorf("%q, %+v", got, statusOf(t, w.s, "alpha"))
	}
}

// TestABinaryThatIsBeingWritten: what is not whole does not serve, and what is
// whole serves although nothing tells that its writer has closed it.
func TestABinaryThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	w := watchedAlpha(t, SupervisorOptions{})
	become(t, w.dir, "alpha", "gen two")
	if err := os.Remove(w.path("alpha", "plugin")); err != nil {
		t.Fatal(err)
	}
	w.ch.fails(t, w.s, "alpha", "does not exist")
	f := copyPlugin(t, w.path("alpha", "plugin"), func() {
		w.ch.fails(t, w.s, "alpha", "text file busy")
		if got := answer(t, t.Context(), w.s, "alpha"); got != "one" {
			t.Errorf("it says %q", got)
		}
	})
	w.ch.fails(t, w.s, "alpha", "text file busy")
	closeFile(t, f)
	w.ch.says(t, w.s, "alpha", "two")
}

// TestAShortBinary is refused until the rest of it is there.
func TestAShortBinary(t *testing.T) {
	t.Parallel()
	w := watchedAlpha(t, SupervisorOptions{})
	become(t, w.dir, "alpha", "gen two")
	whole, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	short := w.path("short")
	if err := os.WriteFile(short, whole[:1000], 0o700); err != nil {
		t.Fatal(err)
	}
	rename(t, short, w.path("alpha", "plugin"))
	w.ch.until(t, w.s, func() bool { return statusOf(t, w.s, "alpha").LastError != "" })
	if got := answer(t, t.Context(), w.s, "alpha"); got != "one" {
		t.Errorf("it says %q", got)
	}
	f, err := os.OpenFile(w.path("alpha", "plugin"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(whole[1000:]); err != nil {
		t.Fatal(err)
	}
	closeFile(t, f)
	w.ch.says(t, w.s, "alpha", "two")
}

// TestABinaryAndItsChecksum: a binary that is not the one pinned waits for its
// manifest, and the one before runs until then.
func TestABinaryAndItsChecksum(t *testing.T) {
	t.Parallel()
	w := watchedAlpha(t, SupervisorOptions{})
	become(t, w.dir, "alpha", "gen two")
	pinned := func(sum string) string {
		return fmt.Sprintf(`{"id": "alpha", "version": "1.0.0", "protocol": 1, "command": "./plugin", "sha256": {%q: %q}}`, manifest.HostPlatform(), sum)
	}
	swapFile(t, w.path("alpha", manifest.Name), pinned(hexSum([]byte("another"))))
	w.ch.fails(t, w.s, "alpha", "checksum", hexSum([]byte("another")))
	if got := answer(t, t.Context(), w.s, "alpha"); got != "one" {
		t.Errorf("it says %q", got)
	}
	whole, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	swapFile(t, w.path("alpha", manifest.Name), pinned(hexSum(whole)))
	w.ch.says(t, w.s, "alpha", "two")
}

// TestAFailedLoadIsTriedAgain when something happens in its folder, but not
// without end: a plugin may be what makes it happen.
func TestAFailedLoadIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := watchedAlpha(t, SupervisorOptions{})
	become(t, w.dir, "alpha", "exit")
	swapFile(t, w.path("alpha", manifest.Name), manifestText("alpha", 2))
	w.ch.fails(t, w.s, "alpha", "cannot find my keys")
	become(t, w.dir, "alpha", "gen two") // no part of the plugin as the manifest has it
	w.ch.says(t, w.s, "alpha", "two")

	o := SupervisorOptions{Restart: RestartPolicy{Budget: 2}.withDefaults(&defaultTimes), clock: newStillClock()}
	v := &watcher{s: &Supervisor{options: o}, clock: o.clock, touched: map[string]bool{"alpha": true}, retries: map[string]*restarts{}}
	p := &supervised{id: "alpha", loads: loads{lastError: "no"}}
	now := folderState{}
	for i, want := range []bool{true, true, false} {
		if v.needsReload(p, now) != want {
			t.Errorf("attempt %d at an unchanged plugin: want %v", i+1, want)
		}
	}
	now.fingerprint[0]++
	if !v.needsReload(p, now) {
		t.Error("a changed plugin is not tried")
	}
	p.loads.fingerprint = now.fingerprint
	if !v.needsReload(p, now) {
		t.Error("a plugin that was changed since has no fresh tries")
	}
	delete(v.touched, "alpha")
	if v.needsReload(p, now) {
		t.Error("a plugin that nothing has happened to is tried")
	}
}

// TestEventsThatBelongTogetherMakeOneReload: the delay starts again with each, up to
// a limit.
func TestEventsThatBelongTogetherMakeOneReload(t *testing.T) {
	t.Parallel()
	clock := newStillClock()
	w := &watcher{clock: clock, times: defaultTimes, cancel: func() {}, touched: map[string]bool{}}
	next := func() timer {
		t.Helper()
		w.handleEvent(fsnotify.Event{Name: "/plugins/alpha/plugin"})
		return <-clock.timers
	}
	began := clock.Now()
	left := func() time.Duration { return defaultTimes.settleLongest - clock.Now().Sub(began) }
	for left() >= defaultTimes.settle {
		if d := next().d; d != defaultTimes.settle {
			t.Fatalf("settles after %v", d)
		}
		clock.advance(defaultTimes.settle - 1)
	}
	if d := next().d; d != left() {
		t.Errorf("settles after %v although it was put off for long", d)
	}
	clock.advance(defaultTimes.settle)
	if d := next().d; d != 0 {
		t.Errorf("settles after %v although it is overdue", d)
	}
}

// unwatched is the same as watchedAlpha, with a watcher that gets its events
// from the test in place of the system.
func unwatched(t *testing.T, clock clock, change func(w *watcher)) *watched {
	t.Helper()
	w := &watched{dir: shortDir(t), ch: newChanges()}
	install(t, w.dir, "alpha", "gen one")
	w.s = supervise(t, w.dir, SupervisorOptions{OnChange: w.ch.note, clock: clock})
	v := w.s.newWatcher()
	change(v)
	w.s.watch.Go(v.run)
	return w
}

// TestLostEventsAreMadeUpFor: when the system says that it has lost some,
// everything is looked at.
func TestLostEventsAreMadeUpFor(t *testing.T) {
	t.Parallel()
	lost := make(chan error)
	w := unwatched(t, nil, func(v *watcher) { v.events, v.errors = nil, lost })
	become(t, w.dir, "alpha", "gen two")
	swapFile(t, w.path("alpha", manifest.Name), manifestText("alpha", 2))
	install(t, w.dir, "beta", "gen b")
	lost <- fsnotify.ErrEventOverflow
	w.ch.says(t, w.s, "alpha", "two")
	w.ch.says(t, w.s, "beta", "b")
}

// TestWithoutNotificationsPluginsAreLookedFor: a system that tells nothing is asked
// now and then.
func TestWithoutNotificationsPluginsAreLookedFor(t *testing.T) {
	t.Parallel()
	clock := newStillClock()
	w := unwatched(t, clock, func(v *watcher) {
		if err := v.notify.Close(); err != nil {
			t.Fatal(err)
		}
		v.notify, v.events, v.errors = nil, nil, nil
	})
	for i := range 3 {
		word := strconv.Itoa(i)
		become(t, w.dir, "alpha", "gen "+word)
		swapFile(t, w.path("alpha", manifest.Name), manifestText("alpha", 10+i))
		clock.fire(t, w.s.options.times.rescan)
		w.ch.says(t, w.s, "alpha", word)
	}
}

// TestAPluginDirectoryThatIsGoneTakesNothingAway: it may be about to come back, as
// when a link to it is swapped.
func TestAPluginDirectoryThatIsGoneTakesNothingAway(t *testing.T) {
	t.Parallel()
	parent := shortDir(t)
	one, two := filepath.Join(parent, "one"), filepath.Join(parent, "two")
	install(t, one, "alpha", "gen one")
	install(t, two, "alpha", "gen two")
	install(t, two, "beta", "gen b")
	dir := filepath.Join(parent, "plugins")
	rename(t, one, dir)
	ch := newChanges()
	rec := &recorder{told: ch.note}
	s := supervise(t, dir, SupervisorOptions{Watch: true, OnChange: ch.note, Logger: slog.New(rec)})
	rename(t, dir, one)
	ch.until(t, s, func() bool { return strings.Contains(strings.Join(rec.lines(), "\n"), "cannot be read") })
	if got := answer(t, t.Context(), s, "alpha"); got != "one" {
		t.Errorf("it says %q", got)
	}
	relink(t, "two", dir)
	ch.says(t, s, "alpha", "two")
	ch.says(t, s, "beta", "b")
	// What is new is no reload.
	ch.until(t, s, func() bool {
		lines := strings.Join(rec.lines(), "\n")
		return strings.Contains(lines, "plugin installed plugin=beta") && !strings.Contains(lines, "plugin reloaded plugin=beta")
	})
	relink(t, "one", dir)
	ch.says(t, s, "alpha", "one")
	ch.until(t, s, func() bool { return len(s.Plugins()) == 1 })
}

// TestALockThatIsChangedIsReadAgain: a plugin that it keeps out comes in once it
// lets it in.
func TestALockThatIsChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	w := &watched{dir: shortDir(t), ch: newChanges()}
	install(t, w.dir, "alpha", "gen one")
	gate := func(f Candidate) (Candidate, error) {
		if _, err := os.Stat(w.path(trust.LockName)); err != nil {
			return f, fmt.Errorf("the lock says no")
		}
		return f, nil
	}
	w.s = supervise(t, w.dir, SupervisorOptions{Watch: true, OnChange: w.ch.note, Gate: gate})
	if st := statusOf(t, w.s, "alpha"); st.State != StateDisabled {
		t.Fatalf("%+v", st)
	}
	writeFile(t, w.path(trust.LockName), "yes")
	w.ch.says(t, w.s, "alpha", "one")
}
