// Command demo holds the conversation of package story with the gateway next to it, over
// each API of a model: it prints the first, and of the others that they went the same way.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/examples/gateway/story"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Dir(exe)
	for i, provider := range []string{"openai", "openai-responses", "anthropic"} {
		out := io.Discard
		if i == 0 {
			out = os.Stdout
		}
		start := time.Now()
		err := story.Play(context.Background(), story.Stage{
			Gateway: []string{filepath.Join(dir, "gateway")}, Env: os.Environ(), Plugins: filepath.Join(dir, "plugins"), Provider: provider, Out: out,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", provider, err)
		}
		fmt.Printf("(over %s: killed once, completed in %v)\n", provider, time.Since(start).Round(time.Millisecond))
	}
	return nil
}
