package systemcmd

import (
	"context"
	"encoding/hex"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/terminal"

	"github.com/spf13/cobra"
)

// version is what is known of the build of this command.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // of the checkout it was built from
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	// Engines are those that guests can run on.
	Engines []foundEngine `json:"engines"`
}

func NewVersion() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version and the engines that there are guest workers for, each with its own
version; and with --json also the commit that the command was built from, as far as
the build has recorded it, and what it was built with.`,
		Example: `  quoin version
  quoin version --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := thisVersion(cmd.Context())
			if err != nil {
				return err
			}
			return o.Print(cmd, v, v.print)
		},
	}
	o.BindJSON(cmd)
	return cmd
}

func (v *version) print(b *strings.Builder) {
	terminal.Fprintf(b, "quoin %s\n", v.Version)
	for _, e := range v.Engines {
		if e.ID != "" {
			terminal.Fprintf(b, "%s engine %s\n", e.Engine, e.ID)
		}
	}
}

func thisVersion(ctx context.Context) (version, error) {
	v := version{Version: host.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, choice := range []host.EngineChoice{host.EngineDefault, host.EngineNative} {
		e, err := findEngine(ctx, guestrt.Config{}, choice)
		if err != nil {
			return v, err
		}
		v.Engines = append(v.Engines, e)
	}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return v, nil
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v, nil
}

// guestConfig is what the configuration says of guest workers.
func guestConfig(f *configfile.File) guestrt.Config {
	return guestrt.Config{Engine: f.GuestEngine, GuestPath: f.GuestPath, NativePath: f.NativePath}
}

// foundEngine is one of the two engines, with the worker that a host would use for it.
type foundEngine struct {
	Engine  host.EngineChoice `json:"engine"`
	ID      string            `json:"id,omitempty"` // as the worker says it
	Path    string            `json:"path,omitempty"`
	BuildID string            `json:"buildId,omitempty"` // SHA-256 of the executable
	Tier    string            `json:"tier,omitempty"`    // of the worker's isolation
	// Missing says that no setting names a worker and its place is empty, Error why it
	// does not start, or what there is to do.
	Missing bool   `json:"missing,omitempty"`
	Error   string `json:"error,omitempty"`
}

// findEngine starts a worker of one engine and looks at it.
func findEngine(ctx context.Context, c guestrt.Config, e host.EngineChoice) (foundEngine, error) {
	c.Engine = e
	found := foundEngine{Engine: e}
	path, build, err := guestrt.FindWorker(c)
	if err != nil {
		found.Missing, found.Error = errors.Is(err, guestrt.ErrNoWorker), err.Error()
		return found, nil
	}
	found.Path, found.BuildID = path, hex.EncodeToString(build[:])
	in, err := guestrt.Inspect(ctx, c)
	if err != nil {
		return found, err
	}
	if in.Err != nil {
		found.Error = in.Err.Error()
		return found, nil
	}
	found.ID, found.Tier = in.EngineID, sandbox.Tier(in.Layers)
	return found, nil
}

// text is what a person reads of the engine, for one line.
func (e *foundEngine) text() string {
	switch {
	case e.Missing:
		return "not here: " + e.Error
	case e.Error != "":
		return "does not start: " + e.Error
	}
	return e.ID + ", tier " + e.Tier + ", " + e.Path
}
