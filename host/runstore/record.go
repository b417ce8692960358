package runstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// FormatVersion is the version of Record as Dir writes it. It changes when an
// older reader would misread a newer record.
const FormatVersion = 3

// CallState is how far a journaled call had come.
type CallState string

// The states of a journaled call.
const (
	CallQueued   CallState = "queued"    // not dispatched: safe to start
	CallInFlight CallState = "in_flight" // dispatched, answer unknown
	CallSettled  CallState = "settled"   // answered, not yet delivered to the guest
	CallAsked    CallState = "asked"     // the caller of the run has been asked for the answer: safe to ask again
	CallApproval CallState = "approval"  // it waits for a person; Approval says for what. Whatever has been done for it had no effect
)

// Call is one bridge call in the journal of a run.
type Call struct {
	ID             uint64          `json:"id"`
	Method         string          `json:"method"`
	Target         string          `json:"target,omitempty"`
	Path           []string        `json:"path,omitempty"`
	Args           json.RawMessage `json:"args,omitempty"`
	Tool           string          `json:"tool,omitempty"` // catalog id, once resolved
	IdempotencyKey string          `json:"idempotencyKey,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"` // when asked: what the caller is to answer; with Approval: what was approved
	Approval       string          `json:"approval,omitempty"`
	Resume         json.RawMessage `json:"resume,omitempty"`   // with an Approval that asks questions: what the tool gets back with the answers
	Rounds         int             `json:"rounds,omitempty"`   // how often the tool has returned with questions
	Program        string          `json:"program,omitempty"`  // with an Approval to start a saved program: the key of its text
	Held           string          `json:"held,omitempty"`     // when in flight: the approval that its tool waits for
	KeepUntil      time.Time       `json:"keepUntil,omitzero"` // with an Approval or Held: the run does not expire before
	State          CallState       `json:"state"`
	OK             bool            `json:"ok,omitempty"`         // when settled
	Answer         json.RawMessage `json:"answer,omitempty"`     // when settled: the value, or the error's data
	Dispatched     bool            `json:"dispatched,omitempty"` // a tool was run
	GivenUp        bool            `json:"givenUp,omitempty"`    // by the guest: not to be made any more
}

// Counters are the parts of a run's telemetry that outlive a suspension.
type Counters struct {
	Search     int    `json:"search,omitempty"`
	Describe   int    `json:"describe,omitempty"`
	Call       int    `json:"call,omitempty"`
	Namespace  int    `json:"namespace,omitempty"`
	CPUMicros  uint64 `json:"cpuMicros,omitempty"`
	WallMicros int64  `json:"wallMicros,omitempty"`
	PeakBytes  uint64 `json:"peakBytes,omitempty"`
	// QueryMicros is what the host took for searches and descriptions.
	QueryMicros int64 `json:"queryMicros,omitempty"`
	// Approvals counts the questions put to people, ApprovalMicros is how long
	// their decisions were waited for.
	Approvals      int   `json:"approvals,omitempty"`
	ApprovalMicros int64 `json:"approvalMicros,omitempty"`
}

// Output is one item a program has emitted.
type Output struct {
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
}

