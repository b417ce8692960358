package runcmd

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/terminal"
)

// listedUndo is a run in the list of quoin undo.
type listedUndo struct {
	*runstore.Effects
	Status host.UndoStatus `json:"status,omitempty"`
	// States counts the effects by their state.
	States map[runstore.EffectState]int `json:"states,omitempty"`
	// Problem is why the effects of the run cannot be shown.
	Problem string `json:"problem,omitempty"`

	words []string // of each effect, the newest first
}

func (u *undoer) list(cmd *cobra.Command, e effects) error {
	runs, err := e.ListEffects(cmd.Context(), u.Caller())
	if err != nil {
		return err
	}
	list := make([]*listedUndo, 0, len(runs))
	for _, j := range runs {
		l, err := u.look(cmd.Context(), e, j)
		if err != nil {
			return err
		}
		if l != nil {
			list = append(list, l)
		}
	}
	return u.Print(cmd, list, func(b *strings.Builder) {
		now := time.Now()
		output.Table(b, "RUN\tAGE\tEXPIRES\tSESSION\tEFFECTS", list, func(l *listedUndo) []any {
			return []any{l.RunID, now.Sub(l.Created).Round(time.Second), "in " + l.Expires.Sub(now).Round(time.Second).String(), terminal.Short(output.OwnerName(l.Session)), l.cell()}
		})
	})
}

// look says how far the effects of a run have come. It returns nil for a run if its time is
// over since it was listed. A journal that cannot be read does not hide the others.
func (u *undoer) look(ctx context.Context, e effects, run *runstore.Effects) (*listedUndo, error) {
	l := &listedUndo{Effects: run}
	j, err := e.Effects(ctx, run.Session, run.RunID)
	switch reason, refused := refusalOf(err); {
	case reason == codemode.ReasonRunExpired, reason == codemode.ReasonRunUnavailable:
		return nil, nil
	case refused:
		l.Problem = err.Error()
		return l, nil
	case err != nil:
		return nil, err
	}
	l.Status, l.States = j.Status, map[runstore.EffectState]int{}
	for i := len(j.Effects) - 1; i >= 0; i-- {
		l.States[j.Effects[i].State]++
		l.words = append(l.words, undoWord(&j.Effects[i]))
	}
	return l, nil
}

// refusalOf reports whether a host, or a server, refuses to show the effects of one run, and
// the reason if it has one.
func refusalOf(err error) (reason codemode.Reason, refused bool) {
	var own *host.Error
	var served *gateway.Problem
	switch {
	case errors.As(err, &own):
		return own.Reason, true
	case errors.As(err, &served):
		return codemode.Reason(served.Reason), true
	}
	return "", false
}

// cell is what the list says of the effects of a run.
func (l *listedUndo) cell() string {
	if l.Problem != "" {
		return terminal.Line(l.Problem)
	}
	return cmp.Or(strings.Join(output.Counts(l.words), ", "), "-")
}

// undoWord is what people are told of the state of an effect.
func undoWord(e *runstore.Effect) string {
	if e.State == runstore.EffectReverting && e.Reason != "" {
		return "undo in doubt"
	}
	return cmp.Or(map[runstore.EffectState]string{
		runstore.EffectDone:      "can be undone",
		runstore.EffectFinal:     "cannot be undone",
		runstore.EffectUnknown:   "effect unknown",
		runstore.EffectReverted:  "undone",
		runstore.EffectReverting: "being undone",
		runstore.EffectFailed:    "undo failed",
	}[e.State], string(e.State))
}
