package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// The buckets. Parts of a key are separated by a zero byte; times are eight
// bytes, big endian, so that they sort.
var (
	bucketMeta       = []byte("meta")       // "format" → "1"
	bucketArticles   = []byte("articles")   // id → Article
	bucketDeliveries = []byte("deliveries") // id, target → head, Delivery
	bucketDue        = []byte("due")        // target, class, time, id → nothing
	bucketChecks     = []byte("checks")     // time, id → nothing
	bucketUnfinished = []byte("unfinished") // id, target → nothing
	bucketNewest     = []byte("newest")     // time, id → nothing
	bucketText       = []byte("text")       // fingerprint, id → nothing
	bucketReceipts   = []byte("receipts")   // target, remote id → id
	bucketMemos      = []byte("memos")      // id, target, generation, name → value
	bucketHolds      = []byte("holds")      // account → Hold
	bucketNotices    = []byte("notices")    // number → Notice
	bucketVerdicts   = []byte("verdicts")   // content, model and prompt → verdict

	buckets = [][]byte{
		bucketMeta, bucketArticles, bucketDeliveries, bucketDue, bucketChecks, bucketUnfinished,
		bucketNewest, bucketText, bucketReceipts, bucketMemos, bucketHolds, bucketNotices, bucketVerdicts,
	}
)

const format = "1"

var keyFormat = []byte("format")

func initialize(tx *bbolt.Tx) error {
	for _, b := range buckets {
		if _, err := tx.CreateBucketIfNotExists(b); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	if meta.Get(keyFormat) == nil {
		return meta.Put(keyFormat, []byte(format))
	}
	return checkFormat(tx)
}

func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return fmt.Errorf("%w: it holds no herald records", ErrDamaged)
	}
	if got := string(meta.Get(keyFormat)); got != format {
		return fmt.Errorf("store has format %q, this herald reads %q", got, format)
	}
	return nil
}

// boltTx is one bbolt transaction seen as a Tx.
type boltTx struct{ tx *bbolt.Tx }

func (t boltTx) get(bucket, key []byte, into any) error {
	raw := t.tx.Bucket(bucket).Get(key)
	if raw == nil {
		return ErrNotFound
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("record %q in %s: %w: %w", key, bucket, ErrDamaged, err)
	}
	return nil
}

func (t boltTx) put(bucket, key []byte, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return t.tx.Bucket(bucket).Put(key, raw)
}

func (t boltTx) Article(id ArticleID) (a Article, err error) {
	return a, t.get(bucketArticles, []byte(id), &a)
}

func (t boltTx) Delivery(k Key) (d Delivery, err error) {
	raw := t.tx.Bucket(bucketDeliveries).Get(deliveryKey(k))
	if raw == nil {
		return d, ErrNotFound
	}
	return decodeDelivery(raw)
}

func (t boltTx) Again(d Delivery) (Delivery, error) {
	raw := t.tx.Bucket(bucketDeliveries).Get(deliveryKey(d.Key()))
	if raw == nil {
		return d, ErrNotFound
	}
	if version, _ := decodeHead(raw); version == d.Version {
		return d, nil
	}
	return decodeDelivery(raw)
}

func (t boltTx) Deliveries(id ArticleID) ([]Delivery, error) {
	var ds []Delivery
	prefix := append([]byte(id), 0)
	c := t.tx.Bucket(bucketDeliveries).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		d, err := decodeDelivery(v)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}

func (t boltTx) Due(target string, class Class, now time.Time, limit int) (keys []Key, next time.Time, err error) {
	prefix := duePrefix(target, class)
	c := t.tx.Bucket(bucketDue).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		rest := k[len(prefix):]
		at := decodeTime(rest)
		if len(keys) == limit || at.After(now) {
			return keys, at, nil
		}
		keys = append(keys, Key{ArticleID(rest[8:]), target})
	}
	return keys, time.Time{}, nil
}

