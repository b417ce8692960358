package openapi

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// inputSchema joins the schemas of parameters and body to the schema of one object.
//
// A member is called like its parameter, and the body is called body. Where two have one
// name, the later says in it where it stands, as in id_query.
type inputSchema struct {
	schemas  *schemas
	use      use
	names    map[string]bool
	members  bytes.Buffer
	required []string
	refs     []string
}

// newInputSchema returns the schema of an object without members.
func newInputSchema(s *schemas) *inputSchema {
	return &inputSchema{schemas: s, names: map[string]bool{"body": true}}
}

// add adds a parameter and returns the name of its member.
func (in *inputSchema) add(name, where string, f *fragment, about string, required bool) string {
	key := name
	for n := 1; in.names[key]; n++ {
		key = name + "_" + where
		if n > 1 {
			key += strconv.Itoa(n)
		}
	}
	in.put(key, f, about, required)
	return key
}

// put adds a member.
func (in *inputSchema) put(key string, f *fragment, about string, required bool) {
	in.names[key] = true
	if in.members.Len() > 0 {
		in.members.WriteByte(',')
	}
	in.members.Write(quote(key))
	in.members.WriteByte(':')
	in.members.Write(described(f.text, about))
	in.refs = append(in.refs, f.refs...)
	if required {
		in.required = append(in.required, key)
	}
}

// described adds a description to a schema that has none of its own.
func described(schema []byte, about string) []byte {
	var own struct {
		Description *string `json:"description"`
	}
	if about == "" || json.Unmarshal(schema, &own) != nil || own.Description != nil {
		return schema
	}
	out := append([]byte(`{"description":`), quote(about)...)
	if len(schema) > len("{}") {
		out = append(out, ',')
	}
	return append(out, schema[1:]...)
}

// schema returns the schema of the whole input.
func (in *inputSchema) schema() json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	b.Write(in.members.Bytes())
	b.WriteByte('}')
	for i, name := range in.required {
		if i == 0 {
			b.WriteString(`,"required":[`)
		} else {
			b.WriteByte(',')
		}
		b.Write(quote(name))
	}
	if len(in.required) > 0 {
		b.WriteByte(']')
	}
	b.WriteString(`,"additionalProperties":false}`)
	return in.schemas.whole(&fragment{text: b.Bytes(), refs: in.refs}, in.use, maxInputSchema)
}
