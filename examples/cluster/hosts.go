package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/gateway/client"
)

// server is one host: a process of quoin serve.
type server struct {
	name   string
	cmd    *exec.Cmd
	ended  chan struct{} // closed once the process is gone
	client *client.Client
}

// startTime bounds how long a host takes to start.
const startTime = time.Minute

// configure writes the configuration of a host. All hosts have the same but for the
// directory of what is their own.
func (s *stage) configure(name string) (path string, err error) {
	own := filepath.Join(s.dir, name)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{
		"state":   map[string]any{"dir": filepath.Join(own, "state"), "url": "env:DEMO_DATABASE", "keyFile": filepath.Join(s.dir, "database.key")},
		"cluster": map[string]any{"listen": "127.0.0.1:0", "secret": "env:DEMO_SECRET"},
		"server":  map[string]any{"listen": "127.0.0.1:0"},
		"plugins": map[string]any{"dir": "none"},
		"guest":   map[string]any{"path": s.guest},
		"tools":   map[string]any{"codeMode": map[string]any{"enabled": true, "isolation": "best-effort"}},
	})
	if err != nil {
		return "", err
	}
	path = filepath.Join(own, "quoin.json5")
	return path, os.WriteFile(path, text, 0o600)
}

// environment returns the environment of all hosts.
func (s *stage) environment() []string {
	if s.secret == "" {
		s.secret = rand.Text() + rand.Text()
	}
	return append(os.Environ(), "DEMO_DATABASE="+s.database, "DEMO_SECRET="+s.secret)
}

// migrate prepares the database.
func (s *stage) migrate(ctx context.Context, config string) error {
	cmd := exec.CommandContext(ctx, s.quoin, "state", "migrate", "--config", config)
	cmd.Env = s.environment()
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("quoin state migrate: %w: %s", err, text)
	}
	return nil
}

// start starts a host and waits until it answers.
func (s *stage) start(ctx context.Context, name, config string) (*server, error) {
	addressFile, logFile := filepath.Join(s.dir, name, "address"), filepath.Join(s.dir, name, "log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h := &server{name: name, cmd: exec.CommandContext(ctx, s.quoin, "serve", "--config", config, "--address-file", addressFile), ended: make(chan struct{})}
	h.cmd.Env, h.cmd.Stderr = s.environment(), log
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = h.cmd.Wait() // a host that is killed has no status of its own
		close(h.ended)
	}()
	address, err := h.awaitAddress(ctx, addressFile)
	if err != nil {
		text, _ := os.ReadFile(logFile) // what there is of it
		return nil, errors.Join(fmt.Errorf("%s: %w: %s", name, err, text), h.kill())
	}
	h.client, err = client.New(address, client.Options{})
	return h, err
}

// awaitAddress reads the file in which a host says that it listens.
func (h *server) awaitAddress(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		text, err := os.ReadFile(file)
		if err == nil {
			return strings.TrimSpace(string(text)), nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-h.ended:
			return "", errors.New("it has not started")
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// kill ends a host as the loss of its machine does.
func (h *server) kill() error {
	select {
	case <-h.ended:
		return nil
	default:
	}
	err := h.cmd.Process.Kill()
	<-h.ended
	return err
}