func (t boltTx) DueChecks(now time.Time, limit int) (ids []ArticleID, next time.Time, err error) {
	c := t.tx.Bucket(bucketChecks).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		at := decodeTime(k)
		if len(ids) == limit || at.After(now) {
			return ids, at, nil
		}
		ids = append(ids, ArticleID(k[8:]))
	}
	return ids, time.Time{}, nil
}

func (t boltTx) Waiting(target string) (int, error) {
	prefix := duePrefix(target, Changing)
	n := 0
	c := t.tx.Bucket(bucketDue).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		n++
	}
	return n, nil
}

func (t boltTx) Unfinished(fn func(ArticleID) error) error {
	c := t.tx.Bucket(bucketUnfinished).Cursor()
	for k, _ := c.First(); k != nil; {
		id, _, _ := bytes.Cut(k, []byte{0})
		id = bytes.Clone(id)
		if err := fn(ArticleID(id)); err != nil {
			return err
		}
		k, _ = c.Seek(append(id, 1)) // behind every target of this article
	}
	return nil
}

func (t boltTx) Newest(limit int) ([]ArticleID, error) {
	var ids []ArticleID
	c := t.tx.Bucket(bucketNewest).Cursor()
	for k, _ := c.Last(); k != nil && len(ids) < limit; k, _ = c.Prev() {
		ids = append(ids, ArticleID(k[8:]))
	}
	return ids, nil
}

func (t boltTx) SameText(fingerprint string) ([]ArticleID, error) {
	var ids []ArticleID
	prefix := append([]byte(fingerprint), 0)
	c := t.tx.Bucket(bucketText).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		ids = append(ids, ArticleID(k[len(prefix):]))
	}
	return ids, nil
}

func (t boltTx) ReceiptOwner(target, remoteID string) (ArticleID, bool, error) {
	v := t.tx.Bucket(bucketReceipts).Get(receiptKey(target, remoteID))
	return ArticleID(v), v != nil, nil
}

func (t boltTx) Memo(k Key, generation int, name string) (string, bool, error) {
	v := t.tx.Bucket(bucketMemos).Get(memoKey(k, generation, name))
	return string(v), v != nil, nil
}

func (t boltTx) Hold(account string) (Hold, error) {
	h := Hold{Account: account}
	if err := t.get(bucketHolds, []byte(account), &h); err != nil && !errors.Is(err, ErrNotFound) {
		return h, err
	}
	return h, nil
}

func (t boltTx) PutArticle(a Article) error {
	old, err := t.Article(a.ID)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case old.Version != a.Version:
		return fmt.Errorf("save article %s: %w", a.ID, ErrConflict)
	}
	text := t.tx.Bucket(bucketText)
	if errors.Is(err, ErrNotFound) {
		if err := t.tx.Bucket(bucketNewest).Put(timeKey(a.AcceptedAt, a.ID), nil); err != nil {
			return err
		}
	} else if old.Fingerprint != a.Fingerprint {
		if err := text.Delete(textKey(old)); err != nil {
			return err
		}
	}
	if err := text.Put(textKey(a), nil); err != nil {
		return err
	}
	checks := t.tx.Bucket(bucketChecks)
	if !old.CheckDue.IsZero() {
		if err := checks.Delete(timeKey(old.CheckDue, a.ID)); err != nil {
			return err
		}
	}
	if !a.CheckDue.IsZero() {
		if err := checks.Put(timeKey(a.CheckDue, a.ID), nil); err != nil {
			return err
		}
	}
	a.Version++
	return t.put(bucketArticles, []byte(a.ID), a)
}

