package trajectory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/codemode"
)

// The reasons for which a trajectory is not returned. Match with errors.Is.
var (
	ErrUnknownRun   = errors.New("no trajectory of that run")
	ErrWrongSession = errors.New("the trajectory belongs to a different session")
	ErrDamaged      = errors.New("the trajectory is damaged")
)

const (
	// maxRead bounds the file that is read, in bytes.
	maxRead = 64 << 20
	// maxListed bounds the runs that List returns.
	maxListed = 100
)

// Read returns the trajectory of a run of that session. The turn of the agent does
// not count: a session may read what it did in earlier turns.
func (d *Dir) Read(s codemode.Session, runID string) (*Run, error) {
	r, err := d.Find(runID)
	if err != nil {
		return nil, err
	}
	if !s.Owns(r.Session) {
		return nil, ErrWrongSession
	}
	return r, nil
}

// Find is Read without a check of the session, for callers that may see all runs.
func (d *Dir) Find(runID string) (*Run, error) {
	name, err := d.name(runID)
	if err != nil {
		return nil, err
	}
	f, err := openRegular(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrUnknownRun, runID)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Decode(f, runID)
}

// List returns summaries of the newest runs of a session, the newest first, at
// most 100. Files that cannot be read are left out.
func (d *Dir) List(s codemode.Session) ([]Summary, error) {
	found, err := d.runFiles()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b runFile) int { return b.last.Compare(a.last) })
	var out []Summary
	for _, k := range found {
		if r, err := d.Read(s, k.id); err == nil {
			out = append(out, r.Summary())
		}
		if len(out) == maxListed {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return b.Start.Compare(a.Start) })
	return out, nil
}

// Decode reads the JSON lines of one run. It does not trust them: if the first line is
// not an event of that run, Decode returns ErrDamaged. At a later wrong line it stops,
// and Run.Torn says why.
func Decode(r io.Reader, runID string) (*Run, error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxRead+1), maxLine)
	run := &Run{ID: runID}
	for read := 0; ; {
		b, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(b) == 0 && len(run.Events) > 0 {
			return run, nil
		}
		read += len(b)
		if err == nil && read > maxRead {
			err = fmt.Errorf("it is longer than %d bytes", maxRead)
		}
		var e Event
		if err == nil {
			e, err = decodeLine(b)
		}
		if err == nil {
			err = run.accept(e)
		}
		switch {
		case err == nil:
			run.Events = append(run.Events, e)
		case len(run.Events) == 0:
			return nil, fmt.Errorf("%w: line 1: %w", ErrDamaged, lineError(err))
		default:
			run.Torn = fmt.Errorf("%w: line %d: %w", ErrDamaged, len(run.Events)+1, lineError(err))
			return run, nil
		}
	}
}

// lineError says why a line could not be read whole.
func lineError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it ends in the middle of a line")
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	return err
}

func decodeLine(b []byte) (Event, error) {
	var l line
	if !utf8.Valid(b) {
		return l.Event, errors.New("it is not UTF-8")
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l.Event, fmt.Errorf("it is not an event: %w", err)
	}
	if l.Version != lineVersion {
		return l.Event, fmt.Errorf("it has version %d, expected %d", l.Version, lineVersion)
	}
	return l.Event, nil
}

// accept checks that an event is one of the run. The first says who the run belongs to.
func (r *Run) accept(e Event) error {
	if len(r.Events) == 0 {
		r.Session = e.Session
	}
	switch {
	case e.RunID != r.ID:
		return errors.New("it tells of another run")
	case !e.Session.Owns(r.Session):
		return errors.New("it tells of another session")
	case e.Kind == "" || e.Time.IsZero():
		return errors.New("it does not say what happened when")
	case e.Duration < 0 || e.InputBytes < 0 || e.OutputBytes < 0 || e.SnapshotBytes < 0 || e.Missed < 0:
		return errors.New("it has a negative size or duration")
	case e.Time.Year() < 1970 || e.Time.Year() > 9999 || e.Duration > 100*365*24*time.Hour:
		return errors.New("its time is out of range")
	}
	return nil
}
