// Package systemcmd has the commands that look at this system, its configuration and this build.
package systemcmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/internal/enginefaults"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/wire"
)

// diagnosis is what doctor says, as JSON.
type diagnosis struct {
	Guest struct {
		Path    string `json:"path"`
		BuildID string `json:"buildId"` // SHA-256 of the executable
		Engine  string `json:"engine"`  // its id
		// Choice is which engine that is, and Other the one that new runs do not use.
		Choice host.EngineChoice `json:"choice"`
		Other  foundEngine       `json:"other"`
		// OpenFaults are faults of memory safety that are known of the engine and open.
		OpenFaults []string `json:"openFaults"`
	} `json:"guest"`
	System struct {
		OS     string `json:"os"`
		Arch   string `json:"arch"`
		Kernel string `json:"kernel,omitempty"`
		UID    int    `json:"uid"`
	} `json:"system"`
	Tier     string      `json:"tier"`
	Required holds       `json:"required"`
	Layers   []diagnosed `json:"layers"`
	Error    string      `json:"error,omitempty"` // why no worker starts
	// Unmatched are the settings about plugins and MCP servers that do not exist.
	Unmatched []host.UnusedSetting `json:"unmatched"`
	// MCP are the MCP servers of the configuration.
	MCP []diagnosedServer `json:"mcp"`
	// Shell is the shell plugin, if it is enabled.
	Shell *diagnosedShell `json:"shell,omitempty"`
	// Cluster is about the hosts of the database, if they ask each other.
	Cluster *diagnosedCluster `json:"cluster,omitempty"`
}

// diagnosedCluster is what this machine finds when it asks the hosts of the database as a
// host of the configuration would.
type diagnosedCluster struct {
	Faults []host.ClusterFault `json:"faults"`
	Error  string              `json:"error,omitempty"` // why they were not asked
}

// diagnosedServer is an MCP server as hosts of the state directory see it.
type diagnosedServer struct {
	Name        string    `json:"name"`
	State       mcp.State `json:"state"`
	NeedsSignIn bool      `json:"needsSignIn,omitempty"`
	Quarantined int       `json:"quarantined,omitempty"`
	Needs       string    `json:"needs,omitempty"` // what to do about it
}

// holds says whether isolation "required" would let a host start.
type holds struct {
	Holds   bool     `json:"holds"`
	Missing []string `json:"missing"` // names of layers
}

// diagnosed is one layer.
type diagnosed struct {
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Detail   string       `json:"detail,omitempty"`
	Required sandbox.Need `json:"required"`
	Needs    string       `json:"needs,omitempty"` // what would enable it, if it is not on
}

func NewDoctor() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say how well this system isolates guests",
		Long: `Start one guest worker and say which layers of its sandbox are on, why others
are not and what would enable them, and whether a host that requires isolation
would start. That is the default of hosts; exec and wait take what there is.
The engine is the one that new programs would run on; the other one is looked for, too.
The shell plugin is started where it is enabled, with the sandbox of commands.
The MCP servers of the configuration are connected to; those that need a sign-in, have
tools in quarantine or are down are named. Where the configuration has a cluster, its
hosts are asked, and those that live and cannot be asked are named.
Exit status: 0 it would start, 1 it would not, 2 usage.`,
		Example: `  quoin doctor
  quoin doctor --json
  quoin doctor --engine native
  quoin doctor --config quoin.json5`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := diagnose(cmd, &o)
			if err != nil {
				return err
			}
			return cli.Failed(o.Print(cmd, d, func(b *strings.Builder) { printDiagnosis(b, d) }), !d.Required.Holds)
		},
	}
	o.BindConfig(cmd)
	o.BindEngine(cmd)
	o.BindJSON(cmd)
	return cmd
}

