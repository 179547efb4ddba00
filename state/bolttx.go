package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"herald/platforms"
)

// The buckets. Parts of a key are separated by a zero byte; times are eight
// bytes, big endian, so that they sort.
var (
	bucketMeta       = []byte("meta")       // "format" → "1"
	bucketArticles   = []byte("articles")   // id → Article
	bucketDeliveries = []byte("deliveries") // id, target → Delivery
	bucketDue        = []byte("due")        // target, class, time, id → nothing
	bucketUnfinished = []byte("unfinished") // id, target → nothing
	bucketNewest     = []byte("newest")     // time, id → nothing
	bucketText       = []byte("text")       // fingerprint, id → nothing
	bucketReceipts   = []byte("receipts")   // target, remote id → id
	bucketMemos      = []byte("memos")      // id, target, generation, name → value
	bucketHolds      = []byte("holds")      // account → Hold

	buckets = [][]byte{
		bucketMeta, bucketArticles, bucketDeliveries, bucketDue, bucketUnfinished,
		bucketNewest, bucketText, bucketReceipts, bucketMemos, bucketHolds,
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
	return d, t.get(bucketDeliveries, deliveryKey(k), &d)
}

func (t boltTx) Deliveries(id ArticleID) ([]Delivery, error) {
	var ds []Delivery
	prefix := append([]byte(id), 0)
	c := t.tx.Bucket(bucketDeliveries).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var d Delivery
		if err := json.Unmarshal(v, &d); err != nil {
			return nil, fmt.Errorf("record %q: %w: %w", k, ErrDamaged, err)
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
	if err := t.get(bucketHolds, []byte(account), &h); err != nil && err != ErrNotFound {
		return h, err
	}
	return h, nil
}

func (t boltTx) PutArticle(a Article) error {
	old, err := t.Article(a.ID)
	switch {
	case err != nil && err != ErrNotFound:
		return err
	case old.Version != a.Version:
		return fmt.Errorf("save article %s: %w", a.ID, ErrConflict)
	}
	text := t.tx.Bucket(bucketText)
	if err == ErrNotFound {
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
	a.Version++
	return t.put(bucketArticles, []byte(a.ID), a)
}

func (t boltTx) PutDelivery(d Delivery) error {
	key := deliveryKey(d.Key())
	old, err := t.Delivery(d.Key())
	switch {
	case err != nil && err != ErrNotFound:
		return err
	case old.Version != d.Version:
		return fmt.Errorf("save delivery %s: %w", d.Key(), ErrConflict)
	}
	due := t.tx.Bucket(bucketDue)
	if !old.Due.IsZero() {
		if err := due.Delete(dueKey(old)); err != nil {
			return err
		}
	}
	if !d.Due.IsZero() {
		if err := due.Put(dueKey(d), nil); err != nil {
			return err
		}
	}
	unfinished := t.tx.Bucket(bucketUnfinished)
	if d.Closed() {
		err = unfinished.Delete(key)
	} else {
		err = unfinished.Put(key, nil)
	}
	if err != nil {
		return err
	}
	if id := d.Receipt.ID; id != "" && id != old.Receipt.ID {
		if err := t.tx.Bucket(bucketReceipts).Put(receiptKey(d.Target, id), []byte(d.Article)); err != nil {
			return err
		}
	}
	d.Version++
	return t.put(bucketDeliveries, key, d)
}

func (t boltTx) PutMemo(k Key, generation int, name, value string) error {
	return t.tx.Bucket(bucketMemos).Put(memoKey(k, generation, name), []byte(value))
}

func (t boltTx) PutHold(h Hold) error { return t.put(bucketHolds, []byte(h.Account), h) }

func deliveryKey(k Key) []byte {
	b := make([]byte, 0, len(k.Article)+1+len(k.Target))
	b = append(b, k.Article...)
	b = append(b, 0)
	return append(b, k.Target...)
}

func duePrefix(target string, class Class) []byte {
	b := make([]byte, 0, len(target)+64)
	b = append(b, target...)
	return append(b, 0, byte(class))
}

func dueKey(d Delivery) []byte {
	b := duePrefix(d.Target, ClassOf(d.State))
	b = appendTime(b, d.Due)
	return append(b, d.Article...)
}

func timeKey(at time.Time, id ArticleID) []byte { return append(appendTime(nil, at), id...) }

func textKey(a Article) []byte {
	return append(append([]byte(a.Fingerprint), 0), a.ID...)
}

func receiptKey(target, remoteID string) []byte {
	return append(append([]byte(target), 0), remoteID...)
}

// memoKey puts uploaded media beside the generations, since they outlive them.
func memoKey(k Key, generation int, name string) []byte {
	b := append(deliveryKey(k), 0)
	if !isMedia(name) {
		b = strconv.AppendInt(b, int64(generation), 10)
	}
	return append(append(b, 0), name...)
}

func isMedia(name string) bool {
	return len(name) >= len(platforms.MediaKey) && name[:len(platforms.MediaKey)] == platforms.MediaKey
}

// appendTime encodes a time so that the bytes sort as the times do; it covers
// the years 1678 to 2262.
func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano())^(1<<63))
}

func decodeTime(b []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(b)^(1<<63))).UTC()
}
