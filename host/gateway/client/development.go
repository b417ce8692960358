package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/host"
)

// maxEvent bounds a line of the answer in bytes: one lists the names of all tools
// of the plugin.
const maxEvent = 4 << 20

// Development is a plugin of ours that stands in for the one the server has.
type Development struct {
	body  io.Closer
	end   context.CancelFunc
	done  chan struct{}
	close sync.Once
}

// development is the body of a request for one.
type development struct {
	ID  string `json:"id"`
	Dir string `json:"dir"`
}

// Develop has the server run the plugin in a folder of its own machine in place of
// the one it has under that id, until the Development is closed, this process ends,
// or another Develop of the plugin has succeeded. The server must be one that allows
// it. ctx bounds the start only.
func (c *Client) Develop(ctx context.Context, id, dir string) (*Development, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	starting := context.AfterFunc(ctx, end)
	resp, err := c.send(life, host.Session{}, "POST", "/v1/development", development{id, dir})
	if err != nil {
		starting()
		end()
		return nil, err
	}
	d := &Development{body: resp.Body, end: end, done: make(chan struct{})}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() && lines.Text() != "event: live" {
	}
	if err := lines.Err(); err != nil || lines.Text() != "event: live" || !starting() {
		close(d.done)
		d.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("/v1/development: the answer of the server was cut off: %w", errOr(err, io.ErrUnexpectedEOF))
	}
	go func() {
		defer close(d.done)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: ended") {
		}
	}()
	return d, nil
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Done is closed when the server has taken the plugin out of service, or has gone.
func (d *Development) Done() <-chan struct{} { return d.done }

// Close ends the development: what the server had before is in service again.
func (d *Development) Close() {
	d.close.Do(func() {
		d.end()
		<-d.done
		_ = d.body.Close() // what is left of the answer is of no interest
	})
}
