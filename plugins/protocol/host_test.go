package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// shelf is a storage of one value.
type shelf struct {
	mu     sync.Mutex
	key    string
	entry  StorageEntry
	expect *uint64
	err    error
	gets   atomic.Int64
}

func (s *shelf) Get(_ context.Context, key string) (StorageEntry, error) {
	s.gets.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != s.key {
		return StorageEntry{}, s.err
	}
	return s.entry, s.err
}

func (s *shelf) Set(_ context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.expect = key, expect
	s.entry = StorageEntry{Value: value, Revision: s.entry.Revision + 1}
	return s.entry.Revision, s.err
}

func (s *shelf) Delete(_ context.Context, _ string, expect *uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.expect = "", expect
	return s.err
}

func (s *shelf) List(_ context.Context, prefix, after string, limit int) ([]string, bool, error) {
	return []string{prefix, after, fmt.Sprint(limit)}, true, s.err
}

// asking is a service that uses its host.
type asking struct {
	echo
	link chan *HostLink
}

func (a *asking) UseHost(l *HostLink) { a.link <- l }

// linked is a link to a host that keeps s.
func linked(t *testing.T, s Storage) (l *HostLink, stop context.CancelFunc, served <-chan error) {
	t.Helper()
	a := &asking{link: make(chan *HostLink, 1)}
	c := dial(t, func(s *grpc.Server) { Register(s, a) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.ServeHost(ctx, s) }()
	t.Cleanup(cancel)
	return <-a.link, cancel, ended
}

func TestStorageOverTheWire(t *testing.T) {
	s := &shelf{}
	l, stop, served := linked(t, s)
	ctx := t.Context()
	if e, err := l.Get(ctx, "k"); err != nil || e.Revision != 0 || e.Value != nil {
		t.Errorf("Get: %+v, %v", e, err)
	}
	zero := uint64(0)
	if r, err := l.Set(ctx, "k", []byte{}, &zero); err != nil || r != 1 || s.expect == nil || *s.expect != 0 {
		t.Errorf("Set: %d, %v, expected %v", r, err, s.expect)
	}
	if e, err := l.Get(ctx, "k"); err != nil || e.Revision != 1 || e.Value == nil || len(e.Value) != 0 {
		t.Errorf("Get of an empty value: %+v, %v", e, err)
	}
	if _, err := l.Set(ctx, "k", []byte("v"), nil); err != nil || s.expect != nil {
		t.Errorf("Set: %v, expected %v", err, s.expect)
	}
	if keys, more, err := l.List(ctx, "p", "a", 7); err != nil || !more || !slices.Equal(keys, []string{"p", "a", "7"}) {
		t.Errorf("List: %v, %v, %v", keys, more, err)
	}
	if err := l.Delete(ctx, "k", nil); err != nil {
		t.Error(err)
	}
	if _, err := l.Get(ctx, "\xff"); !errors.Is(err, &Error{Code: CodeStorageInvalid}) {
		t.Errorf("Get of a wrong key: %v", err)
	}
	s.err = NewError(KindProcess, CodeStorageFailed, "the disk is full")
	for _, err := range []error{errOf(l.Get(ctx, "k")), errOf(l.Set(ctx, "k", nil, nil)), l.Delete(ctx, "k", nil)} {
		if e := AsError(err); e == nil || e.Kind != KindProcess || e.Code != CodeStorageFailed {
			t.Errorf("a failure of the host arrived as %v", err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Get(cancelled, "k"); !errors.Is(err, &Error{Code: CodeCancelled}) {
		t.Errorf("cancelled: %v", err)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("ServeHost: %v", err)
	}
	<-l.Done()
	if _, err := l.Get(ctx, "k"); !errors.Is(err, &Error{Code: CodeNoHostService}) {
		t.Errorf("without a host: %v", err)
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestRequestsAtOnceGetTheirOwnReplies(t *testing.T) {
	l, _, _ := linked(t, &shelf{})
	var all sync.WaitGroup
	for i := range 4 * maxHostRequests {
		all.Go(func() {
			keys, _, err := l.List(t.Context(), fmt.Sprint(i), "", 0)
			if err != nil || keys[0] != fmt.Sprint(i) {
				t.Errorf("request %d: %v, %v", i, keys, err)
			}
		})
	}
	all.Wait()
}

func TestAPluginNeedsNoHost(t *testing.T) {
	c := dial(t, func(s *grpc.Server) { Register(s, &echo{}) })
	if err := c.ServeHost(t.Context(), &shelf{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// deaf sends requests and reads no reply.
type deaf struct {
	server
	sent atomic.Int64
}

func (d *deaf) HostServices(s grpc.BidiStreamingServer[protocolpb.HostReply, protocolpb.HostRequest]) error {
	for {
		if err := s.Send(&protocolpb.HostRequest{Request: &protocolpb.HostRequest_Get{Get: &protocolpb.StorageGet{Key: "k"}}}); err != nil {
			return err
		}
		d.sent.Add(1)
	}
}

// TestAFloodWaitsAtThePlugin: a plugin that does not read what it asks for is not
// answered without end, and the rest of the connection still works.
func TestAFloodWaitsAtThePlugin(t *testing.T) {
	d := &deaf{server: server{service: &echo{result: []byte(`1`)}}}
	c := dial(t, func(s *grpc.Server) { protocolpb.RegisterPluginServer(s, d) })
	s := &shelf{key: "k", entry: StorageEntry{Value: make([]byte, MaxStorageValue), Revision: 1}}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- c.ServeHost(ctx, s) }()
	for range 200 {
		if _, err := c.CallTool(ctx, CallRequest{Tool: "t"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// A reply is as large as the window of a stream.
	if n := s.gets.Load(); n > 4 {
		t.Errorf("%d requests of a plugin that reads no replies were answered", n)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("ServeHost: %v", err)
	}
}

func TestWhatIsAskedForIsChecked(t *testing.T) {
	got := answer(t.Context(), &shelf{}, &protocolpb.HostRequest{Number: 7})
	if got.GetNumber() != 7 || got.GetError().GetCode() != CodeNoHostService {
		t.Errorf("%v", got)
	}
}
