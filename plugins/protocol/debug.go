package protocol

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// EnvDebug, set to anything, makes a plugin that is started by hand, mostly under a
// debugger, listen on its [DebugSocket] in place of explaining itself.
const EnvDebug = "QUOIN_PLUGIN_DEBUG"

// DebugSocket returns the path of the unix socket at which a plugin under a
// debugger listens. Nothing on it is encrypted or proven: its folder, which is made
// if it is not there, must belong to the user of this process and be closed to all
// others.
func DebugSocket(pluginID string) (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("quoin-debug-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if err := checkPrivate(dir, st); err != nil {
		return "", err
	}
	return filepath.Join(dir, pluginID+".sock"), nil
}
