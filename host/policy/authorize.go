package policy

import "context"

// Authorize returns a hook that asks allow about every call of a tool, one by one, before
// it is made: an error blocks the call, and its text tells the program why. The program
// itself is not asked about. Allow is called concurrently, with the values of the request
// that drives the run, and must answer within the timeout of hooks. Put it after hooks
// that rewrite inputs.
//
//	host.Config{Hooks: []policy.Hook{policy.Authorize("gateway", mayCall)}}
func Authorize(name string, allow func(ctx context.Context, c *Call) error) Hook {
	return Hook{
		Name: name,
		Only: func(c *Call) bool { return c.Kind == KindTool },
		Before: func(ctx context.Context, c *Call) (Verdict, error) {
			if err := allow(ctx, c); err != nil {
				return Verdict{Block: true, Reason: err.Error()}, nil
			}
			return Verdict{}, nil
		},
	}
}
