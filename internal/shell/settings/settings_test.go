package settings

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	for _, raw := range []string{"", "{}", `{"enabled":true}`} {
		s, err := Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if s.Host != Sandbox || s.Security != Allowlist || s.Ask != AskOnMiss || !*s.Sandbox.Required {
			t.Errorf("%s: the defaults are not the strict ones: %+v", raw, s)
		}
		if s.YieldMs != 10_000 || s.TimeoutSeconds != 1800 || len(s.Allow) != 0 || len(s.Sandbox.Domains) != 0 || s.Elevated.Enabled {
			t.Errorf("%s: %+v", raw, s)
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := Parse(again); err != nil || !reflect.DeepEqual(read, s) {
			t.Errorf("%s: read again it is %+v: %v", raw, read, err)
		}
	}
	if MinYield != 10*time.Millisecond || MaxYield != 120*time.Second {
		t.Errorf("yield is %v to %v", MinYield, MaxYield)
	}
}

func TestMistakes(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                                   "cannot unmarshal array",
		`{} {}`:                                "more than one value",
		`{"hosts":"sandbox"}`:                  `unknown field "hosts"`,
		`{"host":"docker"}`:                    "host:",
		`{"security":"none"}`:                  "security:",
		`{"ask":"never"}`:                      "ask:",
		`{"path":["bin"]}`:                     "path:",
		`{"sandbox":{"read":["a"]}}`:           "sandbox.read:",
		`{"sandbox":{"write":["./a"]}}`:        "sandbox.write:",
		`{"sandbox":{"deny":["~"]}}`:           "sandbox.deny:",
		`{"sandbox":{"domains":["*"]}}`:        "sandbox.domains:",
		`{"sandbox":{"memoryBytes":1}}`:        "sandbox.memoryBytes:",
		`{"workdir":"here"}`:                   "workdir:",
		`{"env":{"A B":"c"}}`:                  "env:",
		`{"yieldMs":9}`:                        "yieldMs: 9 is not between 10 and 120000",
		`{"yieldMs":120001}`:                   "yieldMs:",
		`{"timeoutSeconds":-1}`:                "timeoutSeconds:",
		`{"outputBytes":99999999}`:             "outputBytes:",
		`{"maxProcesses":-3}`:                  "maxProcesses:",
		`{"keepSeconds":-1}`:                   "keepSeconds:",
		`{"approvalTimeoutSeconds":999999999}`: "approvalTimeoutSeconds:",
		`{"elevated":{"prefix":["sudo"]}}`:     "elevated.prefix:",
	} {
		if _, err := Parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestNodesThatSSHCouldTakeForMore refuses names and addresses that are options, or more than a
// user, a machine and a port.
func TestNodesThatSSHCouldTakeForMore(t *testing.T) {
	t.Parallel()
	good := []string{"ssh://a", "ssh://a@b", "ssh://build@192.0.2.7:22", "ssh://a_b.c-d@x_y.example.com:65535", "ssh://a@[2001:db8::7]:22"}
	bad := []string{
		"", "a", "a@b", "-oProxyCommand=x", "ssh://-oProxyCommand=x", "ssh://-l@b", "ssh://a@-b", "ssh://@b", "ssh://a:secret@b", "ssh://a@b/", "ssh://a@b/c",
		"ssh://a@b:", "ssh://a@b:0", "ssh://a@b:22 -v", "ssh://a@b\n", "ssh://a b", "ssh://a@b;c", "ssh://%61@b", "ssh://a@[::1%25lo]", "ssh://a@b?c", "ssh://a@b#c", "ssh://$(a)", "http://a@b", "SSH://a",
	}
	for i, address := range append(good, bad...) {
		raw, err := json.Marshal(map[string]any{"nodes": map[string]string{"n": address}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(raw); (err == nil) != (i < len(good)) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, name := range []string{"", "-v", "A", "a b", "a/b"} {
		if _, err := Parse([]byte(`{"nodes":{"` + name + `":"ssh://a"}}`)); err == nil || !strings.Contains(err.Error(), "cannot name a node") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Parse([]byte(`{"node":"b","nodes":{"a":"ssh://a"}}`)); err == nil || !strings.Contains(err.Error(), "plugins.shell.nodes has a") {
		t.Error(err)
	}
}
