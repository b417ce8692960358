package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// install puts an example plugin into a new directory. The directory's path has no links.
func install(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := hosttest.Install(dir, name); err != nil {
		t.Fatal(err)
	}
	return dir
}

func body(t *testing.T, id, dir string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"id": id, "dir": dir})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// status is what a host says of its plugin.
func status(t *testing.T, h *host.Host, id string) (plugins.Status, bool) {
	t.Helper()
	for _, s := range h.Plugins() {
		if s.ID == id {
			return s, true
		}
	}
	return plugins.Status{}, false
}

// until waits for what a host does by itself, such as after a request has ended.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal(what)
		}
	}
}

// TestDevelopment: for as long as a request lasts its plugin stands in for the
// installed one; a later request takes over, and the end of the last brings the
// installed one back.
func TestDevelopment(t *testing.T) {
	t.Parallel()
	installed, mine, other := install(t, "issues"), install(t, "issues"), install(t, "issues")
	h := newHost(t, host.Config{Plugins: host.PluginConfig{Dir: installed}})
	c := serve(t, h, gateway.Options{Development: true}, nil)
	cl, err := client.New(c.base, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()

	first, err := cl.Develop(ctx, "issues", filepath.Join(mine, "issues"))
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := status(t, h, "issues"); !s.Development || s.Dir != filepath.Join(mine, "issues") {
		t.Errorf("in service: %+v", s)
	}
	c.exec(`return (await Issues.list()).total`).wants(200, "value", "0")
	second, err := cl.Develop(ctx, "issues", filepath.Join(other, "issues"))
	if err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	first.Close() // has nothing to undo any more
	if s, _ := status(t, h, "issues"); !s.Development || s.Dir != filepath.Join(other, "issues") {
		t.Errorf("in service: %+v", s)
	}
	second.Close()
	until(t, "the installed plugin does not come back", func() bool { s, _ := status(t, h, "issues"); return !s.Development })
	if s, _ := status(t, h, "issues"); s.Dir != filepath.Join(installed, "issues") || s.State != plugins.StateRunning {
		t.Errorf("in service: %+v", s)
	}

	// A plugin that is not installed is there for as long as the request.
	calendar := install(t, "calendar")
	third, err := cl.Develop(ctx, "calendar", filepath.Join(calendar, "calendar"))
	if err != nil {
		t.Fatal(err)
	}
	c.exec(`return typeof Calendar`).wants(200, "value", `"object"`)
	third.Close()
	until(t, "the plugin does not go", func() bool { _, there := status(t, h, "calendar"); return !there })
}

// TestDevelopmentIsAnnounced reads the stream itself.
func TestDevelopmentIsAnnounced(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Plugins: host.PluginConfig{Dir: t.TempDir()}})
	c := serve(t, h, gateway.Options{Development: true}, nil)
	mine := install(t, "calendar")
	open := func() (*bufio.Scanner, func()) {
		ctx, cancel := context.WithCancel(context.Background())
		resp, err := c.client.Do(c.request(ctx, http.MethodPost, "/v1/development", body(t, "calendar", filepath.Join(mine, "calendar"))))
		if err != nil {
			t.Fatal(err)
		}
		if media := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || media != "text/event-stream" {
			t.Fatalf("%s, %s", resp.Status, media)
		}
		return bufio.NewScanner(resp.Body), func() {
			cancel()
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	lines, end := open()
	defer end()
	lines.Scan()
	event := lines.Text()
	lines.Scan()
	data, ok := strings.CutPrefix(lines.Text(), "data: ")
	var p gateway.Plugin
	if err := json.Unmarshal([]byte(data), &p); err != nil || event != "event: live" || !ok || p.ID != "calendar" || p.State != "running" {
		t.Fatalf("%s, %s: %v", event, data, err)
	}
	_, endOther := open()
	defer endOther()
	for lines.Scan() && lines.Text() != "event: ended" {
	}
	if lines.Text() != "event: ended" {
		t.Errorf("the stream ended without a word: %v", lines.Err())
	}
}

// TestDevelopmentEndsWithTheServer: a stream does not hold up a shutdown.
func TestDevelopmentEndsWithTheServer(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Plugins: host.PluginConfig{Dir: t.TempDir()}})
	s, err := gateway.New(h, gateway.Options{Development: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	cl, err := client.New("http://"+l.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	d, err := cl.Develop(context.Background(), "calendar", filepath.Join(install(t, "calendar"), "calendar"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	<-d.Done()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestDevelopmentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Plugins: host.PluginConfig{Dir: t.TempDir()}})
	mine := filepath.Join(install(t, "calendar"), "calendar")
	good := body(t, "calendar", mine)
	on := gateway.Options{Development: true}

	serve(t, h, gateway.Options{}, nil).post("/v1/development", good).problem(403, gateway.ProblemDevelopment)
	far := serve(t, h, gateway.Options{Development: true, Token: secret}, afar{listen(t)})
	far.post("/v1/development", good).problem(403, gateway.ProblemDevelopment)
	// A proxy on this machine passes on what comes from afar, with its own name.
	proxied := serve(t, h, gateway.Options{Development: true, Hosts: []string{"quoin.example"}}, nil)
	r := proxied.request(context.Background(), http.MethodPost, "/v1/development", good)
	r.Host = "quoin.example"
	proxied.send(r).problem(403, gateway.ProblemDevelopment)
	// Or with the address that it was told to ask.
	for _, header := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Real-Ip"} {
		r := proxied.request(context.Background(), http.MethodPost, "/v1/development", good)
		r.Header.Set(header, "203.0.113.7")
		proxied.send(r).problem(403, gateway.ProblemDevelopment)
	}

	c := serve(t, h, on, nil)
	c.post("/v1/development", body(t, "issues", mine)).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/development", body(t, "calendar", "calendar")).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/development", `{"id": "calendar"}`).problem(400, gateway.ProblemInvalidRequest)
	c.post("/v1/development", body(t, "x", t.TempDir())).problem(409, gateway.ProblemConflict)
	serve(t, newHost(t, host.Config{}), on, nil).post("/v1/development", good).problem(409, gateway.ProblemConflict)

	// What the host refuses changes nothing.
	ill := filepath.Join(install(t, "calendar"), "calendar")
	manifest := filepath.Join(ill, "plugin.json")
	b, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(manifest); err != nil { // it may be a link to the one of others
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte(strings.Replace(string(b), `"version": "`, `"version": "9`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.post("/v1/development", body(t, "calendar", ill)).problem(409, gateway.ProblemConflict)
	if s, there := status(t, h, "calendar"); there {
		t.Errorf("in service: %+v", s)
	}
}

// TestFoldersOfOthers: what others can write to is not run.
func TestFoldersOfOthers(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{Plugins: host.PluginConfig{Dir: t.TempDir()}}), gateway.Options{Development: true}, nil)
	for _, open := range []string{".", "plugin.json", "calendar"} {
		dir := filepath.Join(t.TempDir(), "calendar")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		manifest := `{"id": "calendar", "version": "1", "protocol": 1, "command": "./calendar"}`
		for name, text := range map[string]string{"plugin.json": manifest, "calendar": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, open), 0o722); err != nil {
			t.Fatal(err)
		}
		a := c.post("/v1/development", body(t, "calendar", dir)).problem(403, gateway.ProblemDevelopment)
		if !strings.Contains(string(a.body), "chmod go-w") {
			t.Errorf("%s: %s", open, a.body)
		}
	}
}

