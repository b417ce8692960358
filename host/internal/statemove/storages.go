package statemove

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Storages are the key-value storages of plugins. The zero value has nothing.
type Storages struct {
	IDs  func(context.Context) ([]string, error)
	Open func(id string) (s pluginstorage.Movable, end func() error)
}

// kindStorage is the kind of the storage of a plugin. Its id is the id of the plugin.
const kindStorage = "storage of plugin"

// tries bounds how often a storage is read because its plugin has written to it since the
// last time.
const tries = 10

// eachStorage calls carry with the storage of every plugin in both states. A storage is
// carried as a whole: the contents of two plugins do not mix.
func (m *Mover) eachStorage(ctx context.Context, did func(Outcome) error, done string, carry func(ctx context.Context, from, to pluginstorage.Movable) error) error {
	if m.From.Storages.IDs == nil || m.To.Storages.IDs == nil {
		return nil
	}
	ids, err := m.From.Storages.IDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := report(Outcome{ID: id, Kind: kindStorage, What: done}, m.storage(ctx, id, carry), did); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mover) storage(ctx context.Context, id string, carry func(ctx context.Context, from, to pluginstorage.Movable) error) (err error) {
	from, end := m.From.Storages.Open(id)
	defer func() { err = errors.Join(err, end()) }()
	to, end2 := m.To.Storages.Open(id)
	defer func() { err = errors.Join(err, end2()) }()
	err = carry(ctx, from, to)
	if own := (*protocol.Error)(nil); errors.As(err, &own) && own.Code == protocol.CodeStorageFailed {
		return leave("it cannot be read or written; the log says why") // the rest goes
	}
	return err
}

// errOtherStorage says that both states have a storage of a plugin, with other contents.
const errOtherStorage = leave("the destination has other contents for this plugin, which count there; these stay where they are")

// copyStorage fills the storage of the destination, and returns what it took there. The
// error is same if that is there already.
func copyStorage(ctx context.Context, from, to pluginstorage.Movable, same error) (pluginstorage.Contents, error) {
	got, err := from.Contents(ctx)
	if err != nil {
		return got, err
	}
	have, err := to.Contents(ctx)
	switch {
	case err != nil:
		return got, err
	case got.Len() == 0:
		return got, errSame
	case have.Equal(got):
		return got, same
	case have.Len() > 0:
		return got, errOtherStorage
	}
	if err := to.Swap(ctx, have, got); errors.Is(err, pluginstorage.ErrChanged) {
		return got, errOtherStorage
	} else if err != nil {
		return got, err
	}
	return got, nil
}

// moveStorage carries what a plugin has stored. What the plugin writes to the source during
// the move goes with it.
func moveStorage(ctx context.Context, from, to pluginstorage.Movable) error {
	got, err := copyStorage(ctx, from, to, nil) // it is there if a move was interrupted
	for try := 0; err == nil; try++ {
		err = from.Swap(ctx, got, pluginstorage.Contents{})
		if !errors.Is(err, pluginstorage.ErrChanged) {
			return err
		}
		fresh, readErr := from.Contents(ctx)
		if readErr != nil {
			return readErr
		}
		if try == tries { // it stays in the source
			if err := to.Swap(ctx, got, pluginstorage.Contents{}); err != nil && !errors.Is(err, pluginstorage.ErrChanged) {
				return err
			}
			return leave("the plugin writes to it all the time: move it again later")
		}
		if err = to.Swap(ctx, got, fresh); errors.Is(err, pluginstorage.ErrChanged) {
			return errOtherStorage
		}
		got = fresh
	}
	return err
}
