package devloop

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/plugins/manifest"
)

func TestLineDiff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ old, new, want string }{
		{"a\nb\nc\n", "a\nB\nc\n", " a|-b|+B| c"},
		{"a\n", "a\nb\n", " a|+b"},
		{"a\nb\n", "b\n", "-a| b"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1\n2\nx\n4\n5\n6\ny\n", " 2|-3|+x| 4| …| 6|-7|+y"},
		{strings.Repeat("a\n", maxCompare+1), "a\n", " (too long to compare line by line)"},
	} {
		if got := strings.Join(lineDiff(tc.old, tc.new), "|"); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	old := View{"tool a": "does\n", "tool b": "old\n", "tool c": "same\n"}
	changes := old.Changes(View{"tool b": "new\n", "tool c": "same\n", "tool d": "more\n"})
	var got []string
	for _, c := range changes {
		got = append(got, string(c.Kind)+c.What+" "+strings.Join(c.Lines, "|"))
	}
	if want := []string{"-tool a ", "~tool b -old|+new", "+tool d more"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if changes := old.Changes(old); changes != nil {
		t.Errorf("got %v", changes)
	}
}

// TestScreen: on a terminal a block takes the place of the one before, by as many
// rows as that had; elsewhere nothing is repeated and nothing passing is shown.
func TestScreen(t *testing.T) {
	t.Parallel()
	use := func(s *Screen) {
		for _, err := range []error{
			s.Status("building\n"), s.Block("error: a rather long line\nb\n"), s.Status("building\n"),
			s.Block("error: a rather long line\nb\n"), s.Print("live\n"), s.Block("error\n"),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	}
	var file, terminal strings.Builder
	use(&Screen{Out: &file})
	if want := "error: a rather long line\nb\nlive\nerror\n"; file.String() != want {
		t.Errorf("file: %q, want %q", file.String(), want)
	}
	use(&Screen{Out: &terminal, Width: func() int { return 10 }})
	up := func(n string) string { return "\x1b[" + n + "A\x1b[J" }
	want := "building\n" + up("1") + "error: a rather long line\nb\n" + up("4") + "building\n" + up("1") +
		"error: a rather long line\nb\n" + up("4") + "live\nerror\n"
	if terminal.String() != want {
		t.Errorf("terminal: %q, want %q", terminal.String(), want)
	}
}

// TestStyles: marks and times are for terminals, and take no room there.
func TestStyles(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	file, terminal := &Screen{}, &Screen{Width: func() int { return 8 }}
	if got := file.styled(red, "no") + file.stamp(now); got != "no" {
		t.Errorf("file: %q", got)
	}
	if got, want := terminal.styled(red, "no")+terminal.stamp(now), "\x1b[31mno\x1b[0m\x1b[2m03:04:05\x1b[0m "; got != want {
		t.Errorf("terminal: %q, want %q", got, want)
	}
	if n := rows(terminal.styled(red, "8 letter")+"\n", 8); n != 1 {
		t.Errorf("it takes %d rows", n)
	}
	t.Setenv("NO_COLOR", "1")
	if got := terminal.styled(red, "no") + terminal.stamp(now); got != "no03:04:05 " {
		t.Errorf("without colour: %q", got)
	}
}

// TestNotBuilt: a mistake is headed by the file that it is in.
func TestNotBuilt(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"plugin.json is refused": {"plugin.json": `{"id": "Demo"}`},
		"dev.json5 is refused":   {"plugin.json": `{"id": "demo", "version": "1", "protocol": 1, "command": "./demo"}`, "dev.json5": "{ bild: 1 }"},
		"it does not build": {"plugin.json": `{"id": "demo", "version": "1", "protocol": 1, "command": "./demo"}`,
			"dev.json5": `{ build: ["go", "no-such-command"] }`},
	} {
		dir := t.TempDir()
		for name, text := range files {
			save(t, dir, name, text)
		}
		f := &pluginbuild.Folder{Dir: dir}
		_, err := f.Build(t.Context(), t.TempDir())
		if got := notBuilt(err); err == nil || got != want {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
	}
}

// TestAbove: what others print while a block stands goes above it.
func TestAbove(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &Screen{Out: &out, Width: func() int { return 10 }}
	log := s.Above(&out)
	write := func(text string) {
		t.Helper()
		if n, err := io.WriteString(log, text); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := s.Print("live\n"); err != nil {
		t.Error(err)
	}
	write("one\n")
	if err := s.Status("a long block\n"); err != nil {
		t.Error(err)
	}
	write("two\n")
	if err := s.Block("over\n"); err != nil {
		t.Error(err)
	}
	const up = "\x1b[2A\x1b[J"
	if got, want := out.String(), "live\none\na long block\n"+up+"two\na long block\n"+up+"over\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLogger: the author sees what the plugin prints as it is, and more of the
// plugin's log than of the host's.
func TestLogger(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := Logger(&out, &pluginbuild.Folder{Dir: "/home/ada/weather", Manifest: manifest.Manifest{ID: "weather"}}, Levels{Host: slog.LevelWarn, Plugin: slog.LevelInfo})
	mine, other := log.With("plugin", "weather"), log.With("plugin", "issues")
	mine.Error("panic: no \"sun\"", "stream", "stderr")
	mine.Info("looked", "stream", "stdout")
	mine.Info("asked", "city", "Oslo")
	mine.Error("panic in tool add", "panic", "no sun\nat all", "stack", "main.add(...)\n\tmain.go:56 +0x1\nruntime.goexit()\n\truntime/asm.s:1\n")
	mine.Debug("not shown")
	other.Info("not shown", "stream", "stderr")
	other.Warn("late", "stream", "stderr")
	log.Info("not shown", "plugin", "weather")
	log.Warn("not there yet", "field", "plugins.config.weather", "value", "weather")
	log.Warn("unused", "field", "plugins.config.wether", "value", "wether")
	var lines []string
	for line := range strings.Lines(out.String()) {
		if _, rest, ok := strings.Cut(line, " level="); ok {
			line = rest
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if want := []string{
		`weather | panic: no "sun"`, `weather | looked`, `INFO msg=asked plugin=weather city=Oslo`,
		`weather | panic in tool add: no sun`, `weather | at all`, `weather |     main.go:56  main.add`, `weather |     … 1 more of Go and of packages that it uses`,
		`WARN msg=late plugin=issues stream=stderr`, `WARN msg=unused field=plugins.config.wether value=wether`,
	}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

func save(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWatch: of all that happens in a folder, only files with changed content are told of. A
// last save makes sure that what is not told of is not late either.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(t *testing.T, dir string)
		want string
	}{
		"a save":          {func(t *testing.T, dir string) { save(t, dir, "main.go", "2") }, "main.go"},
		"a new file":      {func(t *testing.T, dir string) { save(t, dir, "new.go", "2") }, "new.go"},
		"a file goes":     {func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, "main.go"))) }, "main.go"},
		"below":           {func(t *testing.T, dir string) { save(t, dir, "sub/a.go", "2") }, "sub/a.go"},
		"a new folder":    {func(t *testing.T, dir string) { save(t, dir, "more/deep/a.go", "2") }, "more/deep/a.go"},
		"nothing new":     {func(t *testing.T, dir string) { save(t, dir, "main.go", "1") }, ""},
		"hidden":          {func(t *testing.T, dir string) { save(t, dir, ".main.go.swp", "2"); save(t, dir, ".git/index", "2") }, ""},
		"of an editor":    {func(t *testing.T, dir string) { save(t, dir, "main.go~", "2"); save(t, dir, "4913", "") }, ""},
		"ignored":         {func(t *testing.T, dir string) { save(t, dir, "out/demo", "2") }, ""},
		"modules of node": {func(t *testing.T, dir string) { save(t, dir, "node_modules/a/a.js", "2") }, ""},
		"renamed into place": {func(t *testing.T, dir string) {
			save(t, dir, ".tmp", "2")
			check(t, os.Rename(filepath.Join(dir, ".tmp"), filepath.Join(dir, "main.go")))
		}, "main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, dir, "main.go", "1")
			save(t, dir, "sub/a.go", "1")
			w, err := watch(t.Context(), dir, func(p string) bool { return p == "out" })
			check(t, err)
			tc.do(t, dir)
			save(t, dir, "last", "")
			var got []string
			for !slices.Contains(got, "last") {
				got = append(got, <-w.saves...)
			}
			got = slices.DeleteFunc(got, func(p string) bool { return p == "last" })
			if strings.Join(got, " ") != tc.want {
				t.Errorf("told of %q, want %q", got, tc.want)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestIgnored: what is no part of the plugin makes no new build.
func TestIgnored(t *testing.T) {
	t.Parallel()
	l := &loop{Options: Options{Folder: &pluginbuild.Folder{Go: true, Ignore: []string{"dist", "./gen"}, Manifest: manifest.Manifest{Command: "./bin/demo"}}}}
	l.noteFolder()
	for p, want := range map[string]bool{
		"bin/demo": true, "dist": true, "gen": true, "testdata": true, "main_test.go": true, "sub/a_test.go": true, "README.md": true, "dev.log": true,
		"main.go": false, "words.txt": false, "plugin.json": false, "dev.ts": false, "bin/other": false, "dev.json5": false,
	} {
		if got := l.ignored(p); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
	l.Folder.Go = false // the command is a source then
	l.noteFolder()
	if l.ignored("bin/demo") {
		t.Error("a script is ignored")
	}
}

// TestTheWatcherAsksDuringABuild, which reads the folder again: under the race detector.
func TestTheWatcherAsksDuringABuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save(t, dir, "plugin.json", `{"id": "demo", "version": "1.0.0", "protocol": 2, "command": "./demo.sh"}`)
	save(t, dir, "demo.sh", "#!/bin/sh\n")
	folder, err := pluginbuild.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{Options: Options{Folder: folder}}
	l.noteFolder()
	asked, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-stop:
				return
			default:
				l.ignored("words.txt")
			}
		}
	}()
	for range 3 {
		_, err = folder.Build(t.Context(), t.TempDir()) // whatever comes of it, it has read the folder
		l.noteFolder()
	}
	close(stop)
	<-asked
	if err == nil && l.ignored("demo.sh") {
		t.Error("the script is ignored")
	}
}

// TestWhatTheSessionWrites: a file that changes again in the step that its change caused
// makes no more builds, and is named once. What an author writes does.
func TestWhatTheSessionWrites(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := &loop{Options: Options{Folder: &pluginbuild.Folder{Dir: "/x"}, Screen: &Screen{Out: &out}}, own: map[string]bool{}}
	for _, step := range []struct{ saves, cause, want string }{
		{"main.go", "/x", "main.go"},
		{"data.db", "main.go", "data.db"},
		{"data.db", "data.db", ""},
		{"data.db words.txt", "words.txt", ""}, // both
		{"main.go data.db", "main.go", "main.go"},
		{"list.txt", "", "list.txt"},
	} {
		got, err := l.withoutOwn(strings.Fields(step.saves), strings.Fields(step.cause))
		if strings.Join(got, " ") != step.want || err != nil {
			t.Errorf("%+v: %q, %v", step, got, err)
		}
	}
	if n := strings.Count(out.String(), "data.db changes whenever the plugin runs"); n != 1 {
		t.Errorf("named %d times: %s", n, out.String())
	}
	for saves, want := range map[string]string{"/x": "", "a.go": " (a.go)", "a b c d e": " (a, b, c and 2 more)"} {
		if got := l.because(strings.Fields(saves)); got != want {
			t.Errorf("%s: %q", saves, got)
		}
	}
}

// TestUndoneInTheEnd: whatever happens, the host gets back what it had.
func TestUndoneInTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save(t, dir, "plugin.json", `{"id": "demo", "version": "1", "protocol": 1, "command": "./demo"}`)
	f, err := pluginbuild.Open(dir)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h := &counting{}
	if err := Run(ctx, Options{Folder: f, Host: h, Work: t.TempDir(), Screen: &Screen{Out: &strings.Builder{}}}); err != nil || h.undone != 1 {
		t.Errorf("%v, undone %d times", err, h.undone)
	}
}

// counting is a host that is only asked to undo.
type counting struct {
	Host
	undone int
}

func (c *counting) Lost() <-chan struct{}      { return nil }
func (c *counting) Undo(context.Context) error { c.undone++; return nil }

// TestLostSavesAreMadeUpFor: when events were lost, everything is looked at, folders
// without an event too.
func TestLostSavesAreMadeUpFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save(t, dir, "kept", "1")
	save(t, dir, "gone", "1")
	n, err := fsnotify.NewWatcher()
	check(t, err)
	defer func() { check(t, n.Close()) }()
	w := &watcher{root: dir, ignore: func(string) bool { return false }, notify: n, known: map[string][sha256.Size]byte{}}
	check(t, w.add(dir, nil))
	save(t, dir, "new/a.go", "1")
	check(t, os.Remove(filepath.Join(dir, "gone")))
	if got := strings.Join(w.settle(nil, map[string]bool{dir: true}), " "); got != "gone new/a.go" {
		t.Errorf("told of %q", got)
	}
	if !slices.Contains(n.WatchList(), filepath.Join(dir, "new")) {
		t.Errorf("the new folder is not watched: %q", n.WatchList())
	}
}
