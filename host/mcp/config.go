package mcp

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/internal/oauth"
	"github.com/quoinhq/quoin/host/internal/openapi"
)

// Server says how to reach one upstream server: the Command to run, the URL to speak
// to, the OpenAPI document that describes it, or what the embedder has in its own process. In the values of Env and Headers, ${NAME} stands for a variable of the
// host's environment, so that secrets need not be written down.
type Server struct {
	// Name owns the server's tools: 1 to 64 of letters, digits, '-', '_' and '.',
	// starting with a letter or digit.
	Name string `json:"name"`

	// Command is a program, looked up in the host's PATH, and Args its arguments.
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Dir is where the program runs. Defaults to the host's directory.
	Dir string `json:"dir,omitempty"`
	// Env is the program's environment, PassEnv the names of the host's variables
	// that it also gets. It gets no other. Both default to nil.
	Env     map[string]string `json:"env,omitempty"`
	PassEnv []string          `json:"passEnv,omitempty"`

	// URL is the address of a streamable HTTP endpoint, and Headers go with every
	// request to it.
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// OAuth says how to sign in to the endpoint, once it asks for that. A server with
	// Authorization in its Headers is not signed in to.
	OAuth OAuth `json:"-"`

	// OpenAPI is a document, a file or an address, with operations that are the tools. Their
	// requests go to URL then. Without one they go to the origin of the document's address, if
	// the document agrees.
	OpenAPI string `json:"openapi,omitempty"`

	// InProcess is a server of the embedder's own process. Its handlers get the values of the
	// context of each call, such as the value that catalog.InvocationOf returns. Its hints are
	// believed, and its tools not pinned unless Pin says so. Each host adds a middleware to
	// the server, which stays.
	InProcess *sdk.Server `json:"-"`
	// Session is a connection that the embedder has made to a server, and closes after the
	// host. The server's questions go to the handlers of its client. Its list of tools is
	// read again every half minute.
	Session *sdk.ClientSession `json:"-"`

	// ConnectTimeout bounds a connection attempt, and the listing of tools.
	// Defaults to 30 s; 100 ms to 10 min. Time in which this process stands still does not
	// count, here and in CallTimeout.
	ConnectTimeout time.Duration `json:"-"`
	// CallTimeout bounds one call, without the time in which a person is asked, and each look
	// at a call that the server continues as a task. Defaults to 60 s; 100 ms to 1 h.
	CallTimeout time.Duration `json:"-"`

	// MaxConcurrent bounds the calls in flight, and RatePerSecond how many may start.
	// Further calls wait, for CallTimeout at the most. Default to no bound; up to 1000.
	MaxConcurrent int `json:"maxConcurrent,omitempty"`
	RatePerSecond int `json:"ratePerSecond,omitempty"`
	// MaxResultBytes bounds one result. Defaults to 8 MiB, which is the most.
	MaxResultBytes int `json:"maxResultBytes,omitempty"`

	// Allow names the tools that exist, by patterns in which * stands for any
	// characters but '/', ? for one, and [a-z] for a range. Defaults to all; a list
	// that is empty and not nil leaves no tools. Deny wins over Allow. Both also apply to
	// the operations, such as resources_read.
	Allow []string `json:"allow,omitzero"`
	Deny  []string `json:"deny,omitempty"`

	// TrustHints believes the server when it says that a tool only reads, or may
	// be repeated: such calls are made again after a crash of the host.
	TrustHints bool `json:"trustHints,omitempty"`
	// Pin says what happens to tools that are new or have changed since they were pinned.
	// Defaults to PinBlock.
	Pin Pinning `json:"pin,omitempty"`
	// Disabled leaves the server out.
	Disabled bool `json:"disabled,omitempty"`
}

// Options configure Connect. The zero value is ready to use.
type Options struct {
	// Logger takes what operators should know, and what servers log. Defaults to
	// slog.Default.
	Logger *slog.Logger
	// Version is what the host tells servers of itself.
	Version string
	// PinDir is the directory of a file per server that says what its tools have to be.
	// Defaults to memory: pins then last as long as the Servers.
	PinDir string
	// Pins keeps them elsewhere, such as in a database that several hosts share. PinDir
	// then does not count. Defaults to nil.
	Pins *Pins
	// OnChange is called after the result of Tools has changed. Defaults to nil.
	OnChange func()
	// SignIns keeps the sign-ins to servers. Defaults to nil: a server that wants one has
	// no tools.
	SignIns *SignIns
	// FirstDelay is the pause before a failed server is tried again; it doubles up
	// to MaxDelay. Default to 1 s and 1 min.
	FirstDelay, MaxDelay time.Duration
	// RefreshDelay is the pause between two listings of one server, however often
	// it announces a change. Defaults to 1 s.
	RefreshDelay time.Duration
	// StopTimeout is how long a program may take to end once its input has ended,
	// and again once it was told to terminate, before it is killed. Defaults to 2 s.
	StopTimeout time.Duration

	times times // zero outside of tests
}

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	for _, d := range []struct {
		field *time.Duration
		def   time.Duration
	}{{&o.FirstDelay, o.times.firstDelay}, {&o.MaxDelay, o.times.maxDelay}, {&o.RefreshDelay, o.times.refreshDelay}, {&o.StopTimeout, o.times.stopTimeout}} {
		if *d.field <= 0 {
			*d.field = d.def
		}
	}
	return o
}

