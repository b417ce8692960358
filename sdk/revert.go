package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxInverse bounds the input of an inverse, in bytes of JSON.
const maxInverse = 64 << 10

// Inverse is a call that undoes another one.
type Inverse struct {
	// Tool is the name of a tool of this plugin. It must be Idempotent: after a crash a
	// host calls it again, with the same IdempotencyKey.
	Tool string
	// Input is what the tool gets: a value of its input type, or anything with the same
	// JSON form, of at most 64 KiB. A tool that undoes should fail if the object has
	// changed since. Let Input hold what the call has left, and compare that: undoing
	// later calls makes new versions of what comes out the same.
	Input any
}

// Revert says how the calls of a tool are undone. See [RevertBy].
type Revert struct {
	in, out reflect.Type
	inverse func(in, out any) (*Inverse, error)
}

// RevertBy makes the Revert of a tool with a handler of these types; for a tool with
// schemas written by hand, both are json.RawMessage. The function is called after each
// call that succeeds, with its input and output, and says how that call is undone: by an
// Inverse, by nothing if it has changed nothing, or not at all, for the reason that the
// error gives. What it needs to know of the state before the call may stand in fields of
// the output that have no JSON form. It runs concurrently and must not block.
//
// A host keeps the inverses of a run, and calls them when a person undoes the run.
func RevertBy[In, Out any](inverse func(in In, out Out) (*Inverse, error)) *Revert {
	return &Revert{
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		inverse: func(in, out any) (*Inverse, error) {
			i, _ := in.(In) // a nil interface is the zero value
			o, _ := out.(Out)
			return inverse(i, o)
		},
	}
}

// check reports whether r fits a tool of these types.
func (r *Revert) check(in, out reflect.Type) error {
	if r == nil || r.in == in && r.out == out {
		return nil
	}
	return fmt.Errorf("its Revert takes %v and %v: expected the types of the handler, %v and %v", r.in, r.out, in, out)
}

// revertBy tells the host how the call is undone. A mistake of the plugin's author makes
// the call one that cannot be undone, and is logged.
func (c *Call) revertBy(r *Revert, in, out any) {
	if r == nil || c.inverse == nil {
		return
	}
	inverse, err := c.undoneBy(r, in, out)
	switch {
	case err != nil:
		c.inverse(protocol.Inverse{Impossible: err.Error()})
	case inverse != nil:
		c.inverse(*inverse)
	}
}

// undoneBy asks how a call is undone. A nil Inverse has changed nothing.
func (c *Call) undoneBy(r *Revert, in, out any) (_ *protocol.Inverse, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.Logger.Error("panic in the Revert of a tool", "panic", fmt.Sprint(v), "stack", stack())
			err = fmt.Errorf("the plugin failed to say how")
		}
	}()
	inverse, err := r.inverse(in, out)
	if inverse == nil || err != nil {
		return nil, err
	}
	input, err := json.Marshal(inverse.Input)
	if err == nil {
		err = c.plugin.checkInverse(inverse.Tool, input)
	}
	if err != nil {
		c.Logger.Error("the Revert of a tool has named an inverse that cannot be called", "inverse", inverse.Tool, "error", err)
		return nil, fmt.Errorf("its inverse cannot be called: %w", err)
	}
	return &protocol.Inverse{Tool: inverse.Tool, Input: input}, nil
}

// checkInverse reports whether a tool can be called with that input to undo something.
func (p *Plugin) checkInverse(tool string, input json.RawMessage) error {
	t := p.tools[tool]
	switch {
	case t == nil:
		return fmt.Errorf("plugin %s has no tool %q", p.info.ID, tool)
	case !t.info.Idempotent:
		return fmt.Errorf("tool %s is not Idempotent, so it could be called twice", tool)
	case len(input) > maxInverse:
		return fmt.Errorf("its input has %d bytes, at most %d fit", len(input), maxInverse)
	}
	return t.input.validate(input)
}
