package platformtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"herald/platforms"
)

// prompt is how long a call may take to notice that its context has ended. It
// is generous: it bounds a test that would otherwise hang, and is no measure.
const prompt = 20 * time.Second

func notSent(t testing.TB, c Case)   { sweep(t, c, NotSent) }
func replyLost(t testing.TB, c Case) { sweep(t, c, ReplyLost) }
func crash(t testing.TB, c Case)     { sweep(t, c, Crash) }
func cancelled(t testing.TB, c Case) { sweep(t, c, Hang) }

// sweep breaks each call of a publication in turn, on a world of its own.
func sweep(t testing.TB, c Case, mode Mode) {
	calls, uploads := measure(t, c)
	for n := 1; n <= calls; n++ {
		b := setUp(t, c)
		d := b.delivery(b.render(b.articles.One, 1))
		when := fmt.Sprintf("call %d of %d, %s", n, calls, mode)

		r, err := b.broken(d, n, mode, when)
		if mode == Crash {
			b.reopen()
			err = &platforms.Error{Platform: c.Type, Op: "publish", Kind: platforms.Uncertain, Message: "crashed"}
		}
		if err != nil {
			b.unclear(err, when)
			r, err = d.settle(t.Context(), err)
		}
		b.ended(r, err, when)
		if mode == NotSent && c.hasUploads(b) && b.world.Uploads() != uploads {
			t.Errorf("%s: %d uploads, want the %d of an undisturbed run", when, b.world.Uploads(), uploads)
		}
	}
}

func (c Case) hasUploads(b *bench) bool { return b.world.Uploads != nil }

// measure counts the calls and the uploads of a publication without faults.
func measure(t testing.TB, c Case) (calls, uploads int) {
	t.Helper()
	b := setUp(t, c)
	b.needFaults()
	b.faults.Arm(0, NotSent)
	b.delivery(b.render(b.articles.One, 1)).mustPublish()
	if calls = b.faults.Calls(); calls == 0 {
		t.Fatal("publishing made no call that the faults could break")
	}
	if b.world.Uploads != nil {
		uploads = b.world.Uploads()
	}
	return calls, uploads
}

// broken publishes while call n goes wrong. A call that hangs is cancelled.
func (b *bench) broken(d *delivery, n int, mode Mode, when string) (platforms.Receipt, error) {
	b.t.Helper()
	struck := b.faults.Arm(n, mode)
	defer b.faults.Disarm()
	if mode == Crash {
		d.memo.DieWith(struck)
		defer d.memo.DieWith(nil)
	}
	if mode == Hang {
		return b.hung(struck, when, d.publish)
	}
	r, err := d.publish(b.t.Context())
	select {
	case <-struck:
	default:
		b.t.Errorf("%s: the call was not made", when)
	}
	return r, err
}

// hung makes a call and cancels it when it hangs.
func (b *bench) hung(struck <-chan struct{}, when string, call func(context.Context) (platforms.Receipt, error)) (r platforms.Receipt, err error) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = call(ctx)
	}()
	select {
	case <-struck:
		cancel()
	case <-done:
	}
	select {
	case <-done:
		return r, err
	case <-time.After(prompt):
		b.t.Fatalf("%s: the call goes on %v after it was cancelled", when, prompt)
		return r, nil
	}
}

// unclear fails if a fault of the way to the platform was taken for a verdict
// of the platform.
func (b *bench) unclear(err error, when string) {
	b.t.Helper()
	b.complete(err)
	switch kind := platforms.KindOf(err); kind {
	case platforms.Unavailable, platforms.Uncertain, platforms.Dependency:
	default:
		b.t.Errorf("%s: kind %q (%v), which is no fault of the way there", when, kind, err)
	}
}

// ended fails unless the delivery has a receipt and readers see one post, or it
// waits for a person and they see at most one.
func (b *bench) ended(r platforms.Receipt, err error, when string) {
	b.t.Helper()
	r, err = b.land(b.t.Context(), r, err)
	switch {
	case errors.Is(err, errWaits):
		if n := len(b.world.Posts()); n > 1 {
			b.t.Errorf("%s: %d posts on the platform, want at most one", when, n)
		}
	case err != nil:
		b.t.Errorf("%s: the delivery ended with %v", when, err)
	case r.ID == "":
		b.t.Errorf("%s: the receipt has no id", when)
	default:
		b.showsAfter(b.articles.One, 1, when)
	}
}

func memoFails(t testing.TB, c Case) {
	b := setUp(t, c)
	d := b.delivery(b.render(b.articles.One, 1))
	d.mustPublish()
	sets := d.memo.Sets()
	if sets == 0 {
		t.Skip("the adapter writes nothing into the memo")
	}
	for n := 1; n <= sets; n++ {
		b := setUp(t, c)
		d := b.delivery(b.render(b.articles.One, 1))
		when := fmt.Sprintf("memo write %d of %d", n, sets)
		d.memo.FailAt(n)
		r, err := d.publish(t.Context())
		d.memo.FailAt(0)
		b.reopen()
		if err != nil {
			b.unclear(err, when)
			r, err = d.settle(t.Context(), err)
		}
		b.ended(r, err, when)
	}
}

func updatesAfterFault(t testing.TB, c Case) {
	b := setUp(t, c)
	ability[platforms.Updater](b)
	update := func(b *bench) func() error {
		d := b.delivery(b.render(b.articles.One, 1))
		r := b.mustLand(d)
		post := b.render(b.articles.Revised, 2)
		return func() error {
			r, err := ability[platforms.Updater](b).Update(t.Context(), post, r, d.memo)
			b.keep(err, r)
			return err
		}
	}
	repeats(t, c, update, func(b *bench, when string) { b.showsAfter(b.articles.Revised, 1, when) })
}

func withdrawsAfterFault(t testing.TB, c Case) {
	b := setUp(t, c)
	ability[platforms.Withdrawer](b)
	withdraw := func(b *bench) func() error {
		r := b.mustLand(b.delivery(b.render(b.articles.One, 1)))
		return func() error {
			err := ability[platforms.Withdrawer](b).Withdraw(t.Context(), r)
			b.keep(err, nil)
			return err
		}
	}
	repeats(t, c, withdraw, func(b *bench, when string) {
		if n := len(b.world.Posts()); n != 0 {
			t.Errorf("%s: %d posts on the platform, want none", when, n)
		}
	})
}

// repeats breaks each call of an idempotent action in turn, does the action
// once more as after a restart, and looks at the result.
func repeats(t testing.TB, c Case, prepare func(*bench) func() error, look func(b *bench, when string)) {
	b := setUp(t, c)
	b.needFaults()
	act := prepare(b)
	b.faults.Arm(0, NotSent)
	if err := act(); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	calls := b.faults.Calls()
	if calls == 0 {
		t.Fatal("no call was made that the faults could break")
	}
	for n := 1; n <= calls; n++ {
		for _, mode := range []Mode{NotSent, ReplyLost} {
			b := setUp(t, c)
			act := prepare(b)
			when := fmt.Sprintf("call %d of %d, %s", n, calls, mode)
			b.faults.Arm(n, mode)
			err := act()
			b.faults.Disarm()
			if err != nil {
				b.unclear(err, when)
				b.reopen()
				err = act()
			}
			if err != nil {
				t.Errorf("%s, and once more: %v", when, err)
			}
			look(b, when)
		}
	}
}
