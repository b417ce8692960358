package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// morphID is the name under which the test binary serves as a plugin that is
// another one after every reload.
const morphID = "morph"

// shapeFile in the plugin's folder says what it is.
const shapeFile = "shape"

// serveMorph is main of such a plugin.
func serveMorph() bool {
	if filepath.Base(os.Args[0]) != morphID {
		return false
	}
	shape, err := os.ReadFile(filepath.Join(os.Getenv(protocol.EnvPluginDir), shapeFile))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sdk.Serve(morphPlugin(string(shape)))
	return true
}

type morphIn struct {
	Made string `json:"made,omitempty"`
}

type morphWord struct {
	Word string `json:"word"`
}

type morphNumber struct {
	Number int `json:"number"`
}

// morphPlugin says its shape wherever it can. Beyond that there are shapes "old"
// and "new", between which tools come, go and change.
func morphPlugin(shape string) *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: morphID, Version: "1.0.0"}, nil)
	mark := func(context.Context, sdk.RunContext, []json.RawMessage) (any, error) { return morphIn{shape}, nil }
	say := sdk.AddTool(p, sdk.Tool{Name: "morph_say", Description: "Says who made its input, and who it is.", ReadOnly: true},
		func(_ context.Context, _ *sdk.Call, in morphIn) ([]string, error) {
			return []string{in.Made, shape}, nil
		})
	scope := sdk.Scope{"say": sdk.Verb(say).Map(mark)}
	word := func(name string) {
		scope[name] = sdk.Verb(sdk.AddTool(p, sdk.Tool{Name: "morph_" + name, Description: "Returns its input."},
			func(_ context.Context, _ *sdk.Call, in morphWord) (morphWord, error) { return in, nil }))
	}
	switch shape {
	case "old":
		word("gone")
		word("turned")
	case "new":
		word("late")
		scope["turned"] = sdk.Verb(sdk.AddTool(p, sdk.Tool{Name: "morph_turned", Description: "Returns its input."},
			func(_ context.Context, _ *sdk.Call, in morphNumber) (morphNumber, error) { return in, nil }))
	default:
		sdk.AddTool(p, sdk.Tool{Name: "only_" + shape, Description: "Tells shapes apart."},
			func(context.Context, *sdk.Call, struct{}) (string, error) { return shape, nil })
	}
	p.AddNamespace(sdk.Namespace{ID: "morph", Global: "Morph", Description: shape, Scope: scope})
	return p
}

// morphing is a plugin directory with the plugin, which becomes what it is told.
type morphing string

func newMorphing(t *testing.T, shape string) morphing {
	t.Helper()
	m := morphing(guardDir(t, morphID))
	m.become(t, shape)
	return m
}

// become is seen from the next start of the plugin on.
func (m morphing) become(t *testing.T, shape string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(m), morphID, shapeFile), []byte(shape), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m morphing) reload(t *testing.T, h *host.Host, shape string) {
	t.Helper()
	m.become(t, shape)
	if err := h.ReloadPlugin(t.Context(), morphID); err != nil {
		t.Fatal(err)
	}
}

// attempt is a program's way to try something.
const attempt = `const attempt = async f => { try { return await f() } catch (e) { return [e.code, e.message] } };
`

// afterReload is what a program, in which morph was of the shape old, does when it
// is of the shape new.
const afterReload = attempt + `return {
	say: await tools.morph_say({}), verb: await Morph.say(), turned: await attempt(() => tools.morph_turned({word: "b"})),
	number: await attempt(() => tools.call("morph_turned", {number: 1})), gone: await attempt(() => tools.call("morph_gone", {word: "b"})),
	verbGone: await attempt(() => Morph.gone({word: "b"})), late: await attempt(() => tools.call("morph_late", {word: "c"})),
}`

func wantFields(t *testing.T, r *host.Result, want map[string][]string) {
	t.Helper()
	if r.Status != host.StatusCompleted {
		t.Fatalf("got %s", show(r))
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(r.Value, &got); err != nil {
		t.Fatal(err)
	}
	for name, parts := range want {
		for _, part := range parts {
			if !strings.Contains(string(got[name]), part) {
				t.Errorf("%s: %s lacks %q", name, got[name], part)
			}
		}
	}
}

// TestARunningProgramOverAReload: it keeps the tools that it started with. They are
// the new plugin's where that does as well; where it does not, the call says so.
func TestARunningProgramOverAReload(t *testing.T) {
	t.Parallel()
	m, g := newMorphing(t, "old"), newGate()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m)}, Tools: []catalog.Tool{g.tool("pause")}})
	done := execLater(h, host.ExecInput{Code: `const first = await Morph.say(); await tools.pause();` + strings.Replace(afterReload, "return {", "return { first,", 1)})
	<-g.entered
	m.reload(t, h, "new")
	close(g.open)
	wantFields(t, <-done, map[string][]string{
		"first":    {`["old","old"]`},
		"say":      {`["","new"]`},
		"turned":   {`"catalog_changed"`, "plugin morph was reloaded", "now takes another input"},
		"number":   {`"invalid_input"`}, // the schema that the program was told
		"gone":     {`"catalog_changed"`, "plugin morph was reloaded", "has no tool", "morph_gone"},
		"verbGone": {`"catalog_changed"`, "has no tool", "morph_gone"},
		"late":     {`"unknown_tool"`},
	})
	wantValue(t, exec(h, `return [await Morph.say(), Morph.gone === undefined, await Morph.late({word: "x"})]`), `[["new","new"],true,{"word":"x"}]`)
}

