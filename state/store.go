package state

import "time"

// Store keeps articles, deliveries, memos and holds durably. Both the embedded
// bbolt file and any later database pass the suite in state/statetest.
type Store interface {
	// Update runs fn in one transaction that is on disk when Update returns nil
	// and has left nothing behind when it returns an error. fn may be run more
	// than once and must not keep what it saw in an earlier run.
	Update(fn func(Tx) error) error
	// View runs fn on one consistent snapshot.
	View(fn func(Reader) error) error
	// Close waits for what is being written and releases the file.
	Close() error
}

// Class tells the steps that change a platform from those that only ask it:
// holds and breakers keep the first back, so they are kept apart in the index.
type Class byte

// The two classes of steps.
const (
	Asking   Class = 'r' // look-ups, review polls, and the deadline of a call under way
	Changing Class = 'w' // creates, updates, withdrawals
)

// ClassOf returns the class of the step that a state asks for.
func ClassOf(s State) Class {
	switch s {
	case Queued, Updating, Withdrawing:
		return Changing
	}
	return Asking
}

// Reader reads one consistent snapshot.
type Reader interface {
	// Article returns a record, or ErrNotFound.
	Article(id ArticleID) (Article, error)
	// Delivery returns a record, or ErrNotFound.
	Delivery(k Key) (Delivery, error)
	// Again returns the record as it is now: d itself, for less than a read, if
	// that is its stored version.
	Again(d Delivery) (Delivery, error)
	// Deliveries returns all deliveries of an article, none if there are none.
	Deliveries(id ArticleID) ([]Delivery, error)
	// Due returns at most limit keys of target and class whose time has come,
	// oldest first, and the time of the first key behind them; zero if there is
	// none. It costs what it returns, whatever else is stored.
	Due(target string, c Class, now time.Time, limit int) (keys []Key, next time.Time, err error)
	// Waiting returns how many deliveries of target wait for a call that changes
	// something.
	Waiting(target string) (int, error)
	// DueChecks returns at most limit articles whose quality check is due, oldest
	// first, and the time of the next behind them; zero if there is none.
	DueChecks(now time.Time, limit int) (ids []ArticleID, next time.Time, err error)
	// Unfinished calls fn with every article that has an unfinished delivery, in
	// the order of their ids. Finished articles cost nothing.
	Unfinished(fn func(id ArticleID) error) error
	// Newest returns the ids of the limit articles accepted last, newest first.
	Newest(limit int) ([]ArticleID, error)
	// SameText returns the articles with this fingerprint.
	SameText(fingerprint string) ([]ArticleID, error)
	// ReceiptOwner returns which article's delivery on target has the platform's
	// id, if one has.
	ReceiptOwner(target, remoteID string) (ArticleID, bool, error)
	// Memo returns a note of the delivery's generation.
	Memo(k Key, generation int, name string) (string, bool, error)
	// Verdict returns a kept verdict of the quality check.
	Verdict(key string) (verdict []byte, ok bool, err error)
	// Notices returns the oldest limit notices that wait to be told.
	Notices(limit int) ([]Notice, error)
	// Hold returns the account's hold; an account without one has a zero Hold
	// with its name.
	Hold(account string) (Hold, error)
}

// Tx is a Reader that can write. A record is saved only if its Version is the
// stored one (0: not stored yet), else ErrConflict; the stored Version is then
// one higher.
type Tx interface {
	Reader
	PutArticle(a Article) error
	// PutDelivery saves a delivery and moves it in the indexes, so that its
	// state and its next wake can never disagree.
	PutDelivery(d Delivery) error
	PutMemo(k Key, generation int, name, value string) error
	PutHold(h Hold) error
	PutVerdict(key string, verdict []byte) error
	// PutNotice adds a notice to those that wait; its ID is given here.
	PutNotice(n Notice) error
	// DropNotice removes one that was told.
	DropNotice(id uint64) error
}
