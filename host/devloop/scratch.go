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

// maxWaits bounds how often the scratch cell goes on after it has yielded.
const maxWaits = 100

// scratch runs the scratch cell of a folder and says how it went; "" if there is
// none.
func scratch(ctx context.Context, h Host, s host.Session, dir string) (string, error) {
	for _, known := range scratches {
		code, err := os.ReadFile(filepath.Join(dir, known[0]))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		begun := time.Now()
		r, output, err := runScratch(ctx, h, s, host.ExecInput{Code: string(code), Language: known[1], Title: known[0]})
		if err != nil {
			return "", err
		}
		return describe(known[0], r, output, time.Since(begun)), nil
	}
	return "", nil
}

// runScratch runs a cell to its end, if it has one without anybody's help.
func runScratch(ctx context.Context, h Host, s host.Session, in host.ExecInput) (*host.Result, []host.Output, error) {
	r, err := h.Exec(ctx, s, in)
	var output []host.Output
	for i := 0; err == nil; i++ {
		output = append(output, r.Output...)
		if r.Status != host.StatusWaiting || r.Reason != host.ReasonYield || i == maxWaits {
			break
		}
		r, err = h.WaitFor(ctx, s, r.RunID, 0)
	}
	if err == nil {
		err = ctx.Err()
	}
	return r, output, err
}

// describe writes a result for people.
func describe(name string, r *host.Result, output []host.Output, elapsed time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s in %s\n", name, r.Status, spent(elapsed))
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
		fmt.Fprintf(&b, "  for %s, as %s\n", r.Reason, r.RunID)
	default:
		words := string(r.Code)
		if r.Reason != "" {
			words += ", " + string(r.Reason)
		}
		b.WriteString(indented(words+": "+r.Error, "  "))
	}
	return b.String()
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
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by) + "\n"
}

// spent writes a time for people.
func spent(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
