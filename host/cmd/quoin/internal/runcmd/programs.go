package runcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/approvalscmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/terminal"
)

func NewPrograms() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "programs",
		Short: "Save programs under a name, and run them again",
		Long: `Save the program of a completed run under a name, and run it again with another
input. A program is saved with the schemas of the tools that it ran with: when one of
them has changed, the program is not run until a person has reviewed it. Cells run it
with programs.run(name, input), and find it with tools.search.`,
		Example: `  quoin programs save last --name weekly-report --example '{"days":7}'
  quoin programs list
  quoin programs run weekly-report --input '{"days":30}'
  quoin programs review weekly-report
  quoin programs remove weekly-report`,
	}
	cmd.AddCommand(newProgramsSave(), newProgramsList(), newProgramsShow(), newProgramsRun(), newProgramsReview(), newProgramsRemove())
	return cmd
}

// library are the flags of the commands that look into the store of programs.
type library struct{ app.Flags }

func (l *library) bind(cmd *cobra.Command) {
	l.BindConfig(cmd)
	f := cmd.Flags()
	f.StringVar(&l.State, "state", "", "state directory of the command that ran the program, or the database of several hosts (default: in the user's state home)")
	f.StringVar(&l.Session, "session", "", "only programs and runs of this session (default: of all)")
	l.BindJSON(cmd)
	l.BindCaller(cmd)
	l.Remote.Bind(cmd)
}

// savedPrograms are the programs of a state directory, or of a server.
type savedPrograms interface {
	SaveProgram(ctx context.Context, s host.Session, rq programs.Request, by string) (*programs.Program, error)
	Programs(context.Context, host.Session) ([]host.ProgramReview, error)
	Program(ctx context.Context, s host.Session, name string) (*host.ProgramReview, error)
	AcceptProgram(ctx context.Context, s host.Session, name, digest, by string) (*host.ProgramReview, error)
	RemoveProgram(ctx context.Context, s host.Session, name string, of programs.Audience) error
}

var (
	_ savedPrograms = ownPrograms{}
	_ savedPrograms = hostPrograms{}
	_ savedPrograms = (*client.Client)(nil)
)

// ownPrograms are the programs of a state directory, for a person who may see all of them: an
// empty session is all. What has changed it does not know, since it has no tools.
type ownPrograms struct{ *programs.Stored }

func (o ownPrograms) SaveProgram(ctx context.Context, s host.Session, rq programs.Request, by string) (*programs.Program, error) {
	of := &s
	if s == (host.Session{}) {
		of = nil
	}
	return programs.Save(ctx, o.Stored, of, rq, by, time.Now())
}

func (o ownPrograms) Programs(ctx context.Context, s host.Session) ([]host.ProgramReview, error) {
	list, err := o.of(ctx, s)
	out := make([]host.ProgramReview, len(list))
	for i, p := range programs.Summaries(list) {
		out[i].Program = p
	}
	return out, err
}

func (o ownPrograms) of(ctx context.Context, s host.Session) ([]*programs.Program, error) {
	if s == (host.Session{}) {
		return o.List(ctx)
	}
	return programs.Visible(ctx, o.Stored, s)
}

func (o ownPrograms) Program(ctx context.Context, s host.Session, name string) (p *host.ProgramReview, err error) {
	p = &host.ProgramReview{}
	if s == (host.Session{}) {
		p.Program, err = o.only(ctx, name, "")
	} else {
		p.Program, err = programs.Find(ctx, o.Stored, s, name)
	}
	return p, err
}

// only returns the program of any session that has a name, and is for an audience unless
// that is "". It must be the only one.
func (o ownPrograms) only(ctx context.Context, name string, of programs.Audience) (found *programs.Program, err error) {
	list, err := o.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		switch {
		case p.Name != name || of != "" && p.For != of:
		case found != nil:
			return nil, fmt.Errorf("there are several programs %s: say with --session whose is meant (quoin programs list shows them)", name)
		default:
			found = p
		}
	}
	switch {
	case found == nil && of != "":
		return nil, fmt.Errorf("there is no program %s for %s, expected session, agent or everyone (quoin programs list shows those there are)", terminal.Short(name), terminal.Short(string(of)))
	case found == nil:
		return nil, fmt.Errorf("there is no program %s (quoin programs list shows those there are)", terminal.Short(name))
	}
	return found, nil
}

func (o ownPrograms) AcceptProgram(context.Context, host.Session, string, string, string) (*host.ProgramReview, error) {
	return nil, fmt.Errorf("a review needs the tools")
}

