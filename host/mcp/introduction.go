package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// introduction is what the SDK decodes of the answer that starts a session.
type introduction struct {
	Meta              map[string]any          `json:"_meta"`
	Capabilities      *sdk.ServerCapabilities `json:"capabilities"`
	Instructions      string                  `json:"instructions"`
	ProtocolVersion   string                  `json:"protocolVersion"`
	ServerInfo        *sdk.Implementation     `json:"serverInfo"`
	SupportedVersions []string                `json:"supportedVersions"`
	TTL               int                     `json:"ttlMs"`
	CacheScope        string                  `json:"cacheScope"`
	ResultType        string                  `json:"resultType"`
}

// maxIntroduction is how long an answer that starts a session may be to be mended, in bytes: each
// part that cannot be decoded costs another look at all of it.
const maxIntroduction = 256 << 10

// introduction returns the answer that starts a session without what the SDK cannot decode. What
// a server offers and cannot be read is asked for.
func (o *oddities) introduction(result json.RawMessage) json.RawMessage {
	if len(result) > maxIntroduction {
		return result
	}
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber()
	var m map[string]any
	if dec.Decode(&m) != nil || m["capabilities"] == nil && m["serverInfo"] == nil && m["protocolVersion"] == nil {
		return result
	}
	mended := false
	change := func(of map[string]any, name, place string, to any) {
		o.note(place + ": " + jsonOf(of[name]))
		if mended = true; to == nil {
			delete(of, name)
		} else {
			of[name] = to
		}
	}
	if version, _ := m["protocolVersion"].(string); version == "" && m["supportedVersions"] == nil {
		change(m, "protocolVersion", "protocolVersion", olderVersion)
	}
	capabilities, ok := m["capabilities"].(map[string]any)
	if !ok {
		change(m, "capabilities", "capabilities", map[string]any{"tools": map[string]any{}})
	}
	for _, name := range slices.Sorted(maps.Keys(capabilities)) {
		_, fits := capabilities[name].(map[string]any)
		switch value := capabilities[name]; {
		case fits || value == nil && name != "tools":
		case value == false || name == "experimental" || name == "extensions":
			change(capabilities, name, "capabilities."+name, nil)
		default:
			change(capabilities, name, "capabilities."+name, map[string]any{})
		}
	}
	for range maxOddities {
		of, name, place := misfit(m)
		if of == nil {
			break
		}
		change(of, name, place, nil)
	}
	text, err := json.Marshal(m)
	if err != nil || !mended {
		return result
	}
	return text
}

// misfit finds a member that the SDK cannot decode, and the object that it belongs to.
func misfit(m map[string]any) (of map[string]any, name, place string) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, "", ""
	}
	var odd *json.UnmarshalTypeError
	if !errors.As(json.Unmarshal(text, &introduction{}), &odd) {
		return nil, "", ""
	}
	path := strings.Split(odd.Field, ".")
	for i, name := range path {
		inner, ok := m[name].(map[string]any)
		if _, there := m[name]; there && (!ok || i == len(path)-1) {
			return m, name, strings.Join(path[:i+1], ".")
		}
		m = inner
	}
	return nil, "", ""
}

// jsonOf is the start of a value as JSON.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return bounded(string(text), 100)
}
