package mcp

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// hang never returns. If its only goroutine blocked in a select, the runtime would end the
// program: it would crash, not hang.
func hang() error {
	for {
		time.Sleep(time.Hour)
	}
}

const oneTool = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`

// badServers are programs that speak MCP badly.
var badServers = map[string]func(*raw) error{
	"oversize": func(r *raw) error {
		calls := 0
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			if calls++; calls == 1 {
				return r.reply(q, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 9<<20)+`"}]}`)
			}
			return r.reply(q, `{"content":[]}`)
		})
	},
	"oversize-anonymous": func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			return r.say(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"%s"}]},"id":%s}`, strings.Repeat("x", 9<<20), q.ID)
		})
	},
	"greeter": func(r *raw) error {
		if err := r.say("hello, I am no server"); err != nil {
			return err
		}
		_, err := r.in.ReadString(0) // to the end of the input
		return err
	},
	"deep":   listOf(oneTool, `{"content":[],"structuredContent":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`),
	"nested": listOf(oneTool, `{"content":[],"structuredContent":`+strings.Repeat("[", 150)+strings.Repeat("]", 150)+`}`),
	"many":   listOf(oneTool, `{"content":[],"structuredContent":[`+strings.Repeat("[],", 600_000)+`[]]}`),
	"list":   listOf(oneTool, `[1]`),
	"text":   listOf(oneTool, `{"content":7}`),
	"garbage": func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			return r.reply(q, `{"content":[}`)
		})
	},
	"asks":    listOf(oneTool, `{"content":[],"resultType":"input_required","inputRequests":{"a":{}}}`),
	"novel":   listOf(oneTool, `{"content":[{"type":"hologram","z":1,"a":2}],"extra":true}`),
	"badlist": listOf(`{"tools":7}`, `{}`),
	"schemas": listOf(`{"tools":[
		{"name":"none"},{"name":"null","inputSchema":null},{"name":"broken","inputSchema":{"type":"object","properties":5}},
		{"name":"ordered","inputSchema":{"type":"object","properties":{"z":{},"a":{}}},"outputSchema":7},
		{"name":"string","inputSchema":"x"},{"name":"array","inputSchema":{"type":"array"}},
		{"name":"huge","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 300<<10)+`"}}
	]}`, `{"content":[]}`),
	"names": listOf(`{"tools":[{"name":"a:b/c d"},{"name":"天気"},{"name":"__proto__"},{"name":"a\nb"},{"name":" a"},{"name":""},{"name":7},
		5,null,{"name":"`+strings.Repeat("n", 300)+`"},{"name":"twice","description":"first"},{"name":"twice","description":"second"},
		{"name":"resources_list"},{"name":"long","title":"`+strings.Repeat("t", 5000)+`","description":"a\u0000b`+strings.Repeat("é", 50_000)+`"}]}`, `{"content":[]}`),
	"crowd": func(r *raw) error {
		return r.serve(func(q request) error {
			var b strings.Builder
			for i := range 12_000 {
				fmt.Fprintf(&b, `{"name":"tool-%d"},`, i)
			}
			return r.reply(q, `{"tools":[`+strings.TrimSuffix(b.String(), ",")+`]}`)
		})
	},
	"endless": func(r *raw) error {
		page := 0
		return r.serve(func(q request) error {
			page++
			return r.reply(q, fmt.Sprintf(`{"tools":[{"name":"tool-%d"}],"nextCursor":"%d"}`, page, page))
		})
	},
	"circle": listOf(`{"tools":[{"name":"t"}],"nextCursor":"again"}`, `{}`),
	"chatty": func(r *raw) error {
		for _, line := range []string{"Welcome to chatty!", "", "[]", `{"level":"info"}`, `{"jsonrpc":"2.0"`, "42"} {
			if err := r.say("%s", line); err != nil {
				return err
			}
		}
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			for i := range 5000 {
				fmt.Fprintln(os.Stderr, "line", i)
			}
			return r.reply(q, `{"content":[]}`)
		})
	},
	// greedy asks without reading answers, once it is called.
	"greedy": func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			for i := range 100_000 {
				if r.say(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i) != nil {
					break
				}
			}
			return hang()
		})
	},
	// mute lists once and then never says a word again.
	"mute": func(r *raw) error {
		lists := 0
		return r.serve(func(q request) error {
			if lists++; lists == 1 {
				return r.reply(q, oneTool)
			}
			return nil
		})
	},
	// deaf lists once and then never reads again.
	"deaf": func(r *raw) error {
		return r.serve(func(q request) error {
			if err := r.reply(q, oneTool); err != nil {
				return err
			}
			return hang()
		})
	},
	// restless announces changes without end, and counts how often it is asked.
	"restless": func(r *raw) error {
		lists := 0
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				lists++
				return r.reply(q, oneTool)
			}
			for range 10_000 {
				if err := r.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`); err != nil {
					return err
				}
				if err := r.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`); err != nil {
					return err
				}
			}
			return r.reply(q, fmt.Sprintf(`{"content":[],"structuredContent":{"lists":%d}}`, lists))
		})
	},
	// stubborn does not end when its input does, nor when it is told to.
	"stubborn": func(r *raw) error {
		ignoreTerm()
		if err := listOf(oneTool, fmt.Sprintf(`{"content":[],"structuredContent":{"pid":%d}}`, os.Getpid()))(r); err != nil {
			return err
		}
		return hang()
	},
	"stillborn": func(*raw) error {
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(1)
		return nil
	},
}
