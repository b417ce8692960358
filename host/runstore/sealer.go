package runstore

import (
	"fmt"
	"os"
	"strings"
)

// Sealer seals the contents of another store of the same installation. The seal is made
// with a key of one purpose that comes from the directory's own, so that a user who
// cannot forge a run cannot forge them either. It is safe for concurrent use.
type Sealer struct{ key []byte }

// Seal returns content with a seal, which binds it to a name.
func (s *Sealer) Seal(name string, content []byte) []byte {
	return seal(s.key, kindOther, []byte(name), content)
}

// Open returns the content of what Seal has returned for that name. The error is
// ErrCorrupt if it does not verify. The result shares memory with sealed.
func (s *Sealer) Open(name string, sealed []byte) ([]byte, error) {
	of, content, err := unseal(s.key, kindOther, sealed)
	if err == nil && string(of) != name {
		err = fmt.Errorf("%w: it was written under another name", ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// names lists the files of a directory that have the extension, without it.
func names(dir, ext string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok {
			out = append(out, name)
		}
	}
	return out, nil
}
