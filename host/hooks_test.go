package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/policy"
)

// says is a before-hook with one answer.
func says(name string, v policy.Verdict, tools ...string) policy.Hook {
	return policy.Hook{Name: name, Tools: tools, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { return v, nil }}
}

// refused is a program that tells how a call of echo fails.
const refused = `try { return await tools.echo({n: 1}) } catch (e) { return [e.message, e.code, e.effectStatus, e.toolId] }`

// TestAHookRewritesTheLanguage of a program.
func TestAHookRewritesTheLanguage(t *testing.T) {
	t.Parallel()
	v := policy.Verdict{Params: json.RawMessage(`{"code":"return 5 as number","language":"typescript"}`)}
	h := start(t, host.Config{Hooks: []policy.Hook{says("guard", v, policy.ExecTool.ID())}})
	wantValue(t, exec(h, `return 1`), `5`)
}

func TestABadHookPatternIsAnError(t *testing.T) {
	t.Parallel()
	for _, cfg := range []host.Config{
		{Hooks: []policy.Hook{says("guard", policy.Verdict{}, "issues:")}},
		{Plugins: host.PluginConfig{Hooks: map[string][]string{"audit": {""}}}},
	} {
		_, err := host.New(context.Background(), cfg)
		var bad *policy.PatternError
		if !errors.As(err, &bad) {
			t.Errorf("got %v, want a bad pattern", err)
		}
	}
}
