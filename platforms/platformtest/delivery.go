package platformtest

import (
	"context"
	"errors"
	"fmt"

	"herald/platforms"
)

// maxSteps ends a delivery that gets nowhere. No fault of the suite needs more
// than a few.
const maxSteps = 12

// errWaits says that the delivery waits for a person: the outcome is unclear
// and the platform offers no look-up.
var errWaits = errors.New("the outcome is unclear and there is no look-up")

// delivery drives one post as herald does: publish, and whatever the failure's
// kind asks for, until the post is there or a person is needed.
type delivery struct {
	b    *bench
	post platforms.Post
	memo *Memo
}

func (b *bench) delivery(p platforms.Post) *delivery {
	return &delivery{b: b, post: p, memo: NewMemo()}
}

// publish makes the one call.
func (d *delivery) publish(ctx context.Context) (platforms.Receipt, error) {
	r, err := d.b.platform.Publish(ctx, d.post, d.memo)
	d.b.keep(err, r)
	if err == nil && r.ID == "" {
		err = &platforms.Error{Platform: d.b.c.Type, Op: "publish", Kind: platforms.Uncertain, Message: "no id in the receipt"}
	}
	return r, err
}

// settle finishes the delivery after the failure that its last call ended with.
func (d *delivery) settle(ctx context.Context, err error) (platforms.Receipt, error) {
	var r platforms.Receipt
	for range maxSteps {
		if err != nil {
			var done bool
			if r, done, err = d.react(ctx, err); done {
				return r, err
			}
		}
		if r, err = d.publish(ctx); err == nil {
			return r, nil
		}
	}
	return r, fmt.Errorf("not settled after %d steps: %w", maxSteps, err)
}

// react does what the kind of err asks for. Unless it is done, the next step is
// to publish again.
func (d *delivery) react(ctx context.Context, err error) (r platforms.Receipt, done bool, _ error) {
	reaction := platforms.KindOf(err).Meaning().Reaction
	switch reaction {
	case platforms.RetryLater, platforms.HoldUntil, platforms.HoldForPerson:
		return r, false, nil
	case platforms.StopRejected:
		return r, true, err
	}
	finder, ok := d.b.platform.(platforms.Finder)
	if !ok {
		return r, true, errWaits
	}
	found, findErr := d.find(ctx, finder)
	switch {
	case findErr != nil:
		return r, true, findErr
	case found.Outcome == platforms.Present:
		return found.Receipt, true, nil
	case found.Outcome == platforms.Partial || reaction == platforms.LookElseRetry:
		return r, false, nil
	default:
		return r, true, err
	}
}

// find looks up until there is an answer.
func (d *delivery) find(ctx context.Context, finder platforms.Finder) (found platforms.Found, err error) {
	for range maxSteps {
		found, err = finder.Find(ctx, d.post, since(d.b.began), d.memo)
		d.b.keep(err, found)
		if err == nil {
			return found, nil
		}
	}
	return found, fmt.Errorf("no look-up in %d succeeded: %w", maxSteps, err)
}

// mustPublish publishes on a world without faults.
func (d *delivery) mustPublish() platforms.Receipt {
	d.b.t.Helper()
	r, err := d.publish(d.b.t.Context())
	if err != nil {
		d.b.t.Fatalf("publish %q: %v", d.post.Slug, err)
	}
	return r
}
