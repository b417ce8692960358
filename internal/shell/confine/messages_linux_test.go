package confine

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzNotice: whatever an init says that a command has taken over, the launcher reads
// one message or fails, and an end of the command is a plausible one.
func FuzzNotice(f *testing.F) {
	for _, n := range []notice{
		{Ready: []Layer{{Name: LayerRoot, On: true}}}, {Started: true}, {Error: "x"},
		{Exit: &exit{Code: 3}}, {Exit: &exit{Code: -7, Signal: 1 << 40}},
	} {
		b, err := json.Marshal(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(0))
		f.Add(b, byte(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, files byte) {
		if len(b) == 0 {
			return // that is the end of the connection
		}
		conn, theirs, err := socketpair()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(conn.Close(), theirs.Close()); err != nil {
				t.Error(err)
			}
		}()
		s := &sandbox{conn: conn}
		fds := make([]int, files%8)
		for i := range fds {
			fds[i] = int(theirs.Fd())
		}
		if err := unix.Sendmsg(int(theirs.Fd()), b, unix.UnixRights(fds...), nil, 0); err != nil {
			t.Skip(err) // more than a packet holds
		}
		n, got, err := s.receive()
		defer closeAll(got)
		if err == nil && len(got) != len(fds) {
			t.Errorf("%d descriptors, %d were sent", len(got), len(fds))
		}
		if err == nil && n.Exit != nil {
			if end, err := s.outcome(n.Exit, nil); err != nil || end.Code < -1 || end.Code > 255 || (end.Code == -1) != (end.Signal != "") {
				t.Errorf("%+v, %v", end, err)
			}
		}
	})
}

// TestDescriptorsThatWereNotAsked are closed, and fail the start.
func TestDescriptorsThatWereNotAsked(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := &sandbox{}
	if err := s.take(order{}, []*os.File{r}); err == nil {
		t.Error("a descriptor too many was taken")
	}
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it is still open: %v", err)
	}
	if err := s.take(order{Proxy: true}, nil); err == nil {
		t.Error("a listener that did not come was taken")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.take(order{Proxy: true}, []*os.File{null}); err == nil || s.listener != net.Listener(nil) {
		t.Error("a file was taken for a listener")
	}
}
