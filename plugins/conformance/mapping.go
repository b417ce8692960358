package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// mappings asks the mapping functions that scopes name, with arguments that may
// mean nothing to them, and with declared ones.
func mappings(e *exam) {
	asked := 0
	for _, n := range e.process.Describe().Namespaces {
		scope, err := e.process.CreateScope(e.ctx, n.ID, run)
		if err != nil {
			continue // another part reports it
		}
		for _, call := range scope.Calls() {
			if call.Mapping.Kind == namespaces.MapFunction {
				asked++
				e.probeMapper(n.ID, call.Mapping.Mapper)
			}
		}
	}
	if asked == 0 {
		e.notExercised("no namespace has a mapping function")
	} else if len(e.declared.Mappings) == 0 {
		e.notExercised("mappings are not declared: what mapping functions make of good arguments")
	}
	for _, m := range e.declared.Mappings {
		e.declaredMapping(m)
	}
	e.alive("mapping functions")
}

// probeMapper wants an object or an error of the caller's from every function.
func (e *exam) probeMapper(namespace, mapper string) {
	for _, args := range []string{`[]`, `[null]`, `[{}]`, `["a", 1, [true]]`} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(args), &list); err != nil {
			panic(err) // it is a constant
		}
		input, err := e.process.MapInput(e.ctx, namespace, run, mapper, list)
		var failure *protocol.Error
		switch {
		case errors.As(err, &failure) && !failure.FromTool():
			e.problem("the mapping function %s of namespace %s broke on %s: %v; expected an error of kind tool or input", mapper, namespace, args, err)
		case err == nil && (len(input) == 0 || bytes.TrimSpace(input)[0] != '{'):
			e.problem("the mapping function %s of namespace %s made %.100s of %s; expected an object", mapper, namespace, input, args)
		}
	}
}

func (e *exam) declaredMapping(m Mapping) {
	got, err := e.process.MapInput(e.ctx, m.Namespace, run, m.Mapper, m.Args)
	if err != nil {
		e.problem("the declared use of mapping function %s of namespace %s failed: %v", m.Mapper, m.Namespace, err)
		return
	}
	var is, want any
	if err := errors.Join(json.Unmarshal(got, &is), json.Unmarshal(m.Input, &want)); err != nil || !reflect.DeepEqual(is, want) {
		e.problem("the mapping function %s of namespace %s made %.200s; declared is %s", m.Mapper, m.Namespace, got, m.Input)
	}
}

// largeInput calls a tool that does not exist with an input of nearly the largest
// size.
func largeInput(e *exam) {
	input := make([]byte, 0, protocol.MaxMessageBytes)
	input = append(input, `{"text": "`...)
	input = append(input, bytes.Repeat([]byte("x"), protocol.MaxMessageBytes-(128<<10))...)
	input = append(input, `"}`...)
	_, err := e.call(e.ctx, "no_such_tool", input)
	e.wantKind("calling a tool that does not exist with 15.9 MB", err, protocol.KindInput)
	e.alive("a large input")
}
