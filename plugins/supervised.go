package plugins

import (
	"context"
	"errors"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxRetired is how many replaced generations of one plugin may have calls to
// finish at one moment. The next reload waits until one of them is gone.
const maxRetired = 8

// supervised is one plugin over its generations. At most two are on duty: the
// one installed, and the one that overrides it.
type supervised struct {
	id      string
	dir     string // the folder it is installed in
	process Options
	options SupervisorOptions
	runPath string
	changed func()
	// accept refuses a generation if its names are not free. It is called, and
	// the generation put into service, under one lock for all plugins.
	accept func(p *supervised, d *protocol.Description, enter func()) error

	life   context.Context // ends when the plugin is to stop
	stop   context.CancelFunc
	change sync.Mutex     // held while a generation is being replaced
	work   sync.WaitGroup // reloads, and generations that retire

	mu         sync.Mutex
	closed     bool
	lastNumber int // number of the newest generation
	installed  *generation
	override   *generation
	retiring   []<-chan struct{} // closed when a replaced generation is gone; oldest first
	loads      loads
	closeErr   error
}

// loads are the loads of a plugin's folder.
type loads struct {
	queued      *reloadRequest // a reload that has not started
	pending     int            // reloads that have not ended
	fingerprint fingerprint    // of the folder, as last loaded or tried
	lastError   string         // why the last one failed
}

// current is the generation that calls go to, or nil. The caller holds mu.
func (p *supervised) current() *generation {
	if p.override != nil {
		return p.override
	}
	return p.installed
}

// startWork reports whether work on the plugin may start, which the caller ends with
// work.Done. A plugin that is closed takes no work.
func (p *supervised) startWork() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
	}
	return !p.closed
}

// unknownPluginError is the error for an id that no plugin has.
func unknownPluginError(id string) error {
	return protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "there is no plugin %q", id)
}

func (p *supervised) noteClose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeErr = errors.Join(p.closeErr, err)
}

// generation is one load of a plugin's folder over the lives of its processes.
// One goroutine, run, changes the state; everything else reads it. Its maker
// must close it, unless it was never started.
type generation struct {
	of          *supervised
	number      int
	source      func() (Candidate, error) // what to start, asked before every start
	development bool

	life           context.Context // ends when the generation is to stop
	stop           context.CancelFunc
	stopped        chan struct{} // closed when run has ended
	firstStart     chan struct{} // closed when the first start has succeeded or failed
	firstStartDone func()        // closes first, once
	helpers        sync.WaitGroup

	mu       sync.Mutex
	found    Candidate // as last started, or tried to
	restarts restarts
	duty
	changed  chan struct{} // closed, and made again, when the duty changes
	users    int           // requests to this generation, and holds on it
	retired  bool          // replaced: nothing new comes, no death is repaired
	idle     chan struct{} // closed when it is retired and without users
	closeErr error
}

// duty is what a generation does, or why it does nothing.
type duty struct {
	state  State
	reason string
	live   *Process              // set while StateRunning
	desc   *protocol.Description // what is on offer; nil when disabled or stopped
}

// onDuty is the duty of a generation with a live process.
func onDuty(live *Process) duty { return duty{StateRunning, "", live, live.Describe()} }

// offDuty is the duty of a generation that has ended.
var offDuty = duty{state: StateStopped, reason: "stopped"}

// lease is the right to one request to a process. It must be given back.
type lease struct {
	g    *generation
	live *Process
	desc *protocol.Description
}

// reloadRequest is one reload, for everybody who asked for it before it started.
type reloadRequest struct {
	done chan struct{} // closed when err is valid
	err  error
}
