// Package sdkcheck holds the simulator against a client that is not herald's: the
// public SDK github.com/silenceper/wechat/v2. It is a module of its own, so that
// herald does not depend on the SDK, and has no code. Run its test here; with -mod=mod
// it takes what herald itself requires by now:
//
//	go test -mod=mod ./...
package sdkcheck
