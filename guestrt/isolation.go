package guestrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// Isolation says what happens where the system cannot give a worker every layer
// of the sandbox. The zero value is IsolationRequired.
type Isolation string

const (
	// IsolationRequired refuses to start a worker that lacks one of the layers
	// user, environment, descriptors, dumpable, rlimits, capabilities,
	// no_new_privs and seccomp, or lacks both namespaces and Landlock of version
	// 4. Hosts that run for long use it.
	IsolationRequired Isolation = "required"
	// IsolationStrict refuses what IsolationRequired refuses, and also a worker
	// without a control group of its own, which is the layer cgroup. Hosts that
	// serve programs of many strangers use it.
	IsolationStrict Isolation = "strict"
	// IsolationBestEffort starts workers with whatever layers there are. Layers
	// and sandbox.Tier say which.
	IsolationBestEffort Isolation = "best-effort"
)

// check refuses values that are not defined, lest a misspelt one mean less than
// its author thought.
func (i Isolation) check() error {
	switch i {
	case IsolationRequired, IsolationStrict, IsolationBestEffort, "":
		return nil
	}
	return unavailable("the isolation policy is %q, expected %q, %q or %q", string(i), IsolationRequired, IsolationStrict, IsolationBestEffort)
}

func (i Isolation) required() bool { return i != IsolationBestEffort }

// launchConfig is how the processes of a pool are started.
type launchConfig struct {
	isolation Isolation
	// noNamespaces is why workers get no namespaces of their own; nil means that
	// they do.
	noNamespaces error
	groups       *groups
	protocol     uint32 // the version that the workers speak
	// socket says that they may be of a build that knows no pipes. The command line that
	// goes with pipes would start such a program as if a person had.
	socket bool
}

// checkReady judges what a process reported, and adds what only this side knows.
func (l *launchConfig) checkReady(ready *wire.Ready, group *group) error {
	if l.noNamespaces != nil {
		i := slices.IndexFunc(ready.Layers, func(l wire.Layer) bool { return l.Name == sandbox.LayerNamespaces })
		if i >= 0 && ready.Layers[i].State == wire.LayerOff {
			ready.Layers[i].Detail = "the host cannot make them: " + l.noNamespaces.Error()
		}
	}
	ready.Layers = append(ready.Layers, l.groups.layer(group))
	if missing := l.missing(ready.Layers); missing != nil {
		return unavailable("%s", sandbox.Explain(string(l.isolation), missing))
	}
	return nil
}

// missing returns the layers that the policy insists on and a worker lacks.
func (l *launchConfig) missing(layers []wire.Layer) []sandbox.Missing {
	switch l.isolation {
	case IsolationBestEffort:
		return nil
	case IsolationStrict:
		return sandbox.LackingGroup(layers)
	default:
		return sandbox.Lacking(layers)
	}
}

// startFirst starts the process that proves that workers work, without
// namespaces if they cannot be had.
func (p *Pool) startFirst(ctx context.Context) (*process, error) {
	first, err := p.startSpoken(ctx)
	if err == nil || ctx.Err() != nil || final(err) {
		return first, err
	}
	p.launch.noNamespaces = rootCause(err)
	first, plain := p.startSpoken(ctx)
	if plain != nil {
		if plain.Error() == err.Error() {
			return nil, err
		}
		return nil, unavailable("%s; with namespaces: %s", strings.TrimSuffix(plain.Error(), "."), err)
	}
	level := slog.LevelInfo // a host that takes any isolation reads it in the results
	if p.launch.isolation.required() {
		level = slog.LevelWarn
	}
	p.config.Logger.Log(ctx, level, "guest workers have no namespaces of their own", "error", err)
	return first, nil
}

// startSpoken starts a process by the newest version of the protocol that it speaks. Only
// a build that was asked for by its id may be an earlier one.
func (p *Pool) startSpoken(ctx context.Context) (first *process, err error) {
	p.launch.socket = p.config.BuildID != [32]byte{}
	for p.launch.protocol = wire.Version; ; p.launch.protocol-- {
		first, err = p.start(ctx)
		if err == nil || !p.launch.socket || !refused(err) || p.launch.protocol == wire.OldestVersion || ctx.Err() != nil {
			return first, err
		}
	}
}

// rootCause is what the system said when it did not start a process, without
// what we were doing; other errors are returned as they are.
func rootCause(err error) error {
	var e *WorkerError
	var path *os.PathError
	if errors.As(err, &e) && errors.As(e.cause, &path) {
		return path.Err
	}
	return err
}

// final reports whether a start failed for a reason that has nothing to do with
// namespaces: the worker said itself what is wrong, or was too slow.
func final(err error) bool {
	var e *WorkerError
	return errors.As(err, &e) && e.final
}

// refused reports whether a worker that had started refused the host.
func refused(err error) bool {
	var e *WorkerError
	return errors.As(err, &e) && e.refused
}

// Inspection is what a look at one worker of this system found.
type Inspection struct {
	Engine    Engine       // which of the two was looked for or, with EngineAuto, found
	GuestPath string       // the executable, or "" if it was not found
	BuildID   [32]byte     // its SHA-256
	EngineID  string       // id of the engine it runs, or "" if it did not start
	Layers    []wire.Layer // all off if no worker started
	Err       error        // why no worker started
}

// Inspect starts one worker as a pool of best-effort isolation would, looks at
// it and ends it. sandbox.Tier and sandbox.Lacking judge the layers.
func Inspect(ctx context.Context, c Config) (*Inspection, error) {
	c.Isolation, c.Prepared = IsolationBestEffort, 1
	c = c.filled()
	in := &Inspection{Engine: kindOf(c.Engine).engine}
	b, err := findBinary(c)
	if err != nil {
		in.Err, in.Layers = err, sandbox.Unsealed("there is no worker")
		return in, nil
	}
	in.Engine, in.GuestPath, in.BuildID = b.kind.engine, b.path, b.id
	if err := b.file.Close(); err != nil {
		return nil, fmt.Errorf("close %s: %w", b.path, err)
	}
	p, err := NewPool(ctx, c)
	if err != nil {
		in.Err, in.Layers = err, sandbox.Unsealed("no worker starts")
		return in, nil
	}
	ready := p.warm.ready.take(matchAny).ready
	in.Engine, in.EngineID, in.Layers = EngineOf(ready.EngineID), ready.EngineID, ready.Layers
	return in, p.Close()
}
