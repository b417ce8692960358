// Command cluster shows what happens to suspended runs when their hosts are killed. It
// starts a private PostgreSQL and three hosts, suspends runs on each, kills two of them with
// SIGKILL, and completes every run on the third. It prints who owned what, and when.
//
// make demo-cluster builds what it needs next to it: quoin and quoin-guest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/postgrestest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := postgrestest.Missing(); err != nil {
		return err
	}
	server, err := postgrestest.New(postgrestest.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	if err := server.CreateDatabase("quoin"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "quoin-cluster-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bin := filepath.Dir(exe)
	s := &stage{
		quoin: filepath.Join(bin, "quoin"), guest: filepath.Join(bin, "quoin-guest"),
		database: server.URL("quoin"), dir: dir, out: os.Stdout,
	}
	return s.play(context.Background())
}
