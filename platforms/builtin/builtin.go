// Package builtin is the one list of target types: name → constructor and
// advice. To add a platform is to add a line to it. It holds no logic of any
// platform and makes no call.
package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"herald/internal/config"
	"herald/platforms"
	"herald/platforms/git"
	"herald/platforms/site"
	"herald/platforms/wechat"
	"herald/platforms/weibo"
	"herald/platforms/xiaohongshu"
)

// types are the platforms that herald can publish to.
var types = map[string]kind{
	"site":        adapter(site.New, site.Advice),
	"git":         adapter(git.New, git.Advice),
	"wechat":      adapter(wechat.New, wechat.Advice),
	"weibo":       adapter(weibo.New, weibo.Advice),
	"xiaohongshu": adapter(xiaohongshu.New, xiaohongshu.Advice),
}

// kind is one target type.
type kind struct {
	config.Adapter
	construct func(t config.Target, env platforms.Env) (platforms.Platform, error)
}

// adapter makes a kind of an adapter's constructor, whose first parameter is the
// adapter's own configuration struct.
func adapter[C any, P platforms.Platform](construct func(C, platforms.Env) (P, error), advice platforms.Advice) kind {
	var zero C
	return kind{
		Adapter: config.Adapter{Advice: advice, Config: zero},
		construct: func(t config.Target, env platforms.Env) (platforms.Platform, error) {
			var own C
			if err := config.Decode(t.Options, env.Base, &own); err != nil {
				return nil, err
			}
			p, err := construct(own, env)
			if err != nil {
				return nil, err // not p: a nil pointer in an interface is not nil
			}
			return p, nil
		},
	}
}

// Types returns the names of the target types, sorted.
func Types() []string { return slices.Sorted(maps.Keys(types)) }

// Adapters returns what [config.Load] must know of the types.
func Adapters() map[string]config.Adapter {
	all := make(map[string]config.Adapter, len(types))
	for name, k := range types {
		all[name] = k.Adapter
	}
	return all
}

// Advice returns the advice of a type; that of an unknown one is empty.
func Advice(typ string) platforms.Advice { return types[typ].Advice }

// New returns the platform of a configured target.
func New(t config.Target, env platforms.Env) (platforms.Platform, error) {
	k, ok := types[t.Type]
	if !ok {
		remedy := "the types are " + strings.Join(Types(), ", ")
		if near := config.Nearest(t.Type, Types()); near != "" {
			remedy = "did you mean " + near + "? " + remedy
		}
		return nil, fmt.Errorf("target %s: %q is no type of target; %s", t.Name, t.Type, remedy)
	}
	p, err := k.construct(t, env)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", t.Name, err)
	}
	return p, nil
}
