//go:build quickjs_c

package quickjs

// engineID names the engine and everything of it that an image depends on
// besides the executable: the QuickJS release and the layout of the arena.
const engineID = "quickjs-ng-0.15.1/quickjs-go-0.7.7/arena-1"
