// Command gateway puts a model in front of Quoin: a small gateway with plugins
// and its own functions as tools, a terminal chat and an HTTP API.
//
//	gateway chat  -provider openai -plugins bin/plugins
//	gateway serve -provider anthropic -listen 127.0.0.1:8788
//
// It speaks to OpenAI (chat completions, responses) and Anthropic (messages) through
// their own SDKs, which read OPENAI_API_KEY and ANTHROPIC_API_KEY. With -base-url it
// speaks to any other server of these APIs, which may want no key.
//
// # Nouns
//
// A conversation is what a person and a model have said, and the calls that wait for
// an answer. A provider is one API of a model. An event is what a person who watches
// is told.
//
// # Lifecycle and failure
//
// A conversation is stored before anything is done about it: when the process dies, the
// next one continues it. A program that was suspended resumes where it was. If it was
// running, the model is told that its calls may have taken effect. A failed request to
// the model leaves the conversation as it was.
//
// # Concurrency
//
// Conversations are independent. One user at a time has each of them.
//
// # Trust
//
// The model and its endpoint are hostile: what they send is bounded, and each request
// is checked to show exec and wait alone. The HTTP API has no users: it listens on the
// loopback interface only.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
)

func main() {
	guestserver.ServeIfWorker() // this program is also its guest worker
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

// flags are the flags of both commands.
type flags struct {
	options
	pluginDir, provider, ask string
	conversation, listen     string
	bestEffort               bool
}

func parseFlags(args []string, stderr io.Writer) (command string, f flags, err error) {
	if len(args) == 0 || args[0] != "chat" && args[0] != "serve" {
		return "", f, errors.New("usage: gateway chat|serve [flags]; gateway chat -help lists them")
	}
	set := flag.NewFlagSet("gateway "+args[0], flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.provider, "provider", string(modeltools.ProviderOpenAI), "API of the model: openai, openai-responses or anthropic")
	set.StringVar(&f.model, "model", "", "id of the model (default: one of the provider's)")
	set.StringVar(&f.baseURL, "base-url", "", "address of the API (default: the provider's own)")
	set.StringVar(&f.stateDir, "state", "gateway-state", "directory of conversations and runs")
	set.StringVar(&f.pluginDir, "plugins", "", "directory of plugins")
	set.StringVar(&f.ask, "ask", "calendar_create", "tools whose calls wait for a person, as patterns with commas between them")
	set.BoolVar(&f.bestEffort, "best-effort", false, "also run where the system cannot isolate guests fully")
	if args[0] == "chat" {
		set.StringVar(&f.conversation, "conversation", "main", "id of the conversation")
	} else {
		set.StringVar(&f.listen, "listen", "127.0.0.1:8788", "address of the loopback interface")
	}
	if err := set.Parse(args[1:]); err != nil {
		return "", f, err
	}
	if set.NArg() > 0 {
		return "", f, fmt.Errorf("%q is no flag of gateway %s", set.Arg(0), args[0])
	}
	return args[0], f, f.complete()
}

// complete derives the options from the flags.
func (f *flags) complete() error {
	f.options.provider = modeltools.Provider(f.provider)
	api := apis[f.options.provider]
	f.model = cmp.Or(f.model, api.model)
	// A server of one's own may want no key.
	if variable := api.keyVariable; variable != "" && f.baseURL == "" && os.Getenv(variable) == "" {
		return fmt.Errorf("%s is not set: it has to be the key of %s", variable, f.provider)
	}
	f.options.ask = strings.FieldsFunc(f.ask, func(r rune) bool { return r == ',' })
	f.retries = 2
	f.tools = []catalog.Tool{onCall}
	f.host = host.Config{Settings: host.Settings{SnapshotTTL: 24 * time.Hour}, Plugins: host.PluginConfig{Dir: f.pluginDir}}
	if f.bestEffort {
		f.host.Settings.Isolation = host.IsolationBestEffort
	}
	return nil
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	command, f, err := parseFlags(args, stderr)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if f.stateDir, err = filepath.Abs(f.stateDir); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f.host.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	g, err := open(ctx, f.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if command == "serve" {
		return g.serve(ctx, f.listen, stdout)
	}
	return g.chat(ctx, f.conversation, stdin, stdout)
}

// chat talks until the input ends or the process is asked to stop. The context does not
// reach the programs: close stores them, and the next process continues them.
func (g *gateway) chat(ctx context.Context, id string, in io.Reader, out io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- g.talk(context.WithoutCancel(ctx), id, in, out) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// serve answers requests until the process is asked to stop.
func (g *gateway) serve(ctx context.Context, address string, out io.Writer) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not an address of the loopback interface: the API has no users", address), l.Close())
	}
	fmt.Fprintf(out, "listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: g.api(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}
