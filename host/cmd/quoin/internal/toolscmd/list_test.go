package toolscmd

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/gateway"
)

// stranger is a host with plugins that write to the terminal of who lists them.
type stranger struct{ app.Backend }

const toTerminal = "\x1b]0;owned\a\x1b[2Jgone\rnew \u202etxt"

func (stranger) Tools(context.Context, host.Session) ([]catalog.Entry, error) {
	return []catalog.Entry{{ID: "quoin:a:b", Description: toTerminal}}, nil
}

func (stranger) Namespaces(context.Context, host.Session) ([]host.Namespace, error) {
	return []host.Namespace{{GlobalName: "A", PluginID: "a", Description: toTerminal}}, nil
}

func (stranger) Plugins(context.Context) ([]gateway.Plugin, error) {
	return []gateway.Plugin{{ID: "a", State: "disabled", Reason: toTerminal}, {ID: "b", State: "running", LastError: toTerminal}}, nil
}

// What plugins say of themselves, or why they do not come up, is shown and does
// nothing to the output.
func TestListsAreInert(t *testing.T) {
	t.Parallel()
	for name, print := range map[string]app.Printer{"tools": printTools, "namespaces": printNamespaces, "plugins": printPlugins} {
		var b strings.Builder
		_, text, err := print(t.Context(), stranger{}, host.Session{})
		if err != nil {
			t.Fatal(err)
		}
		text(&b)
		if strings.ContainsAny(b.String(), "\x1b\a\r\u202e") || !strings.Contains(b.String(), `\x1b[2J`) {
			t.Errorf("%s: %q", name, b.String())
		}
	}
}
