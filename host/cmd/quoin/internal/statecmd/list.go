package statecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/terminal"
)

// item is one thing of the store as state ls shows it.
type item struct {
	runstore.Item
	Session    *host.Session `json:"session,omitempty"` // of a run that can be read
	GuestBuild string        `json:"guestBuild,omitempty"`
	Generation uint64        `json:"generation,omitempty"`
	Expired    bool          `json:"expired,omitempty"`
}

func newList() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what the store keeps: runs, results and journals of effects",
		Long: `List what the store keeps, whether it can be read or not: records of suspended runs,
results of runs that have ended and that no caller has got, and journals of effects.
A run without a session cannot be read, or has expired: see quoin state check.`,
		Example: `  quoin state ls
  quoin state ls --state /var/lib/quoin --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				now := time.Now()
				list, err := s.list(ctx, now)
				if err != nil {
					return err
				}
				return o.Print(cmd, list, func(b *strings.Builder) { printItems(b, list, now) })
			})
		},
	}
	o.bind(cmd)
	return cmd
}

// list returns what the store keeps, and of runs that can be read what they are.
func (s *storedState) list(ctx context.Context, now time.Time) ([]item, error) {
	items, err := s.items(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.config.Store.List(ctx)
	if err != nil {
		return nil, err
	}
	readable := make(map[string]*runstore.Record, len(records))
	for _, r := range records {
		readable[r.ID] = r
	}
	out := make([]item, 0, len(items))
	for _, known := range items {
		i := item{Item: known, Expired: !now.Before(known.Expires)}
		if r := readable[known.ID]; r != nil && known.Kind == runstore.ItemRun {
			i.Session, i.GuestBuild, i.Generation, i.Expires = &r.Session, r.GuestBuild, r.Generation, r.Expires
		}
		out = append(out, i)
	}
	return out, nil
}

func printItems(b *strings.Builder, list []item, now time.Time) {
	output.Table(b, "RUN\tKIND\tSIZE\tEXPIRES\tBUILD\tSESSION", list, func(i item) []any {
		session, build := "-", "-"
		if i.Session != nil {
			session, build = output.OwnerName(*i.Session), fmt.Sprintf("%.12s", i.GuestBuild)
		}
		return []any{i.ID, i.Kind, output.KiB(int(i.Bytes)), expiresIn(i.Expires, now), build, terminal.Short(session)}
	})
}

// expiresIn says when something expires, or that it has.
func expiresIn(at, now time.Time) string {
	if left := at.Sub(now).Round(time.Second); left > 0 {
		return "in " + left.String()
	}
	return "expired"
}

// run is a run as state show shows it.
type run struct {
	Items  []runstore.Item  `json:"items"`
	Record *runstore.Record `json:"record,omitempty"`
	// ImageBytes is the size of the image, which is left out.
	ImageBytes int               `json:"imageBytes,omitempty"`
	Ended      *runstore.Ended   `json:"ended,omitempty"`
	Effects    *runstore.Effects `json:"effects,omitempty"`
	Problems   []string          `json:"problems,omitempty"`
}

func newShow() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "show RUN_ID",
		Short: "Show what the store keeps of a run",
		Long: `Show what the store keeps of a run: its record without the image of the guest, with the
journal of its calls; whether a result waits; and how many effects its journal has.
With --json, the arguments and answers of calls are there as they are stored: they may
hold what only the session of the run should see.`,
		Example: `  quoin state show run_0123456789abcdef0123456789abcdef
  quoin state show run_0123456789abcdef0123456789abcdef --json`,
		Args: cli.OneArg("RUN_ID", "which quoin state ls shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				r, err := s.show(ctx, args[0])
				if err != nil {
					return err
				}
				return o.Print(cmd, r, func(b *strings.Builder) { r.print(b, time.Now()) })
			})
		},
	}
	cmd.ValidArgsFunction = cli.CompleteFirst(o.completeItems)
	o.bind(cmd)
	return cmd
}

// completeItems offers the runs that the store keeps something of.
func (o *options) completeItems(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := o.with(cmd, func(ctx context.Context, s *storedState) error {
		items, err := s.items(ctx)
		for _, i := range items {
			names = append(names, cobra.CompletionWithDesc(i.ID, string(i.Kind)))
		}
		return err
	})
	return names, err
}

// show reads what the store keeps of a run.
func (s *storedState) show(ctx context.Context, id string) (*run, error) {
	all, err := s.items(ctx)
	if err != nil {
		return nil, err
	}
	out := &run{}
	for _, i := range all {
		if i.ID == id {
			out.Items = append(out.Items, i)
		}
	}
	if len(out.Items) == 0 {
		return nil, fmt.Errorf("the store keeps nothing of run %s; quoin state ls shows what it keeps", terminal.Short(id))
	}
	for _, i := range out.Items {
		if err := s.read(ctx, i, out); err != nil && !errors.Is(err, runstore.ErrExpired) {
			out.Problems = append(out.Problems, fmt.Sprintf("%s: %v", i.Kind, err))
		}
	}
	return out, nil
}

// read reads one item into r. It verifies its seal.
func (s *storedState) read(ctx context.Context, i runstore.Item, r *run) (err error) {
	switch i.Kind {
	case runstore.ItemRun:
		r.Record, err = s.config.Store.Get(ctx, i.ID)
		if r.Record != nil {
			r.ImageBytes, r.Record.Image = len(r.Record.Image), nil
		}
		if errors.Is(err, runstore.ErrEnded) { // its result was stored, and the record not removed yet
			err = nil
		}
	case runstore.ItemResult:
		r.Ended, err = s.config.Store.Ended(ctx, i.ID)
	case runstore.ItemEffects:
		if effects, ok := s.config.Store.(runstore.EffectStore); ok {
			r.Effects, err = effects.Effects(ctx, i.ID)
		}
	}
	return err
}

func (r *run) print(b *strings.Builder, now time.Time) {
	tw := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	for _, i := range r.Items {
		terminal.Fprintf(tw, "%s\t%s, expires %s\n", i.Kind, output.KiB(int(i.Bytes)), expiresIn(i.Expires, now))
	}
	if rec := r.Record; rec != nil {
		terminal.Fprintf(tw, "session\t%s\n", terminal.Short(output.OwnerName(rec.Session)))
		terminal.Fprintf(tw, "created\t%s\n", rec.Created.UTC().Format(time.RFC3339))
		terminal.Fprintf(tw, "generation\t%d\n", rec.Generation)
		terminal.Fprintf(tw, "guest build\t%s %s\n", rec.GuestBuild, terminal.Short(rec.GuestEngine))
		terminal.Fprintf(tw, "image\t%s\n", output.KiB(r.ImageBytes))
		if !rec.TimerDue.IsZero() {
			terminal.Fprintf(tw, "timer\t%s\n", rec.TimerDue.UTC().Format(time.RFC3339))
		}
		for _, c := range rec.Calls {
			terminal.Fprintf(tw, "call %d\t%s %s %s\n", c.ID, c.State, c.Method, terminal.Short(c.Tool))
		}
	}
	if r.Effects != nil {
		terminal.Fprintf(tw, "effects\t%d\n", len(r.Effects.Effects))
	}
	for _, p := range r.Problems {
		terminal.Fprintf(tw, "problem\t%s\n", p)
	}
	_ = tw.Flush() // a builder takes everything
}
