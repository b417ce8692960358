package declare

import "testing"

func TestSentences(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  string
	}{
		{nil, ""}, {[]string{"who"}, "who"}, {[]string{"who is greeted", "Length: 1 to 100."}, "who is greeted. Length: 1 to 100."},
		{[]string{"Who is", "", "greeted?", "Integer."}, "Who is greeted? Integer."},
	} {
		if got := sentences(tc.lines); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.lines, got, tc.want)
		}
	}
}
