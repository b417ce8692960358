package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/internal/schemalimit"
)

// Schemas is a bounded cache of compiled schemas, safe for concurrent use. A
// schema is compiled once, by the first that needs it, and forgotten when the
// cache is full and it is the oldest.
type Schemas struct {
	mu       sync.Mutex
	size     int
	compiled map[string]func() (*schemalimit.Schema, error)
	order    []string // oldest first
}

// NewSchemas returns an empty cache for size schemas, 4096 if size is not positive.
func NewSchemas(size int) *Schemas {
	const defaultSize = 4096
	if size <= 0 {
		size = defaultSize
	}
	return &Schemas{size: size, compiled: map[string]func() (*schemalimit.Schema, error){}}
}

// get returns the compiled form of a schema.
//
// The text of a schema is its key, so that equal schemas of several tools,
// servers or catalogs are compiled once. A schema that does not compile is
// remembered too.
func (s *Schemas) get(schema json.RawMessage) (*schemalimit.Schema, error) {
	s.mu.Lock()
	compiled, ok := s.compiled[string(schema)]
	if !ok {
		source := string(schema)
		compiled = sync.OnceValues(func() (*schemalimit.Schema, error) { return compile(source) })
		if len(s.order) == s.size {
			delete(s.compiled, s.order[0])
			s.order = s.order[1:]
		}
		s.compiled[source] = compiled
		s.order = append(s.order, source)
	}
	s.mu.Unlock()
	return compiled()
}

// maxSchemaBytes bounds what is compiled.
const maxSchemaBytes = 512 << 10

// schemaURL is the base of a schema without $id. It leads nowhere.
const schemaURL = "quoin:///schema"

// refuseLoading keeps schemas from naming files or addresses to be read.
type refuseLoading struct{}

// Load fails: the standard metaschemas need no loading, and nothing else is allowed.
func (refuseLoading) Load(url string) (any, error) {
	return nil, fmt.Errorf("references outside the schema are not loaded: %s", shown(url))
}

// compile compiles a schema, of draft 2020-12 unless it says otherwise.
//
// References that lead out of the schema fail: a schema from outside must not
// make the host read a file or an address.
func compile(source string) (_ *schemalimit.Schema, err error) {
	if len(source) > maxSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(source), maxSchemaBytes)
	}
	if n := schemalimit.WildNumber([]byte(source)); n != "" {
		return nil, fmt.Errorf("it has the number %s…, which is too long or has too large an exponent", n)
	}
	defer func() {
		if p := recover(); p != nil { // a bug of the compiler must not end the host
			err = fmt.Errorf("it cannot be compiled: %v", p)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(source)))
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	dropForeignPatterns(doc)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuseLoading{})
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return schemalimit.New(schema), nil
}

// dropForeignPatterns removes the regular expressions that JavaScript has and
// Go does not, such as lookaheads: the tool itself can still apply them, and
// without this it could not be called at all.
func dropForeignPatterns(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, item := range s {
			dropForeignPatterns(item)
		}
	case map[string]any:
		if pattern, ok := s["pattern"].(string); ok && foreign(pattern) {
			delete(s, "pattern")
		}
		if patterns, ok := s["patternProperties"].(map[string]any); ok {
			for pattern := range patterns {
				if foreign(pattern) {
					delete(patterns, pattern)
					if s["additionalProperties"] == false { // what the pattern allowed
						delete(s, "additionalProperties")
					}
				}
			}
		}
		for keyword, below := range s {
			switch keyword {
			case "const", "enum", "default", "examples": // values, not schemas
			default:
				dropForeignPatterns(below)
			}
		}
	}
}

// foreign reports whether Go cannot compile a pattern.
func foreign(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err != nil
}
