package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands that need no daemon are tested by the scripts below
// testdata/script; each is run in a folder of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HERALD_HTTP_LISTEN", "off")
			return nil
		},
	})
}
