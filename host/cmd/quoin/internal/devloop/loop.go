package devloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltest"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltypes"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Options say what a loop works on. All but Generation are required.
type Options struct {
	// Folder is the plugin's folder, as pluginbuild.Open found it.
	Folder *pluginbuild.Folder
	// Host is where the plugin goes.
	Host Host
	// Session is whom the scratch cell runs for.
	Session host.Session
	// Work is an empty directory for what is built. The caller removes it.
	Work string
	// Screen takes what the author is to see.
	Screen *Screen
	// Generation makes what goes into service, in a directory of its own. Defaults
	// to building Folder.
	Generation func(ctx context.Context, into string) (plugins.Candidate, error)
}

// ErrLost is why a loop ends when its host is gone.
var ErrLost = errors.New("the server has ended the development of the plugin, since another session develops it or it shuts down, or is gone")

// UnfitError is the error of a host that takes no plugin at all: no save of the author changes
// that.
type UnfitError struct{ Err error }

// Error returns the text of Err.
func (e *UnfitError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UnfitError) Unwrap() error { return e.Err }

// undoBound is how long the host may take to give back what it had.
const undoBound = 10 * time.Second

// Run is the loop, until ctx ends, which is no error.
func Run(ctx context.Context, o Options) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if o.Generation == nil {
		o.Generation = o.Folder.Build
	}
	l := &loop{Options: o, own: map[string]bool{}}
	l.noteFolder()
	w, err := watch(watching, o.Folder.Dir, l.ignored)
	if err != nil {
		return err
	}
	err = errors.Join(l.run(ctx, w), o.Screen.Clear())
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
	defer cancel()
	return errors.Join(err, o.Host.Undo(undo))
}

// loop is the state of Run. One step runs at a time, and has it to itself.
type loop struct {
	Options
	built  int             // builds so far
	kept   []string        // the folders of generations that may be in use
	view   View            // what was seen last
	live   bool            // something is in service
	typed  bool            // it was said that there are types for editors
	failed bool            // what was saved last is not in service
	own    map[string]bool // files that the session itself writes
	// folder is what the newest build found in the folder: the watcher asks while a build, which
	// reads the folder again, changes Folder.
	folder atomic.Pointer[pluginbuild.Folder]
}

// noteFolder has the watcher know the folder as it is now.
func (l *loop) noteFolder() {
	now := *l.Folder
	l.folder.Store(&now)
}

// ignored says which files have no part in the plugin.
func (l *loop) ignored(p string) bool {
	name, folder := path.Base(p), l.folder.Load()
	if folder.Builds() && p == path.Clean(filepath.ToSlash(folder.Manifest.Command)) {
		return true // the author's own build of it, or the build command's
	}
	return p == "testdata" || p == celltypes.ConfigName || strings.HasSuffix(name, "_test.go") || slices.Contains([]string{".md", ".log"}, path.Ext(name)) ||
		printedInto(filepath.Join(folder.Dir, p)) || slices.ContainsFunc(folder.Ignore, func(i string) bool { return p == path.Clean(i) })
}

// printedInto reports whether a file takes what this process prints.
func printedInto(file string) bool {
	st, err := os.Stat(file)
	return err == nil && slices.ContainsFunc([]*os.File{os.Stdout, os.Stderr}, func(f *os.File) bool {
		out, err := f.Stat()
		return err == nil && os.SameFile(st, out)
	})
}

