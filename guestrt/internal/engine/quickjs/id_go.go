//go:build !quickjs_c

package quickjs

// engineID names the engine and everything of it that an image depends on
// besides the executable: the QuickJS release and the layout of the arena.
const engineID = "quickjs-2026-06-04/libquickjs-0.14.0/arena-1"