// withDefaults returns s with timeouts inside their ranges.
func (s Server) withDefaults() Server {
	clamp := func(d, def, most time.Duration) time.Duration {
		if d <= 0 {
			return def
		}
		return min(max(d, minTimeout), most)
	}
	s.ConnectTimeout = clamp(s.ConnectTimeout, defConnectTimeout, maxConnectTimeout)
	s.CallTimeout = clamp(s.CallTimeout, defCallTimeout, maxCallTimeout)
	if s.InProcess != nil {
		s.TrustHints, s.Pin = true, cmp.Or(s.Pin, PinOff)
	}
	s.Pin = cmp.Or(s.Pin, PinBlock)
	s.MaxResultBytes = cmp.Or(s.MaxResultBytes, maxResultBytes)
	return s
}

// What names of servers, variables and headers look like.
var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerPattern   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// ConfigError says what is wrong with one server's configuration.
type ConfigError struct {
	Server string // its name, or its number in the list
	Field  string
	Text   string // what is wrong, and what to do
}

// Error names server and field.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("MCP server %s: %s %s", e.Server, e.Field, e.Text)
}

// Check reports what is wrong with a list of servers, without connecting to any.
// The error is a *[ConfigError].
func Check(servers []Server) error {
	if len(servers) > maxServers {
		return &ConfigError{Server: "list", Field: "length", Text: fmt.Sprintf("is %d; at most %d servers are kept", len(servers), maxServers)}
	}
	names := map[string]bool{}
	for i, s := range servers {
		if !namePattern.MatchString(s.Name) {
			return &ConfigError{fmt.Sprintf("number %d", i+1), "name", fmt.Sprintf("is %.80q; expected 1 to 64 letters, digits, '-', '_' or '.', starting with a letter or digit", s.Name)}
		}
		if names[s.Name] {
			return &ConfigError{s.Name, "name", "is taken by another server; rename one of them"}
		}
		names[s.Name] = true
		if field, text := s.check(); text != "" {
			return &ConfigError{s.Name, field, text}
		}
	}
	return nil
}

