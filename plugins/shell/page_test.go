package main

import (
	"os"
	"regexp"
	"testing"
)

// TestPageProgram runs the program of docs/shell.md.
func TestPageProgram(t *testing.T) {
	text, err := os.ReadFile("../../docs/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("the page has no program")
	}
	const want = `["it's $HOME","completed",0,"compiling\ngot tea\n"]`
	if r := start(t, gatewayFull()).Cell(string(m[1])); string(r.Value) != want {
		t.Errorf("got %s %v, want %s", r.Value, r.Error, want)
	}
}
