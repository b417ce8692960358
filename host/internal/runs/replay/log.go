package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Log is what a run needs to be run again from its source by another build of the
// guest: the program, and of each turn what it got (answers, files, the worker's trace of
// the clock and of random values) and a digest of what it asked for and emitted. The driver
// of the run writes it, and a record carries it. A nil log takes nothing.
//
// A run of a store that ends with its process has no log. What the log of a run that is not
// stored refers to is in memory anyway; one that becomes too large is given up, and so is
// the log of a run in a process that has too many.
type Log struct {
	Room *atomic.Int64 // bytes that the logs of this process may still take

	lost   string            // why the run cannot be replayed; "": it can
	stored []byte            // zstd frames of turns
	turns  []Turn            // those that are not in stored
	taken  int64             // bytes, of room
	turn   *Turn             // that runs now; nil between turns
	newest map[string][]byte // content of files as the guest knows them; nil: not found
}

// Bounds of a log in bytes. Answers count as they are, what is stored compressed.
const (
	maxLog  = 4 << 20
	MaxLogs = 128 << 20 // of all runs of a process
	// MaxCheckpointLog is what a record of a run that continues may carry of its log if its
	// image is smaller: each call writes such a record.
	MaxCheckpointLog = 64 << 10
)

// Why a run cannot be replayed.
const (
	lostTooLarge   = "it has got more than is kept for that"
	lostNoRoom     = "the runs of its host had got more than is kept for that"
	LostNoTrace    = "its guest was of a build that cannot be replayed"
	LostNotWritten = "its host stopped while the program was running"
)

// Turn is one turn of the guest.
type Turn struct {
	Cell  *wire.Cell // of the first turn
	in    []wire.Settlement
	files []loggedFile
	trace []byte
	path  pathDigest
}

// loggedFile is a virtual file that the guest has read for the first time, or that had changed.
type loggedFile struct {
	path  string
	found bool
	data  []byte
}

// pathDigest tells what a turn asked for and emitted.
type pathDigest [16]byte

func digestOf(rep *wire.Report) (d pathDigest) {
	h := sha256.New()
	digestInt(h, uint64(len(rep.Requests)))
	for _, q := range rep.Requests {
		digestInt(h, q.ID)
		digestText(h, string(q.Method))
		digestText(h, q.Target)
		digestInt(h, uint64(len(q.Path)))
		for _, p := range q.Path {
			digestText(h, p)
		}
		digestText(h, string(q.Args))
	}
	for _, o := range rep.Output {
		digestText(h, string(o.Kind))
		digestText(h, string(o.JSON))
	}
	copy(d[:], h.Sum(nil))
	return d
}

func digestInt(h hash.Hash, n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }

func digestText(h hash.Hash, s string) {
	digestInt(h, uint64(len(s)))
	h.Write([]byte(s))
}

// Start notes that a program is about to run its first turn, or with in a later one.
func (l *Log) Start(cell *wire.Cell, in []wire.Settlement) {
	if l == nil || l.lost != "" {
		return
	}
	l.turn = &Turn{Cell: cell, in: in}
}

// File notes a File that the guest has read in this turn.
func (l *Log) File(path string, data []byte, found bool) {
	if l == nil || l.turn == nil {
		return
	}
	if before, known := l.newest[path]; known && slices.Equal(before, data) && found == (before != nil) {
		return
	}
	if l.newest == nil {
		l.newest = map[string][]byte{}
	}
	if found && data == nil {
		data = []byte{}
	}
	l.newest[path] = data
	l.turn.files = append(l.turn.files, loggedFile{path, found, data})
}

// End notes the outcome of the turn.
func (l *Log) End(rep *wire.Report) {
	if l == nil || l.turn == nil {
		return
	}
	t := l.turn
	l.turn = nil
	if rep.Status != wire.StatusIdle {
		return // the run ends
	}
	if len(rep.Trace) == 0 {
		l.lose(LostNoTrace)
		return
	}
	t.trace, t.path = rep.Trace, digestOf(rep)
	n := t.bytes()
	if l.taken+n > maxLog {
		l.lose(lostTooLarge)
		return
	}
	if l.Room.Add(-n) < 0 {
		l.Room.Add(n)
		l.lose(lostNoRoom)
		return
	}
	l.taken += n
	l.turns = append(l.turns, *t)
}

// turnOverhead is about what a turn, an answer or a file takes besides its texts.
const turnOverhead = 64

func (t *Turn) bytes() int64 {
	n := turnOverhead + len(t.trace)
	if t.Cell != nil {
		n += len(t.Cell.Source)
	}
	for _, s := range t.in {
		n += turnOverhead + len(s.JSON)
	}
	for _, f := range t.files {
		n += turnOverhead + len(f.path) + len(f.data)
	}
	return int64(n)
}

// lose gives the log up.
func (l *Log) lose(why string) {
	if l == nil {
		return
	}
	l.Drop()
	l.lost = why
}

// Drop forgets what the log holds in memory: the store has it, or the run ends.
func (l *Log) Drop() {
	if l == nil {
		return
	}
	l.Room.Add(l.taken)
	l.stored, l.turns, l.taken, l.turn, l.newest = nil, nil, 0, nil, nil
}

// Take replaces the log with the log of a record.
func (l *Log) Take(rec *runstore.Record) {
	if l == nil {
		return
	}
	l.Drop()
	l.stored, l.lost = rec.Replay, rec.NoReplay
	if len(l.stored) == 0 && l.lost == "" && rec.Started() {
		l.lost = LostNoTrace // an earlier version of the host wrote the record
	}
	l.taken = int64(len(l.stored))
	l.Room.Add(-l.taken) // it was admitted once
}

// Put enters the log into a record.
func (l *Log) Put(rec *runstore.Record) {
	if l == nil {
		return
	}
	if len(l.turns) > 0 {
		l.compress()
	}
	rec.Replay, rec.NoReplay = l.stored, l.lost
}

// compress moves turns into stored.
func (l *Log) compress() {
	before := int64(len(l.stored))
	l.stored = zstdEncoder.EncodeAll(encodeTurns(l.turns), slices.Clip(l.stored))
	var raw int64
	for i := range l.turns {
		raw += l.turns[i].bytes()
	}
	more := int64(len(l.stored)) - before - raw
	l.taken += more
	l.Room.Add(-more)
	l.turns = nil
}

// zstdEncoder compresses logs. It is safe for concurrent use.
var zstdEncoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("replay: zstd options: " + err.Error())
	}
	return e
}()
