package scaffold

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// replaced stands for the version of a module that a replace line leads to.
const replaced = "v0.0.0-00010101000000-000000000000"

// finishGo writes go.mod and go.sum.
func finishGo(ctx context.Context, dir string, o Options) ([]string, error) {
	if o.Source.Version != "" {
		return requireRelease(ctx, dir, o)
	}
	return replaceByCheckout(ctx, dir, o)
}

// requireRelease makes a module that fetches Quoin like any other.
func requireRelease(ctx context.Context, dir string, o Options) ([]string, error) {
	text := fmt.Sprintf("module %s\n\ngo %s\n\nrequire %s %s\n", o.Module, goVersion, Module, o.Source.Version)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	notes := []string{fmt.Sprintf("go.mod requires %s %s.", Module, o.Source.Version)}
	if err := tidy(ctx, dir); err != nil {
		notes = append(notes, "go mod tidy could not fetch it; run it again when the network is there: "+firstLine(err))
	}
	return notes, nil
}

// goVersion is the least Go that Quoin builds with.
const goVersion = "1.26.0"

// replaceByCheckout makes a module that takes Quoin from a checkout, and every
// dependency in the version and with the checksum that the checkout has.
func replaceByCheckout(ctx context.Context, dir string, o Options) ([]string, error) {
	from := o.Source.Dir
	theirs, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(from, "go.sum"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), checkoutModule(o.Module, from, theirs), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
		return nil, err
	}
	notes := []string{
		fmt.Sprintf("go.mod replaces %s by %s, which this quoin was built from.", Module, from),
		fmt.Sprintf("To use another: go mod edit -replace %s=DIR; once there is a release: go mod edit -dropreplace %s && go get %s@latest.", Module, Module, Module),
	}
	// Tidying only takes away what this plugin does not need; the files are good
	// without it.
	if err := tidyFromCacheFirst(ctx, dir); err != nil {
		notes = append(notes, "go.mod names more modules than it needs, because go mod tidy failed; run it again when the network is there: "+firstLine(err))
	}
	return notes, nil
}

// fetchTimeout bounds what making a plugin waits for a slow network.
const fetchTimeout = time.Minute

// tidyFromCacheFirst tidies without the network where it can. Tidying also reads
// modules that only the tests of dependencies import. Building Quoin does not
// fetch those, so a machine that is new to it has to fetch them here.
func tidyFromCacheFirst(ctx context.Context, dir string) error {
	if err := tidy(ctx, dir, "GOPROXY=off"); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	return tidy(ctx, dir)
}

var (
	requirement = regexp.MustCompile(`(?m)^\t(\S+ v\S+)(?: // indirect)?$`)
	goLine      = regexp.MustCompile(`(?m)^go (\S+)$`)
)

// checkoutModule returns the go.mod of a module with the build list of a checkout with the
// given go.mod.
func checkoutModule(module, from string, theirs []byte) []byte {
	version := goVersion
	if m := goLine.FindSubmatch(theirs); m != nil {
		version = string(m[1])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\nrequire %s %s\n\nrequire (\n", module, version, Module, replaced)
	for _, m := range requirement.FindAllSubmatch(theirs, -1) {
		fmt.Fprintf(&b, "\t%s // indirect\n", m[1])
	}
	fmt.Fprintf(&b, ")\n\nreplace %s => %s\n", Module, quoted(from))
	return b.Bytes()
}

// quoted writes a path as go.mod wants it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"`'()[]{},;") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// tidy runs go mod tidy, with more in its environment.
func tidy(ctx context.Context, dir string, env ...string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		if text := strings.TrimSpace(string(out)); text != "" {
			return fmt.Errorf("%s", text)
		}
		return err
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
