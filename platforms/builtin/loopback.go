//go:build failpoint

package builtin

import (
	"herald/platforms"
	"herald/platforms/platformtest"
)

// loopback is the platform of the tests, a target type only in a program with
// failpoints: what is proved on it is proved of the real program.
type loopback struct {
	BaseURL string           `mapstructure:"base_url"`
	Token   platforms.Secret `mapstructure:"token"`
}

func newLoopback(c loopback, env platforms.Env) (*platformtest.Loopback, error) {
	return platformtest.NewLoopback(platformtest.LoopbackConfig{BaseURL: c.BaseURL, Token: c.Token}, env)
}

var _ = add("loopback", adapter(newLoopback, platforms.Advice{}))

// add puts a type into the list, which is made before.
func add(name string, k kind) kind {
	types[name] = k
	return k
}
