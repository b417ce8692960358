package programs

import (
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// Portable returns what is carried when a state is moved. It is for commands of this
// module.
func (s *Stored) Portable() []documents.Portable {
	return []documents.Portable{
		{Store: s.saved, Kind: "program", Ext: savedExt, Locked: true, Title: func(content []byte) string {
			var p Program
			_ = json.Unmarshal(content, &p) // without a name it is called by its place
			return p.Name
		}},
		{Store: s.kept, Kind: "program of", Ext: keptExt, Remade: true, Expires: func(content []byte) time.Time {
			var k Kept
			_ = json.Unmarshal(content, &k) // what cannot be read expires at once
			return k.Expires
		}},
	}
}
