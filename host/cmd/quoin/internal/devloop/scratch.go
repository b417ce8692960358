package devloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltest"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/terminal"
)

// scratches are the names that the scratch cell may have, and their languages.
var scratches = [][2]string{{"dev.ts", "typescript"}, {"dev.js", "javascript"}}

func isScratch(path string) bool {
	for _, s := range scratches {
		if path == s[0] {
			return true
		}
	}
	return false
}

// waitStep is how often the loop says what the scratch cell waits for.
const waitStep = 10 * time.Second

// maxWaits bounds how often the scratch cell continues after it has yielded.
const maxWaits = 100

// scratch runs the scratch cell of the folder and prints how it went, if there is one.
func (l *loop) scratch(ctx context.Context) error {
	for _, known := range scratches {
		code, err := os.ReadFile(filepath.Join(l.Folder.Dir, known[0]))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		start := time.Now()
		r, output, err := l.runScratch(ctx, host.ExecInput{Code: string(code), Language: known[1], Title: known[0]})
		if err != nil {
			return err
		}
		head, rest, _ := strings.Cut(describe(known[0], r, output, time.Since(start)), "\n")
		if r.Status == host.StatusFailed {
			head = l.Screen.styled(red, head)
		}
		return l.Screen.Print(head + "\n" + rest)
	}
	return nil
}

// runScratch runs a cell to its end, if it has one without a person's help. For tools
// that do not answer it waits as long as ctx allows, and says which they are.
func (l *loop) runScratch(ctx context.Context, in host.ExecInput) (*host.Result, []codemode.Output, error) {
	start := time.Now()
	in.Wait = waitStep
	r, err := l.Host.Exec(ctx, l.Session, in)
	var output []codemode.Output
	for yields := 0; err == nil; {
		output = append(output, r.Output...)
		switch {
		case r.Status == host.StatusWaiting && r.Reason == codemode.ReasonPendingTools:
			err = l.Screen.Block(in.Title + " is " + celltest.WaitsFor(r.PendingToolCalls, time.Since(start)) + "\n")
		case r.Status == host.StatusWaiting && r.Reason == codemode.ReasonYield && yields < maxWaits:
			yields++
		default:
			return r, output, ctx.Err()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			r, err = l.Host.WaitFor(ctx, l.Session, r.RunID, waitStep)
		}
	}
	return nil, nil, err
}

// describe writes a result for people.
func describe(name string, r *host.Result, output []codemode.Output, elapsed time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s in %s\n", name, r.Status, celltest.Spent(elapsed))
	for _, o := range output {
		var text string
		if json.Unmarshal(o.Value, &text) == nil {
			b.WriteString(indented(text, "  | "))
		} else {
			b.WriteString(indented(pretty(o.Value), "  | "))
		}
	}
	switch r.Status {
	case host.StatusCompleted:
		b.WriteString(indented(pretty(r.Value), "  "))
	case host.StatusWaiting:
		b.WriteString("  " + unended(r) + "\n")
	default:
		words := string(r.Code)
		if r.Reason != "" {
			words += ", " + string(r.Reason)
		}
		b.WriteString(indented(words+": "+r.Error, "  "))
	}
	return b.String()
}

// unended says what a cell waits for that the loop does not wait for.
func unended(r *host.Result) string {
	switch r.Reason {
	case codemode.ReasonApproval:
		return "for the approval of a call, which a rule or a hook of the host asks for"
	case codemode.ReasonYield:
		return fmt.Sprintf("it has yielded more than %d times", maxWaits)
	}
	return "for " + string(r.Reason)
}

// short is how long a value may be to stand in one line.
const short = 100

// pretty is JSON for people: in one line if it is short.
func pretty(v json.RawMessage) string {
	var b bytes.Buffer
	if len(v) <= short || json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return b.String()
}

func indented(text, by string) string {
	text = terminal.Text(text)
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}
