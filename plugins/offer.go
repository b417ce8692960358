package plugins

import (
	"cmp"
	"slices"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Offers returns what the plugins that are running or coming back offer, sorted
// by plugin. Everything in one Offer is of one generation.
func (s *Supervisor) Offers() []Offer {
	var out []Offer
	for _, p := range s.present() {
		if d := p.offered(); d != nil {
			out = append(out, p.offer(d))
		}
	}
	return out
}

func (p *supervised) offer(d *protocol.Description) Offer {
	o := Offer{PluginID: p.id, Capabilities: d.Capabilities}
	for _, t := range d.Tools {
		o.Tools = append(o.Tools, OwnedTool{PluginID: p.id, ToolInfo: t, of: d})
	}
	for _, n := range d.Namespaces {
		o.Namespaces = append(o.Namespaces, p.registration(d, n))
	}
	slices.SortFunc(o.Tools, func(a, b OwnedTool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Namespaces, func(a, b namespaces.Registration) int { return cmp.Compare(a.ID, b.ID) })
	return o
}

// Tools returns the tools of Offers, sorted by plugin and name.
func (s *Supervisor) Tools() []OwnedTool {
	var out []OwnedTool
	for _, o := range s.Offers() {
		out = append(out, o.Tools...)
	}
	return out
}

// Registrations returns the namespaces of Offers, sorted by plugin and id.
func (s *Supervisor) Registrations() []namespaces.Registration {
	var out []namespaces.Registration
	for _, o := range s.Offers() {
		out = append(out, o.Namespaces...)
	}
	return out
}

// accept refuses a generation that claims a namespace or a global of another
// plugin's. Otherwise the generation enters service before anyone else can
// claim the same.
func (s *Supervisor) accept(p *supervised, d *protocol.Description, enter func()) error {
	s.names.Lock()
	defer s.names.Unlock()
	trial := namespaces.NewRegistry()
	for _, o := range s.Offers() {
		if o.PluginID == p.id {
			continue
		}
		for _, n := range o.Namespaces {
			_ = trial.Register(n) // a refused one takes no name
		}
	}
	if err := trial.Replace(p.id, p.offer(d).Namespaces); err != nil {
		return err
	}
	enter()
	return nil
}
