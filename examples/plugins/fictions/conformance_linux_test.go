package main

import (
	"testing"

	"github.com/quoinhq/quoin/examples/plugins/internal/plugintest"
)

// TestMain lets the test binary be the plugin.
func TestMain(m *testing.M) { plugintest.Main(m, main) }

func TestConformance(t *testing.T) { plugintest.Conformance(t) }
