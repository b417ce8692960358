//go:build !unix

package childprocess

// Guard does nothing: there are no groups of processes here.
func (p *Process) Guard() (release func() error, err error) { return func() error { return nil }, nil }
