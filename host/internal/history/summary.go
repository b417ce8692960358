package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Summary counts what a history has of each kind.
func Summary(events []Event) string {
	counts := map[Kind]int{}
	runs := map[string]bool{}
	unknown := 0
	for _, e := range events {
		counts[e.Kind]++
		unknown += e.Unknown
		if e.Kind == Suspended {
			runs[e.Run] = true
		}
	}
	parts := []string{fmt.Sprintf("%d runs that clients were told of", len(runs))}
	for _, k := range []Kind{Completed, Gone, Unanswered, Aborted, Failed, Claimed, Written, Kept, Effected, Refused} {
		parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
	}
	parts = append(parts, fmt.Sprintf("%d calls that may or may not have taken effect", unknown))
	return strings.Join(parts, ", ")
}

// Quantile returns the q-quantile of durations, 0 of no durations.
func Quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