func (o ownPrograms) RemoveProgram(ctx context.Context, s host.Session, name string, of programs.Audience) error {
	var p *programs.Program
	var err error
	if s == (host.Session{}) {
		p, err = o.only(ctx, name, of)
	} else {
		p, err = programs.Only(ctx, o.Stored, s, name, of)
	}
	if err != nil {
		return err
	}
	return o.Remove(ctx, p)
}

// hostPrograms are the programs of a host, which has the tools.
type hostPrograms struct{ of host.Programs }

func (p hostPrograms) SaveProgram(ctx context.Context, s host.Session, rq programs.Request, by string) (*programs.Program, error) {
	return p.of.Save(ctx, s, rq, by)
}

func (p hostPrograms) Programs(ctx context.Context, s host.Session) ([]host.ProgramReview, error) {
	return p.of.List(ctx, s)
}

func (p hostPrograms) Program(ctx context.Context, s host.Session, name string) (*host.ProgramReview, error) {
	return p.of.Get(ctx, s, name)
}

func (p hostPrograms) AcceptProgram(ctx context.Context, s host.Session, name, digest, by string) (*host.ProgramReview, error) {
	return p.of.Accept(ctx, s, name, digest, by)
}

func (p hostPrograms) RemoveProgram(ctx context.Context, s host.Session, name string, of programs.Audience) error {
	return p.of.Remove(ctx, s, name, of)
}

// with calls do with the programs of the server, or of the state directory.
func (l *library) with(cmd *cobra.Command, do func(savedPrograms) error) error {
	return l.Use(cmd, func(c *client.Client) error { return do(c) }, func() error {
		f, state, err := l.Existing()
		if err != nil {
			return err
		}
		if err := l.OpenDatabase(cmd.Context(), f, state, app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)); err != nil {
			return err
		}
		return errors.Join(do(ownPrograms{l.Database.Programs()}), l.CloseState())
	})
}

