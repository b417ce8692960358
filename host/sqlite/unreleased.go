package sqlite

import (
	"context"
	"sync"
)

// unreleased is what this process has given up, and could not say so: what it is called, and
// what says so.
type unreleased struct {
	mu   sync.Mutex
	held map[string]func(*tx) error
}

func (u *unreleased) add(name string, release func(*tx) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = map[string]func(*tx) error{}
	}
	u.held[name] = release
}

func (u *unreleased) remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.held, name)
}

func (u *unreleased) has(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.held[name]
	return ok
}

// take returns all of it, and forgets it.
func (u *unreleased) take() map[string]func(*tx) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	held := u.held
	u.held = nil
	return held
}

// letGo lets others have something of a name. If the database cannot be told, it is told later.
func (d *conn) letGo(name string, release func(*tx) error) {
	for range 2 { // a failure may pass
		if d.writeLazily(context.Background(), 0, release) == nil {
			return
		}
	}
	d.unreleased.add(name, release)
}

// letGoAgain lets others have what the database could not be told of.
func (d *conn) letGoAgain() {
	for name, release := range d.unreleased.take() {
		d.letGo(name, release)
	}
}

// take has a name owned by do, which a write that fails may have done all the same.
func (d *conn) take(ctx context.Context, name string, lazily bool, bytes int, do, release func(*tx) error) error {
	took := false
	write := d.write
	if lazily {
		write = d.writeLazily
	}
	err := write(ctx, bytes, func(t *tx) error {
		err := do(t)
		took = err == nil
		return err
	})
	switch {
	case err == nil:
		d.unreleased.remove(name)
	case took:
		d.letGo(name, release)
	}
	return err
}
