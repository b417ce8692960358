// Package app has what the commands of quoin stand on: the flags that say which host to make, the
// host of this process or the server that they lead to, and the state that outlives a process.
package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// Flags are the flags that say which host to make.
type Flags struct {
	Plugins, Config, State, Session string
	Agent, SessionKey, turn         string   // of the session, in addition to its id
	Set                             []string // of --set
	engine, logLevel, logFormat     cli.Choice
	JSON                            bool
	bodies                          bool // trajectories hold inputs and outputs
	saysWhy                         bool // what is printed says what is wrong: the log need not
	Show                            output.ResultPrinter
	Remote                          remote
	Moving                          bool     // open a state also while it is being moved
	Database                        Database // what OpenState has opened, or nil
}

// Bind adds the flags to a command; cells says whether it runs any.
func (o *Flags) Bind(cmd *cobra.Command, cells bool) {
	o.BindHost(cmd, cells)
	cmd.Flags().StringVar(&o.Session, "session", DefaultSession, "session that asks; a run belongs to one")
	o.Remote.Bind(cmd)
}

// BindHost adds the flags that make a host of this process.
func (o *Flags) BindHost(cmd *cobra.Command, cells bool) {
	f := cmd.Flags()
	f.StringVar(&o.Plugins, "plugins", "", "directory of plugins, or none (default: the user's, else plugins next to the executable)")
	o.BindConfig(cmd)
	o.BindEngine(cmd)
	o.BindLog(cmd)
	if cells {
		o.BindState(cmd)
		f.BoolVar(&o.bodies, "record-bodies", false, "record inputs and outputs in the trajectory, redacted and capped")
	}
}

// BindState adds the flag that says where what outlives a process is.
func (o *Flags) BindState(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.State, "state", "", "directory of suspended runs, trajectories and plugin data, or the database of several hosts, postgres://... (default: in the user's state home)")
}

// Caller is the session that the flags name.
func (o *Flags) Caller() host.Session {
	return host.Session{AgentID: o.Agent, SessionKey: o.SessionKey, SessionID: o.Session, TurnID: o.turn}
}

// BindCaller adds the flags that name the session in addition to its id.
func (o *Flags) BindCaller(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Agent, "agent", "", "agent of the session that asks")
	f.StringVar(&o.SessionKey, "session-key", "", "session key of the session that asks")
	f.StringVar(&o.turn, "turn", "", "agent turn that asks")
}

// BindConfig adds the flags that say where a configuration comes from.
func (o *Flags) BindConfig(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Config, "config", "", paths.ConfigUsage)
	cmd.Flags().StringArrayVar(&o.Set, "set", nil, "set a field of the configuration: FIELD=VALUE; may be repeated")
}

// BindLog adds the flags of the log.
func (o *Flags) BindLog(cmd *cobra.Command) {
	cli.BindChoice(cmd, &o.logLevel, "log-level", "least level of the log's lines (default: log.level)",
		string(configfile.LogDebug), string(configfile.LogInfo), string(configfile.LogWarn), string(configfile.LogError))
	cli.BindChoice(cmd, &o.logFormat, "log-format", "how a line of the log is written (default: log.format)",
		string(configfile.LogText), string(configfile.LogJSON))
}

// BindEngine adds the flag that chooses the engine of programs.
func (o *Flags) BindEngine(cmd *cobra.Command) {
	cli.BindChoice(cmd, &o.engine, "engine", "engine that runs programs (default: guest.engine)",
		string(host.EngineDefault), string(host.EngineNative), string(host.EngineAuto))
}

// DefaultSession is the session of commands that do not name one.
const DefaultSession = "cli"

// BindJSON adds --json, which Print heeds.
func (o *Flags) BindJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
}

// Print prints what a command has to say: as JSON, or what text makes of it for people.
func (o *Flags) Print(cmd *cobra.Command, v any, text func(*strings.Builder)) error {
	return output.Print(cmd.OutOrStdout(), o.JSON, v, text)
}
