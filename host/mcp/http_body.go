package mcp

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// byteOrderMark is what some programs put before a text.
var byteOrderMark = []byte("\uFEFF")

// unzip has the body of an answer decoded that was compressed without being asked for. Who
// reads it bounds what comes out.
func unzip(resp *http.Response) {
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.Body, resp.ContentLength = &zippedBody{body: resp.Body}, -1
	}
}

// zippedBody decodes a body. It reads nothing before Read is called.
type zippedBody struct {
	body    io.ReadCloser
	decoder *gzip.Reader
	err     error
}

// Read decodes.
func (b *zippedBody) Read(p []byte) (int, error) {
	if b.decoder == nil && b.err == nil {
		b.decoder, b.err = gzip.NewReader(b.body)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.decoder.Read(p)
}

// Close closes the body.
func (b *zippedBody) Close() error { return b.body.Close() }

// lineEnds makes every line of a stream of events end in a line feed: a lone carriage
// return ends one, too. It drops a byte order mark at the start.
type lineEnds struct {
	mark     int  // bytes of a byte order mark that were dropped; -1 once the stream has started
	returned bool // the last byte was a carriage return
}

// unify changes bytes in place, and returns how many there are now.
func (l *lineEnds) unify(p []byte) int {
	n := 0
	for _, b := range p {
		if l.mark >= 0 && l.mark < len(byteOrderMark) && b == byteOrderMark[l.mark] {
			l.mark++
			continue
		}
		l.mark = -1
		if b == '\n' && l.returned {
			l.returned = false
			continue
		}
		if l.returned = b == '\r'; l.returned {
			b = '\n'
		}
		p[n] = b
		n++
	}
	return n
}
