package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

const (
	fileExt = ".jsonl"
	// lineVersion is the version of a line. It changes when an older reader would
	// misread a newer line.
	lineVersion = 1
	// maxLine bounds one line, in bytes.
	maxLine = 256 << 10
	// reserve is what a full file still takes of the events of its run itself, so
	// that it says how the run ended.
	reserve = 64 << 10
	// maxOpen bounds the files kept open between two events.
	maxOpen = 128
)

// idPattern keeps ids from naming anything outside the directory.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// DirOptions bounds a Dir. The zero value of each field means its default.
type DirOptions struct {
	// MaxFileBytes bounds the file of one run. Beyond it events of calls are counted instead
	// of being written; events of the run itself have 64 KiB more. Defaults to 8 MiB.
	MaxFileBytes int64
	// MaxTotalBytes and MaxRuns bound the directory: the runs with the oldest last event go
	// first. They default to 256 MiB and 10,000.
	MaxTotalBytes int64
	MaxRuns       int
	// MaxAge is how long a run is kept after its last event. Defaults to 7 days.
	MaxAge time.Duration
}

// WithDefaults returns o with the defaults in the place of zeros.
func (o DirOptions) WithDefaults() DirOptions {
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 8 << 20
	}
	if o.MaxTotalBytes <= 0 {
		o.MaxTotalBytes = 256 << 20
	}
	if o.MaxRuns <= 0 {
		o.MaxRuns = 10_000
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 7 * 24 * time.Hour
	}
	return o
}

// Limit is the size from which a run takes no more events of a kind, in bytes: events of the
// run itself have more room, so that it says how it ended. o has its defaults.
func (o DirOptions) Limit(k Kind) int64 {
	if isRunEvent(k) {
		return o.MaxFileBytes + reserve
	}
	return o.MaxFileBytes
}

// Dir is a Sink that writes JSON lines, one file of mode 0600 for every run. An
// event is one write to the end of the file: what was recorded is there when the
// process dies, and processes that share the directory do not mix their lines.
// A line that a crash of the system has torn is cut off before the next is written,
// and a Gap says so.
//
// It is safe for concurrent use.
type Dir struct {
	path string
	opt  DirOptions

	mu         sync.Mutex
	files      map[string]*file // kept open
	missed     map[string]int   // events of full files that no line counts yet
	created    int              // files since the last sweep
	swept      time.Time
	sweeping   bool
	background sync.WaitGroup
}

var _ Sink = (*Dir)(nil)

// file is the open file of one run.
type file struct {
	*os.File
	size int64
}

// OpenDir opens the directory, creating it (mode 0700) where it does not exist.
func OpenDir(path string, o DirOptions) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of trajectories: %w", err)
	}
	return &Dir{path: path, opt: o.WithDefaults(), files: make(map[string]*file), missed: make(map[string]int)}, nil
}

// Close closes the files and waits for a sweep in progress. Events that come later
// are recorded all the same.
func (d *Dir) Close() error {
	d.background.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for id, f := range d.files {
		errs = append(errs, f.Close())
		delete(d.files, id)
	}
	return errors.Join(errs...)
}

func (d *Dir) name(id string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", fmt.Errorf("%w: run id %q, expected letters, digits, '_' and '-'", ErrUnknownRun, printable(id))
	}
	return filepath.Join(d.path, id+fileExt), nil
}

// Record implements Sink.
func (d *Dir) Record(e Event) error {
	line, err := Encode(e)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.open(e)
	if err != nil {
		return err
	}
	return errors.Join(d.write(f, e, line), d.keepOrClose(f, e))
}

// line is an event as it is written.
type line struct {
	Version int `json:"v"`
	Event
}

// Encode returns an event as the line that Decode reads, of at most 256 KiB. It drops
// the bodies of an event that would be longer.
func Encode(e Event) ([]byte, error) {
	b, err := json.Marshal(line{lineVersion, e})
	if err == nil && len(b) >= maxLine {
		e.Input, e.Output = nil, nil
		b, err = json.Marshal(line{lineVersion, e})
	}
	if err == nil && len(b) >= maxLine {
		err = fmt.Errorf("an event of %d bytes is too long for a line", len(b))
	}
	return append(b, '\n'), err
}

