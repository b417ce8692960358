package configedit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/internal/json5"
)

// setLog returns a change.
func setLog(value string) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) { return json5.Set(text, []string{"log", "level"}, []byte(value)) }
}

func TestANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quoin", "quoin.json5")
	info, err := Apply(t.Context(), path, setLog(`"debug"`))
	if err != nil || info != nil {
		t.Fatal(info, err)
	}
	wantFile(t, path, 0o600, "// The configuration of Quoin. To check it: quoin config check\n{\n  log: { level: \"debug\" },\n}\n")
}

func TestTheModeAndTheLinkStay(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json5"), filepath.Join(dir, "link.json5")
	if err := errors.Join(os.WriteFile(real, []byte("{log: {level: 'info'}} // mine\n"), 0o644), os.Chmod(real, 0o644), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	if info, err := Apply(t.Context(), link, setLog(`"warn"`)); err != nil || info.Mode().Perm() != 0o644 {
		t.Fatal(info, err)
	}
	wantFile(t, real, 0o644, "{log: {level: \"warn\"}} // mine\n")
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is a file now", err)
	}
}

func TestAWrongResultIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quoin.json5")
	const before = "{log: {level: 'info'}}"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Apply(t.Context(), path, setLog(`"loud"`))
	if err == nil || !strings.Contains(err.Error(), path+":1:15") || !strings.Contains(err.Error(), "nothing is written") {
		t.Error(err)
	}
	wantFile(t, path, 0o600, before)
	failed := errors.New("no")
	if _, err := Apply(t.Context(), path, func([]byte) ([]byte, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	wantFile(t, path, 0o600, before)
}

// TestManyAtOnce: no change is lost.
func TestManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quoin.json5")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := Apply(t.Context(), path, func(text []byte) ([]byte, error) {
				return json5.Set(text, []string{"mcp", "servers", fmt.Sprintf("s%d", i)}, []byte(`{"command":"x"}`))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "command") != 8 {
		t.Errorf("%s, %v", text, err)
	}
}

func wantFile(t *testing.T, path string, mode fs.FileMode, text string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text || st.Mode().Perm() != mode {
		t.Errorf("%s has mode %o and %q, %v; want %o and %q", path, st.Mode().Perm(), got, err, mode, text)
	}
}
