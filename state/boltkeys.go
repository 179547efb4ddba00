package state

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"herald/platforms"
)

// Keys are made here and nowhere else. Parts are separated by a zero byte, which
// neither ids nor names can hold.

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

// dueKey is a delivery's place in the due index; nil when it has none.
func dueKey(d Delivery) []byte {
	if d.Due.IsZero() {
		return nil
	}
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
	if !strings.HasPrefix(name, platforms.MediaKey) {
		b = strconv.AppendInt(b, int64(generation), 10)
	}
	return append(append(b, 0), name...)
}

// appendTime encodes a time so that the bytes sort as the times do; it covers
// the years 1678 to 2262.
func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano())^(1<<63))
}

func decodeTime(b []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(b)^(1<<63))).UTC()
}
