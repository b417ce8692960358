package guestrt

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestShelf(t *testing.T) {
	s := newSlots[int](2)
	a, b, c := 1, 2, 3
	if !s.put(&a) || !s.put(&b) || s.put(&c) {
		t.Fatal("a shelf of two places takes two values")
	}
	is := func(n int) func(*int) bool { return func(v *int) bool { return *v == n } }
	if v := s.take(is(2)); v != &b {
		t.Errorf("took %v", v)
	}
	if v := s.take(is(2)); v != nil {
		t.Errorf("took %d twice", *v)
	}
	less := func(a, b *int) bool { return *a < *b }
	if v := s.replace(&c, less); v != nil {
		t.Errorf("evicted %d from a shelf with room", *v)
	}
	if v := s.replace(&b, less); v != &a {
		t.Errorf("evicted %v, not the least", v)
	}
	if v := s.replace(&a, less); v != &a {
		t.Errorf("evicted %v for a value that is less than all", v)
	}
}

// TestShelfLosesNothing: whatever is put is taken exactly once.
func TestShelfLosesNothing(t *testing.T) {
	const each, takers = 2000, 4
	s := newSlots[int](3)
	var left atomic.Int32
	left.Store(each * takers)
	seen := make([]atomic.Int32, each*takers)
	var group sync.WaitGroup
	for n := range takers {
		group.Go(func() {
			for i := range each {
				v := n*each + i
				for !s.put(&v) {
					if w := s.take(matchAny); w != nil {
						seen[*w].Add(1)
						left.Add(-1)
					}
				}
			}
		})
	}
	group.Wait()
	for v := s.take(matchAny); v != nil; v = s.take(matchAny) {
		seen[*v].Add(1)
		left.Add(-1)
	}
	if left.Load() != 0 {
		t.Errorf("%d values are lost", left.Load())
	}
	for i := range seen {
		if seen[i].Load() != 1 {
			t.Fatalf("value %d was taken %d times", i, seen[i].Load())
		}
	}
}
