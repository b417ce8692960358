package codemode

import (
	"cmp"
	"slices"
	"strings"
)

// Activation says whether a model gets code mode.
type Activation string

// The activations.
const (
	ActivationOn   Activation = "on"   // whenever there are tools
	ActivationOff  Activation = "off"  // never
	ActivationAuto Activation = "auto" // where its tools cost more than Settings.AutoShare of its window
)

// activation returns what Models says of a model. An exact id wins, then the
// pattern with the most characters that are not "*", then the one that sorts
// first. A model that matches no pattern has code mode.
func (s Settings) activation(model string) Activation {
	var matching []string
	for pattern := range s.Models {
		if pattern == model {
			return s.Models[pattern]
		}
		if matchModel(pattern, model) {
			matching = append(matching, pattern)
		}
	}
	if len(matching) == 0 {
		return ActivationOn
	}
	literal := func(p string) int { return len(p) - strings.Count(p, "*") }
	return s.Models[slices.MinFunc(matching, func(a, b string) int {
		return cmp.Or(cmp.Compare(literal(b), literal(a)), cmp.Compare(a, b))
	})]
}

// PromptTokens is what the tools of a model request cost, in tokens.
type PromptTokens struct {
	// Tools is the cost of the definitions of all tools, each shown to the model;
	// 0 means that there are no tools.
	Tools int64
	// CodeMode is the cost of exec and wait in their place.
	CodeMode int64
	// Window is the context window of the model; 0 means Settings.ContextWindow.
	Window int64
}

// ActiveFor reports whether a model gets code mode in a request that costs so much. With
// ActivationAuto it gets it where tools cost more than AutoShare of its window, and more
// than exec and wait do.
func (s Settings) ActiveFor(model string, p PromptTokens) bool {
	if s.Disabled || p.Tools == 0 {
		return false
	}
	switch s.activation(model) {
	case ActivationOff:
		return false
	case ActivationAuto:
		s = s.WithDefaults()
		share := s.AutoShare * cmp.Or(p.Window, s.ContextWindow) / 100
		return p.Tools > share && p.Tools > p.CodeMode
	default:
		return true
	}
}

// matchModel matches a pattern in which * stands for any characters, also "/".
func matchModel(pattern, model string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == model
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(model) < len(first)+len(last) || !strings.HasPrefix(model, first) || !strings.HasSuffix(model, last) {
		return false
	}
	model = model[len(first) : len(model)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(model, part)
		if at < 0 {
			return false
		}
		model = model[at+len(part):]
	}
	return true
}
