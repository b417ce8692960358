package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// guard checks where a request comes from and who sends it.
type guard struct {
	hasToken bool
	tokenSum [sha256.Size]byte
	hosts    []string // the names of Options.Hosts, canonical
	cross    *http.CrossOriginProtection
	exposed  atomic.Bool // Serve listens beyond loopback
}

func newGuard(o Options) *guard {
	return &guard{
		hasToken: o.Token != "",
		tokenSum: sha256.Sum256([]byte(o.Token)),
		hosts:    o.Hosts,
		cross:    http.NewCrossOriginProtection(),
	}
}

// checkAddress decides at which address a request may arrive, and from where. A connection to
// one of this machine's loopback addresses must be addressed to a loopback name, or to one of
// the server's own. Another name that leads here belongs to a web page that tries to be of the
// server's origin. Any other connection needs a token.
func (g *guard) checkAddress(r *http.Request) *Problem {
	name := canonicalHost(r.Host)
	local := onLoopback(r)
	switch {
	case !local && !g.hasToken:
		return problem(http.StatusForbidden, ProblemForbiddenAddress, "this server has no token and answers loopback connections only")
	case slices.Contains(g.hosts, name), local && isLoopbackName(name), !local && len(g.hosts) == 0:
	default:
		return problem(http.StatusForbidden, ProblemForbiddenHost,
			"the request is addressed to host %q, which is not a name of this server: use a loopback address, or have the name listed in server.hosts", shown(name))
	}
	return nil
}

// checkOrigin refuses what pages of other origins send. A page could not read the
// answer to a GET, but it could use up the event streams that the server allows.
func (g *guard) checkOrigin(r *http.Request) *Problem {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		asPost := *r
		asPost.Method = http.MethodPost // Check lets every GET pass
		r = &asPost
	}
	if g.cross.Check(r) != nil {
		return problem(http.StatusForbidden, ProblemCrossOrigin, "the request comes from a web page of another origin")
	}
	return nil
}

// checkToken refuses a request without the token, if there is a token. It compares
// in a time that tells nothing of the token, not even its length.
func (g *guard) checkToken(r *http.Request) *Problem {
	if !g.hasToken || g.showsToken(r) {
		return nil
	}
	return problem(http.StatusUnauthorized, ProblemUnauthorized, "the token is missing or wrong: send it as Authorization: Bearer TOKEN")
}

// showsToken reports whether there is a token and the request has it.
func (g *guard) showsToken(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if !g.hasToken || len(given) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.tokenSum[:]) == 1
}

// session reads who asks. Beyond loopback, a request that needs a session must name
// one.
func (g *guard) session(r *http.Request, needed bool) (Session, *Problem) {
	session, err := SessionOf(r.Header)
	if err != nil {
		return Session{}, problem(http.StatusBadRequest, ProblemInvalidRequest, "%v", err)
	}
	if needed && !named(session) && (g.exposed.Load() || !onLoopback(r)) {
		return Session{}, invalid(HeaderSessionID, "it is missing", fmt.Sprintf("the session's id, or its key in %s", HeaderSessionKey))
	}
	return session, nil
}

// checkQuery refuses query parameters that the route does not have.
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

// onLoopback reports whether the connection arrived at a loopback address or a Unix socket. A
// request without a local address counts as one from another machine.
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

func isLoopbackName(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
