package bench_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
)

// BenchmarkExecOverHTTP runs the trivial cell through a server and its client,
// over loopback, with a token.
func BenchmarkExecOverHTTP(b *testing.B) {
	const token = "0123456789abcdef0123456789abcdef"
	h := newHost(b, host.Config{})
	s, err := gateway.New(h, gateway.Options{Token: token})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c, err := client.New("http://"+l.Addr().String(), client.Options{Token: token})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	measure(b, row{name: "same, over HTTP", goal: "none", than: trivial}, func() (time.Duration, *host.Result) {
		start := time.Now()
		r, err := c.Exec(context.Background(), session, host.ExecInput{Code: `return 1+1`})
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(start), r
	}, host.StatusCompleted)
}