// Record is one suspended run. A store neither reads nor changes Image.
type Record struct {
	ID          string           `json:"id"`
	Format      int              `json:"format"`
	Generation  uint64           `json:"generation"`            // counts the images of the run; binds a journal to its image
	Epoch       uint64           `json:"epoch,omitempty"`       // of the claim that wrote the record; the store sets it
	GuestBuild  string           `json:"guestBuild"`            // hex of the guest build id the image belongs to
	GuestEngine string           `json:"guestEngine,omitempty"` // id of the engine of that build
	Session     codemode.Session `json:"session"`
	Language    string           `json:"language"`
	Created     time.Time        `json:"created"`
	Expires     time.Time        `json:"expires"`
	Fingerprint string           `json:"catalogFingerprint"`
	Dispatched  bool             `json:"dispatched"`
	// Live marks a run that continues with a guest that is too large for an image. If its
	// process dies, this is all that is known.
	Live bool `json:"live,omitempty"`
	// Moving says that an earlier version was moving the run to another store, and names it.
	Moving   string                     `json:"moving,omitempty"`
	TimerDue time.Time                  `json:"timerDue,omitzero"` // zero: no guest timer
	Scopes   map[string]json.RawMessage `json:"scopes,omitempty"`  // namespace scopes the guest holds, by namespace id
	Counters Counters                   `json:"counters"`
	// Rules are the rules of this run alone and ClientTools the definitions that its caller
	// brought, both as the host wrote them.
	Rules       json.RawMessage `json:"rules,omitempty"`
	ClientTools json.RawMessage `json:"clientTools,omitempty"`
	// Answered are the calls that the caller of the run has answered.
	Answered []uint64 `json:"answered,omitempty"`
	// Layers are the layers of the isolation of the worker that ran the guest last, by name,
	// with the state of each.
	Layers map[string]string `json:"layers,omitempty"`
	// Tools are digests of the schemas of tools that the run has used, by id.
	Tools map[string]string `json:"tools,omitempty"`
	// Effects are calls that have changed something which cannot be undone, as long as
	// the run has no journal of effects.
	Effects []Effect `json:"effects,omitempty"`
	// Owners are the plugins and MCP servers with tools that the run could reach, as
	// source:owner.
	Owners []string `json:"owners,omitempty"`
	// Origin says how to make a host like the one that stored the run.
	Origin []string `json:"origin,omitempty"`
	// ToolCallID is the id of the model's call of exec, Trace its span in the form
	// of W3C trace context. Either may be empty.
	ToolCallID string            `json:"toolCallId,omitempty"`
	Trace      map[string]string `json:"trace,omitempty"`
	Calls      []Call            `json:"calls"`
	// Output is what the program had emitted since the newest result of its run
	// when the image was taken, Omitted the bytes of it that did not fit. A run
	// that was suspended by its host has no Output: its result carried it.
	Output  []Output `json:"output,omitempty"`
	Omitted int64    `json:"omitted,omitempty"`
	// Replay is what another build of the guest needs to run the program again up to
	// Image: the host wrote it, and bounds it. NoReplay is why there is no such log.
	Replay   []byte `json:"replay,omitempty"`
	NoReplay string `json:"noReplay,omitempty"`
	Image    []byte `json:"-"`
	// ImageBytes is the size of Image where that is left out.
	ImageBytes int `json:"-"`
}

// Started reports whether the program of the run has started. A run that waits for a
// person before that has no image, and needs no build of the guest.
func (r *Record) Started() bool { return r.Live || len(r.Image) > 0 || r.ImageBytes > 0 }

// CheckFormat answers ErrFormat for a record that another version has written in a way which
// this one does not read. Stores ask it of each record that they read.
func (r *Record) CheckFormat() error {
	switch {
	case r.Format < FormatVersion:
		return errOlder
	case r.Format > FormatVersion:
		return errNewer
	case r.Moving != "":
		return errMoving
	}
	return nil
}

var (
	errOlder  = fmt.Errorf("%w: an older version of Quoin has suspended the run: wait for it with that version, or abort it there", ErrFormat)
	errMoving = fmt.Errorf("%w: an earlier version of Quoin was moving the run to another state: complete that with quoin state move of that version", ErrFormat)
	errNewer  = fmt.Errorf("%w: a newer version of Quoin has suspended the run: install that version again, or wait for the run on a host that has it", ErrFormat)
)

// Claim is the exclusive right to write a run. Unless it is the newest claim of the run, its
// writes change nothing and answer ErrFenced: a holder that was paused, or cut off, finds out
// that another has the run. The writes of a claim may be called from several goroutines; the
// store takes them one after the other.
type Claim interface {
	// Epoch counts the claims of the run, from 1. No two claims of a run have the same.
	Epoch() uint64
	// Checkpoint puts r in the place of the record. It answers ErrNotFound for a run that
	// has a result, and after Delete.
	Checkpoint(ctx context.Context, r *Record) error
	// PutCalls notes the new states of calls of the run: each takes the place of the call with
	// its id, except for the method, target, path, arguments and key, which stay. The record
	// expires no earlier than the KeepUntil of each. It answers ErrNotFound for another
	// generation, for a run that has a result, and after Delete. It answers ErrCallsLost, and
	// takes nothing, once it has found that the store has lost calls that it had taken, as
	// after a failover: put all of them again.
	PutCalls(ctx context.Context, generation uint64, calls []Call) error
	// End puts the result of the run in the place of its record. A store bounds the results
	// that it keeps; those that expire first make room, here or in Sweep.
	End(ctx context.Context, e *Ended) error
	// Delete forgets the run, and its result. It may be called again.
	Delete(ctx context.Context) error
	// Release lets others have the run, and waits for a write that is being made. It is
	// idempotent; writes after it answer ErrFenced.
	Release()
}

// Leased is implemented by claims that end with a lease.
type Leased interface {
	// Held reports, without asking the store, whether by the clock of this host the lease
	// holds and has held since the claim was made or renewed. While it does not, a host starts
	// no call of the run.
	Held() bool
	// Renew renews the lease if it is over, and makes sure with the store that no other claim
	// has taken the run by then. If one has, it answers ErrFenced. After nil, Held is true.
	Renew(ctx context.Context) error
}

