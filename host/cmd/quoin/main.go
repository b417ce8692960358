// Command quoin runs code mode cells against plugins from the command line.
//
// Run quoin help for its commands. exec and wait print exactly one JSON Result
// to standard output and exit with 0 when it is completed, 1 when it failed, 3
// when it is waiting, and 2 when the command line is wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/debugrelay"
	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/launch"
)

func main() {
	beAnother()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := host.RelaxTimerSlack(); err != nil {
			fmt.Fprintln(os.Stderr, "quoin: calls take longer than they could:", err)
		}
	}
	os.Exit(runUntilSignal())
}

// beAnother does not return in a process of this executable that is not the command. The
// command is its own guest worker where there is no better one next to it, so that it runs
// programs wherever it alone was installed.
func beAnother() {
	guestserver.ServeIfWorker()
	debugrelay.ServeIfRelay()
	launch.Main()
	confine.Main()
}

// runUntilSignal runs the command line of this process. Ctrl-C and SIGTERM end its context.
func runUntilSignal() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
