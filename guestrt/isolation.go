package guestrt

import (
	"errors"
	"os"
	"slices"

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
