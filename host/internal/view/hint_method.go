package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

// maxMethods bounds the methods that a hint lists.
const maxMethods = 16

// hintMethod explains a call of a method that a value of the program's own does not have,
// if results of a namespace have one of that name, or of nearly that name.
func (h Hints) hintMethod(name string) string {
	for i := range h.View.Namespaces {
		reg := &h.View.Namespaces[i]
		scope := h.Scope(reg.ID)
		if scope == nil {
			continue
		}
		for class := range scope.Classes() {
			methods := slices.Sorted(maps.Keys(class.Methods))
			if _, there := class.Methods[name]; there {
				return fmt.Sprintf("%s is a method of %s: await the call, and use what it returns itself. Copies of it, and results without %s, do not have the method.",
					name, owners(reg, scope, class), class.Key)
			}
			if near := text.Nearest(name, methods, nearest); len(near) > 0 {
				return fmt.Sprintf("%s%s %s.", didYouMean(near), capital(owners(reg, scope, class)+" have the methods"),
					strings.Join(methods[:min(len(methods), maxMethods)], ", "))
			}
		}
	}
	return h.hintListMethod(name)
}

// owners names the results that have the methods of a class, by the calls that return them.
func owners(reg *namespaces.Registration, scope *namespaces.Scope, class *namespaces.Class) string {
	var calls []string
	for path, c := range scope.Calls() {
		if c.Returns == class && !namespaces.IsMethod(path) && len(calls) < nearest {
			calls = append(calls, written(slices.Concat([]string{reg.GlobalName}, path)))
		}
	}
	if len(calls) == 0 { // methods of other results return them
		return class.Name + " results of " + reg.GlobalName
	}
	return "results of " + strings.Join(calls, ", ")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