// open returns the file of the event's run. The file ends at the end of a line.
func (d *Dir) open(e Event) (*file, error) {
	if f := d.files[e.RunID]; f != nil {
		return f, nil
	}
	name, err := d.name(e.RunID)
	if err != nil {
		return nil, err
	}
	opened, err := openRegular(name, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	f := &file{File: opened}
	if err := errors.Join(lockShared(opened), f.repairEnd(e)); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	if f.size == 0 {
		d.created++
		d.maybeSweep()
	}
	return f, nil
}

// openRegular opens a file of mode 0600 that must be an ordinary one.
func openRegular(name string, flag int) (*os.File, error) {
	before, err := os.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrDamaged, name)
	}
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0) {
		return nil, err
	}
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil || before == nil {
		return f, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%w: %s was replaced while it was opened", ErrDamaged, name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// repairEnd cuts a torn line off the end and says that it is missing.
func (f *file) repairEnd(e Event) error {
	torn, err := f.tornAt()
	if err != nil || torn < 0 {
		return err
	}
	// What looks torn may be a line that another process is writing.
	repaired, err := withExclusiveLock(f.File, func() error {
		if torn, err = f.tornAt(); err != nil || torn < 0 {
			return err
		}
		f.size = torn
		return f.Truncate(torn)
	})
	if err != nil || !repaired || torn < 0 {
		return err
	}
	return f.recordGap(e, 1)
}

// tornAt returns where a torn line at the end of the file starts, or -1.
func (f *file) tornAt() (int64, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return -1, err
	}
	f.size = st.Size()
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, f.size-1); err != nil || last[0] == '\n' {
		return -1, err
	}
	from := max(0, f.size-maxLine)
	tail := make([]byte, f.size-from)
	if _, err := f.ReadAt(tail, from); err != nil {
		return -1, err
	}
	end := bytes.LastIndexByte(tail, '\n') + 1
	if end == 0 && from > 0 {
		return -1, fmt.Errorf("%w: %s ends in something that is not a line", ErrDamaged, f.Name())
	}
	return from + int64(end), nil
}

// recordGap says that events are missing at this place.
func (f *file) recordGap(e Event, missed int) error {
	b, err := Encode(Event{Kind: Gap, Time: e.Time, RunID: e.RunID, Session: e.Session, ParentCallID: e.ParentCallID, Missed: missed})
	if err != nil {
		return err
	}
	return f.append(b)
}

// append writes whole lines. A line that does not fit on the disk is removed again.
func (f *file) append(b []byte) error {
	n, err := f.Write(b)
	if err != nil && n > 0 {
		return errors.Join(err, f.Truncate(f.size))
	}
	f.size += int64(n)
	return err
}

// write appends an event if there is room for it, and otherwise counts it. The
// first missing event is recorded at once, because the run may write no further
// event. The others are recorded before the next event of the run itself.
func (d *Dir) write(f *file, e Event, line []byte) error {
	limit := d.opt.Limit(e.Kind)
	missed, full := d.missed[e.RunID]
	switch {
	case f.size+int64(len(line)) <= limit:
		if missed > 0 && isRunEvent(e.Kind) {
			d.missed[e.RunID] = 0
			if err := f.recordGap(e, missed); err != nil {
				return err
			}
		}
		return f.append(line)
	case full || f.size > d.opt.MaxFileBytes+reserve:
		d.missed[e.RunID] = missed + 1
		return nil
	default:
		d.missed[e.RunID] = 0
		return f.recordGap(e, 1)
	}
}

func isRunEvent(k Kind) bool {
	return k == RunStarted || k == RunSuspended || k == RunResumed || k == RunEnded
}

// keepOrClose keeps the file open while the run executes, and closes it otherwise:
// there may be many suspended runs, and they hold no open file.
func (d *Dir) keepOrClose(f *file, e Event) error {
	_, kept := d.files[e.RunID]
	switch e.Kind {
	case RunStarted, RunResumed:
		if !kept && len(d.files) < maxOpen {
			d.files[e.RunID] = f
			kept = true
		}
	case RunSuspended, RunEnded:
		delete(d.files, e.RunID)
		delete(d.missed, e.RunID)
		kept = false
	}
	if kept {
		return nil
	}
	return f.Close()
}
