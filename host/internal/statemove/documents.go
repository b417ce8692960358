package statemove

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// A document goes the way of a run: it is marked in the source, put into the destination
// with a mark, removed from the source, and then the mark goes. No host uses or removes what
// is marked, so that it counts in one state at a time, and what was revoked does not come
// back with a move that resumes.

// carried are the documents of one kind, and where they go.
type carried struct {
	documents.Portable
	to documents.Store
}

// kinds are the kinds of documents that both states have.
func (m *Mover) kinds() (out []carried) {
	for _, from := range m.From.Documents {
		for _, to := range m.To.Documents {
			if from.Kind == to.Kind {
				out = append(out, carried{from, to.Store})
			}
		}
	}
	return out
}

// document is a document as it is carried.
type document struct {
	carried
	name string
	doc  content // in the source
}

// content is what a document says, without its mark.
type content struct {
	plain []byte
	mark  string
}

// read reads a document. The error is fs.ErrNotExist if it is not there.
func read(ctx context.Context, s documents.Store, name string) (content, error) {
	b, err := s.Read(ctx, name)
	if errors.Is(err, documents.ErrCorrupt) {
		err = leave(err.Error())
	}
	if err != nil {
		return content{}, err
	}
	plain, mark := documents.Unmark(b)
	return content{plain, mark}, nil
}

// put writes a document with a mark, which may be "".
func (d *document) put(ctx context.Context, s documents.Store, mark string) error {
	return s.Replace(ctx, d.name, marked(d.doc.plain, mark), d.expires())
}

// create is put, and fails with fs.ErrExist where there is one of that name.
func (d *document) create(ctx context.Context, mark string) error {
	return d.to.Create(ctx, d.name, marked(d.doc.plain, mark), d.expires())
}

func (d *document) expires() time.Time {
	if d.Expires == nil {
		return time.Time{}
	}
	return d.Expires(d.doc.plain)
}

func marked(plain []byte, mark string) []byte {
	if mark == "" {
		return plain
	}
	return documents.Mark(plain, mark)
}

