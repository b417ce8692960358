package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestOddMessages: what is not quite a message is read, and its kind is logged once.
func TestOddMessages(t *testing.T) {
	t.Parallel()
	only := func() (jsonrpc.ID, bool) {
		id, err := jsonrpc.MakeID(float64(7))
		return id, err == nil
	}
	for name, c := range map[string]struct{ text, want, log string }{
		"as it should be":        {`{"jsonrpc":"2.0","id":1,"result":{"a":-1}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":-1}}`, ""},
		"latin 1":                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"caf\xe9\"}", `{"jsonrpc":"2.0","id":1,"result":"caf` + "\uFFFD" + `"}`, "no UTF-8"},
		"wild numbers":           {`{"jsonrpc":"2.0","id":1,"result":[NaN,-Infinity,Infinity,"NaN \" NaN"]}`, `{"jsonrpc":"2.0","id":1,"result":[null,null,null,"NaN \" NaN"]}`, "NaN or Infinity"},
		"controls":               {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\tb\"}", `{"jsonrpc":"2.0","id":1,"result":"a\u0009b"}`, "control characters"},
		"version 1":              {`{"jsonrpc":"1.0","id":1,"result":{},"error":null}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `1.0`},
		"no version":             {`{"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `jsonrpc`},
		"error a text":           {`{"jsonrpc":"2.0","id":1,"error":"no"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}`, "no objects"},
		"code a text":            {`{"jsonrpc":"2.0","id":1,"error":{"code":"E","message":"no","data":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"E: no","data":1}}`, "no integer"},
		"code with point":        {`{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"no"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`, ""},
		"message object":         {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{"en": "no"}}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"{\"en\":\"no\"}"}}`, ""},
		"id null":                {`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`, "without the id"},
		"a result of no request": {`{"jsonrpc":"2.0","id":null,"result":{}}`, "", ""},
		"a line of a log":        {`{"level":"error","id":1,"error":"no"}`, "", ""},
		"broken":                 {`{"jsonrpc":"2.0","id":1,"result":{`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := newOddities(slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				m, mended, err := o.decode([]byte(c.text), only)
				if c.want == "" {
					if err == nil {
						t.Errorf("read as %+v", m)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got, err := jsonrpc.EncodeMessage(m); err != nil || string(got) != c.want || mended != (c.text != c.want) {
					t.Errorf("got %s, mended %v, %v", got, mended, err)
				}
			}
			if got := log.String(); !strings.Contains(got, c.log) || c.log != "" && strings.Count(got, "\n") != 1 {
				t.Errorf("the log has %s, want %q once", got, c.log)
			}
		})
	}
}

// TestErrorsWithoutAnID over the network belong to the request that they came by.
func TestErrorsWithoutAnID(t *testing.T) {
	t.Parallel()
	const text = `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`
	id, err := jsonrpc.MakeID(float64(7))
	if err != nil {
		t.Fatal(err)
	}
	var o *oddities
	if got := o.tidied([]byte(text), &capture{id: id}); string(got) != strings.Replace(text, "null", "7", 1) {
		t.Errorf("got %s", got)
	}
	for _, of := range []*capture{nil, {}} {
		if got := o.tidied([]byte(text), of); string(got) != text {
			t.Errorf("got %s", got)
		}
	}
}

// TestOddIntroductions: what the SDK cannot decode is dropped, and what is offered and cannot be
// read is asked for.
func TestOddIntroductions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, want, log string }{
		"as it should be":    {`{"protocolVersion":"x", "capabilities":{"prompts":null}}`, `{"protocolVersion":"x", "capabilities":{"prompts":null}}`, ""},
		"no introduction":    {`{"tools":5}`, `{"tools":5}`, ""},
		"no object":          {`[5]`, `[5]`, ""},
		"newer":              {`{"supportedVersions":["x"],"capabilities":{}}`, `{"supportedVersions":["x"],"capabilities":{}}`, ""},
		"lists of PHP":       {`{"protocolVersion":"x","capabilities":{"tools":[],"extensions":[]}}`, `{"capabilities":{"tools":{}},"protocolVersion":"x"}`, "capabilities.extensions: []"},
		"all a list":         {`{"protocolVersion":"x","capabilities":[]}`, `{"capabilities":{"tools":{}},"protocolVersion":"x"}`, "capabilities: []"},
		"truths":             {`{"protocolVersion":"x","capabilities":{"tools":true,"prompts":false}}`, `{"capabilities":{"tools":{}},"protocolVersion":"x"}`, "capabilities.prompts: false"},
		"deeper":             {`{"protocolVersion":"x","capabilities":{"tools":{"listChanged":"yes"}}}`, `{"capabilities":{"tools":{}},"protocolVersion":"x"}`, "capabilities.tools.listChanged"},
		"version":            {`{"protocolVersion":1,"capabilities":{}}`, `{"capabilities":{},"protocolVersion":"` + olderVersion + `"}`, "protocolVersion: 1"},
		"serverInfo":         {`{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":5,"icons":[{"src":1}]}}`, `{"capabilities":{},"protocolVersion":"x","serverInfo":{}}`, "serverInfo.icons"},
		"too long":           {`{"capabilities":[], "x":"` + strings.Repeat("x", maxIntroduction) + `"}`, `{"capabilities":[], "x":"` + strings.Repeat("x", maxIntroduction) + `"}`, ""},
		"instructions, meta": {`{"protocolVersion":"x","capabilities":{},"instructions":[],"_meta":[]}`, `{"capabilities":{},"protocolVersion":"x"}`, "instructions: []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := newOddities(slog.New(slog.NewTextHandler(&log, nil)))
			if got := o.introduction([]byte(c.answer)); string(got) != c.want || !strings.Contains(log.String(), c.log) || (c.log == "") != (log.Len() == 0) {
				t.Errorf("got %s, the log has %s", got, &log)
			}
		})
	}
}

// TestOddResults: content that has no list around it, or no object, is read.
func TestOddResults(t *testing.T) {
	t.Parallel()
	s := (Server{Name: "s"}).withDefaults()
	const block = `{"type":"text","text":"x"}`
	for name, c := range map[string]struct{ answer, want string }{
		"text":           {`{"a":1,"content":"x"}`, `{"a":1,"content":[` + block + `]}`},
		"block":          {`{"content":` + block + `,"a":1}`, `{"content":[` + block + `],"a":1}`},
		"null":           {`{"content":null}`, `{"content":[]}`},
		"text alone":     {`"x"`, `{"content":[` + block + `]}`},
		"content alone":  {`[` + block + `]`, `{"content":[` + block + `]}`},
		"nothing":        {`null`, `{"content":[]}`},
		"other content":  {`{"content":7}`, ""},
		"no block":       {`{"content":{}}`, ""},
		"list of others": {`[1]`, ""},
		"number":         {`7`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := callOf(peer{name: "s", server: s}).interpret(false, &Tool{Name: "t"}, []byte(c.answer))
			if c.want == "" {
				if err == nil {
					t.Errorf("got %s", reply.raw)
				}
				return
			}
			if err != nil || string(reply.raw) != c.want {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}
