package typescript

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/quoinhq/quoin/internal/typescript/tsgo"
)

// ErrNotBuilt is why a test is left out. Building the compiler takes minutes, which
// a first run of all tests does not spend on it.
var ErrNotBuilt = errors.New("the TypeScript compiler is not built: make test-all builds it and runs this test")

// Find returns the path of the compiler: the one that the environment names, or the
// one of the pinned version, which it builds only if it is told to. One that happens
// to be installed may be of any version, and is not used.
var Find = sync.OnceValues(func() (string, error) {
	switch how := os.Getenv(tsgo.Setting); how {
	case "":
		path, err := tsgo.Built()
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrNotBuilt
		}
		return path, err
	case tsgo.ToBuild:
		return tsgo.Build(context.Background(), func(string) {})
	default:
		return how, nil
	}
})
