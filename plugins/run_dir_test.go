package plugins

import (
	"os"
	"sync"
	"testing"
)

// TestHostsThatComeAndGo do not get in each other's way.
func TestHostsThatComeAndGo(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "q")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) }) // the test has said what was wrong
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 100 {
				d, err := openRunDir(root)
				if err == nil {
					err = d.close()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("they have left %v, %v", left, err)
	}
}
