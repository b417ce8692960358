package debugrelay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// lookAgain is the time between two attempts to find a plugin that is not there
// yet.
const lookAgain = 200 * time.Millisecond

// Await returns the socket of a plugin under a debugger once it listens there.
// waiting is called if it does not do so at first.
func Await(ctx context.Context, id string, waiting func() error) (socket string, err error) {
	if socket, err = protocol.DebugSocket(id); err != nil {
		return "", err
	}
	for first := true; ; first = false {
		c, err := net.Dial("unix", socket)
		if err == nil {
			return socket, c.Close()
		}
		if first {
			if err := waiting(); err != nil {
				return "", err
			}
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Stage makes, inside the directory into, the folder of a relay to the plugin of
// that manifest at a socket.
func Stage(into string, m manifest.Manifest, socket string) (plugins.Candidate, error) {
	dir := filepath.Join(into, m.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return plugins.Candidate{}, err
	}
	text, err := json.Marshal(map[string]any{
		"id": m.ID, "version": m.Version, "protocol": m.Protocol, "description": m.Description, "command": "./relay",
	})
	if err != nil {
		return plugins.Candidate{}, err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, manifest.Name), text, 0o600),
		os.WriteFile(filepath.Join(dir, socketName), []byte(socket), 0o600),
		copySelf(filepath.Join(dir, "relay")),
	)
	if err != nil {
		return plugins.Candidate{}, err
	}
	f := plugins.Find(dir)
	return f, f.Err
}

// copySelf copies the running executable, which may belong to another user.
func copySelf(to string) (err error) {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(exe)
	if err != nil {
		return fmt.Errorf("the relay is a copy of this command: %w", err)
	}
	defer in.Close() // nothing is written to it
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
