package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// member is one host of the cluster: a process of quoin serve, and the next one after
// it was killed.
type member struct {
	name, dir, binary string
	database, peers   *proxy   // how it reaches the database, how others reach it
	disk              *disk    // of its state; nil: the machine's disk
	network           *network // nil: the machine's network

	mu      sync.Mutex
	process *childprocess.Process
	client  *client.Client // nil while there is no process
}

// token is the token of the servers.
const token = "the-token-of-this-test"

// here is the address at which the host listens, there the one at which it reaches what
// listens in this process.
func (m *member) here() string {
	if m.network == nil {
		return loopback
	}
	return m.network.address.String()
}

func (m *member) there() string {
	if m.network == nil {
		return loopback
	}
	return m.network.gateway.String()
}

const loopback = "127.0.0.1"

// clusterAddress is where the host listens for the others.
func (m *member) clusterAddress(t *testing.T) string {
	if m.network == nil {
		return freeAddress(t)
	}
	return net.JoinHostPort(m.here(), "7000") // nothing else is in its namespace
}

// commandFolder has the source of the hosts.
const commandFolder = "../../cmd/quoin"

// buildHost builds the command, of sources that have other texts where replace says so,
// and puts a guest next to it.
func buildHost(t *testing.T, dir string, replace map[string]string) string {
	t.Helper()
	binary := filepath.Join(dir, "quoin")
	// The linker is told to let wrongClock name what is package time's own.
	if out, err := exec.Command("go", "build", "-pgo=off", "-ldflags=-w -checklinkname=0", "-overlay", overlay(t, replace), "-o", binary, commandFolder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(guest, filepath.Join(dir, "quoin-guest")); err != nil {
		t.Fatal(err)
	}
	return binary
}

// copyFile copies an executable.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// install makes the member's folder: its plugin and its configuration.
func (m *member) install(config map[string]any) error {
	plugin := filepath.Join(m.dir, "plugins", ledgerName)
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	manifest := `{"id": "ledger", "version": "1.0.0", "protocol": 2, "command": "./ledger",
		"configSchema": {"type": "object"}}`
	text, err := json.MarshalIndent(config, "", "  ")
	return errors.Join(err, m.setClock(0),
		copyFile(self, filepath.Join(plugin, ledgerName)),
		os.WriteFile(filepath.Join(plugin, "plugin.json"), []byte(manifest), 0o644),
		os.WriteFile(m.config(), text, 0o600))
}

func (m *member) state() string { return filepath.Join(m.dir, "state") }

// mountState gives the state of the host a disk, if this process may.
func (m *member) mountState(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(m.state(), 0o700); err != nil {
		t.Fatal(err)
	}
	if !ownMounts {
		return
	}
	var err error
	if m.disk, err = mountDisk(m.state(), 1<<30); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.disk.unmount(); err != nil {
			t.Error(err)
		}
	})
}

func (m *member) config() string { return filepath.Join(m.dir, "config.json") }

// start starts the process and waits until it takes requests.
func (m *member) start(ctx context.Context) error {
	address := filepath.Join(m.dir, "address")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.binary, "serve", "--config", m.config(), "--listen", net.JoinHostPort(m.here(), "0"), "--address-file", address)
	if m.network != nil {
		if cmd, err = m.network.inside(cmd); err != nil {
			return err
		}
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "HOME="+m.dir, clockVariable+"="+m.clock(), "QUOIN_TOKEN="+token)
	p, err := childprocess.Start(ctx, cmd)
	if err != nil {
		return err
	}
	ready, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Done():
			cancel(fmt.Errorf("%s ended before it was ready: %s", m.name, m.lastWords()))
		case <-ready.Done():
		}
	}()
	if err := hosttest.AwaitFile(ready, address, "http"); err != nil {
		p.Kill()
		return err
	}
	url, err := os.ReadFile(address)
	if err != nil {
		return err
	}
	c, err := client.New(strings.TrimSpace(string(url)), client.Options{Token: token, Transport: &http.Transport{}})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process, m.client = p, c
	return nil
}

// restart starts the process. At random it does so again and again, as a supervisor does: a
// host does not start while the database is away or read-only.
func (m *member) restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), healing)
	defer cancel()
	for {
		err := m.start(context.Background())
		if err == nil || *chaosTime == 0 || ctx.Err() != nil {
			return err
		}
		rest(ctx, backOff)
	}
}

// lastWords is the end of the log.
func (m *member) lastWords() string {
	text, err := os.ReadFile(filepath.Join(m.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// host returns the client of the process there is, or nil.
func (m *member) host() *client.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.client
}

// kill ends the process by SIGKILL, stopped or not.
func (m *member) kill() {
	m.mu.Lock()
	p, c := m.process, m.client
	m.process, m.client = nil, nil
	m.mu.Unlock()
	if p == nil {
		return
	}
	p.Kill()
	<-p.Done()
	c.Close()
}

// terminate has the process end by itself, by SIGTERM.
func (m *member) terminate() error {
	m.mu.Lock()
	p, c := m.process, m.client
	m.process, m.client = nil, nil
	m.mu.Unlock()
	defer c.Close()
	p.Terminate()
	select {
	case <-p.Done():
		return nil
	case <-time.After(healing):
		p.Kill()
		return errors.New("the host does not end")
	}
}

// signal signals the process. The plugin and the workers of a stopped process still run.
func (m *member) signal(s syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return syscall.Kill(m.process.PID(), s)
}

// killPlugin ends the process of the plugin by SIGKILL, once there is one: the host may be
// starting it again.
func (m *member) killPlugin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), healing)
	defer cancel()
	for ; ctx.Err() == nil; rest(ctx, 10*time.Millisecond) {
		children, err := hosttest.Children(m.process.PID())
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(children, func(p hosttest.Process) bool { return p.Name == ledgerName }); i >= 0 {
			return syscall.Kill(children[i].PID, syscall.SIGKILL)
		}
	}
	return errors.New("the host has no process of the plugin")
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
