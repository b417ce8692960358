package output

import (
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/terminal"
)

func KiB(n int) string { return fmt.Sprintf("%d KiB", (n+1023)/1024) }

func OwnerName(s host.Session) string {
	return strings.Trim(strings.Join([]string{s.AgentID, s.SessionKey, s.SessionID}, "/"), "/")
}

// Counts writes each problem once, with how often it was found.
func Counts(problems []string) []string {
	times := map[string]int{}
	var list []string
	for _, p := range problems {
		if times[p]++; times[p] == 1 {
			list = append(list, p)
		}
	}
	for i, p := range list {
		if times[p] > 1 {
			list[i] = fmt.Sprintf("%d × %s", times[p], p)
		}
	}
	return list
}

// Called closes a call that is cut off before its input.
func Called(call string) string {
	switch {
	case call == "":
		return ""
	case strings.HasPrefix(call, "tools.call("):
		return terminal.Line(call) + ", …)"
	}
	return terminal.Line(call) + "(…)"
}

// BytesPerToken is a rule of thumb for English and code.
const BytesPerToken = 4
