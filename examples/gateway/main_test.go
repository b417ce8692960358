package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
	"github.com/quoinhq/quoin/examples/gateway/story"
	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/host/modeltools"
)

// asGateway makes the test binary the gateway itself.
const asGateway = "QUOIN_TEST_GATEWAY"

// built is where plugins are built, once for all tests.
var built string

func TestMain(m *testing.M) {
	guestserver.ServeIfWorker()
	if os.Getenv(asGateway) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "quoin-gateway-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildPlugins builds what the conversations use, in the module that has them.
var buildPlugins = sync.OnceValue(func() error {
	for _, name := range []string{"issues", "calendar"} {
		source, dir := "../plugins/"+name, filepath.Join(built, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		cmd := exec.Command("go", "build", "-pgo=off", "-o", filepath.Join(dir, name), ".")
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
		manifest, err := os.ReadFile(filepath.Join(source, "plugin.json"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "plugin.json"), manifest, 0o644); err != nil {
			return err
		}
	}
	return nil
})

func pluginDir(t *testing.T) string {
	t.Helper()
	if err := buildPlugins(); err != nil {
		t.Fatal(err)
	}
	return built
}

var providers = []modeltools.Provider{modeltools.ProviderOpenAI, modeltools.ProviderResponses, modeltools.ProviderAnthropic}

// TestStory holds the conversation of make demo-gateway: a search, a program that calls
// two plugins and a function of the gateway, an approval, SIGKILL, and the end.
func TestStory(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugins := pluginDir(t)
	for i, p := range providers {
		t.Run(string(p), func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("one API is enough in the short form; the end-to-end plan has all three")
			}
			var seen strings.Builder
			err := story.Play(context.Background(), story.Stage{
				Gateway: []string{exe}, Env: append(os.Environ(), asGateway+"=1"), Plugins: plugins, Provider: string(p), Out: &seen,
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, &seen)
			}
			for _, want := range []string{"quoin:calendar:calendar_create", "on_call ok", "Calendar.create ok", "? Allow calendar_create? {", `Yes: {"events":2,"comments":[1,1]}`} {
				if !strings.Contains(seen.String(), want) {
					t.Errorf("the person did not see %q:\n%s", want, &seen)
				}
			}
		})
	}
}

// endpoint serves a scripted model for a test, which fails if a request was wrong.
func endpoint(t *testing.T, e *scripted.Endpoint) (url func(modeltools.Provider) string) {
	t.Helper()
	e.Key = "test-key"
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		server.Close()
		if err := e.Problems(); err != nil {
			t.Error(err)
		}
	})
	return func(p modeltools.Provider) string {
		if p == modeltools.ProviderAnthropic {
			return server.URL
		}
		return server.URL + "/v1"
	}
}
