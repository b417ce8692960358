package configfile

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/plugins"
)

// mcpFields returns the fields of mcp.
func (f *File) mcpFields() []config.Field {
	return []config.Field{
		config.Map("servers", "server name", f.mcpServer, "Each is a program (`command`) or an address (`url`). One that is down has no tools until it is there.").CheckKey(checkMCPName),
		config.Text("callbackUrl", &f.MCPCallbackURL, "The address of `/oauth/callback` of `quoin serve` as browsers reach it. Without it: that on loopback, if the server listens there; else people sign in with `quoin mcp login`.").Check(checkCallbackURL),
		config.Object("server", f.MCPServer.fields(), "Quoin as an MCP server: `/mcp` of `quoin serve`, and `quoin mcp serve`."),
	}
}

func checkCallbackURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("an address such as https://quoin.example.com/oauth/callback")
	}
	return nil
}

func checkMCPName(name string) error {
	if mcp.Check([]mcp.Server{{Name: name, Command: "x"}}) != nil {
		return errors.New("1 to 64 letters, digits, '-', '_' or '.', starting with a letter or digit")
	}
	return nil
}

// mcpServer reads one server.
func (f *File) mcpServer(name string) config.Field {
	s := &mcp.Server{Name: name, Env: map[string]string{}, Headers: map[string]string{}, ConnectTimeout: 30 * time.Second, CallTimeout: time.Minute, MaxResultBytes: 8 << 20, Pin: mcp.PinBlock}
	f.mcp[name] = s
	const expanded = " In values, `${NAME}` stands for a variable of the host's environment."
	return config.Object(name, []config.Field{
		config.Text("command", &s.Command, "A program that speaks MCP over its standard streams. It is looked up in the host's PATH."),
		config.Texts("args", &s.Args, "Its arguments."),
		config.Text("dir", &s.Dir, "Where it runs. Without it: the host's directory."),
		config.Map("env", "variable", entryOf(s.Env), "Its environment. Besides that, `passEnv` and the host's `PATH`, it gets nothing."+expanded),
		config.Texts("passEnv", &s.PassEnv, "Names of the host's variables that it also gets, such as `HOME`. It gets `PATH` unless `env` sets it."),
		config.Text("url", &s.URL, "The address of a streamable HTTP endpoint. Redirects are not followed."),
		config.Text("openapi", &s.OpenAPI, "A document of OpenAPI 3, a file or an address, whose operations are the tools. Requests go to `url`, or to where the document comes from, if the document agrees."),
		config.Map("headers", "header", entryOf(s.Headers), "Go with every request."+expanded),
		config.Object("oauth", f.mcpOAuth(name, &s.OAuth), "How to sign in to the endpoint, once it asks for that. Without it the host finds out from the server, unless `headers` has `Authorization`."),
		config.Duration("connectTimeoutMs", &s.ConnectTimeout, time.Millisecond, 100, 600_000, "Time to connect, and to list the tools."),
		config.Duration("callTimeoutMs", &s.CallTimeout, time.Millisecond, 100, 3_600_000, "Time of one call, without the time in which a person is asked."),
		config.Int("maxConcurrent", &s.MaxConcurrent, 0, 1000, "Calls of the server in flight at the most; further ones wait, for `callTimeoutMs` at the most. 0 is no bound."),
		config.Int("ratePerSecond", &s.RatePerSecond, 0, 1000, "Calls that may start in one second; further ones wait likewise. 0 is no bound."),
		config.Int("maxResultBytes", &s.MaxResultBytes, 1024, 8<<20, "Size of one result at the most; a call with a larger one fails."),
		config.Texts("allow", &s.Allow, "Tools of the server that exist, by name with `*`; an empty list leaves none. Without it: all."),
		config.Texts("deny", &s.Deny, "Tools of the server that do not exist, whatever `allow` says."),
		config.Bool("trustHints", &s.TrustHints, "Believes the server which tools only read, or may be repeated: such calls are made again after a crash of the host."),
		config.Choice("pin", &s.Pin, []mcp.Pinning{mcp.PinBlock, mcp.PinWarn, mcp.PinOff}, "Tools that are new or have changed: `block` keeps them from existing until `quoin mcp accept NAME`, `warn` names them in the log and the status, `off` remembers nothing."),
		config.Bool("disabled", &s.Disabled, "Leaves the server out."),
	}, "One server.")
}

