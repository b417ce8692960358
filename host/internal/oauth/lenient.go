package oauth

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// readable reads a good answer and makes it what the libraries can read. Servers put a byte
// order mark before JSON, call the JSON of a token text/plain, and say by a fraction or by
// words how long a token lives.
func readable(resp *http.Response, post bool) error {
	if resp.StatusCode/100 != 2 {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var members map[string]json.RawMessage
	if post && json.Unmarshal(body, &members) == nil && members != nil {
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/plain" {
			resp.Header.Set("Content-Type", "application/json")
		}
		body = wholeSeconds(body, members)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return nil
}

// wholeSeconds makes expires_in a whole number. Without one the token is good until it is refused.
func wholeSeconds(body []byte, members map[string]json.RawMessage) []byte {
	said := strings.Trim(string(members["expires_in"]), `" `)
	if _, err := strconv.Atoi(said); err == nil || said == "" || said == "null" {
		return body
	}
	delete(members, "expires_in")
	if seconds, err := strconv.ParseFloat(said, 64); err == nil && seconds >= 1 {
		members["expires_in"] = strconv.AppendInt(nil, int64(min(seconds, math.MaxInt32)), 10)
	}
	if changed, err := json.Marshal(members); err == nil {
		return changed
	}
	return body
}