// Store keeps suspended runs. See the package comment for what every
// implementation promises.
type Store interface {
	// Create stores the first record of a run and claims the run. The epoch of the claim is
	// greater than r.Epoch, which says more than 0 of a run of another store. It answers ErrFull when
	// the store holds max records that have not expired; max <= 0 means no limit.
	// ErrClaimed says that the id is taken. After an error of another kind the store may
	// have the record all the same, and Claim gets it.
	Create(ctx context.Context, r *Record, max int) (Claim, error)
	// Claim gives the caller a run with a record or a result until Release, or the end of
	// its process. It answers ErrClaimed, or ErrNotFound.
	Claim(ctx context.Context, id string) (Claim, error)
	// Get returns the record and its journal; the caller owns both. It returns the
	// record next to ErrExpired, too, until a sweep deletes it. It returns ErrEnded
	// alone for a run with a result.
	Get(ctx context.Context, id string) (*Record, error)
	// List returns every record that has not expired, with its journal and
	// without its image. What does not verify is left out.
	List(ctx context.Context) ([]*Record, error)
	// Ended returns the result of a run, ErrNotFound or ErrExpired.
	Ended(ctx context.Context, id string) (*Ended, error)
	// Sweep deletes what has expired and is not claimed, and returns how many
	// records are left.
	Sweep(ctx context.Context, now time.Time) (left int, err error)
}

// Scheduler is implemented by stores that know which runs can continue without a caller. Watch
// gives hints, Due tells the truth.
type Scheduler interface {
	// Wake marks a run as due: it can continue now, after an answer or a decision. A run that
	// the store does not have is no error.
	Wake(ctx context.Context, id string) error
	// Due returns the ids of at most limit runs, oldest first, that are not claimed and can
	// continue: they were woken since their last claim, or Record.DueAt is over by the clock
	// of the store. A store that tells a host which has ended from one that has released its
	// claims may return the runs of hosts that have ended instead of runs that are due at the
	// zero time.
	Due(ctx context.Context, limit int) ([]string, error)
	// Watch sends the ids of runs that have just been woken, until ctx ends; then it closes
	// the channel. It may lose ids, and send some again.
	Watch(ctx context.Context) <-chan string
}

// Shared is implemented by stores that several hosts use over a network.
type Shared interface {
	// Host is the id of this host, which no other host has.
	Host() string
	// Advertise tells the others at which address this host answers them, host:port.
	Advertise(ctx context.Context, address string) error
	// Owner says who holds the claim of a run. It answers ErrNotFound when the claim is free.
	Owner(ctx context.Context, id string) (Owner, error)
	// Peers lists the hosts with a lease that is not over, this one too, at most limit. A host
	// that has advertised an address is one of them from then on.
	Peers(ctx context.Context, limit int) ([]Peer, error)
}

// Peer is a host that shares the store.
type Peer struct {
	Host    string    // its id
	Address string    // where it answers other hosts, host:port; empty if it does not
	Until   time.Time // the end of its lease, by the clock of the store; each renewal moves it on
}

// Owner is the host that holds the claim of a run.
type Owner struct {
	Host    string // id of the host
	Address string // where it answers other hosts, host:port; empty if it does not
	Epoch   uint64 // of the claim
}

// Identified is implemented by stores that can be told from each other.
type Identified interface {
	// Identity is the same in every process that uses the store, and of no other store, also
	// of none with the same key. It says nothing else.
	Identity() string
	// Reserve holds the id of a run that has no record, until release is called or the
	// process ends: what belongs to such a run in other stores is no orphan. It answers
	// ErrClaimed when another holds the id. Create and Claim do not look at it.
	Reserve(ctx context.Context, id string) (release func(), err error)
}

// Volatile is implemented by stores with records that end with their process. A host takes no
// checkpoints for them of runs that continue.
type Volatile interface {
	Volatile()
}

// Ended is a run that has ended, with a result that has not been delivered.
type Ended struct {
	ID      string           `json:"id"`
	Epoch   uint64           `json:"epoch,omitempty"` // of the claim that wrote it; the store sets it
	Session codemode.Session `json:"session"`
	Expires time.Time        `json:"expires"`
	Result  json.RawMessage  `json:"-"`
}

// Bounds of the results that a store of one machine keeps. MaxEndedBytes bounds a single
// one in every store.
const (
	MaxEnded      = 256
	MaxEndedBytes = 64 << 20 // of the results, as JSON
)

// Superfluous returns how many of the results, oldest first, have to go before another of
// size bytes fits.
func Superfluous(sizes []int64, size int64) (drop int) {
	total := size
	for _, n := range sizes {
		total += n
	}
	for drop < len(sizes) && (len(sizes)-drop >= MaxEnded || total > MaxEndedBytes) {
		total -= sizes[drop]
		drop++
	}
	return drop
}
