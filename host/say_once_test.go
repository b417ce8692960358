package host_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/plugins"
)

// TestAWrongPluginNameIsLoggedOnce: the view is made again at each change of any plugin.
func TestAWrongPluginNameIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := &logged{}
	own := echo("echo")
	own.Owner = "issues"
	h := start(t, host.Config{Logger: log.jsonLogger(), Tools: []catalog.Tool{own}, Plugins: host.PluginConfig{Dir: pluginDir(t, "issues")}})
	undo, err := h.Develop(t.Context(), plugins.Find(filepath.Join(pluginDir(t, "calendar"), "calendar")))
	if err != nil {
		t.Fatal(err)
	}
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.text(), "a plugin has the name of an owner of built-in tools and is left out: rename it"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.text())
	}
}
