package celltypes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host"
)

// Executor runs programs, as a host does.
type Executor interface {
	Exec(context.Context, host.Session, host.ExecInput) (*host.Result, error)
}

// gather returns declarations from the i-th on, as many as fit into one result.
const gather = `const paths = (await API.list()).files.map((f) => f.path).filter((p) => p.endsWith(".d.ts"));
const texts = [];
let i = %d;
for (let size = 0; i < paths.length; i++) {
  const { content } = await API.read(paths[i]);
  size += content.length;
  if (size > 16000 && texts.length > 0) break;
  texts.push("// " + paths[i] + "\n" + content);
}
return { texts, next: i < paths.length ? i : 0 };`

// Declarations returns what programs of a session can use, as one file of
// declarations.
func Declarations(ctx context.Context, h Executor, s host.Session) (string, error) {
	var b strings.Builder
	b.WriteString("// What programs can call. It was made by quoin plugin types, which makes it again.\n")
	for next := 0; ; {
		r, err := h.Exec(ctx, s, host.ExecInput{Code: fmt.Sprintf(gather, next)})
		if err != nil {
			return "", err
		}
		if r.Status != host.StatusCompleted {
			return "", fmt.Errorf("the declarations cannot be read: %s", r.Error)
		}
		var page struct {
			Texts []string
			Next  int
		}
		if err := json.Unmarshal(r.Value, &page); err != nil {
			return "", err
		}
		for _, text := range page.Texts {
			b.WriteString("\n" + strings.TrimRight(text, "\n") + "\n")
		}
		if next = page.Next; next == 0 {
			return b.String(), nil
		}
	}
}
