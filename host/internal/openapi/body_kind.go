package openapi

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// bodyKind is how a body is written.
type bodyKind int

const (
	bodyJSON bodyKind = iota
	bodyForm
	bodyMultipart
	bodyText
	bodyBytes
)

// body is how the body of an operation is sent.
type body struct {
	kind      bodyKind
	mediaType string
	styles    map[string]parameter // of the fields of a form that say how they are written
	files     map[string]bool      // fields of a multipart body that are files
	types     map[string]string    // media types of fields
}

// kindOf returns how a body of a media type is written.
func kindOf(mediaType string) bodyKind {
	switch {
	case isJSON(mediaType):
		return bodyJSON
	case mediaType == "application/x-www-form-urlencoded":
		return bodyForm
	case mediaType == "multipart/form-data":
		return bodyMultipart
	case strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "xml"):
		return bodyText
	}
	return bodyBytes
}

// anyKind is the media type that is sent where a document takes a range of them: JSON, if its
// schema is not of a text, and bytes without a schema.
func anyKind(r *references, mediaType *jsonschema.Node) string {
	mediaType, _ = r.follow(mediaType)
	schema, _ := r.follow(mediaType.Get("schema"))
	words := schema.Get("type").Words()
	if len(schema.Fields()) == 0 || slices.Contains(words, "string") || slices.Contains(words, "file") || isFile(schema) {
		return "application/octet-stream"
	}
	return "application/json"
}

// isJSON reports whether values of a media type are JSON.
func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

func decodeBase64(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }
