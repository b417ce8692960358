package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/plugins"
)

// undoBound is how long the processes of a plugin in development may take to end
// their calls. The installed plugin is back before that.
const undoBound = 10 * time.Second

// developments are the plugins in development, by id. They are begun one at a time.
type developments struct {
	mu       sync.Mutex
	replaced map[string]chan struct{} // closed when another takes the place
}

// develop puts a plugin from a folder of this machine into the place of the one
// that is installed, for as long as the request lasts. The answer is a stream of
// server-sent events: live, with the plugin as in GET /v1/plugins, and ended, when
// another request for the same plugin has taken over or the server shuts down.
func (s *Server) develop(w http.ResponseWriter, r *http.Request, _ Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	id, dir := f.required("id", "the plugin's id"), f.required("dir", "the absolute path of the plugin's folder")
	if p := f.problem(); p != nil {
		return p
	}
	if p := s.mayDevelop(r); p != nil {
		return p
	}
	found, p := developed(id, dir)
	if p != nil {
		return p
	}
	replaced, undo, p := s.beginDevelopment(r.Context(), found)
	if p != nil {
		return p
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), undoBound)
		defer cancel()
		if err := undo(ctx); err != nil {
			s.Logger.Warn("a plugin in development does not end", "plugin", id, "error", err)
		}
	}()
	s.streamDevelopment(w, r, id, replaced)
	return nil
}

// mayDevelop lets through what comes from this machine, if the operator allows it:
// the server runs the program that is named.
func (s *Server) mayDevelop(r *http.Request) *Problem {
	switch {
	case !s.Development:
		return problem(http.StatusForbidden, ProblemDevelopment, "this server takes no plugins in development: start it with --allow-dev-plugins, or set plugins.development")
	case !onLoopback(r) || !loopbackName(canonicalHost(r.Host)) || passedOn(r):
		return problem(http.StatusForbidden, ProblemDevelopment, "plugins in development are taken over loopback only, from the machine the server runs on")
	}
	return nil
}

// passedOn reports whether a proxy says that it did not make the request itself. One
// on this machine comes over loopback, whoever asks it.
func passedOn(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}, func(name string) bool {
		return len(r.Header.Values(name)) > 0
	})
}

// developed finds the plugin of a request.
func developed(id, dir string) (plugins.Candidate, *Problem) {
	if !filepath.IsAbs(dir) {
		return plugins.Candidate{}, invalid("dir", "it is not absolute", "the absolute path of the plugin's folder")
	}
	found := plugins.Find(dir)
	switch {
	case found.Err != nil:
		return found, problem(http.StatusConflict, ProblemConflict, "%s: %v", dir, found.Err)
	case found.ID() != id:
		return found, invalid("id", fmt.Sprintf("the folder is of plugin %s", shown(found.ID())), "the id of the plugin in the folder")
	}
	if err := checkOwner(found); err != nil {
		return found, problem(http.StatusForbidden, ProblemDevelopment, "%v", err)
	}
	return found, nil
}

// beginDevelopment puts a plugin into service and ends the one before it.
func (s *Server) beginDevelopment(ctx context.Context, found plugins.Candidate) (replaced chan struct{}, undo func(context.Context) error, _ *Problem) {
	d := &s.developing
	d.mu.Lock()
	defer d.mu.Unlock()
	giveBack, err := s.host.Develop(ctx, found)
	if err != nil {
		return nil, nil, problem(http.StatusConflict, ProblemConflict, "%v", err)
	}
	if before := d.replaced[found.ID()]; before != nil {
		close(before)
	}
	if d.replaced == nil {
		d.replaced = make(map[string]chan struct{})
	}
	replaced = make(chan struct{})
	d.replaced[found.ID()] = replaced
	return replaced, func(ctx context.Context) error {
		err := giveBack(ctx) // which does not wait for the start of another
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.replaced[found.ID()] == replaced {
			delete(d.replaced, found.ID())
		}
		return err
	}, nil
}

// streamDevelopment answers for as long as the plugin is in service.
func (s *Server) streamDevelopment(w http.ResponseWriter, r *http.Request, id string, replaced <-chan struct{}) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := &stream{w: w, timeout: s.WriteTimeout}
	for _, status := range s.host.Plugins() {
		if status.ID != id {
			continue
		}
		b, err := json.Marshal(PluginOf(status))
		if err != nil || out.write(fmt.Appendf(nil, "event: live\ndata: %s\n\n", b)) != nil {
			return
		}
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if out.write([]byte(": alive\n\n")) != nil {
				return
			}
			continue
		case <-replaced:
		case <-s.stopping:
		}
		out.hurry()
		if err := out.write([]byte("event: ended\ndata: {}\n\n")); err != nil {
			s.Logger.Debug("a development ended", "plugin", id, "error", err)
		}
		return
	}
}
