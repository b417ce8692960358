package plugins

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
)

// fingerprint tells whether what makes up a plugin has changed: the manifest, and
// the files that a start would use, wherever links lead. Equal ones mean that a
// load would find the same; other files of the folder do not count.
type fingerprint [sha256.Size]byte

// fingerprintOf looks at a plugin's folder. What cannot be read counts too.
func fingerprintOf(dir string) fingerprint {
	h := sha256.New()
	note := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = real
		}
		h.Write([]byte(path + "\x00"))
		info, err := os.Stat(path)
		if err != nil {
			h.Write([]byte(err.Error() + "\x00"))
			return
		}
		h.Write(statBytes(info))
	}
	note(filepath.Join(dir, ManifestName))
	if m, err := ReadManifest(dir); err == nil {
		note(filepath.Join(dir, filepath.FromSlash(m.Command)))
	}
	return fingerprint(h.Sum(nil))
}

// statBytes is what changes when a file is written or replaced.
func statBytes(info fs.FileInfo) []byte {
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(info.Size()))
	b = binary.BigEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
	b = binary.BigEndian.AppendUint32(b, uint32(info.Mode()))
	return append(b, fileIdentity(info)...)
}
