package install

import (
	"cmp"
	"strings"
)

// compareVersions orders versions as Semantic Versioning 2.0.0 does: a missing
// part counts as 0, what follows a + does not count, and a version with a - comes
// before the one without. known is false if one of them is no such version.
func compareVersions(a, b string) (order int, known bool) {
	coreA, preA, okA := splitVersion(a)
	coreB, preB, okB := splitVersion(b)
	if !okA || !okB {
		return 0, false
	}
	for i := range coreA {
		if c := compareNumbers(coreA[i], coreB[i]); c != 0 {
			return c, true
		}
	}
	if preA == "" || preB == "" {
		return cmp.Compare(preB, preA), true // the one without comes later
	}
	return comparePre(strings.Split(preA, "."), strings.Split(preB, ".")), true
}

// splitVersion takes a version apart: three numbers, and what comes after the -.
func splitVersion(v string) (core [3]string, pre string, ok bool) {
	v, _, _ = strings.Cut(v, "+")
	v, pre, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	parts := strings.Split(v, ".")
	if len(parts) > len(core) {
		return core, "", false
	}
	core = [3]string{"0", "0", "0"}
	for i, p := range parts {
		if !isNumber(p) {
			return core, "", false
		}
		core[i] = p
	}
	return core, pre, true
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// compareNumbers compares decimal numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// comparePre compares the parts behind the -. Numbers come before words.
func comparePre(a, b []string) int {
	for i := range min(len(a), len(b)) {
		var c int
		switch na, nb := isNumber(a[i]), isNumber(b[i]); {
		case na && nb:
			c = compareNumbers(a[i], b[i])
		case na:
			c = -1
		case nb:
			c = 1
		default:
			c = cmp.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
