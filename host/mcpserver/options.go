package mcpserver

import (
	"crypto/cipher"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
)

// Options say whom a Server answers, and within which bounds. The zero value is
// usable. A number or a duration that is not above zero stands for its default.
type Options struct {
	// Session says who sends a request over HTTP. Its error refuses the request with
	// 403. Defaults to the session that Handle is given, and for ServeHTTP to the
	// zero Session: all callers are one.
	Session func(*http.Request) (host.Session, error)
	// OthersDecide keeps approvals of calls from clients: their users are told where
	// others decide. Questions of tools are put to them all the same.
	OthersDecide bool
	// Direct are the ids or names of tools that clients see next to exec and wait. The
	// host's direct-only tools are always seen. A call of one is a program with this one
	// call, so that rules, hooks and approvals hold.
	Direct []string
	// Extend may add to the server what MCP has besides tools, such as resources
	// and prompts, and middleware. It is called once, by New.
	Extend func(*mcp.Server)
	// Configure may change what the server is made with, such as the handler of
	// completions and its capabilities. It is called once, by New.
	Configure func(*mcp.ServerOptions)
	// Cipher seals what clients carry from a result that asks for input to the call that
	// answers. Processes that share runs share it, so that any of them takes the
	// answers. Defaults to one with a key of this process.
	Cipher cipher.AEAD
	// Tasks keeps calls that have become tasks, for clients that take them. Processes
	// that share runs share it, and the Cipher. Defaults to the memory of this process.
	Tasks *Tasks
	// Wait is how long exec takes at the most, and wait for a client that does not follow its
	// progress, before they say that a program is still waiting. It has to be less than the
	// time after which clients give up on a call, which is 60 s for most. A wait with a
	// progress token takes as long as the settings of the host allow. Defaults to 45 s.
	Wait time.Duration
	// MaxBody bounds the body of a request, and a line of Serve, in bytes. Defaults to
	// 8 MiB.
	MaxBody int64
	// MaxCalls bounds the HTTP requests under way; the next one gets 503. Defaults to 256.
	MaxCalls int
	// MaxStreams bounds the HTTP requests that only listen. Defaults to 32.
	MaxStreams int
	// MaxConnections bounds the connections of older clients that are kept between
	// requests. Beyond it, such a client cannot be asked for anything. Defaults to 1024.
	MaxConnections int
	// IdleTimeout bounds how long such a connection is kept without a request. Defaults
	// to 30 minutes.
	IdleTimeout time.Duration
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
}
