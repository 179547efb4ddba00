package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"herald/compensate"
	"herald/state"
)

// Server answers on the socket.
type Server struct {
	desk Desk
	info func() Info
	log  *slog.Logger
	mux  *http.ServeMux
}

// NewServer makes a server in front of desk. backup writes a copy of the store.
func NewServer(desk Desk, info func() Info, backup func(io.Writer) (int64, error), log *slog.Logger) *Server {
	s := &Server{desk: desk, info: info, log: log, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /v1/backup", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		if _, err := backup(w); err != nil { // the client sees a body that ends early
			log.Error("backup", "error", err)
			panic(http.ErrAbortHandler)
		}
	})
	s.mux.HandleFunc("GET /v1/info", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, info()) })
	s.mux.HandleFunc("GET /v1/status", s.status)
	s.mux.HandleFunc("GET /v1/articles/{id}", s.article)
	s.mux.HandleFunc("GET /v1/targets", s.targets)
	s.command("retry", func(c Command, now time.Time) ([]compensate.Change, error) {
		if c.Article == "" && c.Target == "" {
			return nil, invalid("name an article or a target")
		}
		if c.Article == "" {
			return desk.RetryTarget(c.Target, now)
		}
		return desk.Retry(c.Article, c.Target, now)
	})
	s.command("resolve", s.resolve)
	s.onArticle("cancel", desk.Cancel)
	s.onArticle("withdraw", desk.Withdraw)
	s.onArticle("republish", desk.Republish)
	s.onArticle("approve", desk.Approve)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, fmt.Errorf("%w: %s %s", errNoRequest, r.Method, r.URL.Path), nil)
	})
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Listen opens the socket with the given permissions. A socket that refuses is
// left by a daemon that was killed and is replaced; one that answers, or is too
// busy to, has an owner, and what is no socket was never herald's.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("open control socket %s: %w", path, err)
	}
	// Linux makes the file with the permissions that the socket has when it is
	// bound, so that there is no moment at which everybody may connect.
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.Fchmod(int(fd), uint32(mode.Perm())) // Chmod below has the last word
		})
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	if err := os.Chmod(path, mode.Perm()); err != nil {
		return nil, errors.Join(fmt.Errorf("open control socket: %w", err), l.Close())
	}
	return l, nil
}

// removeStale removes the socket file of a daemon that is gone.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("something else has this name; move it away, or choose another with control.socket")
	}
	conn, err := net.DialTimeout("unix", path, answerTimeout)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, fs.ErrNotExist): // its owner has just removed it
		return nil
	case err == nil:
		_ = conn.Close() // it only had to answer
	}
	return errors.New("another herald answers on it")
}

// Serve answers on l until ctx ends, and lets requests under way end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := serve(ctx, l, s, s.log); err != nil {
		return fmt.Errorf("serve control socket: %w", err)
	}
	return nil
}

// shutdownTimeout is how long requests under way have to end.
const shutdownTimeout = time.Second

func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // whoever asked sees the connection end
	}
	if fault := <-ended; !errors.Is(fault, http.ErrServerClosed) {
		err = errors.Join(err, fault)
	}
	return err
}

// defaultLimit is how many articles status lists unless asked for another number.
const defaultLimit = 50

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	if err != nil || limit < 1 {
		s.fail(w, invalid("limit %q is not a positive number", q.Get("limit")), nil)
		return
	}
	failed, err := strconv.ParseBool(cmp.Or(q.Get("failed"), "false"))
	if err != nil {
		s.fail(w, invalid("failed %q is neither true nor false", q.Get("failed")), nil)
		return
	}
	reports, err := s.desk.Reports(limit, failed, time.Now())
	if err != nil {
		s.fail(w, err, nil)
		return
	}
	reply(w, http.StatusOK, Status{reports})
}

func (s *Server) article(w http.ResponseWriter, r *http.Request) {
	rep, err := s.desk.Report(state.ArticleID(r.PathValue("id")), time.Now())
	if err != nil {
		s.fail(w, err, nil)
		return
	}
	reply(w, http.StatusOK, Status{[]state.Report{rep}})
}

func (s *Server) targets(w http.ResponseWriter, _ *http.Request) {
	reports, err := s.desk.Targets(time.Now())
	if err != nil {
		s.fail(w, err, nil)
		return
	}
	reply(w, http.StatusOK, reports)
}

// act is what a command does.
type act func(Command, time.Time) ([]compensate.Change, error)

// resolve takes a person's word. What it says has no default: a forgotten
// address must not send a second post.
func (s *Server) resolve(c Command, now time.Time) ([]compensate.Change, error) {
	switch {
	case c.Article == "" || c.Target == "":
		return nil, invalid("name an article and a target")
	case c.Missing == (c.URL != ""):
		return nil, invalid("say either where the post is, or that it is missing")
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Scheme == "") {
		return nil, invalid("%q is no address; write it with https://", c.URL)
	}
	return s.desk.Resolve(c.Article, c.Target, c.URL, now)
}

// onArticle answers a command on an article, or on its delivery on one target.
func (s *Server) onArticle(name string, do func(state.ArticleID, string, time.Time) ([]compensate.Change, error)) {
	s.command(name, func(c Command, now time.Time) ([]compensate.Change, error) {
		if c.Article == "" {
			return nil, invalid("name an article")
		}
		return do(c.Article, c.Target, now)
	})
}

func (s *Server) command(name string, do act) {
	s.mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		c, err := readCommand(w, r)
		if err != nil {
			s.fail(w, err, nil)
			return
		}
		changes, err := do(c, time.Now())
		if err != nil {
			s.fail(w, err, changes)
			return
		}
		s.log.Info("command", "command", name, "article", c.Article, "target", c.Target)
		reply(w, http.StatusOK, changes)
	})
}

// bodyLimit is more than any command needs.
const bodyLimit = 64 << 10

func readCommand(w http.ResponseWriter, r *http.Request) (c Command, err error) {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, invalid("read command: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c, invalid("read command: something follows it")
	}
	return c, nil
}

func (s *Server) fail(w http.ResponseWriter, err error, changes []compensate.Change) {
	e, status := failure(err, changes)
	if status == http.StatusInternalServerError {
		s.log.Error("request met a fault", "error", err)
	}
	reply(w, status, map[string]*Error{"error": e})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
