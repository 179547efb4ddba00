package platforms

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Error is a platform's failure. Every error that leaves an adapter is one; who
// reads it asks [KindOf], never the text.
type Error struct {
	Platform string // target type, "wechat"
	Op       string // the call, "draft/add"
	Kind     Kind
	Code     string // the platform's own code, or the HTTP status, or empty
	Message  string // for people; carries no secret, no URL with a query
	// RetryAt is when the platform said to come back; zero when it did not.
	RetryAt time.Time
	Err     error // the cause, if there is one
}

// Error says platform, operation, code and message in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Platform)
	if e.Op != "" {
		b.WriteString(" " + e.Op)
	}
	b.WriteString(": " + string(e.Kind))
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Rejectf returns a [Rejected] error, for Render and for limits known before
// the call.
func Rejectf(platform, op, format string, args ...any) *Error {
	return &Error{Platform: platform, Op: op, Kind: Rejected, Message: fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of err: empty for nil, [Unknown] for an error that is
// no platform's.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Unknown
}

// Codes is one adapter's table: the platform's code → what it means.
type Codes map[string]Kind

// Kind returns what code means; an unlisted one is [Unknown].
func (c Codes) Kind(code string) Kind {
	if k, ok := c[code]; ok {
		return k
	}
	return Unknown
}

// CodeNoID is the Code of an [Uncertain] error that says: accepted, but no id
// came back. Such a post is looked up, and never sent a second time by itself.
const CodeNoID = "no_id"

// Secret is a credential. It prints as [redacted] everywhere but through Reveal.
type Secret string

const redacted = "[redacted]"

// Reveal returns the credential itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String hides the credential; an empty one stays empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the credential from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the credential from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the credential from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
