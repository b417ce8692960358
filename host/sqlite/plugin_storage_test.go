package sqlite_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/sqlite"
)

// TestPluginStorageIsShared: processes count with one storage, and no count is lost.
func TestPluginStorageIsShared(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	fail := func(err error) { t.Error(err) }
	one, other := open(t, dir, sqlite.Options{}).PluginStorage("p", fail), open(t, dir, sqlite.Options{}).PluginStorage("p", fail)
	value := []byte(strings.Repeat("x", 50<<10)) // so that the log is rewritten
	const each = 60
	var wg sync.WaitGroup
	for _, s := range []interface {
		Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error)
	}{one, other} {
		wg.Go(func() {
			for range each {
				if _, err := s.Set(ctx, "k", value, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	e, err := one.Get(ctx, "k")
	if err != nil || e.Revision != 2*each {
		t.Errorf("the revision is %d, want %d, %v", e.Revision, 2*each, err)
	}
	d := open(t, dir, sqlite.Options{})
	if ids, err := d.PluginStorages(ctx); err != nil || len(ids) != 1 || ids[0] != "p" {
		t.Errorf("the storages are %v, %v", ids, err)
	}
	if err := d.Change(`UPDATE plugin_entries SET entry = x'00'`); err != nil {
		t.Fatal(err)
	}
	failed := false
	damaged := d.PluginStorage("p", func(error) { failed = true })
	if _, err := damaged.Get(ctx, "k"); err == nil || !failed {
		t.Errorf("entries that do not verify: %v, told %v", err, failed)
	}
}
