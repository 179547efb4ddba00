package compensate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"herald/article"
	"herald/platforms"
	"herald/state"
)

// settle saves what an answer means. An outcome that is known is not given up
// because the store cannot take it just now: it is tried until herald stops, and
// the delivery stays where it is meanwhile.
func (dr *Driver) settle(ctx context.Context, w work, a Answer) (Next, error) {
	for {
		next, err := dr.record(w, a)
		if err == nil || errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrNotFound) {
			return next, err
		}
		dr.log.Error("outcome cannot be recorded; trying again", "target", w.Target, "article", w.Article, "error", err)
		select {
		case <-ctx.Done():
			return next, err
		case <-time.After(recordRest):
		}
	}
}

// recordRest is the wait between two tries to record an outcome.
const recordRest = 5 * time.Second

// record decides what an answer means and saves it, with the hold and whatever a
// wish or a newer revision asks for now, in one transaction. It decides on the
// record as it is then, so that a wish stored during the call is not lost.
func (dr *Driver) record(w work, a Answer) (Next, error) {
	c := dr.context(w, time.Now())
	return dr.save(w, func(tx state.Tx, d state.Delivery) (state.Event, error) {
		var err error
		if c.Hold, err = tx.Hold(w.target.Account); err != nil {
			return state.Event{}, err
		}
		if r := a.Found.Receipt; r.ID != "" {
			owner, taken, err := tx.ReceiptOwner(d.Target, r.ID)
			if err != nil {
				return state.Event{}, err
			}
			a.Foreign = taken && owner != d.Article
		}
		e, hold := Decide(d, a, c)
		if hold == nil {
			return e, nil
		}
		if err := dr.tellHold(tx, w.target, c.Hold, *hold, c.Now); err != nil {
			return e, err
		}
		return e, tx.PutHold(*hold)
	}, c)
}

// apply saves one event.
func (dr *Driver) apply(w work, e state.Event) (Next, error) {
	return dr.save(w, func(state.Tx, state.Delivery) (state.Event, error) { return e, nil }, dr.context(w, e.At))
}

// save reads the record again inside the transaction, makes sure that it is
// still the call's own (the fence against a stale worker), applies the event and
// what follows from it.
func (dr *Driver) save(w work, decide func(state.Tx, state.Delivery) (state.Event, error), c Context) (Next, error) {
	_, canUpdate := w.target.Platform.(platforms.Updater)
	_, canWithdraw := w.target.Platform.(platforms.Withdrawer)
	var d state.Delivery
	var events []state.Event
	err := dr.store.Update(func(tx state.Tx) error {
		events = events[:0]
		var err error
		if d, err = tx.Again(w.Delivery); err != nil {
			return err
		}
		if d.State != w.State || d.Attempts != w.Attempts || d.Generation != w.Generation {
			return state.ErrConflict
		}
		e, err := decide(tx, d)
		if err != nil {
			return err
		}
		for again := true; again; e, again = Follow(d, canUpdate, canWithdraw, c) {
			if d, err = d.Apply(e); err != nil {
				return err
			}
			events = append(events, e)
		}
		if err := dr.tell(tx, w.article.Title, &d, c.Now); err != nil {
			return err
		}
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
		if w.article.Consistency != article.AllOrNothing {
			return nil
		}
		return dr.together(tx, d, c)
	})
	if err != nil {
		return Next{}, fmt.Errorf("save %s: %w", w.Key(), err)
	}
	for _, e := range events {
		dr.logMove(w.State, d, e)
		if dr.count != nil {
			dr.count(d, e)
		}
	}
	if dr.moved != nil && d.State != state.Queued {
		dr.moved(d.Article)
	}
	return Next{Done: d.Due.IsZero(), At: d.Due}, nil
}

// logMove says one line a transition: Warn when it will be tried again, Error
// when a person has to act.
func (dr *Driver) logMove(from state.State, d state.Delivery, e state.Event) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("target", d.Target), slog.String("article", string(d.Article)),
		slog.String("verb", string(e.Verb)), slog.String("from", string(from)), slog.String("state", string(d.State)),
	}
	if f := e.Failure; f != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("op", f.Op), slog.String("kind", string(f.Kind)), slog.String("code", f.Code), slog.String("error", f.Message))
	}
	switch d.State {
	case state.Rejected, state.Failed, state.Stuck:
		level = slog.LevelError
	case state.Uncertain:
		if d.Due.IsZero() {
			level = slog.LevelError
		}
	}
	if e.Verb == state.Begin {
		level = slog.LevelDebug
	}
	if d.State == state.Published && d.Receipt.URL != "" {
		attrs = append(attrs, slog.String("url", d.Receipt.URL))
	}
	if !d.Due.IsZero() && e.Verb != state.Begin {
		attrs = append(attrs, slog.Time("due", d.Due))
	}
	dr.log.LogAttrs(context.Background(), level, "delivery moved", attrs...)
}

// memo is the durable notepad of one delivery.
type memo struct {
	store      state.Store
	key        state.Key
	generation int
	log        *slog.Logger
}

func (dr *Driver) memo(w work) platforms.Memo {
	return &memo{store: dr.store, key: w.Key(), generation: w.Generation, log: dr.log}
}

// Get reads a note. A store that cannot be read has no notes; the next Set then
// fails, before anything is done twice.
func (m *memo) Get(name string) (value string, ok bool) {
	err := m.store.View(func(r state.Reader) (err error) {
		value, ok, err = r.Memo(m.key, m.generation, name)
		return err
	})
	if err != nil {
		m.log.Error("memo cannot be read", "target", m.key.Target, "article", m.key.Article, "error", err)
	}
	return value, ok
}

// Set writes a note; it is on disk when Set returns nil.
func (m *memo) Set(name, value string) error {
	err := m.store.Update(func(tx state.Tx) error { return tx.PutMemo(m.key, m.generation, name, value) })
	if err != nil {
		return fmt.Errorf("save memo %s: %w", name, err)
	}
	return nil
}
