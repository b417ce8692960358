package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Info is a plugin's identity. ID and Version must equal those in its
// plugin.json; [ManifestInfo] takes them from there.
type Info struct {
	// ID names the plugin: a lower-case letter, then up to 62 lower-case
	// letters, digits and hyphens.
	ID string
	// Version is free text, by custom a semantic version.
	Version string
	// Description is one line for people.
	Description string
}

// Options tune a plugin. A nil *Options means all defaults.
type Options struct {
	// Logger receives what the SDK itself has to say, and is what Call.Logger
	// builds on. Defaults to a logger with lines that the host shows under the
	// plugin's name.
	Logger *slog.Logger
}

// RunContext names the agent, session and run a call belongs to. What a plugin keeps for
// a session, it keeps by RunContext.Identity: a host may tell users apart by any field.
type RunContext = protocol.RunContext

// Plugin collects tools, namespaces and handlers. Register everything before
// [Serve]; registering is not safe for concurrent use, and nothing may be
// registered afterwards.
type Plugin struct {
	info        Info
	logger      *slog.Logger
	tools       map[string]*registeredTool
	toolOrder   []string
	namespaces  map[string]*registeredNamespace
	spaceOrder  []string
	onConfigure []ConfigureFunc
	onDrain     []DrainFunc
	onClose     []func() error
	before      BeforeFunc
	after       AfterFunc
	hookTools   []string

	host     *hostSide
	calls    calls
	draining sync.Once
	drained  chan struct{} // closed when the OnDrain functions have ended
	closing  sync.Once
	closed   error
}

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// New returns a plugin without tools. It panics if the identity is unusable,
// which is a programmer's mistake.
func New(info Info, o *Options) *Plugin {
	if !idPattern.MatchString(info.ID) {
		misuse(fmt.Errorf("plugin id %q is not a lower-case letter followed by up to 62 lower-case letters, digits and hyphens", info.ID))
	}
	if info.Version == "" {
		misuse(fmt.Errorf("plugin %s has no version", info.ID))
	}
	p := &Plugin{
		info:       info,
		tools:      make(map[string]*registeredTool),
		namespaces: make(map[string]*registeredNamespace),
		host:       newHostSide(),
	}
	if o != nil {
		p.logger = o.Logger
	}
	if p.logger == nil {
		p.logger = hostLogger()
	}
	return p
}

// ID returns the plugin's id.
func (p *Plugin) ID() string { return p.info.ID }

// Logger returns the plugin's logger. The host shows its lines under the
// plugin's name.
func (p *Plugin) Logger() *slog.Logger { return p.logger }

// DrainFunc is told that the plugin is about to stop. ctx ends when the host waits
// no longer.
type DrainFunc func(ctx context.Context)

// OnConfigure adds a function to run once, before the first call. Functions
// run in the order they were added; the first error ends the start.
func (p *Plugin) OnConfigure(f ConfigureFunc) { p.onConfigure = append(p.onConfigure, f) }

// Storage returns the plugin's storage. It may be called at any time.
func (p *Plugin) Storage() *Storage { return &Storage{host: p.host} }