// diagnose looks at one worker of the guest that a host would use.
func diagnose(cmd *cobra.Command, o *app.Flags) (*diagnosis, error) {
	f, err := o.Load()
	if err != nil {
		return nil, err
	}
	c := guestConfig(f)
	c.Logger = app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)
	found, err := guestrt.Inspect(cmd.Context(), c)
	if err != nil {
		return nil, err
	}
	d := judge(found)
	other := host.EngineNative
	if found.Engine == host.EngineNative {
		other = host.EngineDefault
	}
	if d.Guest.Other, err = findEngine(cmd.Context(), c, other); err != nil {
		return nil, err
	}
	if d.Unmatched, err = unusedSettings(o, f); err != nil {
		return nil, err
	}
	if d.Shell, err = diagnoseShell(o, cmd, f); err != nil {
		return nil, err
	}
	if d.MCP, err = diagnoseServers(o, cmd.Context(), f); err == nil {
		d.Cluster = diagnoseCluster(o, cmd.Context(), f)
	}
	return d, errors.Join(err, o.CloseState())
}

// clusterTime is how long doctor waits for hosts: longer than the lease of one that is gone.
const clusterTime = 15 * time.Second

// diagnoseCluster asks the hosts of the database of the configuration.
func diagnoseCluster(o *app.Flags, ctx context.Context, f *configfile.File) *diagnosedCluster {
	if f.Cluster.Secret == nil && f.Cluster.CertFile == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTime)
	defer cancel()
	d := &diagnosedCluster{Faults: []host.ClusterFault{}}
	state, err := o.StateDir(f)
	if err == nil && o.Database == nil {
		err = o.OpenDatabase(ctx, f, state, slog.New(slog.DiscardHandler))
	}
	if shared, ok := o.Database.(*postgres.DB); ok && err == nil {
		d.Faults, err = host.CheckCluster(ctx, f.Cluster, shared)
	}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}

// serversTime is how long doctor waits for MCP servers.
const serversTime = 10 * time.Second

// diagnoseServers connects to the MCP servers of the configuration.
func diagnoseServers(o *app.Flags, ctx context.Context, f *configfile.File) ([]diagnosedServer, error) {
	out := []diagnosedServer{}
	cfg := host.Config{Logger: slog.New(slog.DiscardHandler)}
	if err := o.AddMCPState(ctx, f, &cfg); err != nil {
		return nil, err
	}
	servers, err := mcp.Connect(f.MCP, mcp.Options{Logger: cfg.Logger, Version: host.Version, Pins: cfg.MCP.Pins, SignIns: cfg.MCP.SignIns})
	if err != nil {
		return nil, err
	}
	tried, cancel := context.WithTimeout(ctx, serversTime)
	defer cancel()
	if err := servers.Tried(tried); err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, servers.Close())
	}
	for _, st := range servers.Status() {
		s := diagnosedServer{Name: st.Name, State: st.State, NeedsSignIn: st.NeedsSignIn, Quarantined: st.Quarantined()}
		switch {
		case st.NeedsSignIn:
			s.Needs = "a sign-in: quoin mcp login " + st.Name
		case st.Quarantined() > 0:
			s.Needs = "a look at " + output.Count(st.Quarantined(), "tool") + " in quarantine: quoin mcp accept " + st.Name
		case st.State != mcp.StateConnected:
			s.Needs = "attention, because it is " + string(st.State) + ": quoin mcp test " + st.Name
		}
		out = append(out, s)
	}
	return out, servers.Close()
}

