// Package approvalscmd has the commands by which people decide about calls that wait for them, and
// asks the person who has started a run.
package approvalscmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/terminal"
)

// New has the commands about calls that wait for a person. wait makes the command that
// resumes the run of a call.
func New(wait func() *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Decide about calls that wait for a person, and answer what tools ask",
		Long: `List and decide the tool calls that wait for a person, in the state directory of
the exec, wait or serve that asks. A process that is waiting notices the decision;
a suspended cell finds it when quoin wait goes on with it. No decision in time is
a denial. A call whose tool asks questions is not decided: answer it.`,
		Example: `  quoin approvals list
  quoin approvals show apr_0123456789abcdef0123456789abcdef
  quoin approvals allow apr_0123456789abcdef0123456789abcdef
  quoin approvals allow --always apr_0123456789abcdef0123456789abcdef
  quoin approvals allow --input '{"title":"shoes"}' apr_0123456789abcdef0123456789abcdef
  quoin approvals deny apr_0123456789abcdef0123456789abcdef
  quoin approvals answer apr_0123456789abcdef0123456789abcdef --accept --field size=M
  quoin approvals revoke grt_0123456789abcdef0123456789abcdef`,
	}
	cmd.AddCommand(newApprovalsList(), newApprovalsShow(), newDecision("allow", policy.AllowOnce, wait), newDecision("deny", policy.Deny, wait), newApprovalsAnswer(), newRevoke())
	return cmd
}

// approver are the flags of all of these commands.
type approver struct {
	app.Flags
	runs runstore.Store // once it is open
}

func (a *approver) bind(cmd *cobra.Command) {
	a.BindConfig(cmd)
	cmd.Flags().StringVar(&a.State, "state", "", "state directory of the command that asks, or the database of several hosts (default: in the user's state home)")
	cmd.Flags().StringVar(&a.Session, "session", "", "only approvals of this session (default: of all)")
	a.BindJSON(cmd)
	a.Remote.Bind(cmd)
}

// Decisions are what people decide about: of a host, in a state directory, or of a server.
type Decisions interface {
	Approvals(context.Context, policy.Filter) ([]*policy.Approval, error)
	Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error)
	AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error)
	AnswerQuestion(ctx context.Context, id string, answers map[string]codemode.QuestionAnswer, by string) (*policy.Approval, error)
}

// decisions are Decisions of a store or a server, which also list and revoke what was decided for good.
type decisions interface {
	Decisions
	Grants(context.Context) ([]*policy.Grant, error)
	RevokeGrant(ctx context.Context, id string) error
}

var (
	_ decisions = ownDecisions{}
	_ decisions = (*client.Client)(nil)
)

// ownDecisions are the decisions of a state directory.
type ownDecisions struct{ *policy.StoredApprovals }

func (o ownDecisions) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, o, f, time.Now())
}

func (o ownDecisions) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return policy.Decide(ctx, o, id, d, by, time.Now())
}

func (o ownDecisions) AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error) {
	return policy.AllowEdited(ctx, o, id, input, by, time.Now())
}

func (o ownDecisions) AnswerQuestion(ctx context.Context, id string, answers map[string]codemode.QuestionAnswer, by string) (*policy.Approval, error) {
	return policy.Answer(ctx, o, id, answers, by, time.Now())
}

func (o ownDecisions) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, o.StoredApprovals, time.Now())
}

func (o ownDecisions) RevokeGrant(ctx context.Context, id string) error { return o.Forget(ctx, id) }

// with calls do with the decisions of the server, or of this system.
func (a *approver) with(cmd *cobra.Command, do func(decisions) error) error {
	return a.Use(cmd, func(c *client.Client) error { return do(c) }, func() error {
		s, err := a.store(cmd)
		if err != nil {
			return errors.Join(err, a.CloseState())
		}
		defer func() { _ = a.CloseState() }() // nothing is owned
		return do(ownDecisions{s})
	})
}

// store opens the approvals of the state directory, or of the database.
func (a *approver) store(cmd *cobra.Command) (*policy.StoredApprovals, error) {
	f, state, err := a.Existing()
	if err != nil {
		return nil, err
	}
	if err := a.OpenDatabase(cmd.Context(), f, state, app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)); err != nil {
		return nil, err
	}
	a.runs = a.Database
	return a.Database.Approvals(), nil
}

// filter chooses the approvals of the session that was asked for.
func (a *approver) filter() policy.Filter {
	if a.Session == "" {
		return policy.Filter{}
	}
	return policy.Filter{Session: &codemode.Session{SessionID: a.Session}}
}

func newApprovalsList() *cobra.Command {
	var a approver
	var all, grants bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait for a person",
		Example: `  quoin approvals list
  quoin approvals list --json --state ./state
  quoin approvals list --remembered
  quoin approvals list --server http://127.0.0.1:8787`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(s decisions) error {
				if grants {
					list, err := s.Grants(cmd.Context())
					if err != nil {
						return err
					}
					return a.Print(cmd, list, func(b *strings.Builder) { listGrants(b, list) })
				}
				f := a.filter()
				f.Resolved = all
				list, err := s.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				return a.Print(cmd, list, func(b *strings.Builder) { listApprovals(b, list) })
			})
		},
	}
	a.bind(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also those that have been decided in the last day")
	cmd.Flags().BoolVar(&grants, "remembered", false, "list what was decided with --always instead")
	return cmd
}

