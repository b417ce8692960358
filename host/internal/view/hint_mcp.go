package view

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/internal/text"
)

// hintMCP explains an expression that starts with MCP.<server>.
func (h Hints) hintMCP(kind string, path []string) string {
	v := h.View
	s := v.mcpServer(path[1])
	if s == nil {
		if text := h.hintDown(path[1]); text != "" {
			return text
		}
		return v.hintNoServer(path)
	}
	list := fmt.Sprintf("await MCP.%s.$api() lists the functions.", s.identifier)
	if len(path) == 2 {
		if kind != hintCall {
			return ""
		}
		return written(path) + " is a server, not a function. " + list
	}
	names := make([]string, 0, len(s.tools)+1)
	wanted := strings.Join(path[2:], ".")
	for i := range s.tools {
		name := s.tools[i].path()
		if name == wanted || strings.HasPrefix(name, wanted+".") && kind != hintCall {
			return ""
		}
		names = append(names, name)
	}
	var offers []string
	for _, n := range text.Nearest(wanted, append(names, "$api"), nearest) {
		offers = append(offers, "MCP."+s.identifier+"."+n)
	}
	return missing(path, offers, list)
}

// hintNoServer explains MCP.<server> for a server that the run knows nothing of.
func (v *View) hintNoServer(path []string) string {
	servers := v.mcp()
	if len(servers) == 0 {
		return missing(path[:2], nil, "There is no MCP server here now; await tools.search(\"words\") finds other tools.")
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.identifier)
	}
	var offers []string
	for _, n := range text.Nearest(path[1], names, nearest) {
		offers = append(offers, "MCP."+n)
	}
	return missing(path[:2], offers, "Object.keys(MCP) lists the servers.")
}

// hintDown says that a server is not there now; "" if no server has that
// identifier, or if the run may not use it. What went wrong is told in general
// terms: an error may name the operator's paths and addresses.
func (h Hints) hintDown(identifier string) string {
	for _, st := range h.Servers() {
		if h.View.mcpNames[st.Name] != identifier || !MayUse(h.Layers, st.Name) {
			continue
		}
		name := "MCP." + identifier
		switch st.State {
		case mcp.StateConnecting:
			return name + " is not there yet: its server is being connected for the first time. A program with the words " + name +
				" in it waits for that, for as long as its caller waits."
		case mcp.StateDown:
			if st.NeedsSignIn {
				return name + " is not there now: its server wants a sign-in before it says what it offers. A person has to run quoin mcp login " + st.Name +
					"; run the program again after that, or do without this server."
			}
			if st.Permanent != "" {
				return name + " is not there: " + st.Permanent + ". Waiting does not mend that: do without this server, or tell a person, who finds more with quoin mcp test " + st.Name + "."
			}
			return name + " is not there now: its server is not connected (" + whyDown(st.Error) + "). Quoin tries again " + inTime(st.Retry) +
				"; run the program again after that, or do without this server."
		case mcp.StateConnected:
			if st.Tools > 0 {
				return name + " has connected since this program started. Run the program again."
			}
			if st.Quarantined() > 0 {
				return name + " is connected, but all that its server offers is new or has changed. A person has to accept it with quoin mcp accept " + st.Name + "."
			}
			return name + " is connected, but its server offers nothing."
		}
	}
	return ""
}

// whyDown puts the end of a connection in words that say nothing of this machine.
func whyDown(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it does not answer"
	}
	return "the connection failed or has ended"
}

// inTime says when t will be, in whole seconds.
func inTime(t time.Time) string {
	if s := int(time.Until(t).Round(time.Second) / time.Second); s > 0 {
		return fmt.Sprintf("in %d s", s)
	}
	return "now"
}
