package trajectory

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quoinhq/quoin/internal/text"
)

// WriteTree writes events as the branches of one exec: the way the guest called,
// the tool, the offset from start, the duration and the outcome of each. Events
// other than ended calls are left out.
func WriteTree(w io.Writer, title string, start time.Time, total time.Duration, events []Event) error {
	var rows []row
	for _, e := range events {
		if e.Kind == CallEnded || e.Kind == "" {
			rows = append(rows, callRow(Call{Event: e, Ended: true}, start))
		}
	}
	if _, err := fmt.Fprintf(w, "%s  %s\n", printable(title), round(total)); err != nil {
		return err
	}
	return writeRows(w, rows)
}

// WriteTree writes the run as a tree: its exec and waits, and under each the calls
// that started in it, with offsets from the start of the run, durations and outcomes.
func (r *Run) WriteTree(w io.Writer) error {
	s := r.Summary()
	if _, err := fmt.Fprintf(w, "%s  %s  %s  %s\n", printable(r.ID), state(s.Status, s.Reason, s.Code), s.Start.UTC().Format(time.RFC3339), round(s.Duration)); err != nil {
		return err
	}
	var rows []row
	for _, l := range r.Segments() {
		rows = append(rows, segmentRow(l, s.Start))
	}
	if s.Missed > 0 {
		rows = append(rows, row{cells: []string{fmt.Sprintf("%d events are missing here", s.Missed)}})
	}
	if r.Torn != nil {
		rows = append(rows, row{cells: []string{printable(r.Torn.Error())}})
	}
	return writeRows(w, rows)
}

// row is one line of a tree and the lines under it.
type row struct {
	cells    []string
	children []row
}

func writeRows(w io.Writer, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := writeBranches(tw, "", rows); err != nil {
		return err
	}
	return tw.Flush()
}

func writeBranches(w io.Writer, indent string, rows []row) error {
	for i, r := range rows {
		branch, below := "├─ ", "│  "
		if i == len(rows)-1 {
			branch, below = "└─ ", "   "
		}
		if _, err := fmt.Fprintln(w, indent+branch+strings.Join(r.cells, "\t")); err != nil {
			return err
		}
		if err := writeBranches(w, indent+below, r.children); err != nil {
			return err
		}
	}
	return nil
}

func segmentRow(l Segment, start time.Time) row {
	took := "-"
	if l.Duration > 0 {
		took = round(l.Duration)
	}
	r := row{cells: []string{l.Tool, printable(l.CallID), "+" + round(l.Start.Sub(start)), took, state(cmp.Or(l.Status, "running"), l.Reason, l.Code)}}
	if l.Rewritten {
		r.cells[len(r.cells)-1] += ", input rewritten"
	}
	if l.Message != "" {
		first, _, _ := strings.Cut(l.Message, "\n")
		r.cells[len(r.cells)-1] += ": " + printable(first)
	}
	for _, c := range l.Calls {
		r.children = append(r.children, callRow(c, start))
	}
	return r
}

func callRow(c Call, start time.Time) row {
	took, outcome := "-", "running"
	if c.Ended {
		took, outcome = round(c.Duration), string(c.Outcome)
		if c.Code != "" {
			outcome += " (" + printable(c.Code) + ")"
		}
	} else if c.Waiting {
		outcome = "waiting"
	}
	if c.Rewritten {
		outcome += ", input rewritten"
	}
	r := row{cells: []string{printable(cmp.Or(c.Via, c.Method)), printable(c.ToolID), "+" + round(c.Start.Sub(start)), took, outcome}}
	for _, a := range c.Approvals {
		r.children = append(r.children, approvalRow(a, start))
	}
	return r
}

func approvalRow(e Event, start time.Time) row {
	what, by := "asked", ""
	if e.Kind == ApprovalDecided {
		what = printable(e.Decision)
		if e.By != "" {
			by = "by " + printable(e.By)
		}
	}
	return row{cells: []string{"approval", printable(e.ApprovalID), "+" + round(e.Time.Sub(start)), "", strings.TrimSpace(what + " " + by)}}
}

// state is a status with what refines it.
func state(status, reason, code string) string {
	var more []string
	for _, s := range []string{code, reason} {
		if s != "" {
			more = append(more, printable(s))
		}
	}
	if len(more) == 0 {
		return printable(status)
	}
	return printable(status) + " (" + strings.Join(more, ", ") + ")"
}

func round(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// maxShown bounds what is shown of one name, in bytes.
const maxShown = 120

// printable makes one short line of a name or text from outside.
func printable(s string) string { return text.Printable(text.Shorten(s, maxShown)) }