// lock keeps those who write a document away from it in both states. What is written with
// the context that it returns is refused if a lock was lost.
func (d *document) lock(ctx context.Context) (held context.Context, unlock func(), err error) {
	if !d.Locked {
		return ctx, func() {}, nil
	}
	id := strings.TrimSuffix(d.name, filepath.Ext(d.name))
	held, source, err := d.Store.Lock(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	held, destination, err := d.to.Lock(held, id)
	if err != nil {
		source()
		return nil, nil, err
	}
	return held, func() { destination(); source() }, nil
}

// eachDocument calls carry with every document of the source.
func (m *Mover) eachDocument(ctx context.Context, did func(Outcome) error, done string, carry func(context.Context, *document) error) error {
	for _, kind := range m.kinds() {
		names, err := kind.Store.Names(ctx, kind.Ext, time.Time{})
		if err != nil {
			return err
		}
		for _, name := range names {
			d := &document{carried: kind, name: name}
			err := d.carry(ctx, carry)
			if err := report(Outcome{ID: kind.TitleOf(name, d.doc.plain), Kind: kind.Kind, What: done}, err, did); err != nil {
				return err
			}
		}
	}
	return nil
}

// carry reads a document of the source under its locks, and calls do.
func (d *document) carry(ctx context.Context, do func(context.Context, *document) error) error {
	ctx, unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if d.doc, err = read(ctx, d.Store, d.name); err != nil {
		return err
	}
	return do(ctx, d)
}

// moveDocument carries a document, or continues what was interrupted.
func (m *Mover) moveDocument(ctx context.Context, d *document) error {
	if err := m.mayLeave(d.doc.mark); err != nil {
		return err
	}
	if d.Stays {
		return cmp.Or(d.copyTo(ctx, ""), errStays)
	}
	there, err := read(ctx, d.to, d.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = m.stageDocument(ctx, d, d.create)
	case err != nil:
	case m.brought(there.mark):
		err = m.stageDocument(ctx, d, func(ctx context.Context, mark string) error { return d.put(ctx, d.to, mark) })
	case there.mark == "" && bytes.Equal(there.plain, d.doc.plain):
		return d.Store.Remove(ctx, d.name) // it is there without a move
	default:
		err = fs.ErrExist
	}
	if errors.Is(err, fs.ErrExist) {
		return d.stay(ctx)
	}
	if err != nil {
		return err
	}
	if err := d.Store.Remove(ctx, d.name); err != nil {
		return err
	}
	return d.put(ctx, d.to, "")
}

// mayLeave says what keeps a document with that mark in the source.
func (m *Mover) mayLeave(mark string) error {
	switch {
	case mark == "" || mark == m.outgoing():
		return nil
	case mark == markCopy:
		return leave("it is a copy: quoin state import takes it")
	case strings.HasPrefix(mark, markFrom):
		return leave("it is on its way from another state: repeat that move first")
	}
	return leave("it is on its way to another state: repeat that move")
}

// stageDocument marks a document in the source, and puts it into the destination.
func (m *Mover) stageDocument(ctx context.Context, d *document, put func(ctx context.Context, mark string) error) error {
	if d.doc.mark == "" {
		if err := d.put(ctx, d.Store, m.outgoing()); err != nil {
			return err
		}
		d.doc.mark = m.outgoing()
	}
	return put(ctx, m.incoming())
}

// stay leaves a document in the source, usable, because the destination has another one.
func (d *document) stay(ctx context.Context) error {
	if d.doc.mark != "" {
		if err := d.put(ctx, d.Store, ""); err != nil {
			return err
		}
	}
	if d.Remade {
		return errSame
	}
	return errOther
}

// errOther says that both states have a document of that name, with other contents.
const errOther = leave("the destination has another one, which counts there; this one stays where it is")

// copyTo puts a document that the destination does not have into it.
func (d *document) copyTo(ctx context.Context, mark string) error {
	err := d.create(ctx, mark)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if d.Remade {
		return errSame
	}
	there, err := read(ctx, d.to, d.name)
	switch {
	case err != nil:
		return err
	case bytes.Equal(there.plain, d.doc.plain) && there.mark == mark:
		return errSame
	}
	return errOther
}

// copyDocument copies a document, marked unless hosts of the source keep it, too.
func (m *Mover) copyDocument(ctx context.Context, d *document) error {
	if d.doc.mark != "" {
		return leave("it is being moved to another state: repeat that move first")
	}
	if d.Stays {
		return d.copyTo(ctx, "")
	}
	return d.copyTo(ctx, markCopy)
}

// takeDocument imports a document of a copy.
func (m *Mover) takeDocument(ctx context.Context, d *document) error {
	if !d.Stays && d.doc.mark != markCopy {
		return leave("it is no copy: quoin state move takes it")
	}
	return d.copyTo(ctx, "")
}

// arriveDocuments ends the moves that were interrupted after a document had gone from the
// source.
func (m *Mover) arriveDocuments(ctx context.Context, did func(Outcome) error) error {
	for _, kind := range m.kinds() {
		names, err := kind.to.Names(ctx, kind.Ext, time.Time{})
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := m.arriveDocument(ctx, &document{carried: kind, name: name}, did); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mover) arriveDocument(ctx context.Context, d *document, did func(Outcome) error) error {
	ctx, unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var why leave
	there, err := read(ctx, d.to, d.name)
	if errors.As(err, &why) || errors.Is(err, fs.ErrNotExist) || err == nil && !m.brought(there.mark) {
		return nil // it is damaged, gone, or not of this move
	}
	if err != nil {
		return err
	}
	if _, err := d.Store.Read(ctx, d.name); !errors.Is(err, fs.ErrNotExist) {
		return nil // the move continues with it, or says why not
	}
	d.doc = there
	if err := d.put(ctx, d.to, ""); err != nil {
		return err
	}
	return did(Outcome{ID: d.TitleOf(d.name, there.plain), Kind: d.Kind, What: Moved})
}
