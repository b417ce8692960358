package mcp

import (
	"strings"
	"testing"
)

// TestArgumentsInTheCommand: a command with its arguments in one text says where they belong.
func TestArgumentsInTheCommand(t *testing.T) {
	t.Parallel()
	st := connectDescribed(t, Server{Name: "srv", Command: "npx -y @acme/srv"}).Status()[0]
	if st.State != StateDown || st.Error == nil || !strings.Contains(st.Error.Error(), "put its arguments into args") {
		t.Errorf("%+v", st)
	}
}
