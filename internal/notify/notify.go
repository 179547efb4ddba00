// Package notify tells people what the store has written down for them: that
// something needs a person, that a target is held, that either is over. Each is
// told once to each channel, in order; a channel that is down delays nothing but
// itself. It decides nothing about what is worth telling.
package notify

import (
	"context"
	"log/slog"
	"time"

	"herald/state"
)

// Channel is one way to reach people. Notify may be called again with a notice
// whose first answer was lost; its ID says so to the receiver.
type Channel interface {
	Notify(ctx context.Context, n state.Notice) error
}

// Store is what the notices are read from.
type Store interface {
	View(fn func(state.Reader) error) error
	Update(fn func(state.Tx) error) error
}

const (
	// batch is how many notices are read at a time.
	batch = 50
	// sendTimeout bounds one send.
	sendTimeout = 30 * time.Second
	// firstRest and longestRest bound the wait after a channel failed.
	firstRest, longestRest = 30 * time.Second, 30 * time.Minute
	// keep is how long a notice is worth telling.
	keep = 72 * time.Hour
)

// Notifier sends what waits. Sent marks are kept in memory per channel: after a
// restart a notice that one of several channels had not taken may reach the
// others a second time, under the same ID.
type Notifier struct {
	store    Store
	channels []Channel
	log      *slog.Logger
	wake     chan struct{}
}

// New makes a notifier; it stands still until Run.
func New(store Store, channels []Channel, log *slog.Logger) *Notifier {
	return &Notifier{store: store, channels: channels, log: log, wake: make(chan struct{}, 1)}
}

// Wake makes it look for notices.
func (n *Notifier) Wake() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	done := make([]uint64, len(n.channels)) // by channel: the last notice it has
	rest := firstRest
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		case <-timer.C:
		}
		if n.send(ctx, done, time.Now()) {
			rest = firstRest
			continue
		}
		timer.Reset(rest)
		rest = min(2*rest, longestRest)
	}
}

// send gives what waits to every channel and drops what all have taken. It
// returns false if something is left.
func (n *Notifier) send(ctx context.Context, done []uint64, now time.Time) bool {
	for {
		var waiting []state.Notice
		err := n.store.View(func(r state.Reader) (err error) {
			waiting, err = r.Notices(batch)
			return err
		})
		if err != nil {
			n.log.Error("notices cannot be read", "error", err)
			return false
		}
		if len(waiting) == 0 {
			return true
		}
		for i, c := range n.channels {
			n.sendTo(ctx, c, waiting, &done[i], now)
		}
		told := waiting[0].ID - 1
		for _, w := range waiting {
			if all(done, w.ID) || now.Sub(w.At) > keep {
				told = w.ID
				continue
			}
			break
		}
		if err := n.drop(waiting, told); err != nil {
			n.log.Error("notices cannot be dropped", "error", err)
			return false
		}
		if told < waiting[len(waiting)-1].ID {
			return false
		}
	}
}

// sendTo gives a channel what it has not had, in order, up to its first failure.
func (n *Notifier) sendTo(ctx context.Context, c Channel, waiting []state.Notice, done *uint64, now time.Time) {
	for _, w := range waiting {
		if w.ID <= *done || now.Sub(w.At) > keep {
			continue
		}
		sending, cancel := context.WithTimeout(ctx, sendTimeout)
		err := c.Notify(sending, w)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				n.log.Warn("notice not taken; tried again later", "notice", w.ID, "event", w.Event, "error", err)
			}
			return
		}
		*done = w.ID
	}
}

func all(done []uint64, id uint64) bool {
	for _, d := range done {
		if d < id {
			return false
		}
	}
	return true
}

func (n *Notifier) drop(waiting []state.Notice, upTo uint64) error {
	return n.store.Update(func(tx state.Tx) error {
		for _, w := range waiting {
			if w.ID > upTo {
				return nil
			}
			if err := tx.DropNotice(w.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
