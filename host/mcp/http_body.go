package mcp

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// byteOrderMark is what some programs put before a text.
var byteOrderMark = []byte("\uFEFF")

// unzip has the body of an answer decoded that was compressed without being asked for. Who
// reads it bounds what comes out.
func unzip(resp *http.Response) {
	encoding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	z := &zippedBody{body: resp.Body}
	switch encoding {
	case "gzip", "x-gzip":
		z.open = func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		z.open = inflate
	case "br", "zstd", "compress":
		z.err = fmt.Errorf("it is compressed with %s, which was not asked for; let the server, or the proxy before it, send it as it is", encoding)
	default: // names of no compression
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength = z, -1
}

// inflate decodes deflate, which some programs send without the head that belongs to it.
func inflate(r *bufio.Reader) (io.Reader, error) {
	const method, check = 8, 31
	if head, err := r.Peek(2); err == nil && head[0]&15 == method && (int(head[0])<<8|int(head[1]))%check == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// zippedBody decodes a body. It reads nothing before Read is called.
type zippedBody struct {
	body    io.ReadCloser
	open    func(*bufio.Reader) (io.Reader, error)
	decoder io.Reader
	err     error
}

// Read decodes.
func (b *zippedBody) Read(p []byte) (int, error) {
	if b.decoder == nil && b.err == nil {
		b.decoder, b.err = b.open(bufio.NewReader(b.body))
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
