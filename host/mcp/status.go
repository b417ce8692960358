package mcp

import (
	"fmt"
	"strings"
	"time"
)

// State says whether a server is there.
type State string

// The states of a server.
const (
	StateConnecting State = "connecting" // the first attempt still runs
	StateConnected  State = "connected"
	StateDown       State = "down" // it is tried again; Error says why it is down
)

// Status says how one server is. Its texts are the server's own, bounded.
type Status struct {
	Name  string
	State State
	// Error is why the server is down, or what is odd about one that is being connected.
	Error error
	// Permanent says why waiting does not bring a server back that is down: someone has to
	// change something first. It is for programs, and has no words of Error. It is empty
	// where the next attempt may succeed.
	Permanent string
	// NeedsSignIn is set for a server that is down because someone has to sign in.
	NeedsSignIn bool
	Tools       int
	// Transport is stdio, http, openapi, in-process or session.
	Transport string
	// Since is when the server came into its state, Retry when one that is down is
	// tried again.
	Since, Retry time.Time
	// Protocol is the version agreed on, ServerName and ServerVersion what the
	// server says of itself.
	Protocol, ServerName, ServerVersion string
	// Changes are the tools that are not what was pinned, and Findings what is suspicious
	// about the tools that the server offers, also about those in quarantine.
	Changes  []Change
	Findings []Finding
	// LeftOut are the tools that cannot be used, by reason.
	LeftOut []LeftOut
}

// Quarantined counts the tools that do not exist until they are accepted.
func (s Status) Quarantined() (n int) {
	for _, c := range s.Changes {
		if c.Quarantined {
			n++
		}
	}
	return n
}

// Notice says in a sentence that tools of the server wait to be accepted, and what to do;
// "" if none does.
func (s Status) Notice() string {
	var names []string
	for _, c := range s.Changes {
		if c.Quarantined {
			names = append(names, fmt.Sprintf("%.80q", c.Tool))
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	what := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		what += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("tools that are new or have changed do not exist until you accept them: %s; see the difference and accept with: quoin mcp accept %s", what, s.Name)
}

// status describes a live connection.
func (c *connection) status(tools int) Status {
	st := Status{Name: c.name, State: StateConnected, Tools: tools}
	if c.api != nil {
		st.Protocol, st.ServerName, st.ServerVersion = "OpenAPI "+bounded(c.api.doc.Format, 20), bounded(c.api.doc.Title, 256), bounded(c.api.doc.Version, 64)
		return st
	}
	if r := c.session.InitializeResult(); r != nil {
		st.Protocol = bounded(r.ProtocolVersion, 64)
		if r.ServerInfo != nil {
			st.ServerName, st.ServerVersion = bounded(r.ServerInfo.Name, 256), bounded(r.ServerInfo.Version, 64)
		}
	}
	return st
}
