package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"herald/compensate"
	"herald/state"
)

const (
	// answerTimeout is how long the daemon has to answer: it reads a local file,
	// so a second is ample, and people wait for it.
	answerTimeout = time.Second
	// perArticle is added for each article beyond the usual number.
	perArticle = time.Millisecond
	// workTimeout is how long a daemon that has just answered may take over what
	// grows with the number of articles: a command on all those of a target.
	workTimeout = time.Minute
)

// ErrNotRunning says that nobody answers on the socket.
var ErrNotRunning = errors.New("herald is not running")

// Client asks the daemon.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient makes a client of the daemon on a socket.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Info asks who answers.
func (c *Client) Info(ctx context.Context) (Info, error) {
	return ask[Info](ctx, c, answerTimeout, http.MethodGet, "info", nil)
}

// Status asks for the newest limit articles, or with failed for all that need a
// person.
func (c *Client) Status(ctx context.Context, limit int, failed bool) (Status, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if !failed {
		patience := answerTimeout + perArticle*time.Duration(max(0, limit-defaultLimit))
		return ask[Status](ctx, c, patience, http.MethodGet, "status?"+q.Encode(), nil)
	}
	q.Set("failed", "true")
	if _, err := c.Info(ctx); err != nil {
		return Status{}, err
	}
	return ask[Status](ctx, c, workTimeout, http.MethodGet, "status?"+q.Encode(), nil)
}

// Article asks for one article with its history.
func (c *Client) Article(ctx context.Context, id state.ArticleID) (Status, error) {
	return ask[Status](ctx, c, answerTimeout, http.MethodGet, "articles/"+url.PathEscape(string(id)), nil)
}

// Backup writes a consistent copy of the store to w. It takes as long as the
// store is large.
func (c *Client) Backup(ctx context.Context, w io.Writer) (int64, error) {
	if _, err := c.Info(ctx); err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://herald/v1/backup", nil)
	if err != nil {
		return 0, fmt.Errorf("ask herald: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(err, answerTimeout)
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, resp.Body)
	if err != nil {
		return n, fmt.Errorf("read the copy: %w", err)
	}
	return n, nil
}

// Targets asks for the targets.
func (c *Client) Targets(ctx context.Context) ([]compensate.TargetReport, error) {
	return ask[[]compensate.TargetReport](ctx, c, answerTimeout, http.MethodGet, "targets", nil)
}

// Do gives a command by its name: retry, resolve, cancel, withdraw, republish,
// approve. It asks first whether herald answers at all, so that one that hangs
// is told from one that is at work.
func (c *Client) Do(ctx context.Context, name string, cmd Command) ([]compensate.Change, error) {
	if _, err := c.Info(ctx); err != nil {
		return nil, err
	}
	return ask[[]compensate.Change](ctx, c, workTimeout, http.MethodPost, name, cmd)
}

// ask makes one request, whose answer is there within patience or not at all.
func ask[T any](ctx context.Context, c *Client, patience time.Duration, method, path string, body any) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return answer, fmt.Errorf("encode command: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://herald/v1/"+path, payload)
	if err != nil {
		return answer, fmt.Errorf("ask herald: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer, c.unreachable(err, patience)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var wrapped struct{ Error *Error }
		if err := json.NewDecoder(resp.Body).Decode(&wrapped); err != nil || wrapped.Error == nil {
			return answer, &Error{Code: CodeInternal, Message: "herald answered " + resp.Status}
		}
		return answer, wrapped.Error
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return answer, c.unreachable(err, patience)
	}
	return answer, nil
}

// unreachable says why nobody answered.
func (c *Client) unreachable(err error, patience time.Duration) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w (nobody answers on %s)", ErrNotRunning, c.socket)
	case errors.Is(err, fs.ErrPermission):
		return &Error{Code: CodeUnavailable, Message: fmt.Sprintf("no permission to use %s; join the group that owns it", c.socket)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EAGAIN): // EAGAIN: too many wait in line
		return &Error{
			Code: CodeUnavailable, Retryable: true, RetryAfter: answerTimeout.Seconds(),
			Message: fmt.Sprintf("herald does not answer on %s within %s; it hangs, or the machine is overloaded", c.socket, patience),
		}
	}
	return &Error{Code: CodeUnavailable, Retryable: true, Message: fmt.Sprintf("ask herald on %s: %v", c.socket, err)}
}
