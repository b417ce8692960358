package plugins

import (
	"encoding/json"
	"log/slog"
	"time"
)

// SupervisorOptions say how the plugins of a directory are run. Only DataDir is
// required.
type SupervisorOptions struct {
	// DataDir holds one folder per plugin, named by its id, and the storages of all
	// of them.
	DataDir string
	// OpenStorage opens the storages elsewhere; see [Options]. Defaults to nil.
	OpenStorage OpenStorage
	// Configs are the plugins' configurations by plugin id.
	Configs map[string]json.RawMessage
	// Bundled are plugins next to the directory's. Defaults to nil.
	Bundled []Bundled
	// Secrets are the plugins' secrets by plugin id and name.
	Secrets map[string]map[string]SecretSource
	// RunDir, Logger, StartTimeout, CallTimeout and CloseTimeout are the fields
	// of [Options], for every plugin.
	RunDir       string
	Logger       *slog.Logger
	StartTimeout time.Duration
	CallTimeout  time.Duration
	CloseTimeout time.Duration
	// DrainTimeout is how long Close waits for running calls. Defaults to 5 s.
	DrainTimeout time.Duration
	// RetireTimeout is how long a generation that was replaced or removed may
	// finish its running calls; a development plugin has DrainTimeout. Defaults
	// to CallTimeout and a little more, so that a reload cuts no call short.
	RetireTimeout time.Duration
	// HealthTimeout is how long a plugin may take to answer the question that
	// follows a call that ran out of time; one that does not answer is killed
	// and restarted. Defaults to 5 s, in which this process runs.
	HealthTimeout time.Duration
	// Restart says how often and how soon a plugin that died comes back.
	Restart RestartPolicy
	// Watch keeps the plugins in line with the directory: whatever is installed,
	// replaced or removed there is loaded, reloaded or removed a moment later, as by
	// Reload. What counts of a plugin is its manifest and the files that the
	// manifest names, wherever links lead. Defaults to false.
	Watch bool
	// Gate is asked before every start of a plugin of the directory. Defaults to
	// the directory's quoin.lock without trusted keys, see [LockGate].
	Gate Gate
	// OnChange is called, without arguments and one call at a time, after the
	// state, the tools or the namespaces of any plugin have changed. It must
	// not call Close. Defaults to nothing.
	OnChange func()

	clock clock
	times times // zero outside of tests
}

// RestartPolicy bounds restarts. The zero value means the defaults.
type RestartPolicy struct {
	// Budget is the number of restarts within Window after which a plugin is
	// disabled. Defaults to 5; negative means no restarts.
	Budget int
	// Window defaults to 10 min.
	Window time.Duration
	// FirstDelay precedes the first restart within Window; each further one
	// waits twice as long as the one before, up to MaxDelay. Defaults to 100 ms.
	FirstDelay time.Duration
	// MaxDelay defaults to 30 s.
	MaxDelay time.Duration
}

// withDefaults fills in the defaults.
func (r RestartPolicy) withDefaults(t *times) RestartPolicy {
	if r.Budget == 0 {
		r.Budget = 5
	}
	r.Budget = max(r.Budget, 0)
	r.Window = orDefault(r.Window, t.restartWindow)
	r.FirstDelay = orDefault(r.FirstDelay, t.restartFirst)
	r.MaxDelay = orDefault(r.MaxDelay, t.restartLongest)
	return r
}

// bundled returns the bundled plugin of that id, or nil.
func (o *SupervisorOptions) bundled(id string) *Bundled {
	for i := range o.Bundled {
		if o.Bundled[i].id() == id {
			return &o.Bundled[i]
		}
	}
	return nil
}
