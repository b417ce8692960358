package plugins

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// Reload brings a plugin in line with its folder as it is now. A new generation
// is started, taken through everything a first start goes through, and put in the
// place of the one before in one step: tools and namespaces together. Calls that
// are running end on the generation they started on, which is stopped afterwards.
// On an error the one before still serves, and Status.LastError says why. A
// plugin with a new folder is loaded, a plugin without its folder is removed.
//
// An id that is not the name of a folder in the plugin directory, or starts with a
// dot, is the id of no plugin, wherever it may lead.
//
// A Reload during another of the same plugin does one more after it. When ctx
// ends, Reload returns, but the reload continues.
func (s *Supervisor) Reload(ctx context.Context, id string) error {
	if id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return unknownPluginError(id)
	}
	p, err := s.plugin(id)
	if err == nil && s.options.bundled(id) != nil {
		return p.reload(ctx)
	}
	if s.dir == "" {
		return unknownPluginError(id)
	}
	dir := filepath.Join(s.dir, id)
	switch there := isPluginDir(dir); {
	case err == nil && there:
		return p.reload(ctx)
	case err == nil:
		s.remove(p)
		return nil
	case there:
		return s.add(ctx, id, dir)
	}
	return err
}

// add loads a plugin that was not there before.
func (s *Supervisor) add(ctx context.Context, id, dir string) error {
	p, err := s.getOrAdd(id, dir)
	if err != nil {
		return err
	}
	return p.reload(ctx)
}

// getOrAdd returns the plugin of that id, and makes it if it is unknown.
func (s *Supervisor) getOrAdd(id, dir string) (*supervised, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, stoppedError(id)
	}
	i, known := slices.BinarySearchFunc(s.plugins, id, compareID)
	if known {
		return s.plugins[i], nil
	}
	p := s.newSupervised(id, dir)
	s.plugins = slices.Insert(slices.Clone(s.plugins), i, p)
	return p, nil
}

// remove takes away what was installed. Running calls end as in a reload. A reload
// that is under way ends first: what it started is removed, too.
func (s *Supervisor) remove(p *supervised) {
	if !p.startWork() {
		return
	}
	defer p.work.Done()
	p.change.Lock()
	defer p.change.Unlock()
	p.mu.Lock()
	old := p.installed
	p.installed, p.loads.lastError = nil, ""
	p.mu.Unlock()
	s.removeIfUnused(p)
	p.options.Logger.Info("plugin removed", "plugin", p.id)
	p.changed()
	if old != nil {
		p.retire(old)
	}
}

// removeIfUnused takes a plugin off the list that is not installed, not overridden, about
// to be neither, and has nothing to say of why. It is closed once its calls have
// ended.
func (s *Supervisor) removeIfUnused(p *supervised) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.override != nil || p.installed != nil || p.loads.lastError != "" || p.loads.pending > 0 {
		return
	}
	i, known := slices.BinarySearchFunc(s.plugins, p.id, compareID)
	if !known || s.plugins[i] != p || s.life.Err() != nil {
		return
	}
	s.plugins = slices.Delete(slices.Clone(s.plugins), i, i+1)
	p.closed = true
	s.leaving.Go(func() {
		p.work.Wait()
		if err := p.close(); err != nil {
			p.options.Logger.Error("stopping a plugin that was removed", "plugin", p.id, "error", err)
		}
	})
}

// Override makes the plugin in f's folder take the place of the one installed
// under id, if there is one, until undo is called. The installed plugin still runs
// and is back at once; the development plugin has its data directory,
// configuration and id. The folder of the development plugin is trusted as it is:
// no gate is asked and no checksum counts. Override for an id that is overridden
// replaces the override by a new generation, as a reload does; the undo of the
// earlier one then does nothing. ctx bounds the start.
//
// undo returns when the development plugin has finished its calls and is gone, or
// its context ends. On an error of Override nothing has changed.
func (s *Supervisor) Override(ctx context.Context, id string, f Candidate) (undo func(context.Context) error, err error) {
	if !manifest.IsID(id) {
		return nil, &manifest.Error{Field: "id", Problem: fmt.Sprintf("%q is not the id of a plugin", id)}
	}
	if s.options.bundled(id) != nil {
		return nil, errBundled(id)
	}
	p, err := s.getOrAdd(id, filepath.Join(s.dir, id))
	if err != nil {
		return nil, err
	}
	g, err := p.setOverride(ctx, f)
	if err != nil {
		s.removeIfUnused(p)
		return nil, err
	}
	return func(ctx context.Context) error {
		gone := p.dropOverride(g)
		s.removeIfUnused(p)
		select {
		case <-gone:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, nil
}
