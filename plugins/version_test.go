//go:build linux

package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// installV1 builds the plugin of protocol version 1 into dir.
func installV1(t *testing.T, dir string, protocolVersion int) Candidate {
	t.Helper()
	own := filepath.Join(dir, "old")
	writeFile(t, filepath.Join(own, manifest.Name), fmt.Sprintf(`{"id": "old", "version": "1.0.0", "protocol": %d, "command": "./plugin"}`, protocolVersion))
	built, err := hosttest.Program("plugins/testdata/v1plugin")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built, filepath.Join(own, "plugin")); err != nil {
		t.Fatal(err)
	}
	return Find(own)
}

// TestVersion1IsServed runs a plugin that was built for version 1 and knows of no
// other.
func TestVersion1IsServed(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Config = json.RawMessage(`{"zone":"Europe/Paris"}`)
	p, err := Start(t.Context(), installV1(t, shortDir(t), 1), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for range 2 { // the second call knows that there are no kept streams
		var progress string
		result, err := p.CallTool(ctx, call("echo", textIn{Text: "hello"}), func(v json.RawMessage) { progress = string(v) })
		if err != nil || string(result) != `{"text":"hello"}` || progress != `"half"` {
			t.Errorf("echo: %s, %q, %v", result, progress, err)
		}
	}
	if result, err := p.CallTool(ctx, call("config", none{}), nil); err != nil || string(result) != string(o.Config) {
		t.Errorf("config: %s, %v", result, err)
	}
	_, err = p.CallTool(ctx, call("fail", none{}), nil)
	wantError(t, err, protocol.KindTool, "not_found", "no such thing")
	if e := protocol.AsError(err); string(e.Details) != `{"id":7}` || e.Retryable || e.Effect != protocol.EffectUnspecified {
		t.Errorf("%+v", e)
	}
	scope, err := p.CreateScope(ctx, "old", testRun)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := scope.Resolve([]string{"echo"}); err != nil || target.Tool != "echo" || target.Mapping.Kind != namespaces.MapDefault {
		t.Errorf("%+v, %v", target, err)
	}
	if v, err := p.BeforeToolCall(ctx, protocol.ToolCall{ToolName: "echo"}); err != nil || !v.Block || v.Reason != "not today" {
		t.Errorf("hook: %+v, %v", v, err)
	}
	if _, err := p.Health(ctx); err != nil {
		t.Error(err)
	}
	if left, err := p.Drain(ctx); left != 0 || err != nil {
		t.Errorf("Drain: %d, %v", left, err)
	}
	if err := p.Close(); err != nil || p.Killed() {
		t.Errorf("Close: %v, killed %v", err, p.Killed())
	}
}

func TestVersionsThatDoNotMeetAreExplained(t *testing.T) {
	t.Parallel()
	err := notStarted(t, installV1(t, shortDir(t), 2), testOptions(t))
	wantParts(t, fmt.Sprint(err), "plugin old", "speaks protocol version 1", "manifest says 2", `write "protocol": 1`)

	err = notStarted(t, installV1(t, shortDir(t), 3), testOptions(t))
	wantParts(t, fmt.Sprint(err), `"protocol"`, "version 3", "versions 1 to 2", "update the host", "for version 2")
	var start *StartError
	if !errors.As(err, &start) || !start.Refused {
		t.Errorf("not refused: %v", err)
	}
}

// TestAPluginOfThisBuildSpeaksVersion1 if its manifest says so.
func TestAPluginOfThisBuildSpeaksVersion1(t *testing.T) {
	t.Parallel()
	found := install(t, shortDir(t), "fix", "good")
	path := filepath.Join(found.Dir, manifest.Name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, strings.Replace(string(b), `"protocol": 2`, `"protocol": 1`, 1))
	p, err := Start(t.Context(), Find(found.Dir), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if result, err := p.CallTool(t.Context(), call("echo", textIn{Text: "hello"}), nil); err != nil || string(result) != `{"text":"hello"}` {
		t.Errorf("echo: %s, %v", result, err)
	}
	_, err = p.CallTool(t.Context(), call("store", textIn{Text: "x"}), nil)
	wantError(t, err, protocol.KindTool, protocol.CodeNoHostService, "protocol version 1", `"protocol": 2`)
}