const allowHelp = `Let a call happen. On a terminal, go on with a run of exec that waits for it, and print
its result as quoin wait does; --resume=false leaves the run, and --resume goes on with it
anywhere. The run of a model's session is left to that session.`

func newDecision(verb string, d policy.Decision, wait func() *cobra.Command) *cobra.Command {
	var a approver
	var always, resume bool
	var input string
	cmd := &cobra.Command{
		Use:     verb + " ID",
		Short:   map[string]string{"allow": "Let a call happen", "deny": "Keep a call from happening"}[verb],
		Long:    map[string]string{"allow": allowHelp}[verb],
		Example: fmt.Sprintf("  quoin approvals %s apr_0123456789abcdef0123456789abcdef --state ./state", verb),
		Args:    cli.OneArg("ID", "which quoin approvals list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if always && input != "" {
				return cli.Usagef("an edited input is allowed once: expected --always or --input, not both")
			}
			if always {
				d = policy.AllowAlways
			}
			words, err := a.decideAndSay(cmd, args[0], d, input, func(got *policy.Approval) bool {
				if cmd.Flags().Changed("resume") {
					return resume
				}
				own := got.Session.SessionID == app.DefaultSession || a.Session != "" // else its caller comes back for it
				return d != policy.Deny && own && output.IsTerminal(cmd.OutOrStdout())
			})
			if err != nil || words == nil {
				return err
			}
			return resumeRun(cmd, wait(), words)
		},
	}
	a.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(a.pending)
	if d != policy.Deny {
		cmd.Flags().BoolVar(&resume, "resume", false, "go on with the run and print its result; --resume=false leaves it (default: on a terminal, with a run of exec)")
		cmd.Flags().StringVar(&input, "input", "", "make the call with this JSON, or @FILE, and nothing else; quoin approvals show has its schema")
		cmd.Flags().BoolVar(&always, "always", false, "do not ask again for what quoin approvals show says that it covers")
	}
	return cmd
}

// decideAndSay decides, and says what was decided. If the run is suspended and the caller
// wants to resume it, it returns the arguments of that wait.
func (a *approver) decideAndSay(cmd *cobra.Command, id string, d policy.Decision, input string, resume func(*policy.Approval) bool) (words []string, _ error) {
	err := a.with(cmd, func(s decisions) error {
		got, err := a.decide(cmd.Context(), s, id, d, input)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return output.PrintJSON(cmd.OutOrStdout(), got)
		}
		wait := a.waitWords(cmd.Context(), got)
		if wait == nil || !resume(got) || a.isHeld(cmd.Context(), got.RunID) {
			return a.printDecision(cmd, got)
		}
		words = wait
		_, err = io.WriteString(cmd.ErrOrStderr(), decisionText(got))
		return err
	})
	return words, err
}

// resumeRun resumes a run as quoin wait does.
func resumeRun(cmd, wait *cobra.Command, words []string) error {
	wait.SilenceErrors, wait.SilenceUsage = true, true
	wait.SetIn(cmd.InOrStdin())
	wait.SetOut(cmd.OutOrStdout())
	wait.SetErr(cmd.ErrOrStderr())
	wait.SetArgs(words)
	return wait.ExecuteContext(cmd.Context())
}

// isHeld reports whether a process of this state directory has the run, and continues it.
func (a *approver) isHeld(ctx context.Context, runID string) bool {
	if a.runs == nil { // a server has the runs
		return false
	}
	claim, err := a.runs.Claim(ctx, runID)
	if err == nil {
		claim.Release()
	}
	return errors.Is(err, runstore.ErrClaimed)
}

// waitWords are the arguments of the wait that resumes the run of an approval; nil if the run
// is not suspended.
func (a *approver) waitWords(ctx context.Context, got *policy.Approval) []string {
	where := a.Remote.Args()
	if where == nil {
		rec, err := a.runs.Get(ctx, got.RunID)
		if err != nil {
			return nil
		}
		where = rec.Origin
	}
	return app.WaitWords(got.RunID, got.Session, where)
}

// printDecision says what was decided, and how to continue.
func (a *approver) printDecision(cmd *cobra.Command, got *policy.Approval) error {
	next := "the cell has not been suspended: it goes on by itself"
	if words := a.waitWords(cmd.Context(), got); words != nil {
		next = "go on with: " + app.ShellLine(append([]string{app.Program(), "wait"}, words...))
	}
	_, err := terminal.Fprintf(cmd.OutOrStdout(), "%s%s\n", decisionText(got), next)
	return err
}

