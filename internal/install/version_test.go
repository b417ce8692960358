package install

import "testing"

func TestCompareVersions(t *testing.T) {
	// Each before the next.
	order := []string{"0", "0.0.1", "0.9.0", "0.10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "v1.0.1", "2", "10.0.0", "99999999999999999999999.0.0"}
	for i, a := range order {
		for j, b := range order {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got, known := compareVersions(a, b); !known || got != want {
				t.Errorf("%s and %s: %d, %v", a, b, got, known)
			}
		}
	}
	for _, same := range [][2]string{{"1", "1.0.0"}, {"1.0.0+a", "1.0.0+b"}, {"1.01", "1.1"}} {
		if got, known := compareVersions(same[0], same[1]); !known || got != 0 {
			t.Errorf("%v: %d, %v", same, got, known)
		}
	}
	for _, not := range []string{"nightly", "1.0.0.0", "1..0", "1.x", "20260101a"} {
		if _, known := compareVersions("1.0.0", not); known {
			t.Errorf("%s is ordered", not)
		}
	}
}
