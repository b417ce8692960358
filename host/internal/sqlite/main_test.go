package sqlite_test

import (
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }
