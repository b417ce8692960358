package calls

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// exactDigits is how many digits of an integer a double holds, whatever they are.
const exactDigits = 15

// losesDigits reports whether a number is an integer that a guest, which has doubles, would
// write with other digits.
func losesDigits(number []byte) bool {
	if len(number) <= exactDigits || len(bytes.Trim(number, "-0123456789")) > 0 {
		return false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	return err == nil && strconv.FormatFloat(f, 'f', -1, 64) != string(number)
}

// hasManyDigits reports whether a text has a number that may lose digits. Few have.
func hasManyDigits(text []byte) bool {
	run := 0
	for _, c := range text {
		if run++; c < '0' || c > '9' {
			run = 0
		}
		if run > exactDigits {
			return true
		}
	}
	return false
}

var stringOrNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*`)

// textForIntegers returns a value in which each such integer is a text of its digits: the
// guest can show it and pass it on, and does not take it for another number.
func textForIntegers(value []byte) []byte {
	if !hasManyDigits(value) {
		return value
	}
	return stringOrNumber.ReplaceAllFunc(value, func(token []byte) []byte {
		if !losesDigits(token) {
			return token
		}
		return strconv.AppendQuote(nil, string(token))
	})
}

// IntegersForText undoes that in the input of a tool where its schema wants a number.
func IntegersForText(input, schema json.RawMessage) json.RawMessage {
	if !hasManyDigits(input) {
		return input
	}
	out, found := []byte{'{'}, false
	properties := jsonschema.Parse(schema).Root().Get("properties")
	for i, m := range jsonschema.Parse(input).Root().Fields() {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return input
		}
		out = append(append(out, key...), ':')
		digits, kind := []byte(m.Value.Str()), properties.Get(m.Key).Get("type").Str()
		if (kind == "integer" || kind == "number") && losesDigits(digits) && json.Valid(digits) {
			out, found = append(out, digits...), true
		} else {
			out = append(out, m.Value.Raw...)
		}
	}
	if !found {
		return input
	}
	return append(out, '}')
}