// TestWaysOfOthers: a folder of the server's user is not run at a path where others
// can put another one, now or before a restart after a crash.
func TestWaysOfOthers(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{Plugins: host.PluginConfig{Dir: t.TempDir()}}), gateway.Options{Development: true}, nil)
	shared := func() string {
		dir := filepath.Join(t.TempDir(), "shared")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := func(to, at string) string {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	mine := filepath.Join(install(t, "calendar"), "calendar")
	between := filepath.Join(t.TempDir(), "calendar")
	link(link(mine, filepath.Join(shared(), "x")), between)
	below := filepath.Join(shared(), "calendar")
	if err := os.CopyFS(below, os.DirFS(mine)); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(install(t, "calendar"), "calendar")
	m, err := manifest.Read(binary)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(binary, m.Command)
	real := program + ".real"
	if err := os.Rename(program, real); err != nil {
		t.Fatal(err)
	}
	link(link(real, filepath.Join(shared(), "program")), program)
	for what, dir := range map[string]string{
		"a link in a folder of others": link(mine, filepath.Join(shared(), "calendar")),
		"a link to one":                between,
		"a folder below one":           below,
		"a program by such a link":     binary,
	} {
		a := c.post("/v1/development", body(t, "calendar", dir)).problem(403, gateway.ProblemDevelopment)
		if !strings.Contains(string(a.body), "mode 0777, so that others can write to it") {
			t.Errorf("%s: %s", what, a.body)
		}
	}
}
