package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/programs"
)

// TestEffectsKeepTheirPlaces: a run that continues in another process adds to its journal,
// whatever it calls first there.
func TestEffectsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, before, after string
		open                []string
		log                 []string
	}{
		{
			"a journal, then another tool",
			`await tools.put({name: "a", value: "1"});`, `await tools.mail(); await tools.put({name: "b", value: "1"});`,
			[]string{"put done", "mail final", "put done"}, []string{"put a", "put b", "restore b", "restore a"},
		},
		{
			"no journal yet",
			`await tools.mail(); await tools.mail();`, `await tools.mail(); await tools.put({name: "b", value: "1"});`,
			[]string{"mail final", "mail final", "mail final", "put done"}, []string{"put b", "restore b"},
		},
		{
			"nothing to undo is called any more",
			`await tools.put({name: "a", value: "1"});`, `await tools.mail();`,
			[]string{"put done", "mail final"}, []string{"put a", "restore a"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, s := t.TempDir(), newShelf(t.TempDir())
			first := start(t, host.Config{Tools: s.tools(), Store: openState(t, dir)})
			run := wantWaiting(t, exec(first, tc.before+` await yield_control(); `+tc.after), codemode.ReasonYield)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := start(t, host.Config{Tools: s.tools(), Store: openState(t, dir)})
			wantValue(t, second.Wait(t.Context(), me, run), "null")
			wantStates(t, effectsOf(t, second), host.UndoOpen, tc.open...)
			undo(t, second, run)
			if d := cmp.Diff(tc.log, s.read().Log); d != "" {
				t.Errorf("log (-want +got):\n%s", d)
			}
		})
	}
}

// TestOnlyTypeScript: where programs are written in TypeScript alone, undo and saved
// programs work all the same.
func TestOnlyTypeScript(t *testing.T) {
	t.Parallel()
	s := newShelf(t.TempDir())
	h := start(t, host.Config{
		Settings: host.Settings{Languages: []string{"typescript"}}, Tools: s.tools(), Programs: host.ProgramConfig{Store: &programs.Memory{}},
	})
	r := h.Exec(t.Context(), me, host.ExecInput{Language: "typescript", Code: `await tools.put({name: "a", value: "1"}); return 1 as number`})
	wantValue(t, r, "1")
	wantStates(t, undo(t, h, effectsOf(t, h).RunID), host.UndoDone, "put reverted")
	if _, err := h.Programs().Save(t.Context(), me, programs.Request{Name: "one"}, "test"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, h.Programs().Run(t.Context(), me, "one", nil, host.ExecInput{}), "1")
}
