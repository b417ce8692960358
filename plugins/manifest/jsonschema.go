package manifest

import (
	"encoding/json"
	"fmt"
)

type object = map[string]any

// JSONSchema returns the JSON Schema of plugin.json, indented, for editors and for other
// tools that read manifests. It accepts the
// texts that [Parse] accepts, with one exception: that configSchema is a
// JSON Schema is for the parser to say. Whether a folder holds what its manifest
// names is another question, which plugins.Find answers.
func JSONSchema() ([]byte, error) {
	schema := object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                Name,
		"description":          "What a Quoin plugin is and how it is started.",
		"type":                 "object",
		"properties":           object{},
		"required":             []string{},
		"additionalProperties": false,
		"$defs": object{
			"path":     object{"type": "string", "pattern": pathPattern.String(), "maxLength": maxPathLength},
			"platform": object{"type": "string", "pattern": platformPattern.String()},
		},
	}
	for _, f := range manifestFields {
		property, ok := manifestProperties[f.name]
		if !ok {
			return nil, fmt.Errorf("plugins: the schema lacks the field %q", f.name)
		}
		schema["properties"].(object)[f.name] = property
		if f.required {
			schema["required"] = append(schema["required"].([]string), f.name)
		}
	}
	b, err := json.MarshalIndent(schema, "", "  ")
	return append(b, '\n'), err
}

// manifestProperties say of each field what its reader accepts.
var manifestProperties = map[string]object{
	"$schema": {"description": "Address of the schema, for editors. It is not looked at.", "type": "string"},
	"id": {"description": "Names the plugin and its folder.",
		"type": "string", "pattern": idPattern.String()},
	"version": {"description": "The plugin's version. The process must say the same.",
		"type": "string", "pattern": versionPattern.String()},
	"protocol": {"description": "The version of the protocol in which the host speaks to the plugin; the binary must know it.",
		"type": "integer", "enum": supportedVersions},
	"description": {"description": "One line for people.", "type": "string"},
	"command": {"description": "The binary, relative to this file; an object has one for each platform.",
		"anyOf": []object{
			{"$ref": "#/$defs/path"},
			byPlatform(object{"$ref": "#/$defs/path"}),
		}},
	"files": {"description": "Further files and folders that the plugin reads from its own folder. They are pinned, packed and installed with the binary.",
		"type": "array", "items": object{"$ref": "#/$defs/path"}, "uniqueItems": true, "maxItems": maxFiles},
	"sha256": withDescription("Pins the binary of each platform.",
		byPlatform(object{"type": "string", "pattern": hexPattern.String()})),
	"configSchema": {"description": "A JSON Schema for the plugin's configuration. It must be self-contained.",
		"type": "object", "properties": object{"type": object{"const": "object"}}, "required": []string{"type"}},
}

// byPlatform returns the schema of an object with platforms as keys.
func byPlatform(value object) object {
	return object{"type": "object", "propertyNames": object{"$ref": "#/$defs/platform"}, "additionalProperties": value, "minProperties": 1}
}

func withDescription(text string, schema object) object {
	schema["description"] = text
	return schema
}
