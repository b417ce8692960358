//go:build linux && (amd64 || arm64)

package quickjs

// value is what QuickJS calls a JSValue on machines of 64 bits. A function that returns one
// gives it to its caller, and takes none unless it says so.
type value struct {
	bits uint64
	tag  int64
}

// The tags of values (quickjs.h). The libraries agree about these.
const (
	tagSymbol        = -8
	tagString        = -7
	tagStringRope    = -6
	tagCode          = -2
	tagObject        = -1
	tagInt           = 0
	tagBool          = 1
	tagNull          = 2
	tagUndefined     = 3
	tagUninitialized = 4
	tagException     = 6
)

var (
	undefined = value{tag: tagUndefined}
	exception = value{tag: tagException}
	null      = value{tag: tagNull}
)

func isException(v value) bool { return v.tag == tagException }
func isObject(v value) bool    { return v.tag == tagObject }
func isString(v value) bool    { return v.tag == tagString || v.tag == tagStringRope }
func isTrue(v value) bool      { return v.tag == tagBool && uint32(v.bits) != 0 }

func intValue(n int32) value { return value{uint64(uint32(n)), tagInt} }

func boolValue(b bool) value {
	v := value{tag: tagBool}
	if b {
		v.bits = 1
	}
	return v
}

// pointer is the address of what a value refers to, or an integer.
func pointer(v value) uintptr { return uintptr(v.bits) }