func (t boltTx) PutDelivery(d Delivery) error {
	key := deliveryKey(d.Key())
	deliveries, due := t.tx.Bucket(bucketDeliveries), t.tx.Bucket(bucketDue)
	old := deliveries.Get(key)
	version, wake := decodeHead(old)
	if version != d.Version {
		return fmt.Errorf("save delivery %s: %w", d.Key(), ErrConflict)
	}
	next := dueKey(d)
	if wake != nil && !bytes.Equal(wake, next) {
		if err := due.Delete(wake); err != nil {
			return err
		}
	}
	if next != nil {
		if err := due.Put(next, nil); err != nil {
			return err
		}
	}
	unfinished := t.tx.Bucket(bucketUnfinished)
	var err error
	at, _ := unfinished.Cursor().Seek(key)
	switch listed := bytes.Equal(at, key); {
	case d.Closed() && listed:
		err = unfinished.Delete(key)
	case !d.Closed() && !listed: // a page that does not change need not be written
		err = unfinished.Put(key, nil)
	}
	if err != nil {
		return err
	}
	if id := d.Receipt.ID; id != "" {
		if err := t.tx.Bucket(bucketReceipts).Put(receiptKey(d.Target, id), []byte(d.Article)); err != nil {
			return err
		}
	}
	d.Version++
	raw, err := encodeDelivery(d, next)
	if err != nil {
		return err
	}
	return deliveries.Put(key, raw)
}

// A stored delivery begins with its version and its key in the due index, so
// that a save need not decode the record that it replaces: version (8 bytes), the
// key's length (2 bytes), the key, then the record.

func encodeDelivery(d Delivery, wake []byte) ([]byte, error) {
	record, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode delivery %s: %w", d.Key(), err)
	}
	raw := make([]byte, 0, headSize+len(wake)+len(record))
	raw = binary.BigEndian.AppendUint64(raw, d.Version)
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(wake)))
	return append(append(raw, wake...), record...), nil
}

const headSize = 8 + 2

// decodeHead returns version and due key of a stored delivery; 0 and nil of one
// that is not stored. The key is a copy: bbolt's own bytes end with the next write.
func decodeHead(raw []byte) (version uint64, wake []byte) {
	if len(raw) < headSize {
		return 0, nil
	}
	n := int(binary.BigEndian.Uint16(raw[8:]))
	if n == 0 || len(raw) < headSize+n {
		return binary.BigEndian.Uint64(raw), nil
	}
	return binary.BigEndian.Uint64(raw), bytes.Clone(raw[headSize : headSize+n])
}

func decodeDelivery(raw []byte) (d Delivery, err error) {
	n := headSize
	if len(raw) >= headSize {
		n += int(binary.BigEndian.Uint16(raw[8:]))
	}
	if len(raw) < n {
		return d, fmt.Errorf("delivery record of %d bytes: %w", len(raw), ErrDamaged)
	}
	if err := json.Unmarshal(raw[n:], &d); err != nil {
		return d, fmt.Errorf("delivery record: %w: %w", ErrDamaged, err)
	}
	return d, nil
}

func (t boltTx) PutMemo(k Key, generation int, name, value string) error {
	return t.tx.Bucket(bucketMemos).Put(memoKey(k, generation, name), []byte(value))
}

func (t boltTx) PutHold(h Hold) error { return t.put(bucketHolds, []byte(h.Account), h) }

func (t boltTx) Verdict(key string) ([]byte, bool, error) {
	v := t.tx.Bucket(bucketVerdicts).Get([]byte(key))
	return bytes.Clone(v), v != nil, nil
}

func (t boltTx) PutVerdict(key string, verdict []byte) error {
	return t.tx.Bucket(bucketVerdicts).Put([]byte(key), verdict)
}

func (t boltTx) Notices(limit int) ([]Notice, error) {
	var ns []Notice
	c := t.tx.Bucket(bucketNotices).Cursor()
	for k, v := c.First(); k != nil && len(ns) < limit; k, v = c.Next() {
		var n Notice
		if err := json.Unmarshal(v, &n); err != nil {
			return nil, fmt.Errorf("notice: %w: %w", ErrDamaged, err)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

func (t boltTx) PutNotice(n Notice) error {
	id, err := t.tx.Bucket(bucketNotices).NextSequence()
	if err != nil {
		return err
	}
	n.ID = id
	return t.put(bucketNotices, binary.BigEndian.AppendUint64(nil, id), n)
}

func (t boltTx) DropNotice(id uint64) error {
	return t.tx.Bucket(bucketNotices).Delete(binary.BigEndian.AppendUint64(nil, id))
}
