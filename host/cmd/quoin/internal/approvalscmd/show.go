package approvalscmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newApprovalsShow() *cobra.Command {
	var a approver
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show everything that is known of one call that waits, its whole input included",
		Example: `  quoin approvals show apr_0123456789abcdef0123456789abcdef
  quoin approvals show apr_0123456789abcdef0123456789abcdef --server http://127.0.0.1:8787`,
		Args: cli.OneArg("ID", "which quoin approvals list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(s decisions) error {
				f := a.filter()
				f.Resolved = true
				list, err := s.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				for _, p := range list {
					switch {
					case p.ID != args[0]:
					case a.JSON:
						return output.PrintJSON(cmd.OutOrStdout(), p)
					default:
						return showApproval(cmd.OutOrStdout(), p, false)
					}
				}
				return fmt.Errorf("%w: %s. quoin approvals list --all shows those there are", policy.ErrNotFound, terminal.Short(args[0]))
			})
		},
	}
	a.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(a.pending)
	return cmd
}

// offScreen are the lines of an approval that a person need not know who decides at once.
var offScreen = []string{"id", "state", "called as", "session", "agent turn", "run", "call", "asked by", "decisions", "created"}

// showApproval writes an approval, all of it unless a person is about to be asked. Texts are
// cut nowhere, and are kept from being taken for something else by a terminal.
func showApproval(w io.Writer, p *policy.Approval, asks bool) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" && !(asks && slices.Contains(offScreen, name)) {
			terminal.Fprintf(tw, "%s\t%s\n", name, value)
		}
	}
	line("id", p.ID)
	line("state", string(p.State))
	if p.State == policy.StateAnswered {
		line("answered", fmt.Sprintf("by %s at %s", terminal.Line(p.By), p.Decided.Format(time.RFC3339)))
	}
	if p.Decision != "" {
		line("decision", fmt.Sprintf("%s by %s at %s", p.Decision, terminal.Line(p.By), p.Decided.Format(time.RFC3339)))
	}
	line("severity", string(p.Severity))
	line("title", terminal.Line(p.Title))
	for i, text := range strings.Split(p.Description, "\n") { // as it is: a command must not look like another
		name := ""
		if i == 0 {
			name = "description"
		}
		line(name, text)
	}
	line("tool", terminal.Line(p.ToolID))
	line("called as", terminal.Line(p.Via))
	line("session", terminal.Line(output.OwnerName(p.Session)))
	line("agent turn", terminal.Line(p.Session.TurnID))
	line("run", terminal.Line(p.RunID))
	line("call", terminal.Line(p.CallID))
	for _, ask := range p.Asked {
		line("asked by", strings.TrimSpace(fmt.Sprintf("%s (%s) %s", terminal.Line(ask.Hook), ask.Severity, terminal.Line(ask.Subject))))
	}
	var choices []string
	for _, d := range p.Allowed {
		choices = append(choices, string(d))
	}
	showQuestions(line, p)
	line("decisions", strings.Join(choices, ", "))
	line("always covers", terminal.Line(p.AlwaysCovers))
	line("created", p.Created.Format(time.RFC3339))
	line("expires", p.Expires.Format(time.RFC3339))
	line("input", fmt.Sprintf("%d bytes, SHA-256 %s", p.InputBytes, p.InputSHA256))
	if err := tw.Flush(); err != nil {
		return err
	}
	showInputs(&b, p, asks)
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

// showInputs writes what the call is made with, and with what else it may be.
func showInputs(b *strings.Builder, p *policy.Approval, asks bool) {
	if p.InputCut {
		fmt.Fprintf(b, "ONLY THE START of the input is kept, as a text: it has %d bytes.\n", p.InputBytes)
	}
	showDocument(b, p.Input)
	if len(p.EditedInput) > 0 {
		b.WriteString("edited: the call is made with this instead\n")
		showDocument(b, p.EditedInput)
	}
	if !asks && p.State == policy.StatePending && len(p.InputSchema) > 0 && len(p.Questions) == 0 {
		b.WriteString("schema of an edited input (quoin approvals allow --input)\n")
		showDocument(b, p.InputSchema)
	}
}

// showDocument writes a document on lines of its own.
func showDocument(b *strings.Builder, doc json.RawMessage) {
	for text := range strings.Lines(indented(doc)) {
		b.WriteString(terminal.Line(strings.TrimSuffix(text, "\n")) + "\n")
	}
}

// indented returns JSON on several lines, or the bytes as they are if they are not JSON.
func indented(doc json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return string(doc)
	}
	return b.String()
}

// maxCell is how many characters of an input a list shows.
const maxCell = 200

// inputCell returns an input for a list. A person who decides by the list must see that it is
// not all.
func inputCell(p *policy.Approval) string {
	text := terminal.Line(string(p.Input))
	r := []rune(text)
	if len(r) <= maxCell && !p.InputCut {
		return text
	}
	return fmt.Sprintf("%s… [CUT: the input has %d bytes; see quoin approvals show %s]", string(r[:min(len(r), maxCell)]), p.InputBytes, p.ID)
}
