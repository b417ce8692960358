package devloop

import "strings"

const (
	around     = 1    // lines shown around a difference
	maxCompare = 2000 // lines of a text that are compared
)

func split(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// lineDiff shows in which lines two texts differ: "-" before those that are gone,
// "+" before those that are new, and a little of what is around them.
func lineDiff(old, new string) []string {
	a, b := split(old), split(new)
	if len(a) > maxCompare || len(b) > maxCompare {
		return []string{" (too long to compare line by line)"}
	}
	var all []string
	common := longestCommon(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, " "+a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			all = append(all, "-"+a[i])
			i++
		default:
			all = append(all, "+"+b[j])
			j++
		}
	}
	return near(all)
}

// longestCommon is, for every pair of rests of a and b, the length of their longest
// common subsequence.
func longestCommon(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// near leaves out the lines that are far from any difference.
func near(all []string) []string {
	var out []string
	gap := false
	for i, line := range all {
		close := false
		for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
			close = close || all[k][0] != ' '
		}
		if !close {
			gap = true
			continue
		}
		if gap && len(out) > 0 {
			out = append(out, " …")
		}
		gap = false
		out = append(out, line)
	}
	return out
}
