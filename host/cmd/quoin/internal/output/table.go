package output

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/quoinhq/quoin/internal/terminal"
)

// Print writes a value as JSON, or what text makes of it for people.
func Print(w io.Writer, asJSON bool, v any, text func(*strings.Builder)) error {
	if asJSON {
		return PrintJSON(w, v)
	}
	var b strings.Builder
	text(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// Table writes a row for each of the list below a head.
func Table[T any](b *strings.Builder, head string, list []T, row func(T) []any) {
	tw := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, head)
	for _, one := range list {
		cells := row(one)
		terminal.Fprintf(tw, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
	}
	_ = tw.Flush() // a builder takes everything
}

// Fields writes each name and its value on a line, but for those without a value.
func Fields(b *strings.Builder, fields [][2]string) {
	tw := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	for _, f := range fields {
		if f[1] != "" {
			terminal.Fprintf(tw, "%s\t%s\n", f[0], f[1])
		}
	}
	_ = tw.Flush()
}
