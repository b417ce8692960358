package guestrt

import "sync/atomic"

// slots has room for a fixed number of values, which any goroutine may put and
// take without a lock: each place is one atomic pointer.
type slots[T any] []atomic.Pointer[T]

func newSlots[T any](places int) slots[T] { return make(slots[T], places) }

// put finds a free place for v and reports whether there was one.
func (s slots[T]) put(v *T) bool {
	for i := range s {
		if s[i].CompareAndSwap(nil, v) {
			return true
		}
	}
	return false
}

// take removes a value that fits and returns it; nil means that no value matches.
func (s slots[T]) take(fits func(*T) bool) *T {
	for i := range s {
		if v := s[i].Load(); v != nil && fits(v) && s[i].CompareAndSwap(v, nil) {
			return v
		}
	}
	return nil
}

// replace puts v in place of the value that comes first by less, and returns that;
// nil means that a place had become free.
func (s slots[T]) replace(v *T, less func(a, b *T) bool) *T {
	for {
		if s.put(v) {
			return nil
		}
		at, first := -1, v
		for i := range s {
			if held := s[i].Load(); held != nil && less(held, first) {
				at, first = i, held
			}
		}
		if at < 0 {
			return v // every value came later
		}
		if s[at].CompareAndSwap(first, v) {
			return first
		}
	}
}

// each calls f with every value there is.
func (s slots[T]) each(f func(*T)) {
	for i := range s {
		if v := s[i].Load(); v != nil {
			f(v)
		}
	}
}

// matchAny fits every value.
func matchAny[T any](*T) bool { return true }
