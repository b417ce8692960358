package runcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/runstore"
)

// undoneRuns are effects by the ids of their runs. What has none is refused with an error.
type undoneRuns struct {
	effects
	ids     []string
	of      map[string][]runstore.Effect
	refused map[string]error
}

func (u undoneRuns) ListEffects(context.Context, host.Session) (out []*runstore.Effects, _ error) {
	for _, id := range u.ids {
		out = append(out, &runstore.Effects{RunID: id, Created: time.Now(), Expires: time.Now().Add(time.Hour)})
	}
	return out, nil
}

func (u undoneRuns) Effects(_ context.Context, _ host.Session, id string) (*host.RunEffects, error) {
	return &host.RunEffects{RunID: id, Status: host.UndoOpen, Effects: u.of[id]}, u.refused[id]
}

// TestUndoListsStates: the list says of each run how far its effects have come, and of a
// journal that cannot be read, why.
func TestUndoListsStates(t *testing.T) {
	t.Parallel()
	e := undoneRuns{
		ids: []string{"run_a", "run_b", "run_c", "run_d", "run_e", "run_f"},
		of: map[string][]runstore.Effect{"run_a": {
			{State: runstore.EffectFinal}, {State: runstore.EffectUnknown}, {State: runstore.EffectDone}, {State: runstore.EffectDone},
			{State: runstore.EffectFailed}, {State: runstore.EffectSkipped}, {State: runstore.EffectReverting},
			{State: runstore.EffectReverting, Reason: "not known"}, {State: runstore.EffectReverted},
		}},
		refused: map[string]error{
			"run_b": &host.Error{Reason: codemode.ReasonRunExpired},
			"run_c": &host.Error{Reason: codemode.ReasonStoreFailed, Message: "the journal is\tdamaged"},
			"run_d": &gateway.Problem{Reason: string(codemode.ReasonRunUnavailable)},
			"run_f": &gateway.Problem{Status: 400, Detail: "the session is too long"},
		},
	}
	print := func(asJSON bool) (string, error) {
		cmd := NewUndo()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetContext(t.Context())
		err := (&undoer{Flags: app.Flags{JSON: asJSON}}).list(cmd, e)
		return out.String(), err
	}
	table, err := print(false)
	if err != nil || strings.Count(table, "\n") != 5 || strings.Contains(table, "run_b") || strings.Contains(table, "run_d") {
		t.Errorf("%v\n%s", err, table)
	}
	for _, want := range []string{
		"undone, undo in doubt, being undone, skipped, undo failed, 2 × can be undone, effect unknown, cannot be undone\n",
		`the journal is\tdamaged`,
		"the session is too long",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the list lacks %q:\n%s", want, table)
		}
	}
	listed, err := print(true)
	for _, want := range []string{`"status":"open"`, `"done":2`, `"reverting":2`, `"problem":"the journal is\tdamaged"`} {
		if err != nil || !strings.Contains(listed, want) {
			t.Errorf("%v: the JSON lacks %q:\n%s", err, want, listed)
		}
	}
	e.refused["run_e"] = fmt.Errorf("the server: %w", errors.ErrUnsupported)
	if _, err := print(false); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a server that does not answer: %v", err)
	}
}