// check returns the first field that is wrong, and how.
func (s Server) check() (field, text string) {
	switch own := s.InProcess != nil || s.Session != nil; {
	case own && (s.Command != "" || s.URL != "" || s.OpenAPI != "" || s.InProcess != nil && s.Session != nil):
		return "inProcess", "or session is given with another way to reach the server; give one of them"
	case own && (len(s.Headers) > 0 || len(s.Args) > 0 || len(s.Env) > 0 || len(s.PassEnv) > 0 || s.Dir != ""):
		return "inProcess", "and session have no headers, args, env, passEnv or dir"
	case own: // there is nothing to check
	case s.Command != "" && s.OpenAPI != "":
		return "openapi", "and command are both given; give one of them"
	case s.Command == "" && s.URL == "" && s.OpenAPI == "":
		return "command", "and url are both missing; give one of them"
	case s.Command != "" && s.URL != "":
		return "command", "and url are both given; give one of them"
	case s.URL == "" && s.OpenAPI == "" && len(s.Headers) > 0:
		return "headers", "are for servers with a url"
	case s.Command == "" && (len(s.Args) > 0 || len(s.Env) > 0 || len(s.PassEnv) > 0 || s.Dir != ""):
		return "args", "env, passEnv and dir are for servers with a command"
	}
	if field, text := s.checkOAuth(); text != "" {
		return field, text
	}
	if s.URL != "" {
		if text := checkURL(s.URL); text != "" {
			return "url", text
		}
	}
	if openapi.IsAddress(s.OpenAPI) {
		if text := checkURL(s.OpenAPI); text != "" {
			return "openapi", text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !variablePattern.MatchString(name) || strings.ContainsRune(s.Env[name], 0) {
			return "env." + name, "is not a variable: expected a name of letters, digits and '_', and a value without NUL"
		}
	}
	for _, name := range s.PassEnv {
		if !variablePattern.MatchString(name) {
			return "passEnv", fmt.Sprintf("has %.80q, which is no name of a variable", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if text := checkHeader(name, s.Headers[name]); text != "" {
			return "headers." + name, text
		}
	}
	if field, text := s.checkLimits(); text != "" {
		return field, text
	}
	if s.Pin != "" && s.Pin != PinBlock && s.Pin != PinWarn && s.Pin != PinOff {
		return "pin", fmt.Sprintf("is %.80q; expected \"block\", \"warn\" or \"off\"", s.Pin)
	}
	if text := checkPatterns(s.Allow); text != "" {
		return "allow", text
	}
	return "deny", checkPatterns(s.Deny)
}

// checkOAuth returns the first field of OAuth that is wrong, and how.
func (s Server) checkOAuth() (field, text string) {
	o := s.OAuth
	given := o.ClientID != "" || o.ClientSecret != nil || o.Issuer != "" || o.ClientMetadataURL != "" || o.Scopes != nil || o.CallbackPort != 0 || o.PrivateNetwork || o.Per == SignInPerUser
	switch {
	case given && s.URL == "":
		return "oauth", "is for servers with a url"
	case o.Per != "" && o.Per != SignInPerHost && o.Per != SignInPerUser:
		return "oauth.per", fmt.Sprintf("is %.80q; expected host or user", o.Per)
	case o.ClientID == "" && o.ClientSecret != nil:
		return "oauth.clientSecret", "needs the clientId that it belongs to"
	case o.ClientID == "" && o.Issuer != "":
		return "oauth.issuer", "needs the clientId that is registered there"
	case o.CallbackPort < 0 || o.CallbackPort > 65535:
		return "oauth.callbackPort", fmt.Sprintf("is %d; expected 1 to 65535, or 0 for a free port", o.CallbackPort)
	case given && !o.Off:
		if err := (&oauth.Server{URL: s.URL, ClientMetadataURL: o.ClientMetadataURL}).Check(); err != nil {
			return "oauth", "cannot be used: " + err.Error()
		}
	}
	return "", ""
}

// checkURL says what is wrong with an address, "" if nothing is. Credentials
// belong in headers, because addresses stand in logs and in the status.
func checkURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "is not an address; expected http://… or https://…"
	}
	if u.User != nil {
		return "has a user name or password in it; use headers instead"
	}
	return ""
}

// ownHeaders are set by the transport.
var ownHeaders = []string{"Accept", "Content-Type", "Content-Length", "Host", "Connection", "Transfer-Encoding", "Last-Event-Id"}

// checkHeader says what is wrong with a header, "" if nothing is.
func checkHeader(name, value string) string {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !headerPattern.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
		return "is not a header: its name must be a token and its value one line"
	case slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "Mcp-"):
		return "is set by the protocol; remove it"
	}
	return ""
}

// checkPatterns says what is wrong with a list of patterns, "" if nothing is.
func checkPatterns(patterns []string) string {
	if len(patterns) > maxPatternsPerList {
		return fmt.Sprintf("has %d patterns; at most %d are read", len(patterns), maxPatternsPerList)
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Sprintf("has the malformed pattern %.80q", p)
		}
	}
	return ""
}

// transport names how the server is reached.
func (s *Server) transport() string {
	switch {
	case s.InProcess != nil:
		return "in-process"
	case s.Session != nil:
		return "session"
	case s.OpenAPI != "":
		return "openapi"
	case s.URL != "":
		return "http"
	}
	return "stdio"
}

// permits reports whether a tool or operation exists for the host.
func (s *Server) permits(tool string) bool {
	return (s.Allow == nil || matchAny(s.Allow, tool)) && !matchAny(s.Deny, tool)
}

// matchAny reports whether one of the patterns matches. They were checked before.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// checkLimits returns the first limit that is wrong, and how.
func (s Server) checkLimits() (field, text string) {
	switch {
	case s.MaxConcurrent < 0 || s.MaxConcurrent > maxConcurrentCalls:
		return "maxConcurrent", fmt.Sprintf("is %d; expected 0 to %d", s.MaxConcurrent, maxConcurrentCalls)
	case s.RatePerSecond < 0 || s.RatePerSecond > maxCallRate:
		return "ratePerSecond", fmt.Sprintf("is %d; expected 0 to %d", s.RatePerSecond, maxCallRate)
	case s.MaxResultBytes != 0 && (s.MaxResultBytes < minResultBytes || s.MaxResultBytes > maxResultBytes):
		return "maxResultBytes", fmt.Sprintf("is %d; expected %d to %d", s.MaxResultBytes, minResultBytes, maxResultBytes)
	}
	return "", ""
}
