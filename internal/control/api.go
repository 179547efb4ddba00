// Package control is how the command line talks to the running daemon: JSON over
// HTTP on a Unix socket. It passes questions and commands on to the driver and
// decides nothing itself; who may use it is decided by the socket's permissions.
package control

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"herald/compensate"
	"herald/state"
)

// Desk is the driver as the socket sees it.
type Desk interface {
	Reports(limit int, attention bool, now time.Time) ([]state.Report, error)
	Report(id state.ArticleID, now time.Time) (state.Report, error)
	Targets(now time.Time) ([]compensate.TargetReport, error)
	Retry(id state.ArticleID, target string, now time.Time) ([]compensate.Change, error)
	RetryTarget(target string, now time.Time) ([]compensate.Change, error)
	Resolve(id state.ArticleID, target, url string, now time.Time) ([]compensate.Change, error)
	Cancel(id state.ArticleID, target string, now time.Time) ([]compensate.Change, error)
	Withdraw(id state.ArticleID, target string, now time.Time) ([]compensate.Change, error)
	Republish(id state.ArticleID, target string, now time.Time) ([]compensate.Change, error)
	Approve(id state.ArticleID, target string, now time.Time) ([]compensate.Change, error)
}

// Info says who answers.
type Info struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	DataDir string    `json:"data_dir"`
	// Beat is when the slowest lane last gave a sign of life.
	Beat time.Time `json:"beat"`
	// Lost counts the articles that have stored sources, but that the store does
	// not know.
	Lost int64 `json:"lost"`
}

// Well reports whether every lane has given a sign of life lately. A herald
// without targets has no lane that could stand still.
func (i Info) Well(now time.Time) bool { return i.Beat.IsZero() || now.Sub(i.Beat) < staleBeat }

// staleBeat is the age of a heart-beat from which the daemon is not well: lanes
// beat every few seconds, and a store that syncs slowly may delay a beat.
const staleBeat = 30 * time.Second

// Command is what a person asks for. URL and Missing belong to resolve: where
// the post is, or that there is none.
type Command struct {
	Article state.ArticleID `json:"article,omitempty"`
	Target  string          `json:"target,omitempty"`
	URL     string          `json:"url,omitempty"`
	Missing bool            `json:"missing,omitempty"`
}

// Status is the answer to status.
type Status struct {
	Articles []state.Report `json:"articles"`
}

// Code names an error on the socket.
type Code string

// The codes of errors.
const (
	CodeNotFound    Code = "not_found"
	CodeNothing     Code = "nothing_to_do"
	CodeInvalid     Code = "invalid"
	CodeConflict    Code = "conflict"
	CodeUnavailable Code = "unavailable" // the daemon does not answer
	CodeInternal    Code = "internal"
)

// Error is an error on the socket.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Retryable says that the same request may succeed later, after RetryAfter
	// seconds where that is not zero.
	Retryable  bool    `json:"retryable"`
	RetryAfter float64 `json:"retry_after,omitempty"`
	// Changes tell, with CodeNothing, why nothing was done.
	Changes []compensate.Change `json:"changes,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// failure makes a socket error of err, and its HTTP status.
func failure(err error, changes []compensate.Change) (*Error, int) {
	e := &Error{Code: CodeInternal, Message: err.Error(), Changes: changes}
	switch {
	case errors.Is(err, state.ErrNotFound), errors.Is(err, errNoRequest):
		e.Code = CodeNotFound
		return e, http.StatusNotFound
	case errors.Is(err, compensate.ErrNothing):
		e.Code = CodeNothing
		return e, http.StatusConflict
	case errors.Is(err, state.ErrConflict):
		e.Code, e.Retryable, e.RetryAfter = CodeConflict, true, 1
		return e, http.StatusConflict
	case errors.Is(err, errInvalid):
		e.Code = CodeInvalid
		return e, http.StatusBadRequest
	}
	return e, http.StatusInternalServerError
}

var (
	errInvalid   = errors.New("invalid request")
	errNoRequest = errors.New("this herald knows no such request")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errInvalid, fmt.Sprintf(format, args...))
}
