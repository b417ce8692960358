//go:build !linux || (!amd64 && !arm64)

package quickjs

import (
	"fmt"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// Engine cannot be made on this platform: Open fails.
type Engine struct{}

var _ engine.Engine = (*Engine)(nil)

func unsupported() error {
	return fmt.Errorf("quickjs: open: %w: heap images need Linux on amd64 or arm64, this is %s", engine.ErrUnsupported, platform())
}

// Open reports engine.ErrUnsupported.
func Open(Config) (*Engine, error) { return nil, unsupported() }

// ID names the engine.
func (*Engine) ID() string { return engineID }

// New reports engine.ErrUnsupported.
func (*Engine) New(engine.Options) (engine.VM, error) { return nil, unsupported() }

// Restore reports engine.ErrUnsupported.
func (*Engine) Restore([]byte, engine.Options) (engine.VM, error) { return nil, unsupported() }

// Close does nothing.
func (*Engine) Close() error { return nil }

// TemplateSum is zero: there is no template.
func (*Engine) TemplateSum() [32]byte { return [32]byte{} }
