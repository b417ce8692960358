package servecmd

import (
	"net"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// callbackPath is where browsers come back to after a sign-in.
const callbackPath = "/oauth/callback"

// addCallback has the links of sign-ins lead back to this server, where browsers can
// reach it.
func addCallback(o *gateway.Options, f *configfile.File, cfg *host.Config, a net.Addr) {
	address := f.MCPCallbackURL
	if address == "" && !gateway.Exposed(a) {
		address = "http://" + a.String() + callbackPath
	}
	if address == "" || cfg.MCP.SignIns == nil {
		return
	}
	if o.Public == nil {
		o.Public = map[string]http.Handler{}
	}
	o.Public[callbackPath] = cfg.MCP.SignIns.Callback(address)
}