func newProgramsSave() *cobra.Command {
	var l library
	var rq programs.Request
	var schema, example, audience string
	cmd := &cobra.Command{
		Use:   "save RUN_ID|last",
		Short: "Save the program of a completed run under a name",
		Long: `Save the program of a completed run under a name. The run is one that ended in the last
day (programs.keepHours); last is the newest that has completed. A program that is to
take an input starts with const { days } = programs.input({ days: 7 }), and
--example '{"days":7}' makes the schema of its input; --input-schema gives one.`,
		Example: `  quoin programs save last --name weekly-report --example '{"days":7}'
  quoin programs save run_0123456789abcdef0123456789abcdef --name triage --description "Labels new issues"
  quoin programs save last --name triage --input-schema triage.schema.json --replace`,
		Args: cli.OneArg("RUN_ID", "which a waiting result and quoin trajectory show, or last"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rq.RunID, rq.For = args[0], programs.Audience(audience)
			var err error
			if rq.Input, err = givenJSON("input-schema", schema); err != nil {
				return err
			}
			if rq.Example, err = givenJSON("example", example); err != nil {
				return err
			}
			if err := programs.CheckName(rq.Name); err != nil {
				return cli.AsUsage(fmt.Errorf("--name: %w", err))
			}
			return l.with(cmd, func(s savedPrograms) error {
				p, err := s.SaveProgram(cmd.Context(), l.Caller(), rq, approvalscmd.Decider())
				if err != nil {
					return err
				}
				return l.Print(cmd, p, func(b *strings.Builder) {
					terminal.Fprintf(b, "saved %s, for %s; cells run it with %s\n", p.Name, audienceOf(p), p.Call())
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&rq.Name, "name", "", "name of the program, such as weekly-report")
	f.StringVar(&rq.Description, "description", "", "what it does, for searches (default: the title of the run)")
	f.StringVar(&schema, "input-schema", "", "JSON Schema of its input: a file, or the JSON itself")
	f.StringVar(&example, "example", "", "an input to make the schema of: a file, or the JSON itself")
	f.StringVar(&audience, "for", "", "who may run it: session, agent or everyone (default: session)")
	f.BoolVar(&rq.Replace, "replace", false, "replace the program that has the name")
	l.bind(cmd)
	return cmd
}

// givenJSON returns the JSON of a flag: the text itself where it starts like an object, else
// the JSON of a file.
func givenJSON(flag, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	b := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var err error
		if b, err = os.ReadFile(value); err != nil {
			return nil, cli.Usagef("--%s is neither a JSON object nor a file: %v", flag, err)
		}
	}
	if !json.Valid(b) {
		return nil, cli.Usagef("--%s is not JSON", flag)
	}
	return b, nil
}

// audienceOf names those who may run a program.
func audienceOf(p *programs.Program) string {
	switch p.For {
	case programs.ForAgent:
		return "agent " + terminal.Short(p.Owner.AgentID)
	case programs.ForSession:
		if name := output.OwnerName(p.Owner); name != "" {
			return "session " + terminal.Short(name)
		}
		return "requests that name no session"
	}
	return string(p.For)
}

func newProgramsList() *cobra.Command {
	var l library
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the saved programs",
		Example: `  quoin programs list
  quoin programs list --json --server http://127.0.0.1:8787`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.with(cmd, func(s savedPrograms) error {
				list, err := s.Programs(cmd.Context(), l.Caller())
				if err != nil {
					return err
				}
				_, own := s.(ownPrograms)
				return l.Print(cmd, list, func(b *strings.Builder) { listPrograms(b, list, !own) })
			})
		},
	}
	l.bind(cmd)
	return cmd
}

// listPrograms has a column of reviews where the tools are known.
func listPrograms(b *strings.Builder, list []host.ProgramReview, reviewed bool) {
	head := "NAME\tFOR\tSAVED\tBY\tTOOLS\tDESCRIPTION"
	if reviewed {
		head = "NAME\tFOR\tSAVED\tBY\tTOOLS\tREVIEW\tDESCRIPTION"
	}
	output.Table(b, head, list, func(p host.ProgramReview) []any {
		row := []any{p.Name, audienceOf(p.Program), p.Saved.UTC().Format(time.DateTime), terminal.Short(p.By), len(p.Tools)}
		if reviewed {
			row = append(row, map[bool]string{true: "needed", false: "-"}[len(p.Changes) > 0])
		}
		return append(row, terminal.Short(p.Description))
	})
}

func newProgramsShow() *cobra.Command {
	var l library
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a saved program: its input, its tools and its code",
		Example: `  quoin programs show weekly-report
  quoin programs show weekly-report --json`,
		Args: cli.OneArg("NAME", "which quoin programs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.with(cmd, func(s savedPrograms) error {
				p, err := s.Program(cmd.Context(), l.Caller(), args[0])
				if err != nil {
					return err
				}
				return l.Print(cmd, p, func(b *strings.Builder) { showProgram(b, p) })
			})
		},
	}
	cmd.ValidArgsFunction = cli.CompleteFirst(l.names)
	l.bind(cmd)
	return cmd
}

func showProgram(b *strings.Builder, p *host.ProgramReview) {
	fields := [][2]string{
		{"name", p.Name}, {"description", p.Description}, {"run with", p.Call()}, {"for", audienceOf(p.Program)},
		{"language", p.Language}, {"saved", p.Saved.UTC().Format(time.RFC3339)}, {"by", p.By}, {"run", p.RunID},
	}
	for _, t := range p.Tools {
		fields = append(fields, [2]string{"tool", t.ID})
	}
	output.Fields(b, fields)
	terminal.Fprintf(b, "\n%s\n", p.Code)
}

func newProgramsRun() *cobra.Command {
	var o app.Flags
	var input string
	var limits times
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a saved program and print its result",
		Long: `Run a saved program with an input, and print its result as quoin exec does.
Exit status: 0 completed, 1 failed, 2 usage, 3 waiting (go on with quoin wait).`,
		Example: `  quoin programs run weekly-report
  quoin programs run weekly-report --input '{"days":30}'
  quoin programs run weekly-report --server http://127.0.0.1:8787`,
		Args: cli.OneArg("NAME", "which quoin programs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := givenJSON("input", input)
			if err != nil {
				return err
			}
			code, err := host.ProgramCell(args[0], in)
			if err != nil {
				return cli.AsUsage(err)
			}
			exec := host.ExecInput{Code: code, Title: "Saved program " + args[0]}
			if err := limits.into(cmd, &exec); err != nil {
				return err
			}
			return runCell(&o, cmd, func(ctx context.Context, b app.Backend, s host.Session) (*host.Result, error) {
				return b.Exec(ctx, s, exec)
			})
		},
	}
	o.Bind(cmd, true)
	o.Show.Bind(cmd)
	o.BindCaller(cmd)
	cmd.Flags().StringVar(&input, "input", "", "input of the program: a JSON object, or a file with one")
	limits.bind(cmd)
	return cmd
}

