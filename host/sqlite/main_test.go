package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// takerKey names the directory that this process is to take over.
const takerKey = "QUOIN_TEST_TAKE_OVER"

// moverKey names the directory that this process is to move into the directory of takerKey.
const moverKey = "QUOIN_TEST_MOVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(takerKey); dir != "" {
		err := takeOver(context.Background(), dir)
		if from := os.Getenv(moverKey); from != "" {
			_, err = move(context.Background(), from, dir, sqlite.Options{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	hosttest.Main(m)
}