// judge says what an inspection means.
func judge(found *guestrt.Inspection) *diagnosis {
	d := &diagnosis{Tier: sandbox.Tier(found.Layers)}
	d.Guest.Path, d.Guest.Engine, d.Guest.Choice = found.GuestPath, found.EngineID, found.Engine
	d.Guest.OpenFaults = append([]string{}, enginefaults.OpenIn(found.EngineID)...)
	if found.GuestPath != "" {
		d.Guest.BuildID = hex.EncodeToString(found.BuildID[:])
	}
	d.System.OS, d.System.Arch, d.System.UID = runtime.GOOS, runtime.GOARCH, os.Getuid()
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		d.System.Kernel = strings.TrimSpace(string(b))
	}
	if found.Err != nil {
		d.Error = found.Err.Error()
	}
	for _, l := range found.Layers {
		layer := diagnosed{Name: l.Name, State: l.State, Detail: l.Detail, Required: sandbox.Needed(l.Name)}
		if l.State != wire.LayerOn && found.Err == nil {
			layer.Needs = sandbox.Remedy(l.Name)
		}
		d.Layers = append(d.Layers, layer)
	}
	d.Required = holds{Missing: []string{}}
	for _, m := range sandbox.Lacking(found.Layers) {
		d.Required.Missing = append(d.Required.Missing, m.Name)
	}
	d.Required.Holds = found.Err == nil && len(d.Required.Missing) == 0
	return d
}

func (d *diagnosedCluster) text() string {
	var b strings.Builder
	for _, f := range d.Faults {
		fmt.Fprintf(&b, "cluster: %s: %s\n", f.Problem, f.Advice)
	}
	switch {
	case d.Error != "":
		fmt.Fprintf(&b, "cluster: not all hosts of the database were asked: %s\n", d.Error)
	case len(d.Faults) == 0:
		b.WriteString("cluster: every host of the database that lives can be asked from here\n")
	}
	return b.String()
}

// tiers say in a few words what each tier has.
var tiers = map[string]string{
	"A": "every layer; cgroup is extra",
	"B": "no namespaces, or no empty root",
	"C": "no Landlock",
	"D": "nothing to rely on",
}

func printDiagnosis(to *strings.Builder, d *diagnosis) {
	var b strings.Builder
	if d.Error != "" {
		fmt.Fprintf(&b, "no guest worker starts: %s\n\n", d.Error)
	}
	tw := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	terminal.Fprintf(tw, "guest\t%s\nbuild\t%s\nengine\t%s %s\n", d.Guest.Path, d.Guest.BuildID, d.Guest.Choice, d.Guest.Engine)
	terminal.Fprintf(tw, "system\t%s\n\n", strings.TrimSpace(fmt.Sprintf("%s/%s, user %d  %s", d.System.OS, d.System.Arch, d.System.UID, d.System.Kernel)))
	fmt.Fprintln(tw, "LAYER\tSTATE\tREQUIRED\tDETAIL")
	for _, l := range d.Layers {
		terminal.Fprintf(tw, "%s\t%s\t%s\t%s\n", l.Name, l.State, l.Required, l.Detail)
		if l.Needs != "" {
			terminal.Fprintf(tw, "\t\t\tit needs %s\n", l.Needs)
		}
	}
	_ = tw.Flush() // a builder takes everything
	terminal.Fprintf(&b, "\nthe %s engine: %s\n", d.Guest.Other.Engine, d.Guest.Other.text())
	fmt.Fprintf(&b, "\ntier %s: %s\n", d.Tier, tiers[d.Tier])
	for _, f := range d.Guest.OpenFaults {
		fmt.Fprintf(&b, "engine: known fault of memory safety, open: %s\n", f)
	}
	if len(d.Guest.OpenFaults) == 0 && d.Error == "" {
		b.WriteString("engine: no known fault of memory safety is open\n")
	}
	if d.Required.Holds {
		b.WriteString("isolation \"required\" holds\n")
	} else {
		fmt.Fprintf(&b, "isolation \"required\" does not hold: %s\n", strings.Join(d.Required.Missing, ", "))
	}
	for _, u := range d.Unmatched {
		fmt.Fprintf(&b, "configuration: %s\n", u)
	}
	if d.Shell != nil {
		b.WriteString(d.Shell.text())
	}
	for _, s := range d.MCP {
		if s.Needs != "" {
			fmt.Fprintf(&b, "MCP server %s needs %s\n", s.Name, s.Needs)
		}
	}
	if d.Cluster != nil {
		b.WriteString(d.Cluster.text())
	}
	to.WriteString(terminal.Text(b.String()))
}
