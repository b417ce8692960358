package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
)

// peer is one server as it is configured: what its keeper, its connections and its calls
// share. It never changes.
type peer struct {
	name     string
	server   Server
	options  Options
	log      *slog.Logger
	life     context.Context // ends when the servers are closed
	pins     *pins
	limits   limits
	signer   *signer       // nil if the server is not signed in to
	odd      *oddities     // nil reads as well, and logs nothing
	contexts *callContexts // of calls of a server of this process; nil for others
}

// newPeer makes the peer that a server is to this host.
func newPeer(life context.Context, s Server, o Options) *peer {
	s = s.withDefaults()
	p := &peer{
		name:    s.Name,
		server:  s,
		options: o,
		log:     o.Logger.With("mcp", s.Name),
		life:    life,
		pins:    o.Pins.of(s.Name),
		limits:  newLimits(&s),
	}
	p.odd = newOddities(p.log)
	if s.InProcess != nil {
		p.contexts = newCallContexts(s.InProcess)
	}
	p.signer = newSigner(o.SignIns, &p.server)
	return p
}

// listing returns a list of the server's tools that has none yet.
func (p *peer) listing() *listing {
	return &listing{server: &p.server, log: p.log, offered: pinnedTools{}}
}

// pinnedList returns the tools as they are pinned.
func (p *peer) pinnedList(ctx context.Context) []Tool {
	pinned, err := p.pins.load(ctx)
	if err != nil || p.server.Pin == PinOff {
		return nil // the next listing says what is wrong with the pins
	}
	l := p.listing()
	for _, name := range pinned.names() {
		t, o := pinned[name], map[string]json.RawMessage{}
		for _, part := range t.parts() {
			if part.Offered != "" {
				o[part.Field] = json.RawMessage(part.Offered)
			}
		}
		if o["name"], err = json.Marshal(name); err != nil {
			continue
		}
		if raw, err := json.Marshal(o); err == nil {
			l.add(raw)
		}
	}
	l.operations(pinned.has(operationPins[ResourcesList]), pinned.has(operationPins[PromptsList]))
	l.rename()
	return l.tools
}
