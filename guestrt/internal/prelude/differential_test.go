package prelude_test

import (
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// plainData makes random plain values, emits what JSON.stringify says of each as
// text, and then the value itself.
const plainData = `async () => {
	let seed = 42
	const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n
	const strings = ["", "a", "\\", '"', "\n\u0000\u001f", "é", "€", "😀", "\ud800", "\udfff!", "\u2028", "__proto__", "toJSON", "x".repeat(200)]
	const numbers = [0, -0, 1, -1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 123456789.125, NaN, -Infinity, 2 ** 53]
	const make = (depth) => {
		switch (random(depth > 5 ? 6 : 9)) {
		case 0: return null
		case 1: return random(2) === 0
		case 2: return numbers[random(numbers.length)]
		case 3: return strings[random(strings.length)]
		case 4: return undefined
		case 5: return new Date(random(1e9) * 1000)
		case 6: { const a = []; for (let i = random(6); i > 0; i--) a.push(make(depth + 1)); if (random(4) === 0) a.length += 2; return a }
		case 7: { const o = {}; for (let i = random(6); i > 0; i--) Object.defineProperty(o, strings[random(strings.length - 2)] + random(3), {value: make(depth + 1), enumerable: random(5) > 0, configurable: true}); return o }
		default: { const v = make(depth + 1); return v instanceof Date ? v : {toJSON() { return v }} }
		}
	}
	for (let i = 0; i < 1000; i++) { const v = make(0); text(JSON.stringify(v) ?? "null"); json(v) }
}`

func TestPlainDataConvertsLikeJSONStringify(t *testing.T) {
	r := newPlain(t).load(plainData, noConfig)
	if r.Status != wire.StatusDone || len(r.Output) != 2000 {
		t.Fatalf("status %d, %d outputs, %+v", r.Status, len(r.Output), r.Err)
	}
	for i := 0; i < len(r.Output); i += 2 {
		var native []string
		if err := json.Unmarshal([]byte(r.Output[i]), &native); err != nil {
			t.Fatal(err)
		}
		if ours := r.Output[i+1]; ours != `["json",`+native[1]+"]" {
			t.Errorf("value %d\n got %s\nwant %s", i/2, ours, native[1])
		}
	}
}