func decisionText(got *policy.Approval) string {
	text := fmt.Sprintf("%s: %s\n", terminal.Short(got.Title), cmp.Or(string(got.Decision), string(got.State)))
	if got.Decision == policy.AllowAlways && got.AlwaysCovers != "" {
		text += fmt.Sprintf("from now on there are no questions about %s\nquoin approvals list --remembered shows it, quoin approvals revoke takes it back\n", terminal.Line(got.AlwaysCovers))
	}
	if len(got.EditedInput) > 0 {
		text += "the call is made with " + terminal.Line(string(got.EditedInput)) + "\n"
	}
	return terminal.Text(text)
}

// decide enters the decision, with the input that takes the place of the call's own, if
// there is one.
func (a *approver) decide(ctx context.Context, s Decisions, id string, d policy.Decision, input string) (*policy.Approval, error) {
	var edited json.RawMessage
	if input != "" {
		var err error
		if edited, err = jsonFlag("--input", input); err != nil {
			return nil, err
		}
	}
	known, err := a.find(ctx, s, id)
	switch {
	case err != nil:
		return nil, err
	case len(known.Questions) > 0:
		return nil, fmt.Errorf("%s asks questions, which are answered and not decided: quoin approvals answer %s", terminal.Short(known.ToolName), known.ID)
	case edited != nil:
		return s.AllowEdited(ctx, id, edited, Decider())
	}
	return s.Decide(ctx, id, d, Decider())
}

// find returns an approval, unless it is not of the session that was asked for.
func (a *approver) find(ctx context.Context, s Decisions, id string) (*policy.Approval, error) {
	list, err := s.Approvals(ctx, policy.Filter{Resolved: true})
	if err != nil {
		return nil, err
	}
	for _, known := range list {
		switch {
		case known.ID != id:
		case a.Session != "" && !a.filter().Session.Owns(known.Session):
			return nil, errors.New("the approval belongs to a different session")
		default:
			return known, nil
		}
	}
	return nil, fmt.Errorf("%w: %s. quoin approvals list shows those that wait", policy.ErrNotFound, terminal.Short(id))
}

// Decider names who uses this command, for the record.
func Decider() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:" + strconv.Itoa(os.Getuid())
}

func newRevoke() *cobra.Command {
	var a approver
	cmd := &cobra.Command{
		Use:     "revoke GRANT_ID",
		Short:   "Take back an allow --always",
		Example: `  quoin approvals revoke grt_0123456789abcdef0123456789abcdef`,
		Args:    cli.OneArg("GRANT_ID", "which quoin approvals list --remembered shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(s decisions) error {
				err := s.RevokeGrant(cmd.Context(), args[0])
				if errors.Is(err, policy.ErrNotFound) {
					return fmt.Errorf("there is no grant %s: quoin approvals list --remembered shows them", terminal.Short(args[0]))
				}
				if err != nil || a.JSON {
					return err
				}
				_, err = terminal.Fprintf(cmd.OutOrStdout(), "revoked %s\n", args[0])
				return err
			})
		},
	}
	a.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(a.remembered)
	return cmd
}

// listApprovals shows approvals. What models and plugins have written is kept from being
// taken for something else by a terminal.
func listApprovals(b *strings.Builder, list []*policy.Approval) {
	output.Table(b, "ID\tSTATE\tSEVERITY\tTOOL\tSESSION\tTITLE\tALWAYS COVERS\tINPUT", list, func(p *policy.Approval) []any {
		return []any{p.ID, p.State, p.Severity, terminal.Short(p.ToolID), terminal.Short(output.OwnerName(p.Session)), terminal.Short(p.Title), cmp.Or(terminal.Short(p.AlwaysCovers), "-"), inputCell(p)}
	})
}

func listGrants(b *strings.Builder, list []*policy.Grant) {
	output.Table(b, "ID\tTOOL\tHOOK\tSUBJECT\tSEVERITY\tSESSION\tEXPIRES\tBY", list, func(g *policy.Grant) []any {
		s := codemode.Session{AgentID: g.AgentID, SessionKey: g.SessionKey, SessionID: g.SessionID}
		return []any{g.ID, terminal.Short(g.ToolID), terminal.Short(g.Hook), terminal.Short(cmp.Or(g.Subject, "(any)")), g.Severity, terminal.Short(output.OwnerName(s)), g.Expires.Format(time.RFC3339), terminal.Short(g.By)}
	})
}

// pending are the approvals that wait for a person.
func (a *approver) pending(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := a.with(cmd, func(s decisions) error {
		list, err := s.Approvals(cmd.Context(), a.filter())
		for _, one := range list {
			if one.State == policy.StatePending {
				names = append(names, cobra.CompletionWithDesc(one.ID, terminal.Short(one.ToolID)))
			}
		}
		return err
	})
	return names, err
}

// remembered are the approvals that were given for always.
func (a *approver) remembered(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := a.with(cmd, func(s decisions) error {
		list, err := s.Grants(cmd.Context())
		for _, one := range list {
			names = append(names, cobra.CompletionWithDesc(one.ID, terminal.Short(one.ToolID)))
		}
		return err
	})
	return names, err
}
