package mcp

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server Server
		want   string // empty: fine
	}{
		{Server{Name: "a", Command: "x", Args: []string{"y"}, Env: map[string]string{"A": "${B}"}, PassEnv: []string{"PATH"}}, ""},
		{Server{Name: "A-1_b.c", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer x"}}, ""},
		{Server{Name: "", Command: "x"}, "number 1: name"},
		{Server{Name: "a:b", Command: "x"}, "number 1: name"},
		{Server{Name: strings.Repeat("a", 65), Command: "x"}, "number 1: name"},
		{Server{Name: "a"}, "command and url are both missing"},
		{Server{Name: "a", Command: "x", URL: "http://h"}, "command and url are both given"},
		{Server{Name: "a", Command: "x", Headers: map[string]string{"A": "b"}}, "headers are for servers with a url"},
		{Server{Name: "a", URL: "http://h", Args: []string{"b"}}, "are for servers with a command"},
		{Server{Name: "a", URL: "ftp://h"}, "url is not an address"},
		{Server{Name: "a", URL: "http://u:p@h"}, "use headers instead"},
		{Server{Name: "a", Command: "x", Env: map[string]string{"A=B": "c"}}, "env.A=B is not a variable"},
		{Server{Name: "a", Command: "x", PassEnv: []string{"A B"}}, "passEnv has"},
		{Server{Name: "a", URL: "http://h", Headers: map[string]string{"A": "b\r\nC: d"}}, "headers.A is not a header"},
		{Server{Name: "a", URL: "http://h", Headers: map[string]string{"mcp-session-id": "b"}}, "is set by the protocol"},
		{Server{Name: "a", URL: "http://h", Headers: map[string]string{"accept": "b"}}, "is set by the protocol"},
		{Server{Name: "a", Command: "x", Allow: []string{"[a"}}, "allow has the malformed pattern"},
		{Server{Name: "a", Command: "x", Deny: []string{"[a"}}, "deny has the malformed pattern"},
	} {
		err := Check([]Server{c.server})
		var ce *ConfigError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &ce) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.server, err, c.want)
		}
	}
	two := Server{Name: "a", Command: "x"}
	if err := Check([]Server{two, two}); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("two of one name: %v", err)
	}
	if err := Check(make([]Server, maxServers+1)); err == nil {
		t.Error("too many servers were accepted")
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := Server{ConnectTimeout: time.Nanosecond, CallTimeout: 1000 * time.Hour}.withDefaults()
	if s.ConnectTimeout != minTimeout || s.CallTimeout != maxCallTimeout {
		t.Errorf("%+v", s)
	}
	if s := (Server{}).withDefaults(); s.ConnectTimeout != defConnectTimeout || s.CallTimeout != defCallTimeout {
		t.Errorf("%+v", s)
	}
}
