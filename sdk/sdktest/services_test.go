package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

type word struct {
	Word string `json:"word,omitempty"`
}

// words adds a tool that does something with a word.
func words(p *sdk.Plugin, name string, do func(context.Context, *sdk.Call, string) (any, error)) {
	sdk.AddTool(p, sdk.Tool{Name: name, Description: "Does " + name + "."},
		func(ctx context.Context, c *sdk.Call, in word) (any, error) { return do(ctx, c, in.Word) })
}

func newTest() *sdk.Plugin { return sdk.New(sdk.Info{ID: "test", Version: "1"}, nil) }

func TestStorageOfAPlugin(t *testing.T) {
	p := newTest()
	p.OnConfigure(func(ctx context.Context, _ sdk.Config) error {
		return p.Storage().SetJSON(ctx, "config/starts", 1)
	})
	words(p, "add", func(ctx context.Context, c *sdk.Call, w string) (any, error) {
		return nil, c.Storage().Update(ctx, "words", func(old []byte) ([]byte, error) {
			if w == "" {
				return nil, nil
			}
			if w == "fail" {
				return nil, sdk.Errorf("no_word", "that is none")
			}
			return append(old, " "+w...), nil
		})
	})
	words(p, "all", func(ctx context.Context, c *sdk.Call, _ string) (any, error) {
		var starts int
		found, err := c.Storage().GetJSON(ctx, "config/starts", &starts)
		if err != nil || !found {
			return nil, fmt.Errorf("%v, %w", found, err)
		}
		b, found, err := c.Storage().Get(ctx, "words")
		return fmt.Sprintf("%s %v %d", b, found, starts), err
	})
	words(p, "keys", func(ctx context.Context, c *sdk.Call, prefix string) (any, error) {
		for i := range 2100 { // more than the host lists at once
			if err := c.Storage().Set(ctx, fmt.Sprintf("many/%04d", i), nil); err != nil {
				return nil, err
			}
		}
		keys, err := c.Storage().List(ctx, "many/")
		if err != nil || !slices.IsSorted(keys) {
			return nil, fmt.Errorf("not sorted: %w", err)
		}
		return len(keys), c.Storage().Delete(ctx, keys[0])
	})
	words(p, "full", func(ctx context.Context, c *sdk.Call, _ string) (any, error) {
		return nil, c.Storage().Set(ctx, "large", make([]byte, protocol.MaxStorageValue+1))
	})
	kept := &pluginstorage.Memory{}
	h := sdktest.Start(t, p, &sdktest.Options{Storage: kept})
	call := func(tool, w string) string {
		t.Helper()
		out, err := h.Call(tool, word{w})
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	for _, step := range []struct{ tool, word, want string }{
		{"all", "", `" false 1"`}, {"add", "one", `null`}, {"add", "two", `null`}, {"all", "", `" one two true 1"`},
		{"add", "fail", "that is none"}, {"add", "", `null`}, {"all", "", `" false 1"`}, {"keys", "", `2100`},
	} {
		if got := call(step.tool, step.word); got != step.want && !strings.HasSuffix(got, step.want) {
			t.Errorf("%s %q: %s, want %s", step.tool, step.word, got, step.want)
		}
	}
	if _, err := h.Call("full", nil); !errors.Is(err, &protocol.Error{Kind: protocol.KindTool, Code: protocol.CodeStorageInvalid}) {
		t.Errorf("a value that is too large: %v", err)
	}
	if e, err := h.Storage().Get(t.Context(), "config/starts"); err != nil || string(e.Value) != "1" || h.Storage() != kept {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSecretsOfAPlugin(t *testing.T) {
	var b strings.Builder
	p := sdk.New(sdk.Info{ID: "test", Version: "1"}, &sdk.Options{Logger: slog.New(slog.NewJSONHandler(&b, nil))})
	type inside struct {
		Name   string
		Token  sdk.Secret
		hidden sdk.Secret
	}
	var in inside
	p.OnConfigure(func(_ context.Context, c sdk.Config) (err error) {
		in.Name = "x"
		if in.Token, err = c.Secret("token"); err != nil {
			return err
		}
		in.hidden = in.Token
		if c.HasSecret("other") {
			return errors.New("there is another one")
		}
		_, err = c.Secret("other")
		if err == nil || !strings.Contains(err.Error(), "plugins.secrets.test.other") {
			return fmt.Errorf("the error for a missing secret is %w", err)
		}
		b.WriteString(fmt.Sprintf("%v %+v %#v %s", c, c, c, err))
		return nil
	})
	words(p, "look", func(_ context.Context, c *sdk.Call, _ string) (any, error) {
		b.WriteString(fmt.Sprintf("%v %+v %#v %s %q %x %d", in, in, &in, in.Token, in.Token, in.Token, in.hidden))
		b.WriteString(fmt.Sprintf("%v %T %p", []sdk.Secret{in.Token}, in, &in))
		c.Logger.Info("looking", "token", in.Token, "in", in, slog.Any("all", []any{in.Token}))
		j, err := json.Marshal(map[string]any{"in": in, "token": &in.Token})
		b.Write(j)
		return in, err
	})
	h := sdktest.Start(t, p, &sdktest.Options{Secrets: map[string]string{"token": "hunter2hunter2"}})
	out, err := h.Call("look", nil)
	if err != nil || string(out) != `{"Name":"x","Token":"[secret]"}` {
		t.Errorf("%s, %v", out, err)
	}
	if in.Token.Reveal() != "hunter2hunter2" {
		t.Errorf("the plugin has %q", in.Token.Reveal())
	}
	if text := b.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "[secret]") || strings.Contains(text, "68756e74657232") {
		t.Errorf("printed: %s", text)
	}
	if (sdk.Secret{}).Reveal() != "" {
		t.Error("a zero Secret has a text")
	}
	missing := newTest()
	missing.OnConfigure(func(_ context.Context, c sdk.Config) error { _, err := c.Secret("token"); return err })
	if err := sdktest.StartError(t, missing, nil); err == nil || !strings.Contains(err.Error(), `plugins.secrets.test.token to "env:NAME" or "file:/path"`) {
		t.Errorf("without its secret it starts, or says %v", err)
	}
}

func TestErrorsOfAPlugin(t *testing.T) {
	p := newTest()
	words(p, "busy", func(context.Context, *sdk.Call, string) (any, error) {
		return nil, fmt.Errorf("asking: %w", &sdk.Error{Code: "busy", Message: "come back", Retryable: true, Effect: sdk.EffectNone, Details: map[string]int{"seconds": 5}})
	})
	h := sdktest.Start(t, p, nil)
	_, err := h.Call("busy", nil)
	e := protocol.AsError(err)
	if e == nil || e.Code != "busy" || e.Message != "come back" || !e.Retryable || e.Effect != sdk.EffectNone || string(e.Details) != `{"seconds":5}` {
		t.Errorf("%+v", e)
	}
	r := h.Cell(`try { await tools.busy({}) } catch (e) { return [e.message, e.code, e.retryable, e.effectStatus, e.details.seconds, e.toolId] }`)
	if string(r.Value) != `["come back","busy",true,"none",5,"quoin:test:busy"]` {
		t.Errorf("%s %s", r.Value, r.Error)
	}
}

// TestTheOrderOfTheEnd: the drain lets calls end, and closing comes last.
func TestTheOrderOfTheEnd(t *testing.T) {
	var order []string
	t.Run("life", func(t *testing.T) {
		p := sdk.New(sdk.Info{ID: "test", Version: "1"}, &sdk.Options{Logger: slog.New(slog.DiscardHandler)})
		stop, entered := make(chan struct{}), make(chan struct{})
		words(p, "poll", func(ctx context.Context, c *sdk.Call, _ string) (any, error) {
			close(entered)
			<-stop
			order = append(order, "call ends")
			return "early", c.Storage().Set(ctx, "seen", nil)
		})
		p.OnDrain(func(ctx context.Context) {
			if err := p.Storage().Set(ctx, "drained", nil); err != nil {
				t.Error(err)
			}
			order = append(order, "drain")
			close(stop)
		})
		p.OnDrain(func(context.Context) { panic("and this is no harm") })
		p.OnClose(func() error { order = append(order, "close"); return nil })
		h := sdktest.Start(t, p, nil)
		answered := make(chan error, 1)
		go func() {
			out, err := h.Call("poll", nil)
			if err == nil && string(out) != `"early"` {
				err = fmt.Errorf("it answered %s", out)
			}
			answered <- err
		}()
		<-entered
		if left, err := h.Drain(t.Context()); left != 0 || err != nil {
			t.Errorf("Drain: %d, %v", left, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if _, err := h.Call("poll", nil); !errors.Is(err, &protocol.Error{Code: protocol.CodeDraining}) {
			t.Errorf("a call after the drain: %v", err)
		}
	})
	if want := []string{"drain", "call ends", "close"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

func TestADrainWaitsNoLongerThanItMay(t *testing.T) {
	p := newTest()
	entered, release := make(chan struct{}), make(chan struct{})
	words(p, "hang", func(context.Context, *sdk.Call, string) (any, error) {
		close(entered)
		<-release
		return nil, nil
	})
	p.OnDrain(func(context.Context) { <-release })
	h := sdktest.Start(t, p, nil)
	go func() { _, _ = h.Call("hang", nil) }() // it is cut off
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if left, err := h.Drain(ctx); err == nil && left != 1 {
		t.Errorf("after a drain that was given up %d calls are left", left)
	}
	close(release)
}
