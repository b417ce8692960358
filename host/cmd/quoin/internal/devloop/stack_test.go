package devloop

import (
	"strings"
	"testing"
)

// panicked is what the SDK says of a panic: first the frames that have found it.
const panicked = `goroutine 23 [running]:
runtime/debug.Stack()
	runtime/debug/stack.go:26 +0x64
github.com/quoinhq/quoin/sdk.(*service).recovered(0xc000012345, {0xc0001, 0x11}, 0xc00021)
	github.com/quoinhq/quoin@v1.2.3/sdk/service.go:126 +0xac
panic({0x1?, 0x2?})
	runtime/panic.go:787 +0x132
example.com/todo/store.(*Store).Add(...)
	/home/ada/todo/store/store.go:12
main.add({0x1, 0x2}, 0xc0, {{0xc0001, 0x3}})
	example.com/todo/main.go:56 +0x1d
github.com/quoinhq/quoin/sdk.AddToolSafely[...].func1()
	github.com/quoinhq/quoin@v1.2.3/sdk/tool.go:99 +0x1b
created by google.golang.org/grpc.(*Server).serveStreams.func2 in goroutine 9
	google.golang.org/grpc@v1.80.0/server.go:1065 +0x11c
`

func TestFoldedStack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ stack, want string }{
		"a panic":         {panicked, "store/store.go:12  example.com/todo/store.(*Store).Add|main.go:56  main.add|… 5 more of Go and of packages that it uses"},
		"another form":    {"Error: no\n    at add (main.mjs:3:1)\n", "Error: no|    at add (main.mjs:3:1)"},
		"nothing at all":  {"", ""},
		"no own frames":   {"main\n", "main"},
		"only the others": {"runtime.main()\n\truntime/proc.go:1 +0x1\n", "… 1 more of Go and of packages that it uses"},
	} {
		if got := strings.Join(foldedStack(tc.stack, "/home/ada/todo"), "|"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
