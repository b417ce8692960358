package pipeline

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/runstore"
)

// expectEffect is what the tool of the call will say of how the call is undone. The
// journal has the call from here on. It is nil for other tools.
func (c *call) expectEffect() *journal.Inverse {
	if !c.tool.Revertible || c.tool.ReadOnly {
		return nil
	}
	c.noteEffect(runstore.Effect{State: runstore.EffectUnknown, Reason: "its host stopped before the tool had answered"})
	return &journal.Inverse{}
}

// noteEffect enters what is known of the changes that a call has made.
func (c *call) noteEffect(e runstore.Effect) {
	revertible := c.effect > 0 || c.tool.Revertible
	if c.tool.ReadOnly || !revertible && e.State == runstore.EffectNone {
		return
	}
	if !c.run.Effects.Keeps() {
		return
	}
	e.Number, e.CallID, e.Tool, e.At = c.effect, c.PublicID(), c.tool.ID(), time.Now().UTC()
	err := c.run.Effects.Put(c.run.Background(), &e, revertible, c.run.IsOver)
	c.effect = e.Number
	if err != nil {
		c.run.Env.Logger.Error("what a call has changed is not in the journal, and cannot be undone from there",
			"run", c.run.ID, "tool", e.Tool, "call", e.CallID, "error", err)
	}
}
