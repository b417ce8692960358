// Command rude is a plugin that misbehaves on command. It is for tests of the
// host and teaches nothing to imitate; it shows what a host must survive, and
// that it does.
//
// Its tools misbehave when called: rude_hang, rude_crash, rude_panic,
// rude_flood_logs, rude_flood_progress, rude_huge, rude_slow, rude_exit_after,
// rude_garbage, rude_fail, rude_leak, rude_once, and the well-behaved rude_echo and rude_look, which
// tell whether all is well again. Namespace Rude has a verb for each.
//
// A mode makes the process misbehave outside of calls: before the handshake,
// in what it claims to be, in its scope. The mode stands in the file rude.mode
// next to plugin.json or, for what happens from Configure on, in the
// configuration as {"mode": "…"}. modes.go lists the modes.
//
// For what the SDK rightly makes impossible, rude answers the protocol itself;
// no other example does. However it is treated, a rude process ends by itself,
// after ten minutes at most.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// modeFile is where the mode stands, next to plugin.json.
const modeFile = "rude.mode"

// How long a rude process lives at most, whatever it was told to do: a plugin,
// and a grandchild, which no test may be able to end.
const (
	lifetime           = 10 * time.Minute
	grandchildLifetime = 20 * time.Second
)

func main() {
	if os.Getenv(grandchildKey) != "" {
		<-time.After(grandchildLifetime) // holds the standard output it was given
		return
	}
	time.AfterFunc(lifetime, func() { os.Exit(9) })
	name, err := chosenMode(os.Getenv(protocol.EnvPluginDir))
	if err == nil {
		err = beforeHandshake(name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rude:", err)
		os.Exit(1)
	}
	go leaveWithHost(os.Stdin)
	serve(newService(name))
}

// chosenMode reads the mode file; without one rude behaves until it is called.
func chosenMode(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, modeFile))
	if dir == "" || os.IsNotExist(err) {
		return "", nil
	}
	name := strings.TrimSpace(string(text))
	if err == nil && !known(name) {
		err = fmt.Errorf("%s holds %q; the modes are %s", modeFile, name, modeNames())
	}
	return name, err
}

// leaveWithHost ends the process when the host is gone: even rude leaves no
// processes behind in tests.
func leaveWithHost(stdin io.Reader) {
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		fmt.Fprintln(os.Stderr, "rude:", err)
	}
	os.Exit(0)
}

// serve is what sdk.Serve does, for any service.
func serve(s protocol.Service) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: protocol.Handshake(),
		Plugins:         protocol.PluginSet(s),
		GRPCServer:      func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) },
		Logger:          hclog.NewNullLogger(),
	})
}
