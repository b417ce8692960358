// Package statecopy copies what one state has into another: suspended runs, results, effects,
// approvals, programs, pins, sign-ins, tasks, and what plugins have stored.
//
// [Copy] changes nothing in the source, and what it adds to the destination is in one
// transaction. [Move] has the source empty afterwards: it marks the source, so that no host opens
// it, and the destination remembers from which mark it was filled. A move that was killed
// anywhere is completed by the next one.
package statecopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/durable"
)

// Source is a state that is read.
type Source interface {
	Identity() string
	Items(context.Context) ([]runstore.Item, error)
	// Get returns a run with the epoch of its newest claim.
	Get(ctx context.Context, id string) (*runstore.Record, error)
	Ended(ctx context.Context, id string) (*runstore.Ended, error)
	Effects(ctx context.Context, runID string) (*runstore.Effects, error)
	// Documents returns the documents of a purpose, with plain contents.
	Documents(statedocs.Purpose) (documents.Store, error)
	PluginStorages(context.Context) ([]string, error)
	// PluginEntries returns the storage of a plugin, as entries of a log.
	PluginEntries(ctx context.Context, plugin string) ([][]byte, error)
}

// Into takes what is copied, all or nothing. What it has already stays as it is, and is not added.
type Into interface {
	// Run takes a suspended run. Its next claim has an epoch beyond the epoch of the record, and
	// it is due: a host looks once whether it can continue.
	Run(*runstore.Record) (added bool, err error)
	Ended(*runstore.Ended) (added bool, err error)
	Effects(*runstore.Effects) (added bool, err error)
	// Document takes a document with its plain content.
	Document(of statedocs.Purpose, name string, content []byte, expires time.Time) (added bool, err error)
	PluginStorage(plugin string, entries [][]byte) (added bool, err error)
}

// Storage is the kind of what a plugin has stored. The other kinds are the kinds of runstore.Item, and
// the purposes of documents.
const Storage = "storage"

// Outcome says what became of one thing.
type Outcome struct {
	Kind   string `json:"kind"` // such as "run"
	ID     string `json:"id"`
	What   What   `json:"outcome"`
	Reason string `json:"reason,omitempty"` // why it was left
}

// What became of a thing.
type What string

// Copied is in the destination now. Left is not, or was there before.
const (
	Copied What = "copied"
	Left   What = "left"
)

// Copy adds what a state has to another one, which has the identity to and takes its place.
func Copy(ctx context.Context, from Source, to string, into Into) ([]Outcome, error) {
	return copyAll(ctx, from, to, into, "")
}

// copyAll is Copy. With a reason why they are left, it leaves the journals of effects.
func copyAll(ctx context.Context, from Source, to string, into Into, noEffects string) ([]Outcome, error) {
	c := copying{ctx: ctx, from: from, into: into, was: ofStore(from.Identity()), is: ofStore(to), noEffects: noEffects}
	for _, part := range []func() error{c.items, c.documents, c.storages} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return c.outcomes, nil
}

// ofStore is how an approval says in which store its run is.
func ofStore(identity string) []byte { return []byte(`"store":"` + identity + `"`) }

// copying is one copy.
type copying struct {
	ctx       context.Context
	from      Source
	into      Into
	was, is   []byte // see ofStore
	noEffects string
	outcomes  []Outcome
}

// gone are the errors of what is not there any more, and damaged of what cannot be copied.
var (
	gone    = []error{runstore.ErrExpired, runstore.ErrNotFound, runstore.ErrEnded, fs.ErrNotExist}
	damaged = []error{runstore.ErrCorrupt, runstore.ErrFormat, runstore.ErrTooLarge, documents.ErrCorrupt, durable.ErrTooLarge}
)

// remade is what hosts write again by themselves: it does not matter if two states have different
// ones.
var remade = []string{string(statedocs.Pins), string(statedocs.Kept)}

func isAny(err error, of []error) bool {
	return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) })
}

// add notes what became of a thing. It returns errors of what is neither gone nor damaged: what
// cannot be read now must not be lost.
func (c *copying) add(kind, id string, added bool, err error) error {
	switch {
	case isAny(err, gone):
	case isAny(err, damaged):
		c.outcomes = append(c.outcomes, Outcome{kind, id, Left, err.Error()})
	case err != nil:
		return fmt.Errorf("%s %s: %w", kind, id, err)
	case !added && slices.Contains(remade, kind):
	case !added:
		c.outcomes = append(c.outcomes, Outcome{kind, id, Left, "it is there already"})
	default:
		c.outcomes = append(c.outcomes, Outcome{Kind: kind, ID: id, What: Copied})
	}
	return c.ctx.Err()
}

// then hands what was read on.
func then[T any](v T, err error, add func(T) (bool, error)) (bool, error) {
	if err != nil {
		return false, err
	}
	return add(v)
}

// items copies runs, results and effects. Their approvals come after them, so that each approval
// that a run waits for is there.
func (c *copying) items() error {
	items, err := c.from.Items(c.ctx)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.Kind == runstore.ItemEffects && c.noEffects != "" {
			c.outcomes = append(c.outcomes, Outcome{string(i.Kind), i.ID, Left, c.noEffects})
			continue
		}
		added, err := c.item(i)
		if err := c.add(string(i.Kind), i.ID, added, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) item(i runstore.Item) (added bool, err error) {
	switch i.Kind {
	case runstore.ItemRun:
		r, err := c.from.Get(c.ctx, i.ID)
		return then(r, err, c.into.Run)
	case runstore.ItemResult:
		e, err := c.from.Ended(c.ctx, i.ID)
		return then(e, err, c.into.Ended)
	case runstore.ItemEffects:
		j, err := c.from.Effects(c.ctx, i.ID)
		return then(j, err, c.into.Effects)
	}
	return false, fmt.Errorf("it is of a kind %q that this version does not know", i.Kind)
}

func (c *copying) documents() error {
	for _, of := range statedocs.Purposes() {
		docs, err := c.from.Documents(of)
		if err != nil {
			return err
		}
		exts, err := docs.Counts(c.ctx)
		if err != nil {
			return err
		}
		for _, ext := range slices.Sorted(maps.Keys(exts)) {
			list, err := docs.All(c.ctx, ext)
			if err != nil {
				return err
			}
			for _, d := range list {
				if err := c.document(of, d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *copying) document(of statedocs.Purpose, d documents.Document) error {
	content := d.Content
	if of == statedocs.Approvals { // the hosts of the other store look after its questions
		content = bytes.ReplaceAll(content, c.was, c.is)
	}
	added, err := then(content, d.Err, func(content []byte) (bool, error) { return c.into.Document(of, d.Name, content, d.Expires) })
	return c.add(string(of), d.Name, added, err)
}

func (c *copying) storages() error {
	plugins, err := c.from.PluginStorages(c.ctx)
	if err != nil {
		return err
	}
	for _, id := range plugins {
		entries, err := c.from.PluginEntries(c.ctx, id)
		added, err := then(entries, err, func(entries [][]byte) (bool, error) { return c.into.PluginStorage(id, entries) })
		if err := c.add(Storage, id, added, err); err != nil {
			return err
		}
	}
	return nil
}
