//go:build linux

package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// addStore adds tools that use the plugin's storage.
func addStore(p *sdk.Plugin) {
	type handler = sdk.Handler[textIn, textOut]
	add := func(name string, h handler) {
		sdk.AddTool(p, sdk.Tool{Name: name, Description: "Does " + name + "."}, h)
	}
	add("store", func(ctx context.Context, c *sdk.Call, in textIn) (textOut, error) {
		var old []byte
		err := c.Storage().Update(ctx, "text", func(b []byte) ([]byte, error) {
			old = b
			return []byte(in.Text), nil
		})
		return textOut{string(old)}, err
	})
	add("count", func(ctx context.Context, c *sdk.Call, in textIn) (textOut, error) {
		for range in.N {
			err := c.Storage().Update(ctx, "n", func(b []byte) ([]byte, error) { return append(b, '|'), nil })
			if err != nil {
				return textOut{}, err
			}
		}
		b, _, err := c.Storage().Get(ctx, "n")
		return textOut{string(b)}, err
	})
	add("store-and-die", func(ctx context.Context, c *sdk.Call, in textIn) (textOut, error) {
		if err := c.Storage().Set(ctx, "text", []byte(in.Text)); err != nil {
			return textOut{}, err
		}
		os.Exit(3)
		return textOut{}, nil
	})
	add("store-flood", func(ctx context.Context, c *sdk.Call, _ textIn) (textOut, error) {
		if err := c.Storage().Set(ctx, "first", nil); err != nil { // so that there is a file
			return textOut{}, err
		}
		if err := c.Progress("flooding"); err != nil {
			return textOut{}, err
		}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_ = c.Storage().Set(ctx, fmt.Sprint(i, "/", n), make([]byte, 64<<10)) // whatever comes of it
				}
			})
		}
		all.Wait()
		return textOut{}, ctx.Err()
	})
}

// callText calls a tool and returns its answer, which is a text.
func callText(t testing.TB, p *Process, tool string, in textIn) string {
	t.Helper()
	out, err := p.CallTool(t.Context(), call(tool, in), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// running starts the good plugin of an id. The processes of that plugin share a storage.
func running(t testing.TB, dir, id string) *Process {
	t.Helper()
	o := testOptions(t)
	o.StorageDir = filepath.Join(dir, "storage")
	p, err := Start(t.Context(), install(t, filepath.Join(shortDir(t), "x"), id, "good"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestStorageOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	p := running(t, dir, "a")
	if got := callText(t, p, "store", textIn{Text: "first"}); got != `{"text":""}` {
		t.Errorf("a new storage held %s", got)
	}
	_, err := p.CallTool(t.Context(), call("store-and-die", textIn{Text: "second"}), nil)
	wantError(t, err, protocol.KindProcess, protocol.CodeCrashed)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = running(t, dir, "a")
	if got := callText(t, p, "store", textIn{Text: "third"}); got != `{"text":"second"}` {
		t.Errorf("after a crash it held %s", got)
	}
}

func TestStorageIsOfOnePlugin(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	a, b := running(t, dir, "a"), running(t, dir, "b")
	callText(t, a, "store", textIn{Text: "of a"})
	if got := callText(t, b, "store", textIn{Text: "of b"}); got != `{"text":""}` {
		t.Errorf("b found %s", got)
	}
	if got := callText(t, a, "store", textIn{}); got != `{"text":"of a"}` {
		t.Errorf("a found %s", got)
	}
}

// TestTwoGenerationsShareAStorage has two processes of a plugin count at once.
func TestTwoGenerationsShareAStorage(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	old, young := running(t, dir, "a"), running(t, dir, "a")
	const each = 25
	var both sync.WaitGroup
	for _, p := range []*Process{old, young} {
		both.Go(func() { callText(t, p, "count", textIn{N: each}) })
	}
	both.Wait()
	if got, want := callText(t, young, "count", textIn{}), `{"text":"`+strings.Repeat("|", 2*each)+`"}`; got != want {
		t.Errorf("got %s, want %d strokes", got, 2*each)
	}
}

// TestAFloodOfRequestsHurtsNobodyElse floods the storage of one plugin while
// another works.
func TestAFloodOfRequestsHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	rude, polite := running(t, dir, "rude"), running(t, dir, "polite")
	flooding := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := rude.CallTool(ctx, call("store-flood", none{}), func(json.RawMessage) { close(flooding) })
		ended <- err
	}()
	<-flooding
	for i := range 20 {
		callText(t, polite, "store", textIn{Text: fmt.Sprint(i)})
	}
	if got := callText(t, rude, "echo", textIn{Text: "still here"}); got != `{"text":"still here"}` {
		t.Errorf("echo: %s", got)
	}
	stop()
	if err := <-ended; !errors.Is(err, &protocol.Error{Code: protocol.CodeCancelled}) {
		t.Errorf("the flood ended with %v", err)
	}
	st, err := os.Stat(filepath.Join(dir, "storage", "rude.kv"))
	if err != nil || st.Size() > 3*protocol.MaxStorageBytes {
		t.Errorf("%v, %v", st, err)
	}
}

// TestAProcessWithoutStorageSaysSo starts one on a host without storages.
func TestAProcessWithoutStorageSaysSo(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	_, err := p.CallTool(t.Context(), call("store", textIn{Text: "x"}), nil)
	wantError(t, err, protocol.KindTool, protocol.CodeNoHostService, "no storage")
}

// TestAStorageOfTheHost: it is opened by the plugin's id and takes the place of the folder.
func TestAStorageOfTheHost(t *testing.T) {
	t.Parallel()
	dir, kept := shortDir(t), map[string]*pluginstorage.Memory{"a": {}, "b": {}}
	start := func(id string) *Process {
		o := testOptions(t)
		o.StorageDir = filepath.Join(dir, "storage")
		o.OpenStorage = func(id string, _ func(error)) protocol.Storage { return kept[id] }
		p, err := Start(t.Context(), install(t, filepath.Join(shortDir(t), "x"), id, "good"), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		return p
	}
	callText(t, start("a"), "store", textIn{Text: "of a"})
	if got := callText(t, start("b"), "store", textIn{Text: "of b"}); got != `{"text":""}` {
		t.Errorf("b found %s", got)
	}
	if got := callText(t, start("a"), "store", textIn{Text: "again"}); got != `{"text":"of a"}` {
		t.Errorf("another process of a found %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "storage")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}
