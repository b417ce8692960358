package gateway

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// checkAddress decides where a request may come to and from. A connection to one
// of this machine's loopback addresses must be addressed to a loopback name, or
// to one of ours: a name of somebody else's that leads here is a web page's
// attempt to be of our origin. Any other connection needs a token.
func (s *Server) checkAddress(r *http.Request) *Problem {
	name := canonicalHost(r.Host)
	local := onLoopback(r)
	switch {
	case !local && s.Token == "":
		return problem(http.StatusForbidden, ProblemForbiddenAddress, "this server has no token and answers loopback connections only")
	case slices.Contains(s.Hosts, name), local && loopbackName(name), !local && len(s.Hosts) == 0:
	default:
		return problem(http.StatusForbidden, ProblemForbiddenHost,
			"the request is addressed to host %q, which is not a name of this server: use a loopback address, or have the name listed in server.hosts", shown(name))
	}
	if err := s.crossOrigin(r); err != nil {
		return problem(http.StatusForbidden, ProblemCrossOrigin, "the request comes from a web page of another origin")
	}
	return nil
}

// crossOrigin refuses what pages of other origins send. A page could not read the
// answer to a GET, but it could hold the places that streams have.
func (s *Server) crossOrigin(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		asPost := *r
		asPost.Method = http.MethodPost // the check lets a GET pass unseen
		r = &asPost
	}
	return s.cross.Check(r)
}

// onLoopback reports whether the connection came to a loopback address or a Unix
// socket. A request that does not say has come from afar.
func onLoopback(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return isLoopback(addr)
}

func isLoopback(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

func loopbackName(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// checkToken lets nobody pass without the token, if there is one.
func (s *Server) checkToken(r *http.Request) *Problem {
	if s.Token == "" || s.authorized(r) {
		return nil
	}
	return problem(http.StatusUnauthorized, ProblemUnauthorized, "the token is missing or wrong: send it as Authorization: Bearer TOKEN")
}

// session reads who asks, and insists on it beyond loopback where it counts.
func (s *Server) session(r *http.Request, counts bool) (Session, *Problem) {
	session, err := SessionOf(r.Header)
	if err != nil {
		p := problem(http.StatusBadRequest, ProblemInvalidRequest, "%v", err)
		return Session{}, p
	}
	if counts && !named(session) && (s.exposed.Load() || !onLoopback(r)) {
		return Session{}, invalid(HeaderSessionID, "it is missing", fmt.Sprintf("the session's id, or its key in %s", HeaderSessionKey))
	}
	return session, nil
}

// checkQuery refuses query parameters that mean nothing.
func checkQuery(r *http.Request, known []string) *Problem {
	for name, values := range r.URL.Query() {
		switch {
		case !slices.Contains(known, name):
			expected := "no query parameters"
			if len(known) > 0 {
				expected = "one of " + strings.Join(known, ", ")
			}
			return invalid(shown(name), "there is no such query parameter", expected)
		case len(values) > 1:
			return invalid(name, "the query parameter is given twice", "it once")
		}
	}
	return nil
}
