package history

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Kind is what happened.
type Kind string

const (
	// What a client was told.
	Suspended  Kind = "suspended"  // the run waits: from now on it must not be lost
	Unanswered Kind = "unanswered" // a request for the run got no answer, so a result may be lost on the way
	Completed  Kind = "completed"  // the run has ended, with this result
	Failed     Kind = "failed"     // the run has ended for a cause that is not its program
	Gone       Kind = "gone"       // the run has ended and its result was delivered before
	Aborted    Kind = "aborted"    // the run was ended on demand

	// What a store did, recorded in its transaction.
	Claimed Kind = "claimed" // it granted a claim
	Written Kind = "written" // it took a write of a claim
	// What a store had when all was over.
	Kept Kind = "kept" // the result of the run, which no client was given for certain

	// What a plugin did.
	Effected Kind = "effected" // it changed something, for a call
	Refused  Kind = "refused"  // it refused a call because it has seen a higher epoch of the run
)

// Event is one thing that happened. Fields that do not apply are empty.
type Event struct {
	At   time.Duration `json:"at"` // since the recorder was made
	Kind Kind          `json:"kind"`
	Run  string        `json:"run,omitempty"`
	// Host is who asked for the claim, made the write or the call, or was asked.
	Host string `json:"host,omitempty"`
	// Epoch is the epoch of the claim. Zero: the call carried no epoch.
	Epoch uint64 `json:"epoch,omitempty"`
	// Key is the idempotency key of the call.
	Key string `json:"key,omitempty"`
	// Idempotent says that the tool declares that it may be called again.
	Idempotent bool `json:"idempotent,omitempty"`
	// Result is what the run returned, as text that is compared.
	Result string `json:"result,omitempty"`
	// Answered are the keys of the calls that the program got answers to, Unknown is how
	// many calls it was told of that they may or may not have taken effect.
	Answered []string `json:"answered,omitempty"`
	Unknown  int      `json:"unknown,omitempty"`
	// Note is for people.
	Note string `json:"note,omitempty"`
}

func (e Event) String() string {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprintf("%s: %v", e.Kind, err)
	}
	return string(b)
}

// Recorder puts events in one order. Make it with NewRecorder.
type Recorder struct {
	start time.Time
	mu    sync.Mutex
	all   []Event
	log   *json.Encoder
	err   error
}

// NewRecorder returns a recorder that also writes each event to w, one JSON value a
// line, unless w is nil.
func NewRecorder(w io.Writer) *Recorder {
	r := &Recorder{start: time.Now()}
	if w != nil {
		r.log = json.NewEncoder(w)
	}
	return r
}

// Record sets the time of an event and adds it.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = time.Since(r.start)
	r.all = append(r.all, e)
	if r.log != nil && r.err == nil {
		r.err = r.log.Encode(e)
	}
}

// Events returns what was recorded, not a copy of it, and the first error of the writer.
func (r *Recorder) Events() ([]Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.all), r.err
}
