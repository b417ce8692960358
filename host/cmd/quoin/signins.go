package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// callbackPath is where browsers come back to after a sign-in.
const callbackPath = "/oauth/callback"

// openSignIns opens the sign-ins of a state directory, if the runs are in it.
func openSignIns(state string, runs runstore.Store, o mcp.SignInOptions) (_ *mcp.SignIns, err error) {
	dir, ok := runs.(*runstore.Dir)
	if !ok {
		return nil, nil
	}
	if o.Cipher, err = dir.Cipher("mcp sign-ins"); err != nil {
		return nil, err
	}
	signIns, err := mcp.OpenSignIns(filepath.Join(state, "signins"), o)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return signIns, nil
}

// signInOptions have a sign-in answer the calls that wait for it, whichever process made
// them.
func signInOptions(approvals policy.Approvals, log *slog.Logger) mcp.SignInOptions {
	return mcp.SignInOptions{
		Logger: log,
		OnSignIn: func(ctx context.Context, in mcp.SignIn) error {
			_, err := policy.AnswerAuthorization(ctx, approvals, in.Server, in.Covers, "sign-in", time.Now())
			return err
		},
	}
}

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
