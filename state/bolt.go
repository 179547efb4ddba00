package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"herald/internal/failpoint"
)

// Bolt is the embedded store: one bbolt file, written by one committer
// goroutine that commits together what waits together.
type Bolt struct {
	db   *bbolt.DB
	ops  chan *op
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

var _ Store = (*Bolt)(nil)

// op is one Update that waits for the committer.
type op struct {
	fn   func(Tx) error
	done chan error
}

// The most operations that share one commit. It bounds how much work a failing
// group repeats, and is far above what 64 workers bring.
const groupLimit = 256

// lockTimeout is how long Open waits for another process to let go of the file,
// as a restarting daemon's predecessor does.
const lockTimeout = 500 * time.Millisecond

// Open opens the store file, making it if it is not there. It returns ErrLocked
// while another process has it open, and ErrDamaged for a file that is no store;
// such a file is never touched.
func Open(path string) (*Bolt, error) {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return nil, fmt.Errorf("%s: %w (it is empty); put a backup in its place, or remove it and run `herald restore`", path, ErrDamaged)
	}
	// The free list is written with each commit: it stays short, since records
	// are replaced and hardly ever deleted, and a file whose free list is not
	// stored must be scanned from end to end when it is opened.
	db, err := bbolt.Open(path, 0o640, &bbolt.Options{
		Timeout:         lockTimeout,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: 64 << 20,
		NoStatistics:    true,
	})
	if err != nil {
		return nil, openError(path, err)
	}
	if err := update(db, initialize); err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.Close())
	}
	s := &Bolt{db: db, ops: make(chan *op, groupLimit), quit: make(chan struct{}), done: make(chan struct{})}
	go s.commitLoop()
	return s, nil
}

// OpenReadOnly opens an existing store for reading, as `herald status` does
// while the daemon is down.
func OpenReadOnly(path string) (*Bolt, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := bbolt.Open(path, 0o640, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true, NoStatistics: true})
	if err != nil {
		return nil, openError(path, err)
	}
	err = db.View(func(tx *bbolt.Tx) error { return checkFormat(tx) })
	if err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	s := &Bolt{db: db, quit: make(chan struct{}), done: make(chan struct{})}
	close(s.done)
	return s, nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%s: %w", path, ErrLocked)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return fmt.Errorf("%s: %w (%w); move it aside, and put a backup in its place or run `herald restore`", path, ErrDamaged, err)
	}
	return fmt.Errorf("open store %s: %w", path, err)
}

// syncDir makes a new file's name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// View runs fn on a snapshot.
func (s *Bolt) View(fn func(Reader) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return fn(boltTx{tx}) })
}

// errClosed is returned to writers that come after Close.
var errClosed = errors.New("store is closed")

// Update hands fn to the committer and waits for the commit that holds it.
func (s *Bolt) Update(fn func(Tx) error) error {
	o := &op{fn: fn, done: make(chan error, 1)}
	select {
	case s.ops <- o:
	case <-s.quit:
		return errClosed
	}
	select {
	case err := <-o.done:
		return err
	case <-s.done:
		// The committer answers everything it took before it ends.
		select {
		case err := <-o.done:
			return err
		default:
			return errClosed
		}
	}
}

// commitLoop takes everything that waits, commits it in one transaction and
// answers all of it. The next group forms while the disk syncs, so a lone writer
// waits for nobody and many writers share each sync.
func (s *Bolt) commitLoop() {
	defer close(s.done)
	group := make([]*op, 0, groupLimit)
	for {
		select {
		case o := <-s.ops:
			group = append(group[:0], o)
		case <-s.quit:
			return
		}
	gather:
		for len(group) < groupLimit {
			select {
			case o := <-s.ops:
				group = append(group, o)
			default:
				break gather
			}
		}
		s.commit(group)
	}
}

// commit makes one transaction of the group. If an operation fails, the whole
// is rolled back and each is run again alone, so that one bad operation does not
// fail its neighbours, and what it wrote before failing is gone.
func (s *Bolt) commit(group []*op) {
	err := update(s.db, func(tx *bbolt.Tx) error {
		for _, o := range group {
			if err := o.fn(boltTx{tx}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || len(group) == 1 {
		for _, o := range group {
			o.done <- err
		}
		return
	}
	for _, o := range group {
		o.done <- update(s.db, func(tx *bbolt.Tx) error { return o.fn(boltTx{tx}) })
	}
}

// update is the one way to a commit.
func update(db *bbolt.DB, fn func(*bbolt.Tx) error) error {
	failpoint.Hit("store/before")
	err := db.Update(fn)
	failpoint.Hit("store/after")
	return err
}

// Backup writes a consistent copy of the store to w while it is in use.
func (s *Bolt) Backup(w io.Writer) (int64, error) {
	var n int64
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		n, err = tx.WriteTo(w)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("back the store up: %w", err)
	}
	return n, nil
}

// Close stops the committer after the group it is writing and closes the file.
func (s *Bolt) Close() error {
	s.once.Do(func() { close(s.quit) })
	<-s.done
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