// code are the extensions of what an author writes. A plugin that runs writes other files.
var code = []string{".go", ".mod", ".sum", ".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".json", ".json5"}

// withoutOwn takes out of the saves during a step what the session itself writes: the file
// of a change that changes again in the step that it caused, as a database of the plugin does.
func (l *loop) withoutOwn(saves, cause []string) ([]string, error) {
	for _, p := range saves {
		if slices.Contains(cause, p) && !slices.Contains(code, path.Ext(p)) && !l.own[p] {
			l.own[p] = true
			if err := l.Screen.Print(p + " changes whenever the plugin runs, and makes no more builds; ignore in " + pluginbuild.SettingsName + " names such files\n"); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(saves, func(p string) bool { return l.own[p] }), nil
}

func (l *loop) run(ctx context.Context, w *watcher) error {
	pending := []string{l.Folder.Dir} // at first everything
	for {
		step, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func(saves []string) { done <- l.step(step, saves) }(pending)
		more, err := l.await(ctx, w, cancel, done, pending)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case more == nil:
			return errors.New("the folder cannot be watched any more")
		}
		pending = more
	}
}

// await returns the next saves, after the step that is running has ended. A save
// ends a step: what it would show is old. Cause are the saves that the step is for.
func (l *loop) await(ctx context.Context, w *watcher, cancel context.CancelFunc, done <-chan error, cause []string) ([]string, error) {
	defer cancel()
	var saves []string
	running := true
	for running || saves == nil {
		var lost <-chan struct{}
		if !running {
			lost = l.Host.Lost() // a step may be changing it
		}
		select {
		case err := <-done:
			if running = false; err != nil && ctx.Err() == nil && saves == nil {
				return nil, err
			}
			done = nil
		case more, ok := <-w.saves:
			if !ok {
				if running {
					cancel()
					<-done
				}
				return nil, nil
			}
			if !running {
				cause = nil
			}
			more, err := l.withoutOwn(more, cause)
			if err != nil {
				return nil, err
			}
			if len(more) > 0 {
				saves = append(saves, more...)
				cancel()
			}
		case <-lost:
			return nil, ErrLost
		}
	}
	return saves, nil
}

// step makes saves live. Its error ends the loop. A mistake in the plugin is
// shown and is not an error.
func (l *loop) step(ctx context.Context, saves []string) error {
	others := slices.ContainsFunc(saves, func(p string) bool { return !isScratch(p) })
	if others || l.failed {
		l.failed = true // until it is live, however this step ends
		if ok, err := l.swap(ctx, saves); !ok || err != nil {
			return unlessOver(ctx, err)
		}
		l.failed = false
	}
	if err := l.Screen.Status("running the scratch cell …\n"); err != nil {
		return err
	}
	return unlessOver(ctx, l.scratch(ctx))
}

// unlessOver forgets the error of a step that was ended.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// swap builds the plugin and puts it into service. It reports whether it is there.
func (l *loop) swap(ctx context.Context, saves []string) (bool, error) {
	start := time.Now()
	if err := l.Screen.Status("building …\n"); err != nil {
		return false, err
	}
	l.built++
	into := filepath.Join(l.Work, strconv.Itoa(l.built))
	if err := os.Mkdir(into, 0o700); err != nil {
		return false, err
	}
	found, err := l.Generation(ctx, into)
	l.noteFolder()
	if err != nil {
		return false, errors.Join(l.refused(ctx, notBuilt(err), err), os.RemoveAll(into))
	}
	built := time.Now()
	if err := l.Host.Develop(ctx, found); err != nil {
		var unfit *UnfitError
		if errors.As(err, &unfit) {
			return false, errors.Join(err, os.RemoveAll(into))
		}
		return false, errors.Join(l.refused(ctx, "the host refuses it", err), os.RemoveAll(into))
	}
	swapped := time.Now()
	if err := l.keep(into); err != nil {
		return false, err
	}
	if err := l.show(ctx, saves, built.Sub(start), swapped.Sub(built)); err != nil {
		return true, err
	}
	return true, l.writeTypes(ctx)
}

// writeTypes keeps the types fresh by which an editor knows what cells can call.
// It says so once.
func (l *loop) writeTypes(ctx context.Context) error {
	if !celltypes.HasCells(l.Folder.Dir) {
		return nil
	}
	text, err := celltypes.Declarations(ctx, l.Host, l.Session)
	if ctx.Err() != nil {
		return nil
	}
	var notes []string
	if err == nil {
		notes, err = celltypes.Write(l.Folder.Dir, text)
	}
	if err != nil {
		return l.Screen.Print("there are no types for editors: " + err.Error() + "\n")
	}
	if l.typed || len(notes) == 0 {
		return nil
	}
	l.typed = true
	return l.Screen.Print("for editors: " + strings.Join(notes, ", ") + "\n")
}

// notBuilt heads the reason for which there is no new build.
func notBuilt(err error) string {
	var refused *manifest.Error
	var settings *config.Error
	switch {
	case errors.As(err, &refused):
		return manifest.Name + " is refused"
	case errors.As(err, &settings):
		return pluginbuild.SettingsName + " is refused"
	}
	return "it does not build"
}

// keep removes what generations before the last have used. The last may still be
// ending its calls.
func (l *loop) keep(dir string) error {
	l.live = true
	l.kept = append(l.kept, dir)
	if len(l.kept) <= 2 {
		return nil
	}
	old := l.kept[0]
	l.kept = l.kept[1:]
	return os.RemoveAll(old)
}

// refused shows why what was saved is not live, unless something newer was saved.
func (l *loop) refused(ctx context.Context, how string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	text := how
	if l.live {
		text += "; the one before goes on"
	}
	return l.Screen.Block(l.Screen.styled(red, text+":") + "\n" + indented(err.Error(), "  "))
}

// show prints what a model now sees, or in what that differs from before.
func (l *loop) show(ctx context.Context, saves []string, build, swap time.Duration) error {
	view, err := Look(ctx, l.Host, l.Session, l.Folder.ID())
	if err != nil {
		return err
	}
	m := l.Folder.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %s is live: built in %s, in service %s later%s\n", l.Screen.stamp(time.Now()), m.ID, m.Version, celltest.Spent(build), celltest.Spent(swap), l.because(saves))
	if l.view == nil {
		introduce(&b, view)
	} else {
		report(&b, l.view.Changes(view))
	}
	l.view = view
	return l.Screen.Print(b.String())
}

// because names the changed files that a build is for. The first build is for all of them.
func (l *loop) because(saves []string) string {
	const most = 3
	switch n := len(saves); {
	case saves[0] == l.Folder.Dir:
		return ""
	case n > most:
		return terminal.Line(fmt.Sprintf(" (%s and %d more)", strings.Join(saves[:most], ", "), n-most))
	}
	return terminal.Line(" (" + strings.Join(saves, ", ") + ")")
}

// maxLines bounds what is shown of one text.
const maxLines = 60

// introduce writes what a model sees, schemas in the words of declarations.
func introduce(b *strings.Builder, v View) {
	for _, c := range (View{}).Changes(v) {
		terminal.Fprintf(b, "  %s\n", c.What)
		if strings.HasPrefix(c.What, "tool ") {
			c.Lines = slices.DeleteFunc(c.Lines, schemaLine())
		}
		writeLines(b, c.Lines, "      ")
	}
}

// schemaLine reports of one line after the other whether it is of a schema.
func schemaLine() func(string) bool {
	within := false
	return func(line string) bool {
		within = within || strings.HasPrefix(line, "input: ") || strings.HasPrefix(line, "output: ")
		return within
	}
}

func report(b *strings.Builder, changes []Change) {
	if len(changes) == 0 {
		b.WriteString("  a model sees what it saw before\n")
	}
	for _, c := range changes {
		terminal.Fprintf(b, "%c %s\n", c.Kind, c.What)
		writeLines(b, c.Lines, "    ")
	}
}

func writeLines(b *strings.Builder, lines []string, indent string) {
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(b, "%s… and %d lines more\n", indent, len(lines)-i)
			return
		}
		terminal.Fprintf(b, "%s%s\n", indent, line)
	}
}
