package quota

import "io"

// Reader charges the bytes that are read through it to an owner, as they arrive: what is announced and does not come
// takes nothing from others. It fails when the meter refuses the bytes.
type Reader struct {
	Of     io.ReadCloser
	Meter  *Meter
	Owner  Owner
	N      int64   // bytes charged so far
	Denied *Denied // why the meter refused more
}

// Read implements io.Reader.
func (c *Reader) Read(b []byte) (int, error) {
	n, err := c.Of.Read(b)
	if d := c.Meter.Take(c.Owner, int64(n)); d != nil {
		c.Denied = d
		return 0, d
	}
	c.N += int64(n)
	return n, err
}

// Close implements io.Closer.
func (c *Reader) Close() error { return c.Of.Close() }

// Release gives back all that was charged.
func (c *Reader) Release() { c.Meter.Give(c.Owner, c.N) }
