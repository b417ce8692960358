package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/internal/wire"
)

// withProperties is an echo of inputs with such properties.
func withProperties(name, required, properties string) catalog.Tool {
	t := Echo(name)
	t.Parameters = json.RawMessage(`{"type":"object","properties":` + properties + `,"required":["` + required + `"],"additionalProperties":false}`)
	return t
}

func takesWord(name string) catalog.Tool {
	return withProperties(name, "word", `{"word":{"type":"string"}}`)
}

func word(s string) map[string]string { return map[string]string{"word": s} }

// toolsBefore are tools that change while a run is suspended.
func toolsBefore() []catalog.Tool {
	return []catalog.Tool{takesWord("same"), takesWord("grown"), takesWord("turned"), Echo("gone"), Echo("shared")}
}

func toolsAfter() []catalog.Tool {
	other := Echo("shared")
	other.Owner = "other"
	return []catalog.Tool{
		takesWord("same"), withProperties("grown", "word", `{"word":{"type":"string"},"other":{"type":"string"}}`),
		withProperties("turned", "number", `{"number":{"type":"number"}}`), Echo("shared"), other, takesWord("late"),
	}
}

// usesTools uses tools before and after a suspension.
func usesTools(g *Guest) any {
	describe := func() *Promise { return g.Ask(wire.MethodDescribe, "gone", nil, nil) }
	for _, name := range []string{"same", "grown", "turned"} {
		g.Call(name, word("a"))
	}
	describe().Value()
	g.Yield()
	return map[string]any{
		"same": g.Try("same", word("b")), "grown": g.Try("grown", word("b")), "turned": g.Try("turned", word("b")),
		"gone": g.Try("gone", N(1)), "shared": g.Try("shared", N(1)), "never": g.Try("never", N(1)),
		"wrong": g.Try("same", N(1)), "late": g.Try("late", word("c")), "described": describe().Told(),
	}
}

// TestToolsChangeWhileSuspended: a run that resumes has the tools of now, here and in the next
// host. What still works works; what does not says, call by call, that the tools changed.
func TestToolsChangeWhileSuspended(t *testing.T) {
	for name, restarts := range map[string]bool{"here": false, "in the next host": true} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := Setup{Store: NewKept(), Tools: toolsBefore()}
				h := Start(t, s)
				id := WantWaiting(t, h.Run(usesTools), codemode.ReasonYield)
				if s.Tools = toolsAfter(); restarts {
					h.Shut()
					h = Start(t, s)
				} else {
					h.Replace(s.Tools...)
				}
				r := h.Resume(id)
				var got map[string]json.RawMessage
				if err := json.Unmarshal(r.Value, &got); err != nil || r.Telemetry.CatalogSize != len(s.Tools) {
					t.Fatalf("got %s, want a catalog of %d tools", Show(r), len(s.Tools))
				}
				for name, want := range map[string][]string{
					"same":      {`{"word":"b"}`},
					"grown":     {`{"word":"b"}`},
					"late":      {`{"word":"c"}`},
					"turned":    {`"catalog_changed"`, "quoin:core:turned has changed since this run first used it", "{ number: number }"},
					"gone":      {`"catalog_changed"`, "have changed since this run was suspended", "Unknown tool id: gone"},
					"shared":    {`"catalog_changed"`, "have changed", "Ambiguous", "quoin:other:shared"},
					"never":     {`"catalog_changed"`, "Unknown tool id: never"},
					"wrong":     {`"invalid_input"`, "missing", "Invalid input"},
					"described": {`"catalog_changed"`},
				} {
					for _, part := range want {
						if !strings.Contains(string(got[name]), part) {
							t.Errorf("%s: %s lacks %q", name, got[name], part)
						}
					}
				}
			})
		})
	}
}

// TestUnchangedToolsAreNotBlamed: without a change the errors are the usual ones.
func TestUnchangedToolsAreNotBlamed(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: toolsBefore()})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Call("same", word("a"))
			g.Yield()
			return []string{g.Go("never", nil).Err().Code, g.Go("same", N(1)).Err().Code}
		}), codemode.ReasonYield)
		h.Replace(toolsBefore()...) // a reload that brings the same
		WantValue(t, h.Resume(id), `["unknown_tool","invalid_input"]`)
	})
}

// TestRunningProgramsKeepTheirTools: a change does not reach into an Exec or Wait.
func TestRunningProgramsKeepTheirTools(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Tools: append(toolsBefore(), slow.Tool("slow"))})
		done := h.Go(func(g *Guest) any {
			g.Call("slow", nil)
			var found []any
			if err := json.Unmarshal(g.Ask(wire.MethodSearch, "gone", nil, nil).Value(), &found); err != nil {
				g.Throw(err.Error())
			}
			return []any{g.Call("gone", N(1)), len(found)}
		})
		<-slow.Entered
		h.Replace(toolsAfter()...)
		close(slow.Open)
		WantValue(t, <-done, `[{"n":1},1]`)
	})
}
