package plugins

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// fingerprint tells whether what a plugin consists of has changed. Equal ones mean
// that a load would find the same; other files of the folder do not count.
type fingerprint [sha256.Size]byte

// folderState is what a plugin's folder looks like at one moment.
type folderState struct {
	fingerprint fingerprint
	// dirs are the folders in which a change may change the plugin: those that its
	// files are in, and those in which a link on the way to them is. Their
	// paths have no links.
	dirs []string
}

// inspectFolder looks at a plugin's folder: at the manifest and the files a start would
// use, wherever links lead. What is missing counts too.
func inspectFolder(dir string) folderState {
	h := sha256.New()
	var s folderState
	s.add(h, filepath.Join(dir, manifest.Name))
	if m, err := manifest.Read(dir); err == nil {
		s.add(h, filepath.Join(dir, filepath.FromSlash(m.Command)))
		names, err := trust.ContentsPaths(dir, m)
		if err != nil {
			h.Write([]byte(err.Error()))
		}
		for _, name := range names {
			s.add(h, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	s.fingerprint = fingerprint(h.Sum(nil))
	return s
}

// add adds a file to the sight.
func (s *folderState) add(h hash.Hash, path string) {
	path, dirs := resolve(path)
	s.addDirs(append(dirs, filepath.Dir(path))...)
	h.Write([]byte(path + "\x00"))
	info, err := os.Stat(path)
	if err != nil {
		h.Write([]byte(err.Error() + "\x00"))
		return
	}
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(info.Size()))
	b = binary.BigEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
	b = binary.BigEndian.AppendUint32(b, uint32(info.Mode()))
	h.Write(binary.BigEndian.AppendUint64(b, fileNumber(info)))
}

func (s *folderState) addDirs(dirs ...string) {
	for _, dir := range dirs {
		if !slices.Contains(s.dirs, dir) {
			s.dirs = append(s.dirs, dir)
		}
	}
}

// maxLinks bounds the links on the way to a file.
const maxLinks = 40

// resolve follows the links in an absolute path to their end and returns the
// folders in which it met them.
func resolve(path string) (real string, dirs []string) {
	path = filepath.Clean(path)
	volume := filepath.VolumeName(path)
	done := volume + string(filepath.Separator)
	left := strings.TrimPrefix(path[len(volume):], string(filepath.Separator))
	for left != "" {
		name, rest, _ := strings.Cut(left, string(filepath.Separator))
		next := filepath.Join(done, name)
		target, err := os.Readlink(next)
		if err != nil { // not a link, or not there
			done, left = next, rest
			continue
		}
		if dirs = append(dirs, done); len(dirs) > maxLinks {
			return path, dirs
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(done, target)
		}
		volume = filepath.VolumeName(target)
		done = volume + string(filepath.Separator)
		left = strings.TrimPrefix(filepath.Join(target, rest)[len(volume):], string(filepath.Separator))
	}
	return done, dirs
}
