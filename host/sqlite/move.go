package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// copied is a state that is copied or moved. It is a statecopy.State.
type copied struct{ *DB }

// Copied returns the state for the commands of this module that copy and move it.
func (d *DB) Copied() statecopy.State { return copied{d} }

// Get implements statecopy.Source.
func (c copied) Get(ctx context.Context, id string) (*runstore.Record, error) {
	r, err := c.DB.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	err = c.read(ctx, func(q querier) error { return q.row(`SELECT epoch FROM runs WHERE id = ?`, []any{id}, &r.Epoch) })
	return r, err
}

// Documents implements statecopy.Source.
func (c copied) Documents(of statedocs.Purpose) (documents.Store, error) {
	return c.state().Documents(of)
}

// PluginEntries implements statecopy.Source.
func (c copied) PluginEntries(ctx context.Context, id string) ([][]byte, error) {
	return c.PluginStorage(id, func(error) {}).(*pluginstorage.Shared).Entries(ctx)
}

// Import implements statecopy.State.
func (c copied) Import(ctx context.Context, origin string, do func(statecopy.Into) ([]statecopy.Outcome, error)) ([]statecopy.Outcome, error) {
	outcomes, err := c.importOnce(ctx, origin, func(t *tx) ([]statecopy.Outcome, error) { return do(&importer{c.conn, t}) })
	c.changes.look()
	return outcomes, err
}

// StartMove implements statecopy.State. Those that open the state after it see the mark, and those
// before it are seen.
func (c copied) StartMove(ctx context.Context, to string) (origin string, err error) {
	fresh := to + " " + rand.Text()
	err = c.write(ctx, 0, func(t *tx) error {
		if err := t.row(`SELECT moving FROM installation`, nil, &origin); err != nil {
			return err
		}
		switch there, _, _ := strings.Cut(origin, " "); there {
		case "":
		case to:
			return nil
		default:
			return refuse(statecopy.ErrMoving)
		}
		origin = fresh
		_, err := t.exec(`UPDATE installation SET moving = ?`, origin)
		return err
	})
	if err != nil {
		return "", err
	}
	others, err := c.process.others()
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("%w: process %s", statecopy.ErrInUse, strings.Join(others, ", "))
	}
	if err != nil && origin == fresh {
		return "", errors.Join(err, c.EndMove(context.WithoutCancel(ctx), nil))
	}
	return origin, err
}

// EndMove implements statecopy.State.
func (c copied) EndMove(ctx context.Context, outcomes []statecopy.Outcome) error {
	err := c.write(ctx, maxWriteBytes, func(t *tx) error {
		for _, o := range outcomes {
			if o.What != statecopy.Copied {
				continue
			}
			if err := removeCopied(t, o); err != nil {
				return err
			}
		}
		_, err := t.exec(`UPDATE installation SET moving = ''`)
		return err
	})
	c.changes.look()
	if err == nil {
		err = c.vacuum()
	}
	return err
}

// removeCopied removes a thing that was copied.
func removeCopied(t *tx, o statecopy.Outcome) error {
	var n int64
	var err error
	switch kind := runstore.ItemKind(o.Kind); {
	case kind == runstore.ItemRun || kind == runstore.ItemResult:
		if err = t.row(`SELECT n FROM runs WHERE id = ?`, []any{o.ID}, &n); err == nil {
			err = remove(t, n)
		}
	case kind == runstore.ItemEffects:
		if err = t.row(`SELECT n FROM effects WHERE run = ?`, []any{o.ID}, &n); err == nil {
			err = removeEffects(t, n)
		}
	case o.Kind == statecopy.Storage:
		if _, err = t.exec(`DELETE FROM plugin_entries WHERE plugin = ?`, o.ID); err == nil {
			_, err = t.exec(`DELETE FROM plugin_storages WHERE plugin = ?`, o.ID)
		}
	case statedocs.Purpose(o.Kind) == statedocs.Pins:
	default:
		if _, err = t.exec(`DELETE FROM documents WHERE purpose = ? AND name = ?`, o.Kind, o.ID); err == nil {
			_, err = t.count(o.Kind, path.Ext(o.ID))
		}
	}
	return ignoreMissing(err)
}
