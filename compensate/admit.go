package compensate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/state"
)

// Admission is what became of an article that was dropped.
type Admission struct {
	ID       state.ArticleID
	Revision int
	// New says that the identity was not known, Changed that its content was not.
	New, Changed bool
	Added        []string // targets that got a delivery
	Hold         *state.ArticleHold
}

// Revision says which revision src would be admitted as, and whether its content
// is new. The intake stores the source under that number before it admits it.
func (dr *Driver) Revision(src *article.Article) (revision int, changed bool, err error) {
	err = dr.store.View(func(r state.Reader) error {
		old, err := r.Article(state.ArticleID(src.ID))
		switch {
		case errors.Is(err, state.ErrNotFound):
			revision, changed = 1, true
		case err != nil:
			return err
		case old.Hash == src.Hash:
			revision = old.Revision
		default:
			revision, changed = old.Revision+1, true
		}
		return nil
	})
	return revision, changed, err
}

// Admit takes an article in: its record and its deliveries, in one transaction.
// The same content again only adds targets that are missing and follows changed
// routing; changed content is a new revision. source is the stored Markdown file
// of that revision, relative to the queue folder.
func (dr *Driver) Admit(src *article.Article, source string, quality *state.Quality, now time.Time) (Admission, error) {
	var adm Admission
	var wake []string
	err := dr.store.Update(func(tx state.Tx) error {
		adm, wake = Admission{ID: state.ArticleID(src.ID)}, nil
		in := intake{dr: dr, tx: tx, src: src, now: now, adm: &adm}
		a, err := tx.Article(adm.ID)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
		adm.New = err != nil
		if a, err = in.record(a, source, quality); err != nil {
			return err
		}
		if adm.Changed && a.Hold == nil { // who edits it has mended what sent it backward
			if err := dr.forward(tx, &a, Context{Now: now}); err != nil {
				return err
			}
		}
		if err := errors.Join(in.deliveries(&a), dr.releaseLast(tx, &a, now)); err != nil {
			return err
		}
		adm.Revision, adm.Hold, wake = a.Revision, a.Hold, a.Targets
		return tx.PutArticle(a)
	})
	if err != nil {
		return adm, fmt.Errorf("admit %s: %w", src.ID, err)
	}
	for _, target := range wake {
		dr.wake(target)
	}
	return adm, nil
}

// intake is one admission under way, inside its transaction.
type intake struct {
	dr  *Driver
	tx  state.Tx
	src *article.Article
	now time.Time
	adm *Admission
}

