package bench_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
)

// BenchmarkReload: a new binary takes the place of the one in a watched folder; how
// long until a program is answered by it? Programs run one after another all the
// while.
func BenchmarkReload(b *testing.B) {
	dir := pluginDir(b)
	h := newHost(b, host.Config{Plugins: host.PluginConfig{Dir: dir, Watch: true}})
	serving := func() string {
		r := h.Exec(context.Background(), session, host.ExecInput{Code: `return await tools.pid({})`})
		if r.Status != host.StatusCompleted {
			b.Fatalf("a program met the reload: %+v", r)
		}
		return string(r.Value)
	}
	binary := filepath.Join(dir, pluginName, pluginName)
	s := newSamples(row{name: "save to live: a binary replaced, to its first answer", goal: "p50 <= 150 ms"})
	for b.Loop() {
		built := filepath.Join(b.TempDir(), "built")
		copyBinary(b, binary, built)
		before := serving()
		start := time.Now()
		if err := os.Rename(built, binary); err != nil {
			b.Fatal(err)
		}
		for serving() == before {
		}
		s.d = append(s.d, time.Since(start))
	}
	s.report(b)
}

func copyBinary(b *testing.B, from, to string) {
	b.Helper()
	in, err := os.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		b.Fatal(err)
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
}
