package control_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/internal/control"
)

func TestTheSocketHasThePermissionsOfTheConfiguration(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o666} {
		path := filepath.Join(t.TempDir(), "s.sock")
		l, err := control.Listen(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != fs.ModeSocket|mode {
			t.Errorf("the socket is %v, want %v", got, fs.ModeSocket|mode)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after the stop the socket is still there: %v", err)
		}
	}
}

func TestASocketThatNobodyAnswersOnIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false) // as kill -9 leaves it
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := control.Listen(path, 0o660)
	if err != nil {
		t.Fatalf("the stale socket is in the way: %v", err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the new socket does not answer: %v", err)
	}
	_ = conn.Close() // it only had to answer
}

func TestASocketThatSomebodyAnswersOnIsLeftAlone(t *testing.T) {
	t.Parallel()
	path, _ := serve(t, &desk{})
	if _, err := control.Listen(path, 0o660); err == nil || !strings.Contains(err.Error(), "another herald answers") {
		t.Errorf("a second listener got %v", err)
	}
	if _, err := control.NewClient(path).Info(t.Context()); err != nil {
		t.Errorf("the first one does not answer any more: %v", err)
	}
}

func TestAFileThatIsNoSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Listen(path, 0o660); err == nil || !strings.Contains(err.Error(), "control.socket") {
		t.Errorf("got %v, want an error that names control.socket", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "mine" {
		t.Errorf("the file is now %q, %v", got, err)
	}
}

func TestNobodyOnTheSocketMeansNotRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{stale, filepath.Join(dir, "none.sock"), filepath.Join(dir, "no", "folder.sock")} {
		_, err := control.NewClient(path).Status(t.Context(), 50, false)
		if !errors.Is(err, control.ErrNotRunning) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %v with the path", path, err, control.ErrNotRunning)
		}
	}
}

func TestWhoMayNotUseTheSocketIsToldHowToGetLeave(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may use every socket")
	}
	path, _ := serve(t, &desk{})
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := control.NewClient(path).Status(t.Context(), 50, false)
	if got, ok := errors.AsType[*control.Error](err); !ok || got.Code != control.CodeUnavailable || got.Retryable || !strings.Contains(got.Message, "join the group") {
		t.Errorf("got %v, want the advice to join the group", err)
	}
}

// listen answers every connection with handle, until the test ends.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return path
}

// B97: a daemon that hangs is told from one that is not there, within a moment.
func TestADaemonThatHangsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	path := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	questions := map[string]func(*control.Client) error{
		"info":    func(c *control.Client) error { _, err := c.Info(t.Context()); return err },
		"status":  func(c *control.Client) error { _, err := c.Status(t.Context(), 50, false); return err },
		"failed":  func(c *control.Client) error { _, err := c.Status(t.Context(), 50, true); return err },
		"article": func(c *control.Client) error { _, err := c.Article(t.Context(), "a"); return err },
		"targets": func(c *control.Client) error { _, err := c.Targets(t.Context()); return err },
		"retry": func(c *control.Client) error {
			_, err := c.Do(t.Context(), "retry", control.Command{Target: "blog"})
			return err
		},
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			err := ask(control.NewClient(path))
			took := time.Since(began)
			got, ok := errors.AsType[*control.Error](err)
			if !ok || got.Code != control.CodeUnavailable || !got.Retryable || got.RetryAfter != 1 {
				t.Errorf("got %#v, want unavailable and to be retried after a second", err)
			}
			if took < 900*time.Millisecond || took > 3*time.Second {
				t.Errorf("it took %s, want about a second", took)
			}
		})
	}
}

func TestHalfAnAnswerIsNoAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":       "",
		"half a header": "HTTP/1.1 200 OK\r\nContent-Le",
		"half a body":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"articles\":[{\"id\":",
	}
	for name, bytes := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := listen(t, func(conn net.Conn) {
				buf := make([]byte, 1024)
				_, _ = conn.Read(buf)
				_, _ = io.WriteString(conn, bytes)
			})
			_, err := control.NewClient(path).Status(t.Context(), 50, false)
			got, ok := errors.AsType[*control.Error](err)
			if !ok || got.Code != control.CodeUnavailable || !got.Retryable {
				t.Errorf("got %v, want unavailable and retryable", err)
			}
		})
	}
}

func TestAnAnswerThatIsNotHeraldsIsSaid(t *testing.T) {
	t.Parallel()
	path := listen(t, func(conn net.Conn) {
		buf := make([]byte, 1024)
		_, _ = conn.Read(buf)
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops")
	})
	_, err := control.NewClient(path).Status(t.Context(), 50, false)
	if got, ok := errors.AsType[*control.Error](err); !ok || got.Code != control.CodeInternal || !strings.Contains(got.Message, "502") {
		t.Errorf("got %v, want an internal error with the status", err)
	}
}

func TestHealthFollowsTheHeartBeat(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		beat       time.Time
		want       int
	}{
		{"a lane has just beaten", "/healthz", time.Now(), http.StatusOK},
		{"there are no lanes", "/healthz", time.Time{}, http.StatusOK},
		{"a lane stands still", "/healthz", time.Now().Add(-time.Minute), http.StatusServiceUnavailable},
		{"the lanes have not begun", "/healthz", time.Unix(0, 0), http.StatusServiceUnavailable},
		{"nothing else is there", "/v1/status", time.Now(), http.StatusNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- control.ServeHealth(ctx, l, func() control.Info { return control.Info{Beat: tt.beat} }, nil, slog.New(slog.DiscardHandler))
			}()
			resp, err := http.Get("http://" + l.Addr().String() + tt.path)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close() // only the status counts
			if resp.StatusCode != tt.want {
				t.Errorf("GET %s answered %d, want %d", tt.path, resp.StatusCode, tt.want)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
