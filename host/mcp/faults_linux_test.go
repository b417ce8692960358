package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The variables of a server that fails once: how, and the file that says that it has.
const (
	faultKey     = "QUOIN_TEST_MCP_FAULT"
	faultDoneKey = "QUOIN_TEST_MCP_FAULT_DONE"
)

// halfReply is the start of an answer.
const halfReply = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`

// faults are what a server does at a step of a call, over its standard output. Whatever
// returns is followed by the end of the process.
var faults = map[string]func(r *raw, q request) error{
	"killed after the request": func(*raw, request) error { return kill() },
	"killed in the reply":      func(r *raw, q request) error { return errors.Join(r.part(halfReply, q.ID), kill()) },
	"frozen after the request": func(*raw, request) error { return freeze() },
	"frozen in the reply":      func(r *raw, q request) error { return errors.Join(r.part(halfReply, q.ID), freeze()) },
	"an endless reply":         func(r *raw, q request) error { return errors.Join(r.part(halfReply, q.ID), r.flood("x")) },
	"endless messages": func(r *raw, _ request) error {
		return r.flood(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}` + "\n")
	},
	"endless noise": func(r *raw, _ request) error { return r.flood("noise\n") },
	"endless questions": func(r *raw, _ request) error {
		return r.flood(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}}` + "\n")
	},
	"the reply to another call": func(r *raw, _ request) error {
		return errors.Join(r.say(`{"jsonrpc":"2.0","id":99,"result":{}}`), freeze())
	},
}

// part writes a part of a message.
func (r *raw) part(format string, args ...any) error {
	_, err := fmt.Fprintf(r.out, format, args...)
	return err
}

// flood writes the same without end.
func (r *raw) flood(text string) error {
	block := []byte(strings.Repeat(text, 1+1<<16/len(text)))
	for {
		if _, err := r.out.Write(block); err != nil {
			return err
		}
	}
}

func kill() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// freeze stops the whole process, as a debugger or a full disk does.
func freeze() error { return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGSTOP), hang()) }

func init() {
	badServers["faulty"] = func(r *raw) error {
		return r.serve(func(q request) error {
			if q.Method == "tools/list" {
				return r.reply(q, oneTool)
			}
			if _, err := os.Stat(os.Getenv(faultDoneKey)); err == nil {
				return r.reply(q, `{"content":[]}`)
			}
			if err := os.WriteFile(os.Getenv(faultDoneKey), []byte("done\n"), 0o600); err != nil {
				return err
			}
			return faults[os.Getenv(faultKey)](r, q)
		})
	}
}

// TestFaultsOfAProgram: whatever a program does in the middle of a call, the call ends with
// an error that does not claim that nothing happened, and the next call works.
func TestFaultsOfAProgram(t *testing.T) {
	t.Parallel()
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := self(t, "bad", "faulty")
			s.Env[faultKey], s.Env[faultDoneKey] = name, t.TempDir()+"/done"
			s.CallTimeout, s.ConnectTimeout = time.Second, 3*time.Second
			w := connect(t, Options{StopTimeout: time.Millisecond}, s)
			w.until(t, func() bool { return w.has("t") })
			e := w.refuse(t, t.Context(), "bad", "t", `{}`)
			if !slices.Contains([]Code{CodeClosed, CodeTimeout, CodeReplyTooLarge, CodeInvalidReply}, e.Code) || !e.Unknown {
				t.Errorf("%+v", e)
			}
			recovers(t, w)
		})
	}
}

// recovers makes calls until one works. A connection that is about to end, or that still
// answers what a server has asked, may refuse some.
func recovers(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := w.Call(ctx, Request{Server: "bad", Tool: "t", Input: json.RawMessage(`{}`)})
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no call works again: %v\n%s", err, w.log)
		}
	}
}

// TestKilledBeforeACall: a program that is gone when it is called has not been called, or
// it is not known; the next call works.
func TestKilledBeforeACall(t *testing.T) {
	t.Parallel()
	w := connect(t, Options{StopTimeout: time.Millisecond}, self(t, "bad", "stubborn"))
	out := w.call(t, "bad", "t", `{}`)
	pid := int(out["structuredContent"].(map[string]any)["pid"].(float64))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
	if _, err := w.Call(t.Context(), Request{Server: "bad", Tool: "t", Input: json.RawMessage(`{}`)}); err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnavailable && e.Code != CodeClosed {
			t.Errorf("%v", err)
		}
	}
	recovers(t, w)
}

// networkFaults are what a server on the network does with the connection of a call.
var networkFaults = map[string]func(c net.Conn, q request){
	"killed after the request": func(net.Conn, request) {},
	"killed in the headers":    func(c net.Conn, _ request) { write(c, "HTTP/1.1 200 OK\r\nContent-Ty") },
	"killed in the reply":      func(c net.Conn, q request) { write(c, jsonHeaders, fmt.Sprintf(halfReply, q.ID)) },
	"killed in the stream":     func(c net.Conn, q request) { write(c, streamHeaders, "data: ", fmt.Sprintf(halfReply, q.ID)) },
	"a stream without a reply": func(c net.Conn, _ request) { write(c, streamHeaders, ": nothing\n\n", "0\r\n\r\n") },
	"frozen after the request": func(c net.Conn, _ request) { await(c) },
	"frozen in the reply": func(c net.Conn, q request) {
		write(c, jsonHeaders, fmt.Sprintf(halfReply, q.ID))
		await(c)
	},
	"frozen in the stream": func(c net.Conn, q request) {
		write(c, streamHeaders, "data: ", fmt.Sprintf(halfReply, q.ID))
		await(c)
	},
	"an endless reply": func(c net.Conn, q request) {
		write(c, jsonHeaders, fmt.Sprintf(halfReply, q.ID))
		for write(c, strings.Repeat("x", 1<<16)) {
		}
	},
	"endless events": func(c net.Conn, _ request) {
		write(c, streamHeaders)
		for write(c, strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n", 1000)) {
		}
	},
	"endless questions": func(c net.Conn, _ request) {
		write(c, streamHeaders)
		for i := 0; write(c, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}}\n\n", i)); i++ {
		}
	},
	"endless headers": func(c net.Conn, _ request) {
		write(c, "HTTP/1.1 200 OK\r\n")
		for write(c, strings.Repeat("X-Pad: 0123456789\r\n", 1000)) {
		}
	},
}

const (
	jsonHeaders   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
	streamHeaders = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
)

// write writes until the client has gone.
func write(c net.Conn, parts ...string) bool {
	_, err := io.WriteString(c, strings.Join(parts, ""))
	return err == nil
}

// await waits until the client has gone.
func await(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// TestFaultsOverHTTP: the same for servers on the network.
func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, fault := range networkFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := connect(t, Options{StopTimeout: time.Millisecond}, faultyOverHTTP(t, fault))
			e := w.refuse(t, t.Context(), "bad", "t", `{}`)
			if !slices.Contains([]Code{CodeClosed, CodeTimeout, CodeReplyTooLarge, CodeInvalidReply}, e.Code) || !e.Unknown {
				t.Errorf("%+v", e)
			}
			recovers(t, w)
		})
	}
}

// faultyOverHTTP serves a list of one tool, fails at the first call, and answers later ones.
func faultyOverHTTP(t *testing.T, fault func(net.Conn, request)) Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan struct{}, 1)
	failed <- struct{}{}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var q request
		if err != nil || json.Unmarshal(text, &q) != nil || q.ID == nil || q.Method == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := `"result":{"content":[]}`
		switch q.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"0"}}`
		case "server/discover":
			answer = `"error":{"code":-32601,"message":"no such method"}`
		case "tools/list":
			answer = `"result":` + oneTool
		case "tools/call":
			select {
			case <-failed:
				conn, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					fault(conn, q)
					_ = conn.Close()
				}
				return
			default:
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, q.ID, answer)
	})}
	done := make(chan error)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return Server{Name: "bad", URL: "http://" + listener.Addr().String(), CallTimeout: time.Second, ConnectTimeout: 10 * time.Second}
}
