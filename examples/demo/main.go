// Command demo embeds Quoin, seeds the example databases, and runs one TypeScript
// cell that joins two plugins: it finds open issues and free calendar slots, and
// books a review meeting for each issue. It prints the cell, its result, and the
// nested calls as a tree with timings.
//
// It teaches the whole of an embedding: a host, a session, a cell, a result.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
)

//go:embed seed.js
var seed string

//go:embed review.ts
var review string

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	var calls trajectory.Recorder
	h, err := host.New(ctx, host.Config{
		Plugins:    host.PluginConfig{Dir: filepath.Join(filepath.Dir(exe), "plugins"), Config: map[string]json.RawMessage{"calendar": json.RawMessage(`{"timeZone": "Europe/Paris"}`)}},
		Trajectory: host.TrajectoryConfig{OnEvent: calls.Observe},
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	err = show(ctx, h, &calls, out)
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return err
}

// show runs both cells and prints the second with all there is to see.
func show(ctx context.Context, h *host.Host, calls *trajectory.Recorder, out io.Writer) error {
	session := host.Session{AgentID: "demo", SessionID: "demo"}
	if r := h.Exec(ctx, session, host.ExecInput{Code: seed}); r.Status != host.StatusCompleted {
		return fmt.Errorf("seeding: %s", r.Error)
	}
	before := len(calls.Events(""))
	fmt.Fprintf(out, "The cell:\n\n%s\n", indent(review))

	start := time.Now()
	r := h.Exec(ctx, session, host.ExecInput{Code: review, Language: "typescript", Title: "Book reviews"})
	total := time.Since(start)
	if r.Status != host.StatusCompleted {
		return fmt.Errorf("the cell ended %s: %s", r.Status, r.Error)
	}
	value, err := json.MarshalIndent(r.Value, "  ", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nIts result:\n\n  %s\n\nIts output:\n\n", value)
	for _, o := range r.Output {
		fmt.Fprintf(out, "  %s\n", o.Text())
	}
	fmt.Fprint(out, "\nIts nested calls:\n\n")
	return trajectory.WriteTree(out, "exec "+string(r.Status), start, total, calls.Events("")[before:])
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}
