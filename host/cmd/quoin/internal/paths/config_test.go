package paths

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConfig walks through the places of a configuration file, the first one that counts
// first.
func TestConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv(ConfigEnv, "")
	check := func(given, want string) {
		t.Helper()
		if got, err := Config(given); got != want || err != nil {
			t.Errorf("Config(%q) = %q, %v; want %q", given, got, err, want)
		}
	}
	check("", "")
	own := filepath.Join(home, "quoin", "quoin.json5")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("", own)
	t.Setenv(ConfigEnv, "other.json5")
	check("", "other.json5")
	check("given.json5", "given.json5")
	check(None, "")
	t.Setenv(ConfigEnv, None)
	check("", "")
}

func TestState(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/var/lib/me")
	for _, c := range []struct{ flag, configured, want string }{
		{"a", "b", "a"}, {"", "b", "b"}, {"", "", "/var/lib/me/quoin"},
	} {
		if got, err := State(c.flag, c.configured); got != c.want || err != nil {
			t.Errorf("State(%q, %q) = %q, %v; want %q", c.flag, c.configured, got, err, c.want)
		}
	}
}

func TestPlugins(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	for _, c := range []struct {
		flag, configured, want string
		fails                  bool
	}{
		{dir, "missing", dir, false}, {"", dir, dir, false}, {None, dir, "", false}, {"missing", "", "", true}, {"", "", "", false},
	} {
		if got, err := Plugins(c.flag, c.configured); got != c.want || (err != nil) != c.fails {
			t.Errorf("Plugins(%q, %q) = %q, %v; want %q", c.flag, c.configured, got, err, c.want)
		}
	}
}