// record brings the article's record up to date and decides whether it is held.
func (in *intake) record(a state.Article, source string, quality *state.Quality) (state.Article, error) {
	src := in.src
	if in.adm.New {
		a = state.Article{ID: in.adm.ID, AcceptedAt: in.now}
	}
	if a.Hash != src.Hash {
		in.adm.Changed = true
		a.Revision++
		a.Hash, a.Fingerprint, a.Title = src.Hash, src.Fingerprint, src.Title
		if !in.dr.check { // else the last verdict stands until the check is made
			a.Quality = quality
		}
		if in.dr.simhash != nil {
			a.Simhash = in.dr.simhash(src)
		}
		a.Sources = append(a.Sources, source)
		a.Hold = nil // an edited file is a new decision
		if a.CheckDue = (time.Time{}); in.dr.check {
			a.CheckDue = in.now
		}
	}
	a.PublishAt, a.SkipIfLate, a.Consistency, a.Notes = src.PublishAt, src.SkipIfLate, src.Consistency, src.Notes
	a.Sources[a.Revision-1] = source
	if a.Hold != nil && (a.Hold.Reason == state.HeldDraft || a.Hold.Reason == state.HeldDuplicate) {
		a.Hold = nil // the routing that held it may have changed: decided anew
	}
	if a.Hold == nil {
		hold, err := in.reasonToHold(&a)
		if err != nil {
			return a, err
		}
		a.Hold = hold
		if hold != nil && hold.Reason != state.HeldDraft {
			if err := in.dr.tellHeld(in.tx, a, *hold); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// reasonToHold says why the article may not go out without a person's word.
func (in *intake) reasonToHold(a *state.Article) (*state.ArticleHold, error) {
	if in.src.Draft {
		return &state.ArticleHold{Reason: state.HeldDraft, Message: "the front matter says draft: true", At: in.now}, nil
	}
	if q := a.Quality; q != nil && !q.Pass && !in.dr.check && !a.IsApproved(state.HeldQuality) {
		return &state.ArticleHold{Reason: state.HeldQuality, Message: q.Details, At: in.now}, nil
	}
	if in.src.AllowDuplicate || a.IsApproved(state.HeldDuplicate) {
		return nil, nil
	}
	same, err := in.tx.SameText(a.Fingerprint)
	if err != nil {
		return nil, err
	}
	for _, id := range same {
		if id == a.ID {
			continue
		}
		alive, err := in.alive(id)
		if err != nil {
			return nil, err
		}
		if alive {
			return &state.ArticleHold{
				Reason: state.HeldDuplicate, At: in.now,
				Message: fmt.Sprintf("same title and text as %s; allow_duplicate: true in the front matter lets it go", id),
			}, nil
		}
	}
	return nil, nil
}

// alive reports whether an article is, or is still going to be, somewhere.
func (in *intake) alive(id state.ArticleID) (bool, error) {
	ds, err := in.tx.Deliveries(id)
	return slices.ContainsFunc(ds, func(d state.Delivery) bool {
		return d.State != state.Canceled && d.State != state.Withdrawn && d.State != state.Rejected && d.State != state.Failed
	}), err
}

// deliveries makes the missing deliveries and tells those that exist.
func (in *intake) deliveries(a *state.Article) error {
	for _, target := range in.dr.Wanted(in.src) {
		if !slices.Contains(a.Targets, target) {
			a.Targets = append(a.Targets, target)
			in.adm.Added = append(in.adm.Added, target)
		}
	}
	for _, target := range a.Targets {
		if err := in.delivery(a, target); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) delivery(a *state.Article, target string) error {
	t := in.dr.targets[target]
	if t == nil { // no longer configured: its record stays as it is
		return nil
	}
	hold, err := in.tx.Hold(t.Account)
	if err != nil {
		return err
	}
	start := later(in.now, a.PublishAt)
	d, err := in.tx.Delivery(state.Key{Article: a.ID, Target: target})
	if errors.Is(err, state.ErrNotFound) {
		d = state.Delivery{
			Article: a.ID, Target: target, Type: t.Type, State: state.Queued, Generation: 1, Revision: a.Revision,
			Since: start, HeldBefore: hold.Held(in.now), Waits: in.dr.waits(a, target),
		}
		if a.Hold == nil && d.Waits == "" {
			d.Due = start
		}
		return in.tx.PutDelivery(d)
	}
	if err != nil {
		return err
	}
	d.Revision = a.Revision
	if d.State == state.Queued && d.Attempts == 0 && d.Waits != state.WaitsCheck {
		// The routing may have changed, and with it what the delivery waits for.
		if d.Waits = ""; in.dr.comesLast(a, target) {
			d.Waits = state.WaitsOthers
		}
	}
	if in.adm.Changed && !a.CheckDue.IsZero() && d.State == state.Queued && d.Attempts == 0 {
		d.Waits, d.Due = state.WaitsCheck, time.Time{}
	}
	e, ok := in.follow(a, d, t.Platform, start, hold)
	if ok {
		if d, err = d.Apply(e); err != nil {
			return err
		}
	}
	return in.tx.PutDelivery(d)
}

// follow is what a dropped file means for a delivery that exists already.
func (in *intake) follow(a *state.Article, d state.Delivery, p platforms.Platform, start time.Time, hold state.Hold) (state.Event, bool) {
	e := state.Event{At: in.now, Due: start, Held: hold.Held(in.now), Note: fmt.Sprintf("revision %d was dropped", a.Revision)}
	_, canUpdate := p.(platforms.Updater)
	switch d.State {
	case state.Queued:
		if d.Attempts > 0 && a.Hold == nil && !in.adm.Changed {
			return e, false // its backoff stands
		}
		e.Verb, e.Free = state.Delay, true
		if a.Hold != nil || d.Waits != "" {
			e.Due = time.Time{}
		}
		return e, !e.Due.Equal(d.Due)
	case state.Rejected, state.Failed:
		e.Verb = state.Retry
		return e, in.adm.Changed && a.Hold == nil
	case state.Published:
		e.Verb = state.Revise
		return e, d.Outdated() && canUpdate && a.Hold == nil
	}
	return e, false
}

// Wanted returns the enabled targets that an article goes to.
func (dr *Driver) Wanted(src *article.Article) []string {
	enabled := dr.Enabled()
	if src.Platforms == nil {
		return enabled
	}
	return slices.DeleteFunc(slices.Clone(src.Platforms), func(name string) bool { return !slices.Contains(enabled, name) })
}

// Enabled returns the names of all targets that take new articles, in the order
// of the configuration.
func (dr *Driver) Enabled() []string {
	var names []string
	for _, name := range dr.order {
		if dr.targets[name].Settings().Enabled {
			names = append(names, name)
		}
	}
	return names
}

// hold keeps an article's unsent deliveries until a person approves it.
func (dr *Driver) hold(id state.ArticleID, h state.ArticleHold) error {
	err := dr.store.Update(func(tx state.Tx) error {
		a, err := tx.Article(id)
		if err != nil {
			return err
		}
		a.Hold = &h
		ds, err := tx.Deliveries(id)
		if err != nil {
			return err
		}
		for _, d := range ds {
			if d.State != state.Queued {
				continue
			}
			if d, err = d.Apply(state.Event{Verb: state.Delay, At: h.At, Free: true, Note: "held: " + h.Message}); err != nil {
				return err
			}
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return tx.PutArticle(a)
	})
	if err != nil {
		return fmt.Errorf("hold %s: %w", id, err)
	}
	return nil
}
