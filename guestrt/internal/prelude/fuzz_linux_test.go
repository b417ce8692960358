package prelude_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
	"github.com/quoinhq/quoin/internal/wire"
)

// FuzzConvert makes values of bytes and says what JSON each must become, then lets
// the engine convert it on every way out of the guest: as output, as an argument,
// and as the result, with the argument come back in an answer.
func FuzzConvert(f *testing.F) {
	for i := range valueKinds {
		f.Add([]byte{byte(i), 3, 'a', 0xd8, 7, byte(i + 1), 2, 1, 4, 9, 0xff, 3, byte(i), 1, 2, 3, 4, 5, 6, 7, 8})
	}
	f.Add([]byte{6, 5, 7, 3, 12, 2, 13, 1, 14, 17, 18, 19, 5, 200, 200, 200})
	e, err := quickjs.Open(quickjs.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := e.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		g := &generator{rest: b}
		source, want := g.value(0)
		convertEverywhere(t, e, source, want)
	})
}

// loneSurrogate finds half of a surrogate pair, which is all that the engine's JSON
// escapes in this way.
var loneSurrogate = regexp.MustCompile(`(^|[^\\])(\\\\)*\\ud[89a-f]`)

func convertEverywhere(t *testing.T, e engine.Engine, source string, want maybe) {
	t.Helper()
	vm, err := e.New(options(wire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := vm.Discard(); err != nil {
			t.Error(err)
		}
	}()
	cell := engine.Cell{FileName: "cell.js", Config: []byte(`{"file":"cell.js","namespaces":[],"limits":{}}`),
		Source: []byte("(async()=>{const v = " + source + ";\njson(v); const r = await tools.call('t', { v }); return [v, r]\n})")}
	r, err := vm.Load(cell, time.Now().Add(patience))
	if err != nil {
		t.Fatal(err)
	}
	if loneSurrogate.MatchString(want.json) {
		// A value may have one, the input of a call may not.
		if r.Err == nil || !strings.Contains(r.Err.Message, "half of a surrogate pair") || len(r.Requests) != 0 || len(r.Output) != 1 {
			t.Fatalf("%s: %+v, %+v", source, r, r.Err)
		}
		same(t, source, "output", r.Output[0].JSON, want.json)
		return
	}
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 || len(r.Output) != 1 {
		t.Fatalf("%s: %+v, %+v", source, r, r.Err)
	}
	whole := `null`
	if want.present {
		whole = want.json
	}
	argument := `{}`
	if want.present {
		argument = `{"v":` + want.json + `}`
	}
	same(t, source, "output", r.Output[0].JSON, whole)
	same(t, source, "argument", r.Requests[0].Args, argument)
	r, err = vm.Turn([]wire.Settlement{{ID: r.Requests[0].ID, OK: true, JSON: r.Requests[0].Args}}, time.Now().Add(patience))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != wire.StatusDone {
		t.Fatalf("%s: %+v, %+v", source, r, r.Err)
	}
	same(t, source, "result", r.Value, "["+whole+","+argument+"]")
}

// same compares JSON by what it means to Go.
func same(t *testing.T, source, way string, got []byte, want string) {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(got, &x); err != nil {
		t.Fatalf("%s as %s: %.500q: %v", source, way, got, err)
	}
	if err := json.Unmarshal([]byte(want), &y); err != nil {
		t.Fatalf("the test expects no JSON for %s: %q", source, want)
	}
	if !reflect.DeepEqual(x, y) {
		t.Fatalf("%s as %s:\n got %.1000s\nwant %.1000s", source, way, got, want)
	}
}

// maybe is what a value becomes; one that is not present is left out of objects
// and null elsewhere.
type maybe struct {
	json    string
	present bool
}

func becomes(text string) maybe { return maybe{text, true} }

func (m maybe) item() string {
	if m.present {
		return m.json
	}
	return "null"
}

// generator makes guest values of bytes.
type generator struct {
	rest []byte
	made int
}

// Bounds of one generated value.
const (
	maxMade  = 400
	maxLevel = 12
)

func (g *generator) next() byte {
	if len(g.rest) == 0 {
		return 0
	}
	b := g.rest[0]
	g.rest = g.rest[1:]
	return b
}

func (g *generator) uint64() (n uint64) {
	for range 8 {
		n = n<<8 | uint64(g.next())
	}
	return n
}

type valueKind func(*generator, int) (string, maybe)

// valueKinds are the kinds of values; those that hold others come last.
var valueKinds []valueKind

const leafKinds = 16

func init() {
	valueKinds = []valueKind{
		constant("null", becomes("null")),
		constant("true", becomes("true")),
		constant("undefined", maybe{}),
		constant("(() => 1)", maybe{}),
		constant(`Symbol("s")`, maybe{}),
		(*generator).number,
		(*generator).text,
		(*generator).bigInt,
		(*generator).date,
		(*generator).bytes,
		(*generator).words,
		(*generator).failure,
		constant("/a\\/[b\"]/gu", becomes(`"/a\\/[b\"]/gu"`)),
		constant("Object(1n)", becomes(`"1"`)),
		constant(`Object("boxed")`, becomes(`"boxed"`)),
		constant("(() => { const o = {}; o.self = o; return o })()", becomes(`{"self":"[Circular]"}`)),
		(*generator).array,
		(*generator).object,
		(*generator).pairs,
		(*generator).set,
		(*generator).converted,
		(*generator).getter,
		(*generator).shared,
		(*generator).instance,
	}
}

func constant(source string, m maybe) valueKind {
	return func(*generator, int) (string, maybe) { return source, m }
}

// value makes one value and says what it becomes.
func (g *generator) value(level int) (string, maybe) {
	g.made++
	kinds := valueKinds
	if level >= maxLevel || g.made > maxMade {
		kinds = kinds[:leafKinds]
	}
	return kinds[int(g.next())%len(kinds)](g, level+1)
}

func (g *generator) count() int { return int(g.next() % 6) }

func (g *generator) number(int) (string, maybe) {
	bits := g.uint64()
	if bits>>56 < 128 {
		n := int64(bits) >> (bits % 56)
		if n < -1<<53 || n > 1<<53 {
			n %= 1 << 53
		}
		return fmt.Sprintf("(%d)", n), becomes(strconv.FormatInt(n, 10))
	}
	source := fmt.Sprintf("new Float64Array(new BigUint64Array([%dn]).buffer)[0]", bits)
	v := math.Float64frombits(bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return source, becomes("null")
	}
	return source, becomes(strconv.FormatFloat(v, 'g', -1, 64))
}

// quoted makes a string of UTF-16 units, well-formed or not, which is the same in
// JavaScript and in JSON.
func (g *generator) quoted() string {
	n := int(g.next() % 20)
	var b strings.Builder
	b.WriteByte('"')
	for range n {
		unit := uint16(g.next())
		if unit >= 0xc0 {
			unit = unit<<8 | uint16(g.next())
		}
		if unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\' {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (g *generator) text(int) (string, maybe) {
	q := g.quoted()
	return q, becomes(q)
}

func (g *generator) bigInt(int) (string, maybe) {
	n := int64(g.uint64())
	return fmt.Sprintf("BigInt(%q)", strconv.FormatInt(n, 10)), becomes(fmt.Sprintf("%q", strconv.FormatInt(n, 10)))
}

func (g *generator) date(int) (string, maybe) {
	ms := int64(g.uint64()) >> 18 // within 2,200 years of 1970
	return fmt.Sprintf("new Date(%d)", ms), becomes(time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000Z"`))
}

func (g *generator) bytes(int) (string, maybe) {
	return g.numbers([]string{"new Uint8Array([%s])", "new Uint8Array([%s]).buffer", "new DataView(new Uint8Array([%s]).buffer)"}[g.next()%3], 1)
}

func (g *generator) words(int) (string, maybe) { return g.numbers("new Uint16Array([%s])", 257) }

func (g *generator) numbers(format string, factor int) (string, maybe) {
	list := make([]string, g.count())
	for i := range list {
		list[i] = strconv.Itoa(int(g.next()) * factor)
	}
	all := strings.Join(list, ",")
	return fmt.Sprintf(format, all), becomes("[" + all + "]")
}

func (g *generator) failure(int) (string, maybe) {
	message := g.quoted()
	name := []string{"Error", "TypeError", "RangeError"}[g.next()%3]
	return fmt.Sprintf("new %s(%s)", name, message), becomes(fmt.Sprintf(`{"name":%q,"message":%s}`, name, message))
}

func (g *generator) array(level int) (string, maybe) {
	var source, out []string
	for range g.count() {
		s, m := g.value(level)
		source, out = append(source, s), append(out, m.item())
	}
	return "[" + strings.Join(source, ",") + "]", becomes("[" + strings.Join(out, ",") + "]")
}

// key makes a property name; the names that mean something are among them.
func (g *generator) key() string {
	special := []string{`"__proto__"`, `"constructor"`, `"length"`, `"0"`, `""`, `"then"`}
	if n := int(g.next()); n < 2*len(special) {
		return special[n/2]
	}
	return g.quoted()
}

// object has no duplicate names and none that makes it a thenable.
func (g *generator) object(level int) (string, maybe) {
	var source, out []string
	seen := map[string]bool{}
	for range g.count() {
		k := g.key()
		s, m := g.value(level)
		if name := unquoted(k); seen[name] || name == "toJSON" || name == "then" {
			continue
		} else {
			seen[name] = true
		}
		source = append(source, "["+k+"]:"+s)
		if m.present {
			out = append(out, k+":"+m.json)
		}
	}
	prototype := ""
	if g.next()%4 == 0 {
		prototype = "__proto__:null,"
	}
	return "({" + prototype + strings.Join(source, ",") + "})", becomes("{" + strings.Join(out, ",") + "}")
}

// unquoted is a name as Go's JSON tells names apart: lone surrogates are one.
func unquoted(q string) string {
	var s string
	if err := json.Unmarshal([]byte(q), &s); err != nil {
		return q
	}
	return string(utf16.Decode(utf16.Encode([]rune(s))))
}

func (g *generator) pairs(level int) (string, maybe) {
	var source, out []string
	for i := range g.count() {
		v, m := g.value(level)
		source = append(source, fmt.Sprintf("[[%d],%s]", i, v)) // keys are arrays, so that all differ
		out = append(out, fmt.Sprintf("[[%d],%s]", i, m.item()))
	}
	return "new Map([" + strings.Join(source, ",") + "])", becomes("[" + strings.Join(out, ",") + "]")
}

func (g *generator) set(level int) (string, maybe) {
	var source, out []string
	for range g.count() {
		v, m := g.value(level)
		source = append(source, "["+v+"]")
		out = append(out, "["+m.item()+"]")
	}
	return "new Set([" + strings.Join(source, ",") + "])", becomes("[" + strings.Join(out, ",") + "]")
}

// converted has a toJSON. What that returns is not asked for a toJSON again.
func (g *generator) converted(level int) (string, maybe) {
	v, m := g.array(level)
	return "({hidden: 1, toJSON() { return " + v + " }})", m
}

func (g *generator) getter(level int) (string, maybe) {
	v, m := g.value(level)
	if !m.present {
		return "({get x() { return " + v + " }})", becomes("{}")
	}
	return "({get x() { return " + v + " }})", becomes(`{"x":` + m.json + "}")
}

func (g *generator) shared(level int) (string, maybe) {
	v, m := g.value(level)
	return "(x => [x, { x }, x])(" + v + ")", becomes("[" + m.item() + "," + field("x", m) + "," + m.item() + "]")
}

func (g *generator) instance(level int) (string, maybe) {
	v, m := g.value(level)
	return "new (class K { x = " + v + "; #y = 1; static z = 2; get w() { return this.#y } m() {} })()", becomes(field("x", m))
}

func field(name string, m maybe) string {
	if !m.present {
		return "{}"
	}
	return `{"` + name + `":` + m.json + "}"
}
