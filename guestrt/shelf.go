package guestrt

import "sync/atomic"

// shelf has room for a fixed number of values, which any goroutine may put and
// take without a lock: each place is one atomic pointer.
type shelf[T any] []atomic.Pointer[T]

func newShelf[T any](places int) shelf[T] { return make(shelf[T], places) }

// put finds a free place for v and reports whether there was one.
func (s shelf[T]) put(v *T) bool {
	for i := range s {
		if s[i].CompareAndSwap(nil, v) {
			return true
		}
	}
	return false
}

// take removes a value that fits and returns it; nil means there is none.
func (s shelf[T]) take(fits func(*T) bool) *T {
	for i := range s {
		if v := s[i].Load(); v != nil && fits(v) && s[i].CompareAndSwap(v, nil) {
			return v
		}
	}
	return nil
}

// evict puts v in place of the value that comes first by less, and returns that;
// nil means that a place had become free.
func (s shelf[T]) evict(v *T, less func(a, b *T) bool) *T {
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
func (s shelf[T]) each(f func(*T)) {
	for i := range s {
		if v := s[i].Load(); v != nil {
			f(v)
		}
	}
}

// anyOf fits every value.
func anyOf[T any](*T) bool { return true }
