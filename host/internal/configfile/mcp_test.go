package configfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcp"
)

func loadText(t *testing.T, text string) (*configfile.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "quoin.json5")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return configfile.Load(configfile.Sources{Path: path})
}

func TestMCPInTheConfigurationFile(t *testing.T) {
	f, err := loadText(t, `{ mcp: { servers: {
		web: { url: "https://mcp.example/mcp", headers: { Authorization: "Bearer ${TOKEN}" }, callTimeoutMs: 5000 },
		files: { command: "files-mcp", args: ["--root", "/srv"], env: { A: "b" }, passEnv: ["PATH"], allow: ["read_*"], deny: ["read_all"], trustHints: true, pin: "warn", maxConcurrent: 4, ratePerSecond: 10, maxResultBytes: 65536 },
		off: { command: "x", disabled: true },
	} } }`)
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.Server{
		{Name: "files", Command: "files-mcp", Args: []string{"--root", "/srv"}, Env: map[string]string{"A": "b"}, PassEnv: []string{"PATH"}, Headers: map[string]string{},
			ConnectTimeout: 30 * time.Second, CallTimeout: time.Minute, MaxConcurrent: 4, RatePerSecond: 10, MaxResultBytes: 65536, Allow: []string{"read_*"}, Deny: []string{"read_all"}, TrustHints: true, Pin: mcp.PinWarn, OAuth: mcp.OAuth{Per: mcp.SignInPerHost}},
		{Name: "off", Command: "x", Env: map[string]string{}, Headers: map[string]string{}, ConnectTimeout: 30 * time.Second, CallTimeout: time.Minute, MaxResultBytes: 8 << 20, Pin: mcp.PinBlock, OAuth: mcp.OAuth{Per: mcp.SignInPerHost}, Disabled: true},
		{Name: "web", URL: "https://mcp.example/mcp", Env: map[string]string{}, Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"},
			ConnectTimeout: 30 * time.Second, CallTimeout: 5 * time.Second, MaxResultBytes: 8 << 20, Pin: mcp.PinBlock, OAuth: mcp.OAuth{Per: mcp.SignInPerHost}},
	}
	if diff := cmp.Diff(want, f.Config().MCP.Servers); diff != "" {
		t.Error(diff)
	}
}

func TestMCPMistakesInTheConfigurationFile(t *testing.T) {
	for text, field := range map[string]string{
		`{mcp:{servers:{a:{}}}}`:                                 "mcp.servers.a.command",
		`{mcp:{servers:{a:{command:"x",url:"http://h"}}}}`:       "mcp.servers.a.command",
		`{mcp:{servers:{a:{url:"ftp://h"}}}}`:                    "mcp.servers.a.url",
		`{mcp:{servers:{a:{command:"x",pin:"maybe"}}}}`:          "mcp.servers.a.pin",
		`{mcp:{servers:{"a b":{command:"x"}}}}`:                  "mcp.servers",
		`{mcp:{servers:{a:{command:"x",callTimeoutMs:"fast"}}}}`: "mcp.servers.a.callTimeoutMs",
		`{mcp:{servers:{a:{command:"x",env:{A:1}}}}}`:            "mcp.servers.a.env.A",
		`{mcp:{servers:{a:{command:"x",shell:true}}}}`:           "mcp.servers.a.shell",
	} {
		_, err := loadText(t, text)
		var ce *configfile.Error
		if !errors.As(err, &ce) || len(ce.Problems) != 1 || ce.Problems[0].Field != field {
			t.Errorf("%s: %v, want the field %s", text, err, field)
		}
	}
}

func TestMCPMistakesAreReportedTogetherAndPlaced(t *testing.T) {
	_, err := loadText(t, `{mcp:{servers:{
		a: {},
		b: {args:["x"], command:"x", url:"http://h"},
		c: {url:"ftp://h"},
		d: {args:["x"]},
	}}}`)
	var ce *configfile.Error
	if !errors.As(err, &ce) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range ce.Problems {
		got = append(got, fmt.Sprintf("%s:%d", p.Field, p.Line))
	}
	want := []string{"mcp.servers.a.command:2", "mcp.servers.b.command:3", "mcp.servers.c.url:4", "mcp.servers.d.command:5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
