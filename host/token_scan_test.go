package host_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/redact"
)

// tokenRuns is how many runs leave files that TestATokenIsInNoFile looks through.
var tokenRuns = flag.Int("tokenruns", 100, "runs of TestATokenIsInNoFile")

// TestATokenIsInNoFile: runs call a server that wants a token, half of them look for it
// wherever a program can look, and all stay suspended. The token is in no heap, record,
// event, log line, result or error.
func TestATokenIsInNoFile(t *testing.T) {
	t.Parallel()
	dir, shop := mkdir(t), newPrivateShop(t)
	address := shop.URL + "/mcp"
	login(t, dir, address)
	cfg, err := signInConfig(openState(t, dir), address)
	if err != nil {
		t.Fatal(err)
	}
	sink := openTrajectory(t, dir)
	log := &lockedBuffer{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg.Trajectory = host.TrajectoryConfig{Sink: sink, Bodies: &redact.Redactor{}}
	cfg.Settings.MaxSuspended = int64(*tokenRuns) + 10
	h := start(t, cfg)
	for i := range *tokenRuns {
		code := fmt.Sprintf(`globalThis.kept = "canary-" + "in-the-heap"; const r = await MCP.shop.order({n: %d}); text(JSON.stringify(r)); await yield_control(); return 1`, i)
		if i%2 == 1 {
			code = `
const seen = [];
try { await MCP.shop.order({n: "x"}) } catch (e) { seen.push(e.message, e.stack, JSON.stringify(e)) }
const r = await MCP.shop.order({n: 1});
seen.push(JSON.stringify(r), JSON.stringify(Object.keys(globalThis)), JSON.stringify(MCP.shop));
text(seen.join());
await yield_control(); return 1`
		}
		s := me
		s.SessionID = fmt.Sprint("session ", i)
		r := h.Exec(t.Context(), s, host.ExecInput{Code: code})
		if r.Status != host.StatusWaiting || strings.Contains(show(r), secretToken) {
			t.Fatalf("run %d: %s", i, show(r))
		}
	}
	if n := shop.orders.Load(); int(n) != *tokenRuns {
		t.Errorf("%d orders for %d runs", n, *tokenRuns)
	}
	if strings.Contains(log.String(), secretToken) {
		t.Error("the log holds the token")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	wantNowhere(t, dir, secretToken)
	if n := len(placesOf(t, dir, "canary-in-the-heap")); n < *tokenRuns/2 {
		t.Errorf("%d heaps hold what their programs hold, want %d: heaps were not looked through", n, *tokenRuns/2)
	}
}

// wantNowhere requires that nothing below a directory holds a secret, compressed or not.
func wantNowhere(t *testing.T, dir, secret string) {
	t.Helper()
	if names := placesOf(t, dir, secret); len(names) > 0 {
		t.Errorf("%d places hold the secret, such as %s", len(names), names[0])
	}
}

// placesOf returns the files below a directory, and the values of databases there, that hold a
// text. Images of heaps are compressed.
func placesOf(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(text)) {
			names = append(names, path)
		}
		if filepath.Ext(path) == ".db" {
			names = append(names, valuesWith(t, path, text)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// valuesWith returns the values of a database that hold a text.
func valuesWith(t *testing.T, path, text string) (names []string) {
	t.Helper()
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	eachValue(t, path, func(table string, b []byte) {
		if at := bytes.Index(b, []byte{0x28, 0xb5, 0x2f, 0xfd}); at >= 0 {
			if err := dec.Reset(bytes.NewReader(b[at:])); err != nil {
				t.Fatal(err)
			}
			heap, err := io.ReadAll(dec)
			if err != nil && len(heap) == 0 { // what follows the image is no part of it
				t.Fatalf("%s: %v", path, err)
			}
			b = append(b, heap...)
		}
		if bytes.Contains(b, []byte(text)) {
			names = append(names, path+" "+table)
		}
	})
	return names
}
