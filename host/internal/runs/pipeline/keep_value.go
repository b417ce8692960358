package pipeline

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// Keep keeps the value of the run, and says how a later program gets it and what it is.
func (r *Run) Keep(value json.RawMessage) string {
	what := " It is " + jsontext.Outline(value) + "."
	path := r.Env.kept.put(r.Session, value, time.Now().Add(r.Settings.SnapshotTTL))
	if path == "" {
		return what
	}
	return fmt.Sprintf(" The next programs have the whole value, without repeating a call: JSON.parse((await API.read(%q)).content).", path) + what
}
