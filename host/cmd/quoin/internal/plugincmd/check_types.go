package plugincmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltest"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltypes"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/typescript/tsgo"
	"github.com/quoinhq/quoin/plugins"
)

// checkTypes has the TypeScript compiler check the cells that are in TypeScript, and
// dev.ts, and prints what it says. It reports whether that is nothing.
func checkTypes(cmd *cobra.Command, folder *pluginbuild.Folder, cells []*celltest.Cell, cfg host.Config, developed plugins.Candidate) (bool, error) {
	code := map[string]string{}
	for _, c := range cells {
		if c.Language == "typescript" {
			code[filepath.ToSlash(c.Path)] = c.Code
		}
	}
	scratch := filepath.Join(filepath.Dir(filepath.Dir(cells[0].Path)), "dev.ts")
	text, err := os.ReadFile(scratch)
	if err == nil {
		code[filepath.ToSlash(scratch)] = string(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	compiler := tsgo.Installed(folder.Dir)
	if compiler == "" {
		building, built := context.WithCancel(cmd.Context())
		compiler, err = tsgo.Build(cmd.Context(), func(command string) {
			cmd.PrintErrf("there is no TypeScript compiler yet; cd %s && npm i -D typescript brings one; building one takes some minutes, once: %s\n", output.ShellWord(folder.Dir), command)
			go every(building, 30*time.Second, func(elapsed time.Duration) { cmd.PrintErrf("it has been built for %v\n", elapsed) })
		})
		built()
		if err != nil {
			return false, fmt.Errorf("--check: %w", err)
		}
	}
	declarations, err := declarationsOf(cmd.Context(), cfg, developed)
	if err != nil {
		return false, err
	}
	said, err := celltypes.Check(cmd.Context(), compiler, declarations, code)
	if err != nil {
		return false, fmt.Errorf("--check: %w", err)
	}
	slices.SortFunc(said, func(a, b celltypes.Complaint) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, c := range said {
		if _, err := terminal.Fprintln(cmd.OutOrStdout(), c); err != nil {
			return false, err
		}
	}
	return len(said) == 0, nil
}

// every says again and again how much time has passed, until ctx ends.
func every(ctx context.Context, pause time.Duration, say func(elapsed time.Duration)) {
	for elapsed := pause; ; elapsed += pause {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			say(elapsed)
		}
	}
}

// declarationsOf asks a host of this configuration what programs can call.
func declarationsOf(ctx context.Context, cfg host.Config, developed plugins.Candidate) (_ string, err error) {
	h, err := celltest.Open(ctx, cfg, developed)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return celltypes.Declarations(ctx, &devloop.Local{Host: h}, celltest.Session)
}
