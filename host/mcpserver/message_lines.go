package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// messageLines are the lines of a stream that are messages. Any other line is answered with an
// error of JSON-RPC: what reads the stream next would end with it, and the runs of
// the client with that.
type messageLines struct {
	in    io.ReadCloser
	lines *bufio.Reader
	limit int // bytes of a line
	out   io.Writer
	log   *slog.Logger
	told  bool   // the log has the first line that was refused
	rest  []byte // of the line that is being read
}

func newMessageLines(in io.ReadCloser, limit int, out io.Writer, log *slog.Logger) *messageLines {
	return &messageLines{in: in, lines: bufio.NewReaderSize(in, 64<<10), limit: limit, out: out, log: log}
}

// Close ends the stream.
func (m *messageLines) Close() error { return m.in.Close() }

// Read reads the messages, each with the end of its line.
func (m *messageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		switch {
		case errors.Is(err, errLongLine):
			err = m.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a line of more than %d bytes, which no message may have", m.limit))
		case len(line) > 0:
			m.rest, err = m.take(line)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

var errLongLine = errors.New("the line is too long")

// line reads one line, without what surrounds its text. The last one may have no end.
func (m *messageLines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		chunk, err := m.lines.ReadSlice('\n')
		if long = long || len(chunk) > m.limit-len(line); !long {
			line = append(line, chunk...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errLongLine
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if err == nil || len(line) > 0 {
			return line, nil
		}
		return nil, err
	}
}

// maxBatch bounds the messages of one line.
const maxBatch = 64

// take returns the messages of a line, one on each line. It answers anything else.
func (m *messageLines) take(line []byte) ([]byte, error) {
	if !json.Valid(line) {
		return nil, m.refuse(nil, jsonrpc.CodeParseError, "a line that is not JSON: expected one message of JSON-RPC on each line")
	}
	var list []json.RawMessage
	if json.Unmarshal(line, &list) == nil && len(list) > 0 && len(list) <= maxBatch { // as older revisions have them
		var all []byte
		for _, one := range list {
			message, err := m.takeOne(one)
			if err != nil {
				return nil, err
			}
			all = append(all, message...)
		}
		return all, nil
	}
	return m.takeOne(line)
}

// takeOne is take of JSON that is no batch.
func (m *messageLines) takeOne(text json.RawMessage) ([]byte, error) {
	var object struct{ ID, Method, Result, Error json.RawMessage }
	if one, err := jsonrpc.DecodeMessage(text); err == nil {
		if q, ok := one.(*jsonrpc.Request); !ok || json.Unmarshal(text, &object) != nil || isID(object.ID) || strings.HasPrefix(q.Method, "notifications/") {
			return append(text, '\n'), nil
		}
		return nil, m.refuse(object.ID, jsonrpc.CodeInvalidRequest, "an id that no answer could repeat: expected a text, or an integer below 2^53")
	}
	if json.Unmarshal(text, &object) == nil && object.Method == nil && (object.Result != nil || object.Error != nil) {
		m.report("an answer that is not one") // to answer it could cause answers without end
		return nil, nil
	}
	return nil, m.refuse(object.ID, jsonrpc.CodeInvalidRequest, `a line that is JSON, but no message of JSON-RPC: expected an object with "jsonrpc": "2.0" and a "method", and with an "id" if it is a request`)
}

// isID reports whether an answer can have the id of a request: the library reads numbers as
// float64, and null as no id. A notification has no id.
func isID(id json.RawMessage) bool {
	if id == nil || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
}

// refuse answers a line that is no message, with the line's id, if it has one.
func (m *messageLines) refuse(id json.RawMessage, code int64, why string) error {
	m.report(why)
	if len(id) == 0 || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		id = json.RawMessage("null")
	}
	answer, err := jsontext.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return err
	}
	_, err = m.out.Write(append(answer, '\n'))
	return err
}

// report logs the first line that was refused, and the others in detail only.
func (m *messageLines) report(what string) {
	level := slog.LevelDebug
	if !m.told {
		m.told, level = true, slog.LevelWarn
	}
	m.log.Log(context.Background(), level, "a client sent a line that is no message", "line", what)
}
