package platformtest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/platforms"
)

// cancelledBefore calls everything with a context that has already ended.
func cancelledBefore(t testing.TB, c Case) {
	b := setUp(t, c)
	d := b.delivery(b.render(b.articles.One, 1))
	r := b.mustLand(d)
	other := b.delivery(b.render(b.articles.Other, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	calls := b.abilities(d.post, r, d.memo)
	calls["publish"] = func(ctx context.Context) error {
		_, err := other.publish(ctx)
		return err
	}
	for name, call := range calls {
		began := time.Now()
		err := call(ctx)
		if took := time.Since(began); took > prompt {
			t.Errorf("%s returned %v after it was cancelled", name, took)
		}
		if err == nil {
			t.Errorf("%s succeeded though its context had ended", name)
			continue
		}
		b.complete(err)
		if kind := platforms.KindOf(err); kind != platforms.Unavailable {
			t.Errorf("%s: kind %q (%v), want %q since nothing was sent", name, kind, err, platforms.Unavailable)
		}
	}
	b.shows(b.articles.One, 1)
}

// abilities are the calls that an adapter offers beside Publish.
func (b *bench) abilities(p platforms.Post, r platforms.Receipt, m platforms.Memo) map[string]func(context.Context) error {
	calls := map[string]func(context.Context) error{}
	if x, ok := b.platform.(platforms.Finder); ok {
		calls["find"] = func(ctx context.Context) error {
			found, err := x.Find(ctx, p, since(b.began), m)
			b.keep(err, found)
			return err
		}
	}
	if x, ok := b.platform.(platforms.Reviewer); ok {
		calls["review"] = func(ctx context.Context) error {
			r, err := x.Review(ctx, r)
			b.keep(err, r)
			return err
		}
	}
	if x, ok := b.platform.(platforms.Updater); ok {
		calls["update"] = func(ctx context.Context) error {
			p.Revision = 2
			r, err := x.Update(ctx, p, r, m)
			b.keep(err, r)
			return err
		}
	}
	if x, ok := b.platform.(platforms.Withdrawer); ok {
		calls["withdraw"] = func(ctx context.Context) error {
			err := x.Withdraw(ctx, r)
			b.keep(err, nil)
			return err
		}
	}
	if x, ok := b.platform.(platforms.Prober); ok {
		calls["probe"] = func(ctx context.Context) error {
			err := x.Probe(ctx)
			b.keep(err, nil)
			return err
		}
	}
	return calls
}

// life are the abilities in the order in which a post meets them.
var life = []string{"review", "find", "update", "withdraw", "probe"}

// live makes every call that an adapter offers, and returns the first error.
func (b *bench) live(ctx context.Context, d *delivery) error {
	r, err := d.publish(ctx)
	if err != nil {
		return err
	}
	calls := b.abilities(d.post, r, d.memo)
	for _, name := range life {
		if call, ok := calls[name]; ok {
			if err := call(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func listedCodes(t testing.TB, c Case) {
	if len(c.Codes) == 0 {
		t.Skip("the adapter has no table of codes")
	}
	for code, want := range c.Codes {
		provoke(t, c, code, want)
	}
}

func unlistedCode(t testing.TB, c Case) {
	if c.Unlisted == "" {
		t.Skip("the adapter has no table of codes")
	}
	if kind, listed := c.Codes[c.Unlisted]; listed {
		t.Fatalf("code %s is listed as %q", c.Unlisted, kind)
	}
	provoke(t, c, c.Unlisted, platforms.Unknown)
}

// provoke lets the platform answer with code, and looks at what the adapter
// makes of it.
func provoke(t testing.TB, c Case, code string, want platforms.Kind) {
	b := setUp(t, c)
	if b.world.Answer == nil {
		t.Fatal("the world cannot answer with a code")
	}
	d := b.delivery(b.render(b.articles.One, 1))
	b.world.Answer(code)
	err := b.live(t.Context(), d)
	if err == nil {
		t.Errorf("code %s: no call failed", code)
		return
	}
	b.complete(err)
	e, ok := errors.AsType[*platforms.Error](err)
	if ok && (e.Kind != want || e.Code != code) {
		t.Errorf("code %s: kind %q and code %q (%v), want %q", code, e.Kind, e.Code, err, want)
	}
}

// errorsAreComplete lets each call of a post's life fail in turn.
func errorsAreComplete(t testing.TB, c Case) {
	everyCallFails(t, c, NotSent, func(b *bench, _ *delivery) {
		for _, err := range b.errs {
			b.complete(err)
		}
	})
}

// complete fails unless err is a platform's error with all that the driver and
// people need.
func (b *bench) complete(err error) {
	b.t.Helper()
	var e *platforms.Error
	if !errors.As(err, &e) {
		b.t.Errorf("%T is no *platforms.Error: %v", err, err)
		return
	}
	if e.Platform != b.c.Type || e.Op == "" || (e.Message == "" && e.Err == nil) {
		b.t.Errorf("platform %q, operation %q, message %q; want platform %q and none empty", e.Platform, e.Op, e.Message, b.c.Type)
	}
	if e.Kind.Meaning().Kind != e.Kind {
		b.t.Errorf("kind %q is none", e.Kind)
	}
}

func tellsNoSecret(t testing.TB, c Case) {
	if len(c.Secrets) == 0 {
		t.Skip("the adapter has no secret")
	}
	for _, mode := range []Mode{NotSent, Echo} {
		everyCallFails(t, c, mode, func(b *bench, d *delivery) { b.silent(d) })
	}
}

// everyCallFails lets each call of a post's life go wrong once, on one world:
// an action is done anew until no call of it is left to break.
func everyCallFails(t testing.TB, c Case, mode Mode, look func(*bench, *delivery)) {
	b := setUp(t, c)
	b.needFaults()
	d := b.delivery(b.render(b.articles.One, 1))
	var r platforms.Receipt
	b.untilItPasses(mode, "publish", func(ctx context.Context) (err error) {
		look(b, d)
		d.memo = NewMemo() // from the first call again
		r, err = d.publish(ctx)
		return err
	})
	calls := b.abilities(d.post, r, d.memo)
	for _, name := range life {
		if call, ok := calls[name]; ok {
			b.untilItPasses(mode, name, call)
		}
	}
	look(b, d)
}

// untilItPasses breaks call 1 of an action, then call 2, and so on.
func (b *bench) untilItPasses(mode Mode, name string, act func(context.Context) error) {
	b.t.Helper()
	for n := 1; ; n++ {
		struck := b.faults.Arm(n, mode)
		err := act(b.t.Context())
		b.faults.Disarm()
		select {
		case <-struck:
			continue
		default:
		}
		if err != nil {
			b.t.Fatalf("%s without a fault: %v", name, err)
		}
		return
	}
}

// silent fails if a secret is in anything that herald prints or stores.
func (b *bench) silent(d *delivery) {
	b.t.Helper()
	said := map[string]string{"the log": b.log.String()}
	for i, err := range b.errs {
		said[fmt.Sprintf("error %d", i+1)] = chain(err)
	}
	stored, err := json.Marshal([]any{d.memo.All(), b.said, d.post})
	if err != nil {
		b.t.Fatalf("encode what is stored: %v", err)
	}
	said["memo, receipts or post"] = string(stored)
	if x, ok := b.platform.(platforms.Accounter); ok {
		said["the account's name"] = x.Account()
	}
	for where, text := range said {
		for _, secret := range b.c.Secrets {
			for _, form := range forms(secret) {
				if strings.Contains(text, form) {
					b.t.Errorf("%s holds the secret, as %q: %s", where, form, text)
				}
			}
		}
	}
}

// chain prints an error and everything it wraps, in all the ways of fmt.
func chain(err error) string {
	if err == nil {
		return ""
	}
	parts := []string{fmt.Sprintf("%v %+v %#v", err, err, err)}
	switch x := err.(type) { //nolint:errorlint // walks the chain itself
	case interface{ Unwrap() error }:
		parts = append(parts, chain(x.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			parts = append(parts, chain(inner))
		}
	}
	return strings.Join(parts, "\n")
}

// forms are the shapes in which a secret travels.
func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.URLEncoding.EncodeToString([]byte(secret)),
	}
}
