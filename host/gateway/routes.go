package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/internal/quota"
)

// route is one operation. The OpenAPI document has the same ones.
type route struct {
	method string
	// path may have one segment in braces. It matches any segment, which becomes
	// the request's path value of that name.
	path    string
	open    bool         // needs no token: it tells nothing of the host
	session bool         // acts for a session, which must be named beyond loopback
	scoped  bool         // acts for a session if one is named, else for all
	query   []string     // the query parameters it takes
	meter   *quota.Meter // charged one unit while a request lasts; nil if free
	handle  handler
	// authenticate says who asks where a request does not show the token; nil if the
	// token alone counts.
	authenticate Authenticator
}

// routesOf returns the table of all operations.
func routesOf(h *handlers, waits *detachedWaits, l *limits) []route {
	cells := cellHandlers{h, waits}
	return []route{
		{method: "POST", path: "/v1/exec", session: true, meter: l.calls, handle: h.withBody(cells.exec)},
		{method: "POST", path: "/v1/wait", session: true, meter: l.calls, handle: h.withBody(cells.wait)},
		{method: "POST", path: "/v1/abort", session: true, handle: h.withBody(cells.abort)},
		{method: "POST", path: "/v1/answers", session: true, handle: h.withBody(cells.answerCall)},
		{method: "GET", path: "/v1/calls/{id}", session: true, query: []string{"run"}, handle: cells.pendingInput},
		{method: "GET", path: "/v1/approvals", scoped: true, query: []string{"run", "state"}, handle: approvalHandlers{h}.list},
		{method: "POST", path: "/v1/approvals", scoped: true, handle: h.withBody(approvalHandlers{h}.decide)},
		{method: "POST", path: "/v1/approvals/answers", scoped: true, handle: h.withBody(approvalHandlers{h}.answer)},
		{method: "GET", path: "/v1/grants", scoped: true, handle: grantHandlers{h}.list},
		{method: "DELETE", path: "/v1/grants/{id}", scoped: true, handle: grantHandlers{h}.revoke},
		{method: "GET", path: "/v1/catalog", session: true, handle: catalogHandlers{h}.listTools},
		{method: "GET", path: "/v1/catalog/{id}", session: true, handle: catalogHandlers{h}.showTool},
		{method: "GET", path: "/v1/namespaces", session: true, handle: catalogHandlers{h}.listNamespaces},
		{method: "GET", path: "/v1/surface", session: true, query: []string{"provider", "model"}, handle: catalogHandlers{h}.modelTools},
		{method: "GET", path: "/v1/plugins", handle: pluginHandlers{h}.list},
		{method: "POST", path: "/v1/development", meter: l.streams, handle: h.withBody((&developmentHandlers{handlers: h}).develop)},
		{method: "GET", path: "/v1/mcp-servers", handle: pluginHandlers{h}.listMCPServers},
		{method: "GET", path: "/v1/runs", scoped: true, handle: runHandlers{h}.list},
		{method: "GET", path: "/v1/runs/{run}", scoped: true, handle: runHandlers{h}.show},
		{method: "DELETE", path: "/v1/runs/{run}", scoped: true, handle: runHandlers{h}.end},
		{method: "GET", path: "/v1/effects", scoped: true, handle: effectHandlers{h}.list},
		{method: "GET", path: "/v1/effects/{run}", scoped: true, handle: effectHandlers{h}.show},
		{method: "POST", path: "/v1/undo", scoped: true, meter: l.calls, handle: h.withBody(effectHandlers{h}.undo)},
		{method: "GET", path: "/v1/programs", session: true, handle: programHandlers{h}.list},
		{method: "POST", path: "/v1/programs", session: true, handle: h.withBody(programHandlers{h}.save)},
		{method: "GET", path: "/v1/programs/{name}", session: true, handle: programHandlers{h}.show},
		{method: "POST", path: "/v1/programs/{name}", session: true, meter: l.calls, handle: h.withBody(programHandlers{h}.run)},
		{method: "DELETE", path: "/v1/programs/{name}", session: true, query: []string{"for"}, handle: programHandlers{h}.remove},
		{method: "POST", path: "/v1/program-reviews", session: true, handle: h.withBody(programHandlers{h}.accept)},
		{method: "GET", path: "/v1/trajectory", session: true, handle: trajectoryHandlers{h}.list},
		{method: "GET", path: "/v1/trajectory/{run}", session: true, handle: trajectoryHandlers{h}.show},
		{method: "GET", path: "/v1/events", scoped: true, query: []string{"output", "run"}, meter: l.streams, handle: eventHandlers{h}.follow},
		{method: "GET", path: "/metrics", handle: healthHandlers{h}.metrics},
		{method: "GET", path: "/healthz", open: true, handle: healthHandlers{h}.health},
		{method: "GET", path: "/readyz", open: true, handle: healthHandlers{h}.ready},
		{method: "GET", path: "/openapi.json", open: true, handle: healthHandlers{h}.openAPI},
	}
}

// match finds the route of a request and sets its path value. HEAD is GET without
// the body, which package net/http leaves out.
func match(routes []route, r *http.Request) (*route, *Problem) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := r.URL.EscapedPath()
	var allowed []string
	for i := range routes {
		rt := &routes[i]
		name, value, ok := rt.matchPath(path)
		if !ok {
			continue
		}
		if rt.method == method {
			if name != "" {
				r.SetPathValue(name, value)
			}
			return rt, nil
		}
		allowed = append(allowed, rt.method)
		if rt.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed == nil {
		return nil, problem(http.StatusNotFound, ProblemNotFound, "there is nothing at this path; /openapi.json lists what there is")
	}
	slices.Sort(allowed)
	p := problem(http.StatusMethodNotAllowed, ProblemMethod, "this path does not take %s, expected %s", shown(r.Method), strings.Join(allowed, " or "))
	p.allow = strings.Join(allowed, ", ")
	return nil, p
}

// matchPath compares an escaped path with the route's. It returns the name in
// braces and the segment that stands for it.
func (rt *route) matchPath(path string) (name, value string, ok bool) {
	prefix, rest, wild := strings.Cut(rt.path, "{")
	if !wild {
		return "", "", path == rt.path
	}
	segment, ok := strings.CutPrefix(path, prefix)
	if !ok || segment == "" || strings.Contains(segment, "/") {
		return "", "", false
	}
	value, err := url.PathUnescape(segment)
	return strings.TrimSuffix(rest, "}"), value, err == nil
}

// mounted returns the route of the mount at or above a path, or nil.
func mounted(o Options, path string) *route {
	for at, mount := range o.Mounts {
		if path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		return &route{session: true, authenticate: o.Auth[at], handle: func(w http.ResponseWriter, r *http.Request, session Session) *Problem {
			mount(w, r, session)
			return nil
		}}
	}
	return nil
}
