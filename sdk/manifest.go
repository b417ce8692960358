package sdk

import (
	"encoding/json"
	"fmt"
)

// ManifestInfo returns the identity that a plugin.json has, mostly one that is
// embedded in the program, so that id and version stand in one place:
//
//	//go:embed plugin.json
//	var manifest []byte
//
//	p := sdk.New(sdk.ManifestInfo(manifest), nil)
//
// It panics if the text is not JSON, which is a programmer's mistake.
func ManifestInfo(manifest []byte) Info {
	var m struct{ ID, Version, Description string }
	if err := json.Unmarshal(manifest, &m); err != nil {
		misuse(fmt.Errorf("the plugin.json that was given to ManifestInfo is not JSON: %w", err))
	}
	return Info{ID: m.ID, Version: m.Version, Description: m.Description}
}