// TestASuspendedRunOverAReload: it has the tools of the new plugin when it resumes.
func TestASuspendedRunOverAReload(t *testing.T) {
	t.Parallel()
	m := newMorphing(t, "old")
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m)}})
	id := wantWaiting(t, exec(h, `await Morph.say(); await tools.morph_turned({word: "a"}); await yield_control();`+afterReload), codemode.ReasonYield)
	m.reload(t, h, "new")
	wantFields(t, h.Wait(context.Background(), me, id), map[string][]string{
		"say":      {`["","new"]`},
		"turned":   {`"catalog_changed"`, "quoin:morph:morph_turned has changed since this run first used it"},
		"number":   {`{"number":1}`},
		"gone":     {`"catalog_changed"`, "have changed since this run was suspended"},
		"verbGone": {`"catalog_changed"`},
		"late":     {`{"word":"c"}`},
	})
}

// TestASuspendedRunOverACompatibleReload continues as if nothing had happened.
func TestASuspendedRunOverACompatibleReload(t *testing.T) {
	t.Parallel()
	m := newMorphing(t, "old")
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m)}})
	id := wantWaiting(t, exec(h, `await Morph.turned({word: "a"}); await yield_control(); return [await Morph.say(), await Morph.turned({word: "b"}), await tools.morph_gone({word: "c"})]`), codemode.ReasonYield)
	for range 3 {
		m.reload(t, h, "old")
	}
	wantValue(t, h.Wait(context.Background(), me, id), `[["old","old"],{"word":"b"},{"word":"c"}]`)
}

// TestAnApprovalOverAReload: what was asked about is not what would be called.
func TestAnApprovalOverAReload(t *testing.T) {
	t.Parallel()
	m, desk := newMorphing(t, "old"), newDesk()
	cfg := desk.config(nil, asks(policy.ApprovalRequest{Title: "May it?"}, "morph_turned"))
	cfg.Plugins.Dir = string(m)
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: attempt + `return await attempt(() => tools.morph_turned({word: "a"}))`})
	a := <-desk.asked
	m.reload(t, h, "new")
	decide(t, h, a.ID, policy.AllowOnce)
	r := <-done
	if r.Status != host.StatusCompleted || !strings.Contains(string(r.Value), `"catalog_changed"`) {
		t.Errorf("got %s", show(r))
	}
}

// TestAFailedReloadIsNoBreak: the plugin still runs, and its status says why.
func TestAFailedReloadIsNoBreak(t *testing.T) {
	t.Parallel()
	m := newMorphing(t, "old")
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m)}})
	if err := os.Remove(filepath.Join(string(m), morphID, shapeFile)); err != nil {
		t.Fatal(err)
	}
	if err := h.ReloadPlugin(t.Context(), morphID); err == nil {
		t.Fatal("the reload succeeded")
	}
	if st := h.Plugins()[0]; !strings.Contains(st.LastError, "no such file") || st.Generation != 1 {
		t.Errorf("%+v", st)
	}
	wantValue(t, exec(h, `return await Morph.say()`), `["old","old"]`)
}

// TestAViewIsOfOneGeneration: no program sees the tools of one and the namespaces
// of another, nor has one of its calls to do with both.
func TestAViewIsOfOneGeneration(t *testing.T) {
	t.Parallel()
	m := newMorphing(t, "a")
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m)}, Rules: policy.Scopes{Agents: map[string]policy.Rules{"narrowed": {Deny: []string{"nothing"}}}}})
	stop := make(chan struct{})
	var others sync.WaitGroup
	until := func(f func()) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	shapes := []string{"a", "b"}
	narrowed := host.Session{AgentID: "narrowed"}
	for _, s := range []host.Session{me, narrowed} {
		until(func() {
			names, spaces := h.Seen(s)
			for _, shape := range shapes {
				if slices.Contains(names, "only_"+shape) != slices.Contains(spaces, shape) {
					t.Errorf("tools %v with namespaces %v", names, spaces)
				}
			}
		})
	}
	until(func() {
		r := exec(h, attempt+`return await attempt(async () => { for (let i = 0; i < 20; i++) { const [made, by] = await Morph.say(); if (made !== by) return [made, by]; } return "fine" })`)
		if string(r.Value) != `"fine"` {
			t.Errorf("got %s", show(r))
		}
	})
	for i := range 20 {
		m.reload(t, h, shapes[(i+1)%2])
	}
	close(stop)
	others.Wait()
}

// TestAWatchedHost: what is installed while the host runs is there for the next
// program.
func TestAWatchedHost(t *testing.T) {
	t.Parallel()
	m := newMorphing(t, "old")
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: string(m), Watch: true}})
	wantValue(t, exec(h, `return await Morph.say()`), `["old","old"]`)
	m.become(t, "new")
	manifest := filepath.Join(string(m), morphID, "plugin.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest+".new", append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(manifest+".new", manifest); err != nil {
		t.Fatal(err)
	}
	for string(exec(h, `return await Morph.say()`).Value) != `["new","new"]` {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}
