package config

import "strings"

// similar returns the known word that the given one may be a slip of, or "".
func similar(given string, known []string) string {
	const longest = 64
	if len(given) > longest {
		return ""
	}
	best, least := "", len(given)/3+2
	for _, k := range known {
		d := distance(fold(given), fold(k))
		if strings.HasPrefix(fold(k), fold(given)) && len(given) > 2 {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// fold leaves out how words are set apart: timeout_ms, timeout-ms, TimeoutMS.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance counts the bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
