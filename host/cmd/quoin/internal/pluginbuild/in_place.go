package pluginbuild

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// BuildMissing builds the command of this platform into the author's folder if it is not
// there and can be built, and returns what it built. One that is there stays as it is.
func (f *Folder) BuildMissing(ctx context.Context) (built []string, err error) {
	if _, err := os.Stat(filepath.Join(f.Dir, filepath.FromSlash(f.Manifest.Command))); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // also what cannot be looked at: its reader says why
	}
	return f.BuildHere(ctx, manifest.HostPlatform())
}

// BuildHere builds the commands of some platforms into the author's folder, as Build builds
// them, in place of what is there. It returns those that are not what they were. A build command
// of dev.json5 is run once. A script is its own source.
func (f *Folder) BuildHere(ctx context.Context, platforms ...string) (built []string, err error) {
	if !f.Builds() {
		return nil, nil
	}
	tmp, err := os.MkdirTemp("", "quoin-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if len(f.Command) > 0 {
		command := filepath.Join(f.Dir, filepath.FromSlash(f.Manifest.Command))
		before, _ := os.ReadFile(command) // what is not there is not read
		err := f.run(ctx, tmp, f.Command)
		if after, _ := os.ReadFile(command); !bytes.Equal(before, after) {
			built = []string{f.Manifest.Command}
		}
		return built, err
	}
	for _, platform := range platforms {
		command := f.Manifest.Binaries()[platform]
		to := filepath.Join(f.Dir, filepath.FromSlash(command))
		before, err := os.ReadFile(to)
		if err == nil && bytes.HasPrefix(before, []byte("#!")) {
			continue
		}
		into := filepath.Join(tmp, strings.ReplaceAll(platform, "/", "-"))
		if err := os.Mkdir(into, 0o700); err != nil {
			return built, err
		}
		system, machine, _ := strings.Cut(platform, "/")
		made := filepath.Join(into, "built")
		if err := f.run(ctx, into, goBuild(made), "GOOS="+system, "GOARCH="+machine); err != nil {
			return built, err
		}
		b, err := os.ReadFile(made)
		if err != nil {
			return built, err
		}
		if bytes.Equal(b, before) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), durable.Replace(to, b, durable.Options{Mode: 0o755})); err != nil {
			return built, err
		}
		built = append(built, command)
	}
	return built, nil
}
