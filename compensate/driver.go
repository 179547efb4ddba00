package compensate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// Sources reads an admitted article again.
type Sources interface {
	// Read returns the article's content of a revision.
	Read(a state.Article, revision int) (*article.Article, error)
}

// Driver makes the steps of deliveries. It is safe for concurrent use, and
// assumes nowhere that it is the only one: every save is fenced by the record.
type Driver struct {
	store   state.Store
	targets map[string]*publisher.Target
	order   []string // of the targets in the configuration
	sources Sources
	log     *slog.Logger
	wake    func(target string)
	moved   func(id state.ArticleID)
	count   func(state.Delivery, state.Event)
	notify  bool
	check   bool
	simhash func(*article.Article) uint64
	room    func() error
	zone    *time.Location
	full    atomic.Bool // room said no, and it was logged
}

// Options is what a Driver is made of. The last ones may be left out.
type Options struct {
	Store   state.Store
	Targets []*publisher.Target
	Sources Sources
	Log     *slog.Logger
	// Wake is called when a target may have something due.
	Wake func(target string)

	// Location is the zone that hints tell times in; nil: that of the machine.
	Location *time.Location
	// Moved is called after a delivery was saved in a new state.
	Moved func(id state.ArticleID)
	// Count is called for every move that a step makes, once it is saved.
	Count func(d state.Delivery, e state.Event)
	// Notify has people told: notices are written down for package notify.
	Notify bool
	// Check has new content wait for the quality check.
	Check bool
	// Simhash fingerprints a text for near duplicates; nil: they are not looked for.
	Simhash func(*article.Article) uint64
	// Room says why nothing may begin that could not be recorded, such as a disk
	// that is almost full.
	Room func() error
}

// New makes a driver.
func New(o Options) *Driver {
	dr := &Driver{
		store: o.Store, targets: map[string]*publisher.Target{}, sources: o.Sources, log: o.Log, wake: o.Wake,
		moved: o.Moved, count: o.Count, notify: o.Notify, check: o.Check, simhash: o.Simhash, room: o.Room, zone: o.Location,
	}
	if dr.wake == nil {
		dr.wake = func(string) {}
	}
	for _, t := range o.Targets {
		dr.targets[t.Name] = t
		dr.order = append(dr.order, t.Name)
	}
	return dr
}

// Next says when a delivery's next step is due.
type Next struct {
	Done bool      // nothing is left to do, or it waits for a person
	At   time.Time // when not Done
	// Refused says that pace, breaker or hold kept the step back: nothing was
	// done, and the record still says that it is due.
	Refused bool
}

// sinceMargin is taken off a look-up's since, because platforms give times in
// whole seconds.
const sinceMargin = 2 * time.Second

// leaseMargin is how long after a call's deadline a delivery may stay "sending"
// before its outcome counts as lost.
const leaseMargin = 30 * time.Second

// work is everything a step is made from, read in one snapshot.
type work struct {
	state.Delivery
	article state.Article
	hold    state.Hold
	target  *publisher.Target
}

func (dr *Driver) load(k state.Key) (w work, err error) {
	w.target = dr.targets[k.Target]
	if w.target == nil {
		return w, fmt.Errorf("target %q is not configured", k.Target)
	}
	err = dr.store.View(func(r state.Reader) error {
		if w.Delivery, err = r.Delivery(k); err != nil {
			return err
		}
		if w.article, err = r.Article(k.Article); err != nil {
			return err
		}
		w.hold, err = r.Hold(w.target.Account)
		return err
	})
	if err != nil {
		return w, fmt.Errorf("load %s: %w", k, err)
	}
	return w, nil
}

// Step makes the one call that the delivery's state asks for, and saves what its
// answer means. It is re-entrant: called early, late, twice or at the same time
// as another, it does what the record says. ctx ends only to make it stop.
func (dr *Driver) Step(ctx context.Context, k state.Key) (Next, error) {
	w, err := dr.load(k)
	if err != nil {
		return Next{}, err
	}
	now := time.Now()
	switch {
	case w.State == state.Sending:
		return dr.expire(w, now)
	case w.Due.IsZero():
		return Next{Done: true}, nil
	case w.Due.After(now):
		return Next{At: w.Due}, nil
	case !mayCall(w.hold, w.target, state.ClassOf(w.State), now):
		return Next{At: w.hold.Until, Refused: true}, nil
	case !dr.hasRoom():
		return Next{At: now.Add(roomRest), Refused: true}, nil
	}
	switch w.State {
	case state.Queued:
		return dr.publish(ctx, w, now)
	case state.Uncertain:
		return dr.find(ctx, w, now)
	case state.Reviewing:
		return dr.review(ctx, w, now)
	case state.Updating:
		return dr.update(ctx, w, now)
	case state.Withdrawing:
		return dr.withdraw(ctx, w, now)
	case state.Published:
		return dr.observe(ctx, w, now)
	default:
		return Next{}, fmt.Errorf("step %s: no step is known for a delivery that is %s", k, w.State)
	}
}

// local is a time in the zone that people read.
func (dr *Driver) local(t time.Time) time.Time {
	if dr.zone == nil {
		return t
	}
	return t.In(dr.zone)
}

// roomRest is how long steps wait for room on the disk.
const roomRest = 30 * time.Second

// hasRoom reports whether what a call does could be written down. It says once
// when that ends, and once when it is so again.
func (dr *Driver) hasRoom() bool {
	if dr.room == nil {
		return true
	}
	err := dr.room()
	if full := err != nil; dr.full.Swap(full) != full {
		if full {
			dr.log.Error("publishing is paused", "error", err)
		} else {
			dr.log.Info("publishing goes on: there is room again")
		}
	}
	return err == nil
}

// mayCall reports whether the hold lets a call through. A hold for a person lets
// one through when its probe is due and the platform has no probe of its own:
// the delivery is the probe then.
func mayCall(h state.Hold, t *publisher.Target, c state.Class, now time.Time) bool {
	if !h.Keeps(c, now) {
		return true
	}
	_, probes := t.Platform.(platforms.Prober)
	return h.ForPerson && !probes && !now.Before(h.Until)
}

// render puts a revision of the article into the target's form.
func (dr *Driver) render(w work, revision int) (post platforms.Post, fault *platforms.Error) {
	source, err := dr.sources.Read(w.article, revision)
	if err != nil {
		return post, &platforms.Error{
			Platform: w.Type, Op: "render", Kind: platforms.Dependency,
			Message: fmt.Sprintf("the stored source of revision %d cannot be read: %v; drop the article again", revision, err), Err: err,
		}
	}
	return Render(w.target, source, w.Delivery, revision)
}

// Render renders an article for a target as a delivery would send it. What an
// adapter refuses is an error of the kind it says; any other error is Rejected.
func Render(t *publisher.Target, source *article.Article, d state.Delivery, revision int) (post platforms.Post, fault *platforms.Error) {
	err := t.Guard("render", func() (err error) {
		post, err = t.Platform.Render(source.For(t.Name))
		return err
	})
	if err != nil {
		if e, ok := errors.AsType[*platforms.Error](err); ok {
			return post, e
		}
		return post, &platforms.Error{Platform: t.Type, Op: "render", Kind: platforms.Rejected, Message: err.Error(), Err: err}
	}
	post.Key, post.Revision = d.IdempotencyKey(), revision
	return post, nil
}

func (dr *Driver) context(w work, now time.Time) Context {
	_, finds := w.target.Platform.(platforms.Finder)
	return Context{Settings: w.target.Settings(), Hold: w.hold, CanFind: finds, Now: now, Random: rand.Float64()}
}
