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
	ActivationAuto Activation = "auto" // from Settings.AutoMinTools tools on
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

// ActiveFor reports whether a model gets code mode if it would otherwise see so many
// tools.
func (s Settings) ActiveFor(model string, tools int) bool {
	if s.Disabled || tools == 0 {
		return false
	}
	switch s.activation(model) {
	case ActivationOff:
		return false
	case ActivationAuto:
		return int64(tools) >= s.WithDefaults().AutoMinTools
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
