package storm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/internal/control"
	"herald/platforms/platformtest"
	"herald/state"
)

// deliveries reads the records of an article while no daemon runs; none before it
// is admitted.
func (p *place) deliveries(id string) (ds []state.Delivery) {
	p.t.Helper()
	p.view(func(r state.Reader) (err error) {
		ds, err = r.Deliveries(state.ArticleID(id))
		return err
	})
	return ds
}

// B14: told to stop at any moment, herald ends what it has begun. Nothing is
// uncertain afterwards, and nothing is done a second time.
func TestToldToStopAtAnyMomentNothingIsLeftOpen(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			eachFailpoint(t, w.step, func(t *testing.T, failpoint string) bool {
				d := newDrill(t, w.make)
				d.p.drop("a", title(1))
				first := d.p.start(failpoint, "FAILPOINT_SIGNAL=TERM")
				first.await("a", published(1))
				told := strings.Contains(first.log.String(), "failpoint: ")
				if told {
					first.wait() // a second signal would end it at once
					if first.cmd.ProcessState.ExitCode() != 0 {
						t.Errorf("the daemon ended with %v", first.cmd.ProcessState)
					}
				} else {
					first.kill()
				}
				for _, dl := range d.p.deliveries("a") {
					if dl.State == state.Sending || dl.State == state.Uncertain {
						t.Errorf("it left the delivery %s: %+v", dl.State, dl.Error)
					}
				}
				second := d.p.start()
				second.await("a", published(1))
				second.stop()
				d.has("a", 1, 0, title(1))
				return told
			})
		})
	}
}

// B14: a call that hangs longer than the grace is cut short. Only of one that may
// have created a post the outcome is open then.
func TestToldToStopDuringACallThatHangsItEndsWithTheGrace(t *testing.T) {
	for _, tt := range []struct {
		phase, endpoint string
		prepare         func(s *platformtest.LoopbackServer)
		command         string // a person's, on the published article
		left            state.State
		spent           int
	}{
		{phase: "upload", endpoint: "POST /media", left: state.Queued, spent: 0},
		{phase: "publish", endpoint: "POST /posts", left: state.Uncertain, spent: 1},
		{
			phase: "look-up", endpoint: "GET /posts", left: state.Uncertain, spent: 1,
			prepare: func(s *platformtest.LoopbackServer) { s.Script("POST /posts", 1, platformtest.LoseReply()) },
		},
		{
			phase: "review", endpoint: "GET /posts/{id}", left: state.Reviewing, spent: 1,
			prepare: func(s *platformtest.LoopbackServer) { s.Script("POST /posts", 1, platformtest.ReviewFirst(2)) },
		},
		{phase: "update", endpoint: "PUT /posts/{id}", command: "drop", left: state.Updating},
		{phase: "withdraw", endpoint: "DELETE /posts/{id}", command: "withdraw", left: state.Withdrawing},
	} {
		t.Run(tt.phase, func(t *testing.T) {
			t.Parallel()
			d := newDrill(t, newLoopback)
			server := d.w.(*loopback).server
			d.p.edit("grace: 5s", "grace: 300ms")
			if tt.command != "" {
				d.p.drop("a", title(1))
				d.through("", "a", published(1))
			}
			if tt.prepare != nil {
				tt.prepare(server)
			}
			server.Script(tt.endpoint, 1, platformtest.HangUntil(nil))

			first := d.p.start()
			revision, wanted := 1, published(1)
			switch tt.command {
			case "":
				d.p.drop("a", title(1))
			case "drop":
				d.p.drop("a", title(2))
				revision, wanted = 2, published(2)
			default:
				first.command(tt.command, "a")
				wanted = withdrawn
			}
			if err := first.poll(func(context.Context) (bool, error) { return server.Calls(tt.endpoint) > 0, nil }); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			first.stop()
			if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
				t.Errorf("it took %s to stop, the grace is 300ms", took)
			}
			if dl := d.p.deliveries("a")[0]; dl.State != tt.left || dl.Spent != tt.spent {
				t.Errorf("it left the delivery %s with %d attempts spent (%+v), want %s with %d", dl.State, dl.Spent, dl.Error, tt.left, tt.spent)
			}

			second := d.p.start()
			second.await("a", wanted)
			second.stop()
			if tt.left == state.Withdrawing {
				d.has("a", 2, 0)
			} else {
				d.has("a", revision, 1, title(revision))
			}
		})
	}
}

// edit changes the configuration.
func (p *place) edit(old, text string) {
	p.t.Helper()
	config := []byte(readOrEmpty(p.path("herald.yaml")))
	if !bytes.Contains(config, []byte(old)) {
		p.t.Fatalf("the configuration has no %q", old)
	}
	p.write("herald.yaml", bytes.ReplaceAll(config, []byte(old), []byte(text)))
}

// command gives a person's command once the daemon answers.
func (d *process) command(name, id string) {
	d.t.Helper()
	err := d.poll(func(ctx context.Context) (bool, error) {
		_, err := d.client().Do(ctx, name, control.Command{Article: state.ArticleID(id)})
		if errors.Is(err, control.ErrNotRunning) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		d.t.Fatal(fmt.Errorf("%s %s: %w", name, id, err))
	}
}
