package runcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/approvalscmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

// runCell runs one cell on the server, or on a host made for it, and prints the
// result.
func runCell(o *app.Flags, cmd *cobra.Command, cell cellOf) error {
	c, err := o.Remote.Client(cmd)
	if err != nil {
		return printNotStarted(o, cmd, err)
	}
	if c != nil {
		defer c.Close()
		res, err := converse(o, cmd, c, nil, cell)
		if err != nil {
			res = failedServer(err)
		}
		outcome := o.Show.Print(cmd, res)
		hint(o, cmd, c, res)
		return outcome
	}
	h, rec, err := o.OpenHost(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return printNotStarted(o, cmd, err)
	}
	own := &delivering{Local: app.Local{Host: h}}
	var calls *output.Calls
	if o.Show.ForPeople(cmd) {
		calls = output.FollowCalls(h, cmd.ErrOrStderr())
	}
	res, err := converse(o, cmd, own, calls, cell)
	calls.Done()
	if err != nil {
		return errors.Join(err, h.Close(), rec.Close())
	}
	outcome := o.Show.Print(cmd, res)
	own.printed(outcome)
	// The result is out; what is left is to let calls in flight reach the store. Questions
	// of calls that end with this host can no longer be answered then.
	closed := errors.Join(h.Close(), rec.CloseSinks())
	hint(o, cmd, own.Local, res) // which looks at the run
	if err := errors.Join(closed, o.CloseState()); err != nil {
		terminal.Fprintf(cmd.ErrOrStderr(), "quoin: closing: %v\n", err)
	}
	return outcome
}

// cellOf runs a program, or continues one.
type cellOf func(context.Context, app.Backend, host.Session) (*host.Result, error)

// converse runs a cell to its result. A person at the terminal is asked what its run waits
// for, and the run continues. The calls on the screen make way for that.
func converse(o *app.Flags, cmd *cobra.Command, b interface {
	app.Backend
	approvalscmd.Decisions
}, calls *output.Calls, cell cellOf) (*host.Result, error) {
	ctx := cmd.Context()
	var ask *approvalscmd.Asker
	if o.Show.ForPeople(cmd) {
		ask = approvalscmd.NewAsker(cmd, b)
	}
	if ask != nil {
		ctx = host.WithAskingCaller(ctx)
	}
	for {
		res, err := cell(ctx, b, o.Caller())
		if err != nil || ask == nil || res.Status != host.StatusWaiting || res.Reason != codemode.ReasonApproval {
			return res, err
		}
		calls.Show(false)
		err = output.PrintOutput(cmd.OutOrStdout(), res)
		if res.Output = nil; err != nil || !ask.AskAll(res.RunID) {
			return res, err
		}
		calls.Show(true)
		cell = func(ctx context.Context, b app.Backend, s host.Session) (*host.Result, error) {
			return b.WaitFor(ctx, s, res.RunID, 0)
		}
	}
}

// printNotStarted prints the result of a cell that could not start, unless it is the
// command line that makes no sense.
func printNotStarted(o *app.Flags, cmd *cobra.Command, err error) error {
	var usage cli.UsageError
	if errors.As(err, &usage) {
		return err
	}
	return o.Show.Print(cmd, failedStart(err))
}

// failedStart is the result of a host that did not come up.
func failedStart(err error) *host.Result {
	res := &host.Result{Status: host.StatusFailed, Code: codemode.CodeUnavailable, Phase: codemode.PhaseHost, Error: err.Error()}
	var config *configfile.Error
	var ending *guestrt.WorkerError
	var input cli.InputError
	switch {
	case errors.As(err, &config):
		res.Code, res.Reason, res.Phase = codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput
	case errors.As(err, &input):
		res.Code, res.Reason, res.Phase = codemode.CodeInvalidInput, input.Reason, codemode.PhaseInput
	case errors.As(err, &ending):
		res.Error = ending.Message
	}
	res.Telemetry = codemode.NewTelemetry()
	return res
}

// delivering is a Local that keeps the result of a run until it has been
// printed.
type delivering struct {
	app.Local
	result *host.Delivery
}

func (d *delivering) WaitFor(ctx context.Context, s host.Session, runID string, timeout time.Duration) (*host.Result, error) {
	d.result = d.Deliver(ctx, s, runID, timeout)
	return d.result.Result, nil
}

func (d *delivering) Decide(ctx context.Context, id string, decision policy.Decision, by string) (*policy.Approval, error) {
	return d.Host.Approvals().Decide(ctx, id, decision, by)
}

func (d *delivering) AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error) {
	return d.Host.Approvals().AllowEdited(ctx, id, input, by)
}

func (d *delivering) AnswerQuestion(ctx context.Context, id string, answers map[string]host.QuestionAnswer, by string) (*policy.Approval, error) {
	return d.Host.Approvals().Answer(ctx, id, answers, by)
}

// printed says what became of the printing of the result.
func (d *delivering) printed(outcome error) {
	var exit cli.ExitError
	switch {
	case d.result == nil:
	case outcome == nil, errors.As(outcome, &exit):
		d.result.Done()
	default:
		d.result.Release()
	}
}

// failedServer is the result of a cell when the server did not answer with one.
func failedServer(err error) *host.Result {
	res := failedStart(app.ForPeople(err))
	var refused *gateway.Problem
	if errors.As(err, &refused) && refused.Status/100 == 4 {
		res.Code, res.Phase = codemode.CodeInvalidInput, codemode.PhaseInput
	}
	// Whether tools were called is not known; to say no would invite a repetition.
	res.Dispatched = client.Sent(err)
	return res
}

// hint says how to continue the run of a result that waits, or that this host
// refuses and keeps, and what a person has to answer before.
func hint(o *app.Flags, cmd *cobra.Command, b app.Backend, res *host.Result) {
	ctx := context.WithoutCancel(cmd.Context())
	var line string
	var where []string
	switch far := o.Remote.Args(); {
	case res.Status == host.StatusWaiting && far != nil:
		line, where = app.WaitLine(res.RunID, o.Caller(), far), far
	case res.Status == host.StatusWaiting, res.Reason == codemode.ReasonToolsMissing:
		own, ok := b.(app.Local)
		if !ok {
			return
		}
		run, err := own.Host.Runs().Get(ctx, cmp.Or(res.RunID, cmd.Flags().Arg(0)))
		if err != nil {
			return
		}
		line, where = app.WaitLine(run.ID, run.Session, run.Origin), stateFlags(run.Origin)
	default:
		return
	}
	if res.Reason == codemode.ReasonApproval {
		list, err := b.Approvals(ctx, policy.Filter{RunID: res.RunID})
		if err == nil {
			for _, a := range list {
				terminal.Fprintf(cmd.ErrOrStderr(), "waits for: %s; see it with: %s\n", terminal.Short(a.Title),
					app.ShellLine(append([]string{app.Program(), "approvals", "show", a.ID}, where...)))
			}
		}
	}
	terminal.Fprintf(cmd.ErrOrStderr(), "go on with: %s\n", line)
}

// stateFlags are the flags of an origin that name the configuration and the
// state directory.
func stateFlags(origin []string) []string {
	var flags []string
	for i := 0; i+1 < len(origin); i += 2 {
		if origin[i] == "--config" || origin[i] == "--state" {
			flags = append(flags, origin[i:i+2]...)
		}
	}
	return flags
}
