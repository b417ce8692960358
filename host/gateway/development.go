package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/quoinhq/quoin/plugins"
)

// develop puts a plugin from a folder of this machine into the place of the one
// that is installed, for as long as the request lasts. The answer is a stream of
// server-sent events: live, with the plugin as in GET /v1/plugins, and ended, when
// another request for the same plugin has taken over or the server shuts down.
func (h *developmentHandlers) develop(w http.ResponseWriter, r *http.Request, _ Session, f *fields) *Problem {
	id, dir := f.required("id", "the plugin's id"), f.required("dir", "the absolute path of the plugin's folder")
	if p := f.problem(); p != nil {
		return p
	}
	if p := h.checkMayDevelop(r); p != nil {
		return p
	}
	found, p := findDeveloped(id, dir)
	if p != nil {
		return p
	}
	replaced, restore, p := h.developing.start(r.Context(), h.host, found)
	if p != nil {
		return p
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.options.times.restore)
		defer cancel()
		if err := restore(ctx); err != nil {
			h.options.Logger.Warn("a plugin in development does not end", "plugin", id, "error", err)
		}
	}()
	h.stream(w, r, id, replaced)
	return nil
}

// checkMayDevelop refuses a request that does not come from this machine, and every
// request unless the operator allows development: the server runs the program that
// the request names.
func (h *developmentHandlers) checkMayDevelop(r *http.Request) *Problem {
	switch {
	case !h.options.Development:
		return problem(http.StatusForbidden, ProblemDevelopment, "this server takes no plugins in development: start it with --allow-dev-plugins, or set plugins.development")
	case !onLoopback(r) || !isLoopbackName(canonicalHost(r.Host)) || forwarded(r):
		return problem(http.StatusForbidden, ProblemDevelopment, "plugins in development are taken over loopback only, from the machine the server runs on")
	}
	return nil
}

// forwarded reports whether a proxy passed the request on. A proxy on this machine
// connects over loopback, wherever its client is.
func forwarded(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}, func(name string) bool {
		return len(r.Header.Values(name)) > 0
	})
}

// findDeveloped finds the plugin of a request.
func findDeveloped(id, dir string) (plugins.Candidate, *Problem) {
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

// stream answers for as long as the plugin is in service.
func (h *developmentHandlers) stream(w http.ResponseWriter, r *http.Request, id string, replaced <-chan struct{}) {
	out := h.newEventStream(w, nil)
	for _, status := range h.host.Plugins() {
		if status.ID != id {
			continue
		}
		b, err := json.Marshal(PluginOf(status))
		if err != nil || out.write(fmt.Appendf(nil, "event: live\ndata: %s\n\n", b)) != nil {
			return
		}
	}
	tick := time.NewTicker(h.options.times.keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			if out.keepAlive() != nil {
				return
			}
			continue
		case <-replaced:
		case <-h.stopping:
		}
		out.shortenDeadline()
		if err := out.write([]byte("event: ended\ndata: {}\n\n")); err != nil {
			h.options.Logger.Debug("a development ended", "plugin", id, "error", err)
		}
		return
	}
}
