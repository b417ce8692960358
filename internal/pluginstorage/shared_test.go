package pluginstorage

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// memoryLog is a Log of the tests. before is called before each write, if set.
type memoryLog struct {
	mu      sync.Mutex
	first   uint64   // the number of entries[0]
	entries [][]byte // nil: it is missing
	before  func() error
	lost    bool // the answer to the next write is lost
	forgot  bool // the next Read after an entry finds that this entry is lost
}

func (l *memoryLog) newest() uint64 { return l.first + uint64(len(l.entries)) - 1 }

func (l *memoryLog) Read(_ context.Context, after uint64, add func(uint64, []byte) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forgot && after > 0 {
		l.forgot = false
		return ErrLost
	}
	for i, e := range l.entries {
		if n := l.first + uint64(i); n > after && e != nil {
			if err := add(n, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *memoryLog) Append(_ context.Context, after uint64, entry []byte) error {
	return l.write(after, func() { l.entries = append(l.entries, entry) })
}

func (l *memoryLog) Replace(_ context.Context, after uint64, entries [][]byte) error {
	return l.write(after, func() { l.first, l.entries = after+1, entries })
}

func (l *memoryLog) write(after uint64, do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	if l.first == 0 {
		l.first = 1
	}
	if after != l.newest() {
		return fs.ErrExist
	}
	do()
	if l.lost {
		l.lost = false
		return errors.New("the connection is gone")
	}
	return nil
}

// shared is a storage of a host that must not fail.
func shared(t testing.TB, log Log) *Shared {
	return NewShared("p", log, func(err error) { t.Errorf("storage: %v", err) })
}

// endlessLog has entries that no compaction has ever met.
type endlessLog struct {
	memoryLog
	read int // bytes
}

func (l *endlessLog) Read(_ context.Context, after uint64, add func(uint64, []byte) error) error {
	for n := after + 1; ; n++ {
		entry := appendRecord(nil, kindSet, change{key: "a", value: make([]byte, protocol.MaxStorageValue), revision: n})
		l.read += len(entry)
		if err := add(n, entry); err != nil {
			return err
		}
	}
}

// TestALogWithoutEnd is not read any further than a log may be long.
func TestALogWithoutEnd(t *testing.T) {
	log := &endlessLog{}
	var heard error
	_, err := NewShared("p", log, func(err error) { heard = err }).Get(t.Context(), "a")
	wantCode(t, err, protocol.CodeStorageFailed)
	if heard == nil || !strings.Contains(heard.Error(), "no storage needs more") || log.read > maxFileBytes+2*MaxEntry {
		t.Errorf("read %d bytes, and the host heard %v", log.read, heard)
	}
}

// TestHostsShareALog: each sees what the others have changed, a revision holds across
// hosts, and nothing is lost among many.
func TestHostsShareALog(t *testing.T) {
	log := &memoryLog{}
	one, two := shared(t, log), shared(t, log)
	set(t, one, "a", "1")
	want(t, two, "a", "1")
	seen := set(t, two, "a", "2")
	want(t, one, "a", "2")
	set(t, one, "a", "3")
	_, err := two.Set(t.Context(), "a", []byte("stale"), &seen)
	wantCode(t, err, protocol.CodeStorageConflict)
	var all sync.WaitGroup
	for range 8 {
		s := shared(t, log)
		all.Go(func() { count(t, s, "n", 25) })
	}
	all.Wait()
	want(t, one, "n", strings.Repeat("x", 200))
}

// count adds n characters to a value, each by a change that expects the revision it read.
func count(t *testing.T, s protocol.Storage, key string, n int) {
	for n > 0 {
		e, err := s.Get(t.Context(), key)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = s.Set(t.Context(), key, append(e.Value, 'x'), &e.Revision)
		var own *protocol.Error
		switch {
		case err == nil:
			n--
		case !errors.As(err, &own) || own.Code != protocol.CodeStorageConflict:
			t.Error(err)
			return
		}
	}
}

// TestALogIsRewritten when most of it is superseded, also under the eyes of a host that is
// behind, and revisions continue.
func TestALogIsRewritten(t *testing.T) {
	log := &memoryLog{}
	one, behind := shared(t, log), shared(t, log)
	set(t, one, "keep", "me")
	want(t, behind, "keep", "me")
	large := strings.Repeat("x", protocol.MaxStorageValue)
	last := uint64(0)
	for range 5 {
		last = set(t, one, "a", large)
	}
	if log.first == 1 || len(log.entries) > 4 {
		t.Errorf("the log starts at %d and has %d entries", log.first, len(log.entries))
	}
	for _, s := range []*Shared{one, behind, shared(t, log)} {
		want(t, s, "keep", "me")
		want(t, s, "a", large)
		if next := set(t, s, "b", "1"); next <= last {
			t.Errorf("revision %d after %d", next, last)
		} else {
			last = next
		}
	}
}

// TestALogThatFails: the plugin learns that its change may not be there, the host why, and
// the storage continues with what the log has.
func TestALogThatFails(t *testing.T) {
	log, heard := &memoryLog{}, 0
	s := NewShared("p", log, func(err error) {
		heard++
		if !strings.Contains(err.Error(), "storage p") {
			t.Errorf("the host hears %v", err)
		}
	})
	set(t, s, "a", "1")
	log.before = func() error { return errors.New("refused by 10.0.0.1") }
	_, err := s.Set(t.Context(), "a", []byte("2"), nil)
	wantCode(t, err, protocol.CodeStorageFailed)
	if strings.Contains(err.Error(), "10.0.0.1") || heard != 1 {
		t.Errorf("the plugin hears %v, the host %d times", err, heard)
	}
	want(t, s, "a", "1")
	log.before, log.lost = nil, true
	_, err = s.Set(t.Context(), "a", []byte("3"), nil)
	wantCode(t, err, protocol.CodeStorageFailed)
	want(t, s, "a", "3") // the answer was lost, and the change was not
	set(t, s, "a", "4")
	want(t, s, "a", "4")
}

// TestALogThatLosesItsNewest: all hosts continue with what the log has, and so does one that
// has seen what is lost.
func TestALogThatLosesItsNewest(t *testing.T) {
	log := &memoryLog{}
	s := shared(t, log)
	set(t, s, "a", "1")
	set(t, s, "a", "2")
	log.entries = log.entries[:1]
	log.forgot = true
	want(t, s, "a", "1")
	log.forgot = true
	set(t, s, "b", "1")
	want(t, shared(t, log), "b", "1")
	want(t, s, "a", "1")
}

// TestALogWithoutItsNewest says that another was first, and has nothing new: that is damage.
func TestALogWithoutItsNewest(t *testing.T) {
	log, writes, heard := &memoryLog{}, 0, error(nil)
	s := NewShared("p", log, func(err error) { heard = err })
	set(t, s, "a", "1")
	log.before = func() error {
		if writes++; writes > 3 {
			return errors.New("one write too many")
		}
		return fs.ErrExist
	}
	_, err := s.Set(t.Context(), "a", []byte("2"), nil)
	if writes != 1 || err == nil || !errors.Is(heard, errMissing) {
		t.Errorf("%d writes, the plugin hears %v, the host %v", writes, err, heard)
	}
}

// TestALogThatWasChanged by others is damage: no part of it counts.
func TestALogThatWasChanged(t *testing.T) {
	fill := func() *memoryLog {
		log := &memoryLog{}
		s := shared(t, log)
		for _, key := range []string{"a", "b", "c"} {
			set(t, s, key, "1")
		}
		return log
	}
	for name, change := range map[string]func(*memoryLog){
		"an entry is missing":  func(l *memoryLog) { l.entries[1] = nil },
		"the first is missing": func(l *memoryLog) { l.entries[0] = nil },
		"an entry is cut off":  func(l *memoryLog) { l.entries[1] = l.entries[1][:5] },
		"an entry is empty":    func(l *memoryLog) { l.entries[1] = []byte{} },
		"a byte is another":    func(l *memoryLog) { l.entries[1][headerBytes] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			log, heard := fill(), 0
			change(log)
			_, err := NewShared("p", log, func(error) { heard++ }).Get(t.Context(), "a")
			wantCode(t, err, protocol.CodeStorageFailed)
			if heard != 1 {
				t.Errorf("the host heard %d times", heard)
			}
		})
	}
}

// FuzzEntry reads entries of a log: what comes of them keeps the bounds of a storage.
func FuzzEntry(f *testing.F) {
	f.Add(appendRecord(nil, kindSet, change{key: "a", value: []byte("1"), revision: 1}), []byte{})
	f.Add((&table{revision: 3}).rewritten()[0], appendRecord(nil, kindDelete, change{key: "a", revision: 4}))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := NewShared("p", &memoryLog{first: 1, entries: [][]byte{owned(first), owned(second)}}, func(error) {})
		if _, _, err := s.List(t.Context(), "", "", 0); err != nil {
			return
		}
		for key, e := range s.t.entries {
			if protocol.CheckStorageEntry(key, e.Value) != nil || e.Revision > s.t.revision {
				t.Errorf("key %q has %d bytes of revision %d", key, len(e.Value), e.Revision)
			}
		}
	})
}
