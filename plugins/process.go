package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/internal/child"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Process is one running plugin: started, identified, configured and healthy.
// It is safe for concurrent use. The caller of Start must Close it, also after
// the process has died.
type Process struct {
	candidate Candidate
	options   Options
	log       *pluginLog
	run       *runDir // set if this process owns it
	dir       string  // this process's folder inside a run folder

	child  *child.Connection // nil before the launch
	rpc    *protocol.Client
	desc   *protocol.Description
	scopes map[string]*namespaces.Scope // by namespace: those that are the same in every run

	secrets      map[string]string
	mask         *secretMask
	hostRequests sync.WaitGroup      // answers what the plugin asks of its host
	storage      *pluginstorage.File // nil: it has no storage

	mu      sync.Mutex
	closing bool
	killed  bool // it did not stop when asked to

	closeOnce sync.Once
	closeErr  error
}

// StartError says why a plugin did not come up.
type StartError struct {
	// PluginID is the plugin meant.
	PluginID string
	// Refused: the plugin can never come up as it is. Otherwise another
	// attempt may succeed.
	Refused bool
	// Err is the reason.
	Err error
}

// Error names the plugin and the reason.
func (e *StartError) Error() string { return "plugin " + e.PluginID + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Start starts a plugin and takes it through Describe, Configure and Health.
// The plugin outlives ctx, which bounds the start only. Every error is a
// *[StartError]; nothing is left running or on disk after one.
func Start(ctx context.Context, found Candidate, o Options) (*Process, error) {
	run, err := openRunDir(o.RunDir)
	if err != nil {
		return nil, &StartError{PluginID: found.ID(), Err: err}
	}
	p, err := start(ctx, found, o, run.path)
	if err != nil {
		if cleanup := run.close(); cleanup != nil {
			err = &StartError{PluginID: found.ID(), Err: errors.Join(err, cleanup)}
		}
		return nil, err
	}
	p.run = run
	return p, nil
}

// start is Start inside a run folder that the caller keeps.
func start(ctx context.Context, found Candidate, o Options, runPath string) (*Process, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = found.Err
	}
	if err == nil {
		err = found.CheckOwner()
	}
	if err == nil {
		err = checkConfig(found.Manifest, o)
	}
	var secrets map[string]string
	if err == nil {
		secrets, err = readSecrets(o.Secrets, found.Manifest)
	}
	if err != nil {
		return nil, &StartError{PluginID: found.ID(), Refused: true, Err: err}
	}
	p := &Process{candidate: found, options: o, secrets: secrets, mask: newSecretMask(secrets)}
	p.log = newPluginLog(o.Logger, found.ID(), o.clock, p.mask)
	refused, err := p.bringUp(ctx, runPath)
	if err != nil {
		if cleanup := p.discard(); cleanup != nil {
			err = errors.Join(err, cleanup)
		}
		return nil, &StartError{PluginID: found.ID(), Refused: refused, Err: err}
	}
	return p, nil
}

// checkConfig holds the configuration against the manifest's schema.
func checkConfig(m manifest.Manifest, o Options) error {
	list, err := m.CheckConfig(o.Config)
	if err != nil {
		return fmt.Errorf("the configuration cannot be held against the manifest's configSchema: %w", err)
	}
	errs := make([]error, len(list))
	for i, c := range list {
		errs[i] = errors.New(c.Field(m.ID) + " " + c.Text)
	}
	return errors.Join(errs...)
}

// bringUp runs the steps of a start. refused says that another attempt would
// end the same way.
func (p *Process) bringUp(ctx context.Context, runPath string) (refused bool, err error) {
	ctx, cancel := awake.WithTimeout(ctx, p.options.StartTimeout)
	defer cancel()
	defer func() {
		if p.child != nil {
			p.child.Release()
		}
	}()
	cmd, err := p.command(runPath)
	if err != nil {
		return untrusted(err), err
	}
	if err := p.launch(ctx, cmd); err != nil {
		err = p.explainLaunch(ctx, err)
		var version *VersionError
		return errors.As(err, &version), err
	}
	return p.initialize(ctx)
}

// command makes the plugin's folders and the command that starts it.
func (p *Process) command(runPath string) (*exec.Cmd, error) {
	var err error
	if p.dir, err = os.MkdirTemp(runPath, "p-"); err != nil {
		return nil, err
	}
	tmp := filepath.Join(p.dir, "tmp")
	if err := errors.Join(os.MkdirAll(p.options.DataDir, 0o700), os.Mkdir(tmp, 0o700)); err != nil {
		return nil, err
	}
	binary, folder, err := p.candidate.startable(p.dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary)
	cmd.Dir = p.options.DataDir
	cmd.Env = environment(folder, p.options.DataDir, tmp)
	if p.options.development {
		cmd.Env = append(cmd.Env, protocol.EnvDevelopment+"=1")
	}
	return cmd, nil
}

// environment is everything a plugin sees of the host's environment.
func environment(pluginDir, dataDir, tmp string) []string {
	tz, ok := os.LookupEnv("TZ")
	if !ok {
		tz = "UTC"
	}
	return []string{
		"TZ=" + tz,
		"HOME=" + dataDir,
		"TMPDIR=" + tmp,
		protocol.EnvDataDir + "=" + dataDir,
		protocol.EnvPluginDir + "=" + pluginDir,
	}
}

