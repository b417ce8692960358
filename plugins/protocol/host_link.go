package protocol

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// maxHostRequests bounds the requests of a plugin that wait for its host.
const maxHostRequests = 32

// HostUser is what a [Service] implements next to it to get hold of its host.
type HostUser interface {
	// UseHost is called when the host offers its services, at most once at a time.
	// The link is good until its Done is closed.
	UseHost(l *HostLink)
}

// HostLink is a plugin's way to its host. It is a [Storage], and safe for
// concurrent use.
type HostLink struct {
	stream grpc.BidiStreamingServer[protocolpb.HostReply, protocolpb.HostRequest]
	places chan struct{} // one for each request that waits
	done   chan struct{}

	sending sync.Mutex

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *protocolpb.HostReply
}

var _ Storage = (*HostLink)(nil)

func (s *server) HostServices(stream grpc.BidiStreamingServer[protocolpb.HostReply, protocolpb.HostRequest]) error {
	user, ok := s.service.(HostUser)
	if !ok {
		return status.Error(codes.Unimplemented, "the plugin asks nothing of its host")
	}
	l := &HostLink{
		stream: stream, places: make(chan struct{}, maxHostRequests), done: make(chan struct{}),
		waiting: make(map[uint64]chan *protocolpb.HostReply),
	}
	defer close(l.done)
	user.UseHost(l)
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		l.hand(r)
	}
}

// Done is closed when the host has gone.
func (l *HostLink) Done() <-chan struct{} { return l.done }

// hand gives a reply to the goroutine that waits for it.
func (l *HostLink) hand(r *protocolpb.HostReply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.waiting[r.GetNumber()]; ok {
		delete(l.waiting, r.GetNumber())
		c <- r // has room for it
	}
}

// ask sends one request and waits for its reply.
func (l *HostLink) ask(ctx context.Context, r *protocolpb.HostRequest) (*protocolpb.HostReply, error) {
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-l.done:
		return nil, errHostGone()
	case <-ctx.Done():
		return nil, transportError(ctx, ctx.Err())
	}
	reply := l.expect(r)
	defer l.forget(r.Number)
	if err := l.send(r); err != nil {
		return nil, errHostGone()
	}
	select {
	case got := <-reply:
		if got.GetError() != nil {
			return nil, errorFromHost(got.GetError())
		}
		return got, nil
	case <-l.done:
		return nil, errHostGone()
	case <-ctx.Done():
		return nil, transportError(ctx, ctx.Err())
	}
}

func (l *HostLink) expect(r *protocolpb.HostRequest) <-chan *protocolpb.HostReply {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	r.Number = l.last
	c := make(chan *protocolpb.HostReply, 1)
	l.waiting[r.Number] = c
	return c
}

func (l *HostLink) forget(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, number)
}

func (l *HostLink) send(r *protocolpb.HostRequest) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	return l.stream.Send(r)
}

func errHostGone() error {
	return NewError(KindProcess, CodeNoHostService, "the host has gone")
}

// Get implements [Storage].
func (l *HostLink) Get(ctx context.Context, key string) (StorageEntry, error) {
	if err := CheckStorageKey(key); err != nil {
		return StorageEntry{}, err
	}
	r, err := l.ask(ctx, &protocolpb.HostRequest{Request: &protocolpb.HostRequest_Get{Get: &protocolpb.StorageGet{Key: key}}})
	if err != nil {
		return StorageEntry{}, err
	}
	e := StorageEntry{Value: r.GetEntry().GetValue(), Revision: r.GetEntry().GetRevision()}
	if e.Revision != 0 && e.Value == nil {
		e.Value = []byte{} // the wire does not tell empty from absent
	}
	return e, nil
}

// Set implements [Storage].
func (l *HostLink) Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	if err := CheckStorageEntry(key, value); err != nil {
		return 0, err
	}
	r, err := l.ask(ctx, &protocolpb.HostRequest{Request: &protocolpb.HostRequest_Set{
		Set: &protocolpb.StorageSet{Key: key, Value: value, Revision: expect},
	}})
	return r.GetEntry().GetRevision(), err
}

// Delete implements [Storage].
func (l *HostLink) Delete(ctx context.Context, key string, expect *uint64) error {
	if err := CheckStorageKey(key); err != nil {
		return err
	}
	_, err := l.ask(ctx, &protocolpb.HostRequest{Request: &protocolpb.HostRequest_Delete{
		Delete: &protocolpb.StorageDelete{Key: key, Revision: expect},
	}})
	return err
}

// List implements [Storage].
func (l *HostLink) List(ctx context.Context, prefix, after string, limit int) ([]string, bool, error) {
	r, err := l.ask(ctx, &protocolpb.HostRequest{Request: &protocolpb.HostRequest_List{
		List: &protocolpb.StorageList{Prefix: validText(prefix), After: validText(after), Limit: int32(min(max(limit, 0), MaxStorageList))},
	}})
	return r.GetKeys().GetKeys(), r.GetKeys().GetMore(), err
}
