package codemode

import "testing"

func TestMatchModel(t *testing.T) {
	for _, tc := range []struct {
		pattern, model string
		want           bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true},
		{"a", "a", true}, {"a", "A", false}, {"a*", "ab/c", true}, {"a*", "ba", false},
		{"*b", "ab", true}, {"*b", "abc", false}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*a", "a", false},
		{"a*b*c", "aXbYc", true}, {"a*b*c", "acb", false}, {"*x*x*", "x", false}, {"*x*x*", "xx", true}, {"**", "a", true},
	} {
		if got := matchModel(tc.pattern, tc.model); got != tc.want {
			t.Errorf("%q matches %q: %v", tc.pattern, tc.model, got)
		}
	}
}

// TestActivationIsDeterministic: of two equally exact patterns it is always the
// same one that counts.
func TestActivationIsDeterministic(t *testing.T) {
	s := Settings{Models: map[string]Activation{"*-mini": ActivationOff, "model*": ActivationAuto, "*": ActivationOn, "model-x": ActivationOn}}
	for range 20 {
		if got := s.activation("model-mini"); got != ActivationOff {
			t.Fatalf("got %s", got)
		}
	}
	for model, want := range map[string]Activation{"model-x": ActivationOn, "model-y": ActivationAuto, "": ActivationOn} {
		if got := s.activation(model); got != want {
			t.Errorf("%q: %s, want %s", model, got, want)
		}
	}
}