// launch starts the process and connects to it.
func (p *Process) launch(ctx context.Context, cmd *exec.Cmd) (err error) {
	version := p.candidate.Manifest.Protocol
	p.child, err = child.Launch(ctx, cmd, child.Options{
		Version:   version,
		Dir:       p.dir,
		Output:    &childOutput{p.log, version},
		Logger:    newLibraryLog(p.options.Logger.With("process", p.candidate.ID())),
		Timeout:   p.options.StartTimeout + time.Minute, // ctx ends first, and says why
		PipeGrace: p.options.times.pipeGrace,
	})
	if err != nil {
		return err
	}
	p.rpc = protocol.NewClient(p.child.Conn)
	return nil
}

// explainLaunch says why the process did not get to the handshake.
func (p *Process) explainLaunch(ctx context.Context, err error) error {
	if !p.child.Ran() {
		return err // it never ran
	}
	p.child.Stop()
	<-p.child.Done()
	switch refusal := p.child.Refusal(); {
	case refusal != nil:
		return refusal
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no handshake within %v; main must end in sdk.Serve%s%s", p.options.StartTimeout, p.log.explainStdout(), p.lastOutput())
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("the process ended before the handshake (%s)%s%s", p.exitText(), p.log.explainStdout(), p.lastOutput())
}

// initialize takes a connected plugin through Describe, Configure and Health.
func (p *Process) initialize(ctx context.Context) (refused bool, err error) {
	if p.desc, err = p.rpc.Describe(ctx); err != nil {
		return false, p.explain("Describe", err)
	}
	if err := checkDescription(p.candidate.Manifest, p.desc); err != nil {
		return true, err
	}
	if p.scopes, err = fixedScopes(p.desc); err != nil {
		return true, err
	}
	p.startHostServices()
	if err := p.configure(ctx); err != nil {
		e := p.explain("Configure", err)
		return e.Kind == protocol.KindPlugin, e
	}
	if _, err := p.rpc.Health(ctx); err != nil {
		return false, p.explain("Health", err)
	}
	return false, nil
}

// exitText is how the process ended, in words. It must have ended.
func (p *Process) exitText() string {
	if err := p.child.Outcome(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// lastOutput quotes the process's last output.
func (p *Process) lastOutput() string {
	words := p.log.lastOutput()
	switch {
	case words == "":
		return ""
	case strings.Contains(words, `"`) && strconv.CanBackquote(words):
		return "; it said last: `" + words + "`" // without quotes that are quoted
	}
	return fmt.Sprintf("; it said last: %q", words)
}

// Describe returns what the plugin offers, as checked at the start.
func (p *Process) Describe() *protocol.Description { return p.desc }

// Manifest returns the manifest the plugin was started from.
func (p *Process) Manifest() manifest.Manifest { return p.candidate.Manifest }

// PID returns the operating system's number for the process.
func (p *Process) PID() string { return p.child.ID() }

// Done is closed when the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.child.Done() }

// Err says how the process ended. It returns nil before Done is closed, and
// after an end that Close caused.
func (p *Process) Err() error {
	select {
	case <-p.child.Done():
	default:
		return nil
	}
	if p.stopping() {
		return nil
	}
	return fmt.Errorf("the process ended (%s)%s", p.exitText(), p.lastOutput())
}

func (p *Process) stopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

// Killed reports whether Close had to kill the process because it did not stop
// when asked to.
func (p *Process) Killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// Kill ends the process at once. Close is still needed.
func (p *Process) Kill() { p.child.Stop() }

// Close stops the plugin: running calls are cancelled, the plugin gets
// Options.CloseTimeout to end by itself, then it is killed with everything in
// its process group. Close returns when the process is gone; later calls return
// the same.
func (p *Process) Close() error {
	p.closeOnce.Do(func() {
		p.mu.Lock()
		select {
		case <-p.child.Done(): // it has died, and calls are to say so
		default:
			p.closing = true
		}
		p.mu.Unlock()
		p.requestShutdown()
		p.closeErr = p.discard()
		if p.run != nil {
			p.closeErr = errors.Join(p.closeErr, p.run.close())
		}
	})
	return p.closeErr
}

// requestShutdown tells the plugin to end, in both ways there are, and waits.
func (p *Process) requestShutdown() {
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan struct{})
	go func() {
		defer close(told)
		// Its answer does not matter: a plugin that stops may not get to give one.
		_ = p.child.Conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	}()
	if err := p.child.CloseStdin(); err != nil {
		p.options.Logger.Warn("closing a plugin's standard input", "plugin", p.candidate.ID(), "error", err)
	}
	late, stop := p.options.clock.After(p.options.CloseTimeout)
	defer stop()
	select {
	case <-p.child.Done():
	case <-late:
		p.mu.Lock()
		p.killed = true
		p.mu.Unlock()
		p.options.Logger.Warn("the plugin did not stop in time and is killed", "plugin", p.candidate.ID(), "timeout", p.options.CloseTimeout)
	}
	cancel()
	<-told
}

// discard kills what is left and removes everything the start made.
func (p *Process) discard() error {
	if p.child != nil {
		p.child.Close()
	}
	err := p.stopHostServices()
	if p.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
