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
	// path may have one segment in braces, which stands for any and is the
	// request's path value of that name.
	path    string
	open    bool         // needs no token: it tells nothing of the host
	session bool         // acts for a session, which must be named beyond loopback
	scoped  bool         // acts for a session if one is named, else for all
	query   []string     // parameters it takes
	places  *quota.Meter // of which each request takes one
	handle  handler
}

// handler answers a request, or returns what is wrong with it and has written
// nothing.
type handler func(w http.ResponseWriter, r *http.Request, session Session) *Problem

func (s *Server) table() []route {
	return []route{
		{method: "POST", path: "/v1/exec", session: true, places: s.calls, handle: s.exec},
		{method: "POST", path: "/v1/wait", session: true, places: s.calls, handle: s.wait},
		{method: "POST", path: "/v1/abort", session: true, handle: s.abort},
		{method: "POST", path: "/v1/answers", session: true, handle: s.answerCall},
		{method: "GET", path: "/v1/calls/{id}", session: true, query: []string{"run"}, handle: s.pendingInput},
		{method: "GET", path: "/v1/approvals", scoped: true, query: []string{"run", "state"}, handle: s.approvals},
		{method: "POST", path: "/v1/approvals", scoped: true, handle: s.decide},
		{method: "GET", path: "/v1/grants", scoped: true, handle: s.grants},
		{method: "DELETE", path: "/v1/grants/{id}", scoped: true, handle: s.revoke},
		{method: "GET", path: "/v1/catalog", session: true, handle: s.catalog},
		{method: "GET", path: "/v1/catalog/{id}", session: true, handle: s.tool},
		{method: "GET", path: "/v1/namespaces", session: true, handle: s.namespaces},
		{method: "GET", path: "/v1/surface", session: true, query: []string{"provider", "model"}, handle: s.surface},
		{method: "GET", path: "/v1/plugins", handle: s.plugins},
		{method: "POST", path: "/v1/development", places: s.streams, handle: s.develop},
		{method: "GET", path: "/v1/mcp-servers", handle: s.mcpServers},
		{method: "GET", path: "/v1/runs", scoped: true, handle: s.runs},
		{method: "GET", path: "/v1/runs/{run}", scoped: true, handle: s.run},
		{method: "DELETE", path: "/v1/runs/{run}", scoped: true, handle: s.endRun},
		{method: "GET", path: "/v1/trajectory", session: true, handle: s.trajectories},
		{method: "GET", path: "/v1/trajectory/{run}", session: true, handle: s.trajectory},
		{method: "GET", path: "/v1/events", scoped: true, query: []string{"run"}, places: s.streams, handle: s.events},
		{method: "GET", path: "/metrics", handle: s.metrics},
		{method: "GET", path: "/healthz", open: true, handle: s.health},
		{method: "GET", path: "/openapi.json", open: true, handle: s.openAPI},
	}
}

// match finds the route of a request. HEAD is GET without the body, which package
// net/http leaves out.
func (s *Server) match(r *http.Request) (*route, *Problem) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if face := s.face(r.URL.Path); face != nil {
		return face, nil
	}
	path := r.URL.EscapedPath()
	var allowed []string
	for i := range s.routes {
		rt := &s.routes[i]
		name, value, ok := rt.fits(path)
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

// fits compares an escaped path with the route's, and returns the segment that
// stands for the one in braces.
func (rt *route) fits(path string) (name, value string, ok bool) {
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

// face returns the route of a face at or below whose path the request is.
func (s *Server) face(path string) *route {
	for at, face := range s.Faces {
		if path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		return &route{session: true, handle: func(w http.ResponseWriter, r *http.Request, session Session) *Problem {
			face(w, r, session)
			return nil
		}}
	}
	return nil
}
