package pluginbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/plugins"
)

// maxOutput bounds what is kept of a compiler's messages, in bytes.
const maxOutput = 16 << 10

// Error is a build that failed.
type Error struct {
	// Command is what was run.
	Command []string
	// Output is what it printed, at most 16 KiB.
	Output string
	// Err is how it ended.
	Err error
}

// Error is the output; without any, how the command ended.
func (e *Error) Error() string {
	if e.Output != "" {
		return e.Output
	}
	return strings.Join(e.Command, " ") + ": " + e.Err.Error()
}

// Unwrap returns how the command ended.
func (e *Error) Unwrap() error { return e.Err }

// Build makes a generation of the plugin inside the directory into, which must
// exist and not hold one yet, and says what a host finds there. A build that failed
// is an *[Error]. What the build leaves for itself is inside into, too, so that
// removing that removes all. When ctx ends, the build is killed.
func (f *Folder) Build(ctx context.Context, into string) (plugins.Candidate, error) {
	now, err := Open(f.Dir) // the manifest may have been edited
	if err != nil {
		return plugins.Candidate{}, err
	}
	*f = *now
	dir := filepath.Join(into, f.ID())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return plugins.Candidate{}, err
	}
	command := filepath.FromSlash(f.Manifest.Command)
	switch {
	case len(f.Command) > 0:
		err = f.run(ctx, into, f.Command)
	case f.Go:
		err = f.run(ctx, into, goBuild(filepath.Join(dir, command)))
		if err == nil {
			err = os.Chmod(filepath.Join(dir, command), 0o700) // whatever the umask
		}
	}
	if err == nil {
		err = f.stage(dir)
	}
	if err != nil {
		return plugins.Candidate{}, err
	}
	found := plugins.Find(dir)
	return found, found.Err
}

// goBuild is the command that builds the Go sources of a folder.
func goBuild(to string) []string {
	return []string{"go", "build", "-trimpath", "-buildvcs=false", "-o", to, "."}
}

// run runs a build command in the author's folder.
func (f *Folder) run(ctx context.Context, into string, command []string, env ...string) (err error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return &Error{command, "", err}
	}
	out, err := os.Create(filepath.Join(into, ".output"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	tmp := filepath.Join(into, ".tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	cmd := exec.Command(path, command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.Dir, out, out
	cmd.Env = append(os.Environ(), "GOTMPDIR="+tmp, "PWD="+f.Dir)
	if _, given := os.LookupEnv("CGO_ENABLED"); !given {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	cmd.Env = append(cmd.Env, env...)
	p, err := childprocess.Start(ctx, cmd)
	if err != nil {
		return &Error{command, "", err}
	}
	release := context.AfterFunc(ctx, p.Kill)
	outcome := p.Outcome()
	release()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case outcome != nil:
		return &Error{command, readOutput(out.Name()), outcome}
	}
	return nil
}

// readOutput returns the start of what a command printed.
func readOutput(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Sprintf("what it printed cannot be read: %v", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err != nil {
		return fmt.Sprintf("what it printed cannot be read: %v", err)
	}
	if len(b) > maxOutput {
		b = append(bytes.ToValidUTF8(b[:maxOutput], nil), "\n…"...)
	}
	return strings.TrimSpace(string(bytes.ToValidUTF8(b, []byte("\uFFFD"))))
}