func newProgramsReview() *cobra.Command {
	var o app.Flags
	var accept string
	cmd := &cobra.Command{
		Use:   "review NAME",
		Short: "Show which tools of a saved program have changed, and accept that",
		Long: `Show which tools of a saved program are not as they were when it was saved. The
program is not run before a person has looked at that and at the program, which is shown
too, and accepted it with --accept and the digest of what was shown. Where the program or
a tool is another one by then, nothing is accepted. Tools that are gone cannot be accepted.
Exit status: 0 nothing has changed, or all was accepted; 1 there are changes.`,
		Example: `  quoin programs review weekly-report
  quoin programs review weekly-report --accept 0123456789abcdef0123456789abcdef
  quoin programs review weekly-report --server http://127.0.0.1:8787`,
		Args: cli.OneArg("NAME", "which quoin programs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPrograms(&o, cmd, func(s savedPrograms) error {
				look := s.Program
				if cmd.Flags().Changed("accept") {
					look = func(ctx context.Context, of host.Session, name string) (*host.ProgramReview, error) {
						return s.AcceptProgram(ctx, of, name, accept, approvalscmd.Decider())
					}
				}
				p, err := look(cmd.Context(), o.Caller(), args[0])
				if err != nil {
					return err
				}
				err = o.Print(cmd, p, func(b *strings.Builder) { printReview(b, p, cmd.Flags().Changed("accept")) })
				return cli.Failed(err, len(p.Changes) > 0)
			})
		},
	}
	o.Bind(cmd, true)
	o.BindCaller(cmd)
	cmd.Flags().StringVar(&accept, "accept", "", "take the tools as they are now for those the program was saved with, if they and the program still have this digest, which a review shows")
	o.BindJSON(cmd)
	return cmd
}

func printReview(b *strings.Builder, p *host.ProgramReview, accepted bool) {
	if len(p.Changes) == 0 {
		terminal.Fprintf(b, "%s: its tools are %s\n", p.Name, map[bool]string{false: "all as they were", true: "accepted as they are now"}[accepted])
		return
	}
	next := fmt.Sprintf("look at the program and at the changes, then accept them with: quoin programs review %s --accept %s", p.Name, p.Digest)
	for _, c := range p.Changes {
		is := c.Is
		if is == "" {
			is = "gone"
			next = "a tool that is gone cannot be accepted: give the --plugins, --config and --session of the program's run, or write the program again and save it with --replace"
		}
		terminal.Fprintf(b, "%s\n  was %s\n  is  %s\n", c.Tool, c.Was, is)
		if c.Was == is {
			b.WriteString("  they differ in what is left out here: formats, bounds, descriptions, what is deep or long\n")
		}
	}
	terminal.Fprintf(b, "the program:\n\n%s\n\n%s\n", p.Code, next)
}

// withPrograms calls do with the programs of the server, or of a host that is made with
// its tools.
func withPrograms(o *app.Flags, cmd *cobra.Command, do func(savedPrograms) error) error {
	return o.Use(cmd, func(c *client.Client) error { return do(c) }, func() error {
		return o.WithHost(cmd, func(h *host.Host) error { return do(hostPrograms{h.Programs()}) })
	})
}

func newProgramsRemove() *cobra.Command {
	var l library
	var audience string
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget a saved program",
		Example: `  quoin programs remove weekly-report
  quoin programs remove weekly-report --server http://127.0.0.1:8787`,
		Args: cli.OneArg("NAME", "which quoin programs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.with(cmd, func(s savedPrograms) error {
				if err := s.RemoveProgram(cmd.Context(), l.Caller(), args[0], programs.Audience(audience)); err != nil {
					return err
				}
				_, err := terminal.Fprintf(cmd.OutOrStdout(), "removed %s\n", args[0])
				return err
			})
		},
	}
	cmd.Flags().StringVar(&audience, "for", "", "the one for session, agent or everyone (default: the only one)")
	cmd.ValidArgsFunction = cli.CompleteFirst(l.names)
	l.bind(cmd)
	return cmd
}

// names are the saved programs.
func (l *library) names(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := l.with(cmd, func(s savedPrograms) error {
		list, err := s.Programs(cmd.Context(), l.Caller())
		for _, p := range list {
			names = append(names, cobra.CompletionWithDesc(p.Name, p.Description))
		}
		return err
	})
	return names, err
}
