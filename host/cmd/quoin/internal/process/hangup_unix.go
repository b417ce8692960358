//go:build unix

package process

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// LogHangups says at each SIGHUP, until it is released, that there is nothing to
// reload: without that the signal would end the server.
func LogHangups(log *slog.Logger) (release func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ch:
				log.Info("SIGHUP reloads nothing: plugins are reloaded as their directory changes, and the configuration is read at the start; restart the server for it, which parks running cells")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}
