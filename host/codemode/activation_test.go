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

// TestAutoCountsTokens: auto is decided by what the tools cost, not by how many there are.
func TestAutoCountsTokens(t *testing.T) {
	auto := Settings{Models: map[string]Activation{"*": ActivationAuto}}
	wide, narrow := auto, auto
	wide.ContextWindow, narrow.AutoShare = 1_000_000, 1
	for _, tc := range []struct {
		name     string
		settings Settings
		cost     PromptTokens
		want     bool
	}{
		{"ten small tools", auto, PromptTokens{Tools: 1_000, CodeMode: 900}, false},
		{"ten large tools", auto, PromptTokens{Tools: 12_000, CodeMode: 900}, true},
		{"exactly the share", auto, PromptTokens{Tools: 4_000, CodeMode: 900}, false},
		{"just beyond the share", auto, PromptTokens{Tools: 4_001, CodeMode: 900}, true},
		{"a window of a million", wide, PromptTokens{Tools: 12_000, CodeMode: 900}, false},
		{"the request knows the window", wide, PromptTokens{Tools: 12_000, CodeMode: 900, Window: 128_000}, true},
		{"another share", narrow, PromptTokens{Tools: 2_001, CodeMode: 900}, true},
		{"a small window, and exec and wait cost more", auto, PromptTokens{Tools: 500, CodeMode: 900, Window: 8_000}, false},
		{"no tools", auto, PromptTokens{CodeMode: 900, Window: 1}, false},
		{"on", Settings{}, PromptTokens{Tools: 1, CodeMode: 900}, true},
		{"disabled", Settings{Disabled: true}, PromptTokens{Tools: 100_000}, false},
	} {
		if got := tc.settings.ActiveFor("a-model", tc.cost); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
