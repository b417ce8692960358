package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/internal/statecopy"
)

// ErrOtherKey says that the rows of the state were sealed with another key. Match with errors.Is.
var ErrOtherKey = errors.New("the state belongs to another key")

// checkKey compares the key with the key of the processes before, and learns which state this
// is. The first process brings the key of all.
func (d *conn) checkKey() error {
	var have, identity string
	look := func() error {
		return d.read(d.ctx, func(q querier) error {
			return q.row(`SELECT key_id, identity FROM installation`, nil, &have, &identity)
		})
	}
	err := look()
	if isMissing(err) {
		err = d.write(context.Background(), 0, func(t *tx) error {
			_, err := t.exec(`INSERT INTO installation (one, key_id, identity) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`, d.seal.KeyID(), rand.Text())
			return err
		})
		if err == nil {
			err = look()
		}
	}
	if err != nil {
		return err
	}
	if have != d.seal.KeyID() {
		return fmt.Errorf("%w: %s there, %s here: put the file %s that was next to it back", ErrOtherKey, have, d.seal.KeyID(), KeyFile)
	}
	d.identity = d.key.StoreIdentity(identity)
	return nil
}

// checkMoving refuses a state that is being moved.
func (d *conn) checkMoving() error {
	var moving string
	err := d.read(d.ctx, func(q querier) error { return q.row(`SELECT moving FROM installation`, nil, &moving) })
	if err == nil && moving != "" {
		return statecopy.ErrMoving
	}
	return err
}
