package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/internal/terminal"
)

// loginTime is how long a person may take to sign in.
const loginTime = 10 * time.Minute

// mcpSigning are the flags of mcp login and mcp logout.
type mcpSigning struct {
	mcpServers
	noBrowser bool
}

// signedIn is what mcp login and mcp logout say, as JSON.
type signedIn struct {
	Server    string    `json:"server"`
	SignedIn  bool      `json:"signedIn"`
	Agent     string    `json:"agentId,omitempty"` // who signed in, if the sign-in is not everyone's
	Key       string    `json:"sessionKey,omitempty"`
	Issuer    string    `json:"issuer,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
	Renewable bool      `json:"renewable,omitempty"`
}

func newLogin() *cobra.Command {
	var l mcpSigning
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Sign in to a server on the network",
		Long: `Sign in to an MCP server of the configuration in a browser, which has to run on this
machine: it comes back to an address of it. The token is stored encrypted in the state
directory, and hosts that use the directory have it at once. Calls that wait for this
sign-in go on.

Where the configuration says that every user signs in, --agent and --session-key say
who does.
Exit status: 0 signed in, 1 not, 2 usage.`,
		Example: `  quoin mcp login github
  quoin mcp login github --no-browser
  quoin mcp login github --agent scout --session-key alice`,
		Args: cli.OneArg("NAME", serverHint),
		RunE: func(cmd *cobra.Command, args []string) error { return l.login(cmd, args[0]) },
	}
	l.bind(cmd)
	cmd.Flags().BoolVar(&l.noBrowser, "no-browser", false, "only print the link")
	return cmd
}

func newLogout() *cobra.Command {
	var l mcpSigning
	cmd := &cobra.Command{
		Use:   "logout NAME",
		Short: "Forget the sign-in to a server",
		Long: `Forget the sign-in to an MCP server of the configuration, and revoke its tokens where
the authorization server can.
Exit status: 0 forgotten, 1 not, 2 usage.`,
		Example: `  quoin mcp logout github
  quoin mcp logout github --agent scout --session-key alice`,
		Args: cli.OneArg("NAME", serverHint),
		RunE: func(cmd *cobra.Command, args []string) error { return l.logout(cmd, args[0]) },
	}
	l.bind(cmd)
	return cmd
}

func (l *mcpSigning) bind(cmd *cobra.Command) {
	l.mcpServers.bind(cmd)
	l.bindState(cmd)
	l.completeServers(cmd)
	cmd.Flags().StringVar(&l.Agent, "agent", "", "agent that signs in, where every user does")
	cmd.Flags().StringVar(&l.SessionKey, "session-key", "", "session key of the user who signs in, where every user does")
}

// who is the user who signs in.
func (l *mcpSigning) who() codemode.Session {
	return codemode.Session{AgentID: l.Agent, SessionKey: l.SessionKey}
}

func (l *mcpSigning) login(cmd *cobra.Command, name string) (err error) {
	defer func() { err = errors.Join(err, l.CloseState()) }()
	server, signIns, err := l.open(cmd, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), loginTime)
	defer cancel()
	in, err := signIns.Login(ctx, server, l.who(), func(link string) error { return l.show(cmd.ErrOrStderr(), name, link) })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no one has signed in to %s within %s: run the command again", name, loginTime)
	case err != nil:
		return fmt.Errorf("signing in to %s: %w", name, err)
	}
	out := signedIn{Server: name, SignedIn: true, Issuer: in.Issuer, Scopes: in.Scopes, Expires: in.Expires, Renewable: in.Renewable}
	if in.PerUser {
		out.Agent, out.Key = in.Session.AgentID, in.Session.SessionKey
	}
	if l.JSON {
		return output.PrintJSON(cmd.OutOrStdout(), out)
	}
	return out.print(cmd.OutOrStdout())
}

func (o signedIn) print(w io.Writer) error {
	text := "signed in to " + terminal.Short(o.Server)
	if o.Issuer != "" {
		text += " by " + terminal.Short(o.Issuer)
	}
	if len(o.Scopes) > 0 {
		text += ", for " + terminal.Short(strings.Join(o.Scopes, " "))
	}
	switch {
	case o.Renewable:
		text += "; it is renewed by itself"
	case !o.Expires.IsZero():
		text += "; it ends at " + o.Expires.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func (l *mcpSigning) logout(cmd *cobra.Command, name string) (err error) {
	defer func() { err = errors.Join(err, l.CloseState()) }()
	server, signIns, err := l.open(cmd, name)
	if err != nil {
		return err
	}
	_, err = signIns.Logout(cmd.Context(), server, l.who())
	switch {
	case errors.Is(err, mcp.ErrNoSignIn):
		return fmt.Errorf("there is no sign-in to %s: quoin mcp login %s makes one", name, name+l.flags())
	case err != nil:
		return fmt.Errorf("the sign-in to %s is forgotten here, but its tokens may still be valid: %w", name, err)
	}
	if l.JSON {
		return output.PrintJSON(cmd.OutOrStdout(), signedIn{Server: name, Agent: l.Agent, Key: l.SessionKey})
	}
	_, err = terminal.Fprintf(cmd.OutOrStdout(), "the sign-in to %s is forgotten\n", name)
	return err
}

// open finds the server, and opens the sign-ins of the state directory.
func (l *mcpSigning) open(cmd *cobra.Command, name string) (mcp.Server, *mcp.SignIns, error) {
	f, err := l.Load()
	if err != nil {
		return mcp.Server{}, nil, err
	}
	server, err := l.find(f, name)
	if err != nil {
		return mcp.Server{}, nil, err
	}
	if server.URL == "" {
		return mcp.Server{}, nil, fmt.Errorf("%s is a program, to which no one signs in: give it what it needs in mcp.servers.%s.env", name, name)
	}
	cfg, err := l.stateConfig(cmd, f)
	if err != nil {
		return mcp.Server{}, nil, err
	}
	return server, cfg.MCP.SignIns, nil
}

// show prints the link, and opens it where there is a browser. The link comes from a
// server on the network: nothing but an address of the web is opened.
func (l *mcpSigning) show(w io.Writer, name, link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s leads to a link that is no address of the web: %s", name, terminal.Short(link))
	}
	if _, err := terminal.Fprintf(w, "Sign in to %s in a browser on this machine:\n\n  %s\n\n", name, terminal.Line(link)); err != nil {
		return err
	}
	if l.noBrowser || !hasDisplay() {
		return nil
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	if err := browser.OpenURL(link); err != nil {
		_, err := terminal.Fprintln(w, "No browser could be started; open the link by hand.")
		return err
	}
	return nil
}

// hasDisplay reports whether a browser would have a window: without one, a browser of the
// terminal could be started.
func hasDisplay() bool {
	return runtime.GOOS != "linux" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}