// mcpOAuth reads how to sign in to one server.
func (f *File) mcpOAuth(name string, o *mcp.OAuth) []config.Field {
	var secret string
	o.Per = mcp.SignInPerHost
	return []config.Field{
		config.Choice("per", &o.Per, []mcp.SignInPer{mcp.SignInPerHost, mcp.SignInPerUser}, "Whose sign-in a call needs: `host` is one for all, `user` is one for each agent and session key, or for each session id where a session names neither."),
		config.Text("clientId", &o.ClientID, "A client that you have registered with the authorization server."),
		config.Text("clientSecret", &secret, "Where its secret is: `\"env:NAME\"`, a variable of the host's environment, or `\"file:/path\"`, a file with nothing but the secret.").Then(func() { f.mcpSecrets[name] = secret }),
		config.Text("issuer", &o.Issuer, "The authorization server that `clientId` is registered with. Without it: the first that the server names. The client is used at no other."),
		config.Text("clientMetadataUrl", &o.ClientMetadataURL, "The https address of a client id metadata document, for authorization servers that read those."),
		config.Texts("scopes", &o.Scopes, "Scopes to ask for instead of those that the server names."),
		config.Int("callbackPort", &o.CallbackPort, 0, 65535, "The port of this machine that `quoin mcp login` has the browser come back to, as you have registered it. `0` is a free one."),
		config.Bool("privateNetwork", &o.PrivateNetwork, "Lets the authorization server have a private address, which a hostile server may name."),
		config.Bool("disabled", &o.Off, "Has a 401 be an error."),
	}
}

// checkMCPSecrets makes the sources of the client secrets, which the table does not show.
func (f *File) checkMCPSecrets(path string) []config.Problem {
	var problems []config.Problem
	for _, name := range slices.Sorted(maps.Keys(f.mcpSecrets)) {
		source, err := plugins.ParseSecretSource(f.mcpSecrets[name])
		if err != nil {
			problems = append(problems, f.secretProblem(path, "mcp.servers."+name+".oauth.clientSecret", err))
			continue
		}
		f.mcp[name].OAuth.ClientSecret = source
	}
	return problems
}

// entryOf reads the entries of a map of texts.
func entryOf(texts map[string]string) func(name string) config.Field {
	return func(name string) config.Field {
		var text string
		return config.Text(name, &text, "").Then(func() { texts[name] = text })
	}
}

// checkMCP makes the list of servers, and reports what the fields one by one do
// not show.
func (f *File) checkMCP(path string) error {
	problems := f.checkMCPSecrets(path)
	for _, name := range slices.Sorted(maps.Keys(f.mcp)) {
		s := *f.mcp[name]
		f.MCP = append(f.MCP, s)
		var wrong *mcp.ConfigError
		if errors.As(mcp.Check([]mcp.Server{s}), &wrong) {
			problems = append(problems, f.mcpProblem(path, "mcp.servers."+name+".", wrong))
		}
	}
	if len(problems) > 0 {
		return &Error{Problems: problems}
	}
	return nil
}

// mcpProblem says where in the file it stands: at the field, or else at the first
// that the server has.
func (f *File) mcpProblem(path, server string, wrong *mcp.ConfigError) config.Problem {
	p := config.Problem{Source: cmp.Or(path, "the environment"), Field: server + wrong.Field, Message: wrong.Text}
	for _, v := range f.Report.Values {
		if v.Origin.Line == 0 || !strings.HasPrefix(v.Field, server) {
			continue
		}
		exact := v.Field == p.Field
		if p.Line == 0 || exact {
			p.Line, p.Column = v.Origin.Line, v.Origin.Column
		}
		if exact {
			break
		}
	}
	if begins, ok := f.Report.Object(strings.TrimSuffix(server, ".")); ok && p.Line == 0 {
		p.Line, p.Column = begins.Line, begins.Column
	}
	return p
}
