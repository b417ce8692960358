package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Servers keeps a connection to each of some servers. It is safe for concurrent
// use. Close it when you no longer need it.
type Servers struct {
	keepers []*keeper // by name
	cancel  context.CancelFunc
	running sync.WaitGroup

	publishMu sync.Mutex // one OnChange at a time

	alikeMu sync.Mutex
	alike   map[string][]Finding // nil after a change
}

// Connect starts to keep the servers connected and returns at once. It fails with
// a *[ConfigError], and only for a configuration that can never work.
func Connect(servers []Server, o Options) (*Servers, error) {
	if err := Check(servers); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.Pins == nil && o.PinDir != "" {
		var err error
		if o.Pins, err = OpenPins(o.PinDir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Servers{cancel: cancel}
	for _, server := range servers {
		if !server.Disabled {
			s.keepers = append(s.keepers, newKeeper(ctx, server, o, func() { s.publish(o.OnChange) }))
		}
	}
	slices.SortFunc(s.keepers, func(a, b *keeper) int { return strings.Compare(a.name, b.name) })
	for _, k := range s.keepers {
		k.remember(ctx)
		s.running.Go(func() { k.run(ctx) })
	}
	return s, nil
}

// publish calls onChange, one call at a time.
func (s *Servers) publish(onChange func()) {
	s.alikeMu.Lock()
	s.alike = nil
	s.alikeMu.Unlock()
	s.publishMu.Lock()
	defer s.publishMu.Unlock()
	onChange()
}

// Tried waits until every server has been tried once, or ctx ends. With names it waits for
// those servers alone.
//
// Use it before the first catalog, so that programs do not miss tools of a server
// that is about to connect.
func (s *Servers) Tried(ctx context.Context, names ...string) error {
	for _, k := range s.keepers {
		if len(names) > 0 && !slices.Contains(names, k.name) {
			continue
		}
		select {
		case <-k.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Names returns the names of all servers that are not disabled, in order, also of
// those that are down.
func (s *Servers) Names() []string {
	names := make([]string, len(s.keepers))
	for i, k := range s.keepers {
		names[i] = k.name
	}
	return names
}

// Tools returns the tools of the connected servers, by server and in the order in
// which each lists them; operations come last.
//
// Take a new list after each OnChange. The slice is yours, and its tools are
// never changed.
func (s *Servers) Tools() []Tool {
	var out []Tool
	for _, k := range s.keepers {
		k.mu.Lock()
		out = append(out, k.tools...)
		k.mu.Unlock()
	}
	return out
}

// Status describes every server, by name.
func (s *Servers) Status() []Status {
	out := make([]Status, len(s.keepers))
	for i, k := range s.keepers {
		k.mu.Lock()
		out[i] = k.status
		k.mu.Unlock()
		out[i].Transport = k.server.transport()
	}
	alike := s.currentLookalikes()
	for i := range out {
		out[i].Findings = slices.Concat(out[i].Findings, alike[out[i].Name])
	}
	return out
}

// currentLookalikes compares names once after each change.
func (s *Servers) currentLookalikes() map[string][]Finding {
	s.alikeMu.Lock()
	defer s.alikeMu.Unlock()
	if s.alike == nil {
		s.alike = lookalikes(s.names())
	}
	return s.alike
}

// names returns the names of the tools that the connected servers offer.
func (s *Servers) names() map[string][]string {
	names := map[string][]string{}
	for _, k := range s.keepers {
		k.mu.Lock()
		if k.conn != nil && k.server.Pin != PinOff {
			names[k.name] = k.offered.names()
		}
		k.mu.Unlock()
	}
	return names
}

// Call calls a tool or an operation of a server, and returns the result as the
// server sent it: an object of at most 8 MiB. When ctx ends, the server is told,
// and Call returns at once.
func (s *Servers) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	k, err := s.keeper(r.Server)
	if err != nil {
		return nil, err
	}
	if err := k.awaitFirst(ctx); err != nil {
		return nil, err
	}
	return (&call{k.standing, r}).signedIn(ctx)
}

// keeper returns the keeper of a server.
func (s *Servers) keeper(name string) (*keeper, error) {
	i, found := slices.BinarySearchFunc(s.keepers, name, func(k *keeper, name string) int { return strings.Compare(k.name, name) })
	if !found {
		return nil, &Error{Code: CodeUnavailable, Server: name, Message: fmt.Sprintf("There is no MCP server %q.", bounded(name, 64))}
	}
	return s.keepers[i], nil
}

// Close ends all connections and calls, and waits for the end of all programs. It
// is idempotent.
func (s *Servers) Close() error {
	s.cancel()
	s.running.Wait()
	return nil
}
