package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
)

// instructions are the same for every conversation, so that providers can cache them.
const instructions = "You work through programs: tools are called from inside of them. Answer in a few words."

// options say what a gateway is made of.
type options struct {
	provider modeltools.Provider
	model    string
	baseURL  string // of the model's API; empty is the provider's own
	key      string
	retries  int
	stateDir string
	tools    []catalog.Tool
	host     host.Config // without what open adds
	ask      []string    // tools with calls that wait for a person, as patterns
}

// gateway puts conversations with a model in front of a host.
type gateway struct {
	host          *host.Host
	provider      provider
	model         string
	tools         []catalog.Tool
	conversations *conversations
	state         *sqlite.DB
	trajectories  *sqlite.Trajectory

	mu       sync.Mutex
	watching map[string]func(event) // by conversation: who is told of nested calls
}

// open starts a gateway on a state directory. What an earlier process left there continues.
func open(ctx context.Context, o options) (_ *gateway, err error) {
	g := &gateway{model: o.model, tools: o.tools, watching: map[string]func(event){}}
	api, ok := apis[o.provider]
	if !ok {
		return nil, fmt.Errorf("the provider %q is not one of %s, %s and %s", o.provider, modeltools.ProviderOpenAI, modeltools.ProviderResponses, modeltools.ProviderAnthropic)
	}
	g.provider = api.open(o)
	if g.conversations, err = openConversations(filepath.Join(o.stateDir, "conversations")); err != nil {
		return nil, err
	}
	cfg := o.host
	if g.state, err = sqlite.Open(ctx, o.stateDir, sqlite.Options{Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	cfg.Store, cfg.Approvals.Store, cfg.Plugins.OpenStorage = g.state, g.state.Approvals(), g.state.PluginStorage
	if g.trajectories, err = g.state.Trajectory(trajectory.DirOptions{}); err != nil {
		return nil, errors.Join(err, g.state.Close())
	}
	cfg.Trajectory = host.TrajectoryConfig{Sink: g.trajectories, OnEvent: g.nested}
	cfg.Plugins.DataDir = filepath.Join(o.stateDir, "plugins")
	if len(o.ask) > 0 {
		rule := policy.ApprovalRule{Tools: o.ask, ApprovalRequest: policy.ApprovalRequest{Timeout: 24 * time.Hour}}
		ask, err := rule.Hook("ask")
		if err != nil {
			return nil, errors.Join(err, g.closeState())
		}
		cfg.Hooks = append(cfg.Hooks, ask)
	}
	if g.host, err = host.New(ctx, cfg); err != nil {
		return nil, errors.Join(err, g.closeState())
	}
	return g, nil
}

// close stops the gateway. Programs that wait, or get to where they do so within 10 s,
// continue in the next process.
func (g *gateway) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(g.host.Shutdown(ctx), g.closeState())
}

// closeState is for when the host has closed.
func (g *gateway) closeState() error { return errors.Join(g.trajectories.Close(), g.state.Close()) }

// modelTools are the tools as the model sees them in a conversation. Calls are made for
// the model's call of that id.
func (g *gateway) modelTools(ctx context.Context, c *conversation, callID string) (*host.ModelTools, error) {
	return g.host.ModelTools(ctx, c.session(callID), g.tools, host.ModelToolsOptions{Model: g.model})
}

// conversation returns the stored conversation of that id, or a new one.
func (g *gateway) conversation(id string) (*conversation, error) {
	c, err := g.conversations.load(id)
	if errors.Is(err, errUnknown) && c == nil {
		return &conversation{ID: id, Provider: g.provider.kind()}, nil
	}
	if err == nil && c.Provider != g.provider.kind() {
		return nil, fmt.Errorf("the conversation %q is one with %s: start with -provider %s, or another conversation", id, c.Provider, c.Provider)
	}
	return c, err
}

// say adds what a person has written. The calls before it must have their answers.
func (g *gateway) say(c *conversation, text string) error {
	if len(c.Calls) > 0 {
		return errors.New("a call still waits: answer its question, or continue")
	}
	item, err := encoded(g.provider.said(text))
	if err != nil {
		return err
	}
	c.Items, c.ModelsTurn = append(c.Items, item...), true
	return g.conversations.save(c)
}

// approval returns a pending approval of a conversation. Others are not for its user.
func (g *gateway) approval(ctx context.Context, c *conversation, id string) (*policy.Approval, error) {
	session := c.session("")
	list, err := g.host.Approvals().List(ctx, policy.Filter{Session: &session})
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if a.ID == id {
			return a, nil
		}
	}
	return nil, policy.ErrNotFound
}

// forget ends what a conversation runs, and removes it.
func (g *gateway) forget(ctx context.Context, id string) error {
	release, err := g.conversations.hold(id)
	if err != nil {
		return err
	}
	defer release()
	if _, err := g.host.EndSession(ctx, (&conversation{ID: id}).session("")); err != nil {
		return err
	}
	return g.conversations.remove(id)
}

// watch has tell hear of nested calls of a conversation until the function that is
// returned is called.
func (g *gateway) watch(id string, tell func(event)) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watching[id] = tell
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.watching, id)
	}
}

func (g *gateway) nested(e trajectory.Event) {
	g.mu.Lock()
	tell := g.watching[e.Session.SessionID]
	g.mu.Unlock()
	if tell != nil {
		tell(event{Kind: eventNested, Tool: cmp.Or(e.Via, e.ToolName, e.Method), Text: string(e.Outcome)})
	}
}
