package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"herald/compensate"
	"herald/platforms"
	"herald/state"
)

// span is how long a rate is measured.
const span = 2 * time.Second

// disk measures what the disk can do: everything durable is a multiple of it.
func (r *run) disk(context.Context) error {
	rate, err := r.beside(func() error { return nil })
	if err != nil {
		return err
	}
	r.add(result{what: "disk: 4 KiB write + fdatasync", value: fmt.Sprintf("%.0f/s", rate)})
	return nil
}

// beside returns what the disk can do around the time of a measurement, since
// that changes within seconds where the disk is shared.
func (r *run) beside(measure func() error) (float64, error) {
	before, err := r.syncs()
	if err != nil {
		return 0, err
	}
	if err := measure(); err != nil {
		return 0, err
	}
	after, err := r.syncs()
	return (before + after) / 2, err
}

// syncs is one rate of 4 KiB write + fdatasync, per second.
func (r *run) syncs() (float64, error) {
	f, err := os.Create(filepath.Join(r.dir, "disk"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	page, n := make([]byte, 4096), 0
	began := time.Now()
	for ; time.Since(began) < span/2; n++ {
		if _, err := f.WriteAt(page, int64(n%256)*4096); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
	}
	return perSecond(n, time.Since(began)), nil
}

// commits measures the store alone: one delivery saved at a time by each writer.
func (r *run) commits(context.Context) error {
	for _, c := range []struct {
		writers int
		line    float64
	}{{1, 0.3}, {4, 0}, {64, 0}} {
		var rate float64
		disk, err := r.beside(func() (err error) {
			rate, err = saves(filepath.Join(r.dir, fmt.Sprintf("commits%d.db", c.writers)), c.writers)
			return err
		})
		if err != nil {
			return err
		}
		r.add(result{
			what: fmt.Sprintf("store: saves by %d writers", c.writers), value: fmt.Sprintf("%.0f/s", rate),
			ratio: rate / disk, of: "fdatasync", line: c.line,
		})
	}
	return nil
}

// saves is the rate of saves into a new store.
func saves(path string, writers int) (float64, error) {
	store, err := state.Open(path)
	if err != nil {
		return 0, err
	}
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for i := range writers {
		wg.Go(func() {
			d := sampleDelivery(state.ArticleID(fmt.Sprint("a", i)), state.Queued)
			for time.Since(began) < span {
				if err := store.Update(func(tx state.Tx) error { return tx.PutDelivery(d) }); err != nil {
					failed.Store(&err)
					return
				}
				d.Version++
				n.Add(1)
			}
		})
	}
	wg.Wait()
	rate := perSecond(int(n.Load()), time.Since(began))
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return rate, store.Close()
}

func sampleDelivery(id state.ArticleID, st state.State) state.Delivery {
	now := time.Now()
	d := state.Delivery{
		Article: id, Target: "t", Type: "loopback", State: st, Generation: 1, Revision: 1, Sent: 1, Attempts: 1, Spent: 1,
		Since: now, Begun: now, LastBegun: now,
		History: []state.Entry{
			{At: now, Verb: state.Begin, State: state.Sending, Op: "publish"},
			{At: now, Verb: state.Land, State: state.Published, Op: "publish", Took: 50 * time.Millisecond},
		},
	}
	if st == state.Published {
		d.Landed, d.PublishedAt, d.Receipt = 1, now, platforms.Receipt{ID: "r" + string(id), URL: "https://example.com/" + string(id)}
	} else {
		d.Due = now
	}
	return d
}

// size compares a store with a thousand finished articles with one that holds a
// million: what is finished must cost nothing.
func (r *run) size(ctx context.Context) error {
	small, err := r.sized(1_000)
	if err != nil || !r.full {
		return err
	}
	large, err := r.sized(1_000_000)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		what         string
		small, large time.Duration
	}{
		{"open", small.open, large.open}, {"status (newest 50)", small.status, large.status}, {"what is due", small.due, large.due},
	} {
		r.add(result{
			what: x.what + " at 1,000,000 finished articles", value: fmt.Sprintf("%s, at 1,000: %s", x.large, x.small),
			ratio: float64(x.large) / float64(x.small), of: "at 1,000", line: 1.2, atMost: true,
		})
	}
	return ctx.Err()
}

type sizes struct{ open, status, due time.Duration }

// sized fills a store and takes the quickest of several measurements of each.
func (r *run) sized(n int) (s sizes, err error) {
	path := filepath.Join(r.dir, fmt.Sprintf("size%d.db", n))
	if err := fill(path, n); err != nil {
		return s, err
	}
	outlook := func(state.Reader, string, time.Time) state.Outlook { return state.Outlook{} }
	s = sizes{time.Hour, time.Hour, time.Hour}
	for range 20 {
		began := time.Now()
		store, err := state.Open(path)
		if err != nil {
			return s, err
		}
		s.open = min(s.open, time.Since(began))
		for range 20 {
			began = time.Now()
			if _, err := compensate.Reports(store, outlook, 50, false, began); err != nil {
				return s, err
			}
			s.status = min(s.status, time.Since(began))
			began = time.Now()
			for range 100 { // one is too short for the clock
				err = store.View(func(rd state.Reader) error {
					_, _, err := rd.Due("t", state.Changing, began, 10)
					return err
				})
				if err != nil {
					return s, err
				}
			}
			s.due = min(s.due, time.Since(began)/100)
		}
		if err := store.Close(); err != nil {
			return s, err
		}
	}
	return s, os.Remove(path)
}

// fill makes n finished articles and ten that are due.
func fill(path string, n int) error {
	store, err := state.Open(path)
	if err != nil {
		return err
	}
	const group = 5000
	start := time.Now().Add(-time.Hour)
	for from := 0; from < n; from += group {
		err = store.Update(func(tx state.Tx) error {
			for i := from; i < min(from+group, n); i++ {
				st := state.Published
				if i%(n/10) == 0 {
					st = state.Queued
				}
				id := state.ArticleID(fmt.Sprintf("article-%07d", i))
				a := state.Article{
					ID: id, Title: "错误处理是系统韧性的设计", Revision: 1, Hash: fmt.Sprint(i), Fingerprint: fmt.Sprint("f", i),
					Sources: []string{".done/" + string(id) + "/r1/index.md"}, AcceptedAt: start.Add(time.Duration(i) * time.Millisecond), Targets: []string{"t"},
				}
				if err := errors.Join(tx.PutArticle(a), tx.PutDelivery(sampleDelivery(id, st))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, store.Close())
		}
	}
	return store.Close()
}
