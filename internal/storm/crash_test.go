package storm

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"herald/internal/control"
	"herald/state"
)

var every = flag.Bool("every", false, "crash at every failpoint, also where some prove enough in daily work")

// drill is one thing that herald does, during which it is killed. The daemon is
// started with FAILPOINT=n for n = 1, 2, 3, … until a run ends without being
// killed: so every failpoint is met, before and after every commit of the store,
// every call to the platform, every HTTP exchange and every git command.
type drill struct {
	t testing.TB
	p *place
	w world
}

func newDrill(t testing.TB, make func(testing.TB) world) *drill {
	w := make(t)
	return &drill{t, newPlace(t, w.target()), w}
}

// part is the drill in a part of its test.
func (d *drill) part(t testing.TB) *drill {
	p := *d.p
	p.t = t
	return &drill{t, &p, d.w}
}

// through has the daemon do its work until the article is as wanted. Was it
// killed meanwhile, it is started again without a failpoint.
func (d *drill) through(failpoint, id string, wanted func(state.Report) bool) (killed bool) {
	d.t.Helper()
	first := d.p.start(failpoint)
	first.await(id, wanted)
	if !first.stop() {
		return false
	}
	second := d.p.start()
	second.await(id, wanted)
	second.stop()
	return true
}

// title is the title of a revision.
func title(revision int) string { return fmt.Sprintf("Revision %d", revision) }

// has checks what the platform has of an article.
func (d *drill) has(id string, changes, crashes int, want ...string) {
	d.t.Helper()
	if got := d.w.posts(id); !slices.Equal(got, want) {
		d.t.Errorf("%s: the platform has %q, want %q", id, got, want)
	}
	if s := d.w.surplus(id, changes, crashes); s != "" {
		d.t.Errorf("%s: %s", id, s)
	}
}

// eachFailpoint runs a test for every failpoint until one is not reached.
func eachFailpoint(t *testing.T, step int, run func(t *testing.T, failpoint string) (killed bool)) {
	if *every {
		step = 1
	}
	reached := 0
	for n := 1; !t.Failed(); n += step {
		killed := false
		t.Run(fmt.Sprint(n), func(t *testing.T) { killed = run(t, fmt.Sprintf("FAILPOINT=%d", n)) })
		if !killed {
			break
		}
		reached++
	}
	t.Logf("%s: killed at %d failpoints", t.Name(), reached)
	// The least that there is: two commits at the start, two at the end, the call.
	if reached*step < 6 && !t.Failed() {
		t.Errorf("only %d failpoints were reached: the program has more", reached)
	}
}

// B03, B14, B16: see drill.
func TestKilledWhilePublishingThereIsOneCopy(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			eachFailpoint(t, w.step, func(t *testing.T, failpoint string) bool {
				d := newDrill(t, w.make)
				d.p.drop("a", title(1))
				killed := d.through(failpoint, "a", published(1))
				d.has("a", 1, 1, title(1))
				return killed
			})
		})
	}
}

// The same for an update in place. One post goes through all revisions.
func TestKilledWhileUpdatingThereIsOneCopy(t *testing.T) {
	for _, w := range worlds {
		if !w.updates {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			all := newDrill(t, w.make)
			all.p.drop("a", title(1))
			all.through("", "a", published(1))
			revision := 1
			eachFailpoint(t, w.step, func(t *testing.T, failpoint string) bool {
				d := all.part(t)
				revision++
				d.p.drop("a", title(revision))
				killed := d.through(failpoint, "a", published(revision))
				d.has("a", revision, revision, title(revision))
				return killed
			})
		})
	}
}

// The same for a withdrawal. A person whose command was not answered gives it
// again.
func TestKilledWhileWithdrawingNothingIsLeft(t *testing.T) {
	for _, w := range worlds {
		if !w.withdraws {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			all := newDrill(t, w.make)
			number := 0
			eachFailpoint(t, w.step, func(t *testing.T, failpoint string) bool {
				d := all.part(t)
				number++
				id := fmt.Sprintf("a%d", number)
				d.p.drop(id, title(number))
				d.through("", id, published(1))
				d.has(id, 1, number, title(number))
				killed := d.through(failpoint, id, func(r state.Report) bool {
					if r.Deliveries[0].State == state.Published {
						_, _ = d.p.client().Do(t.Context(), "withdraw", control.Command{Article: state.ArticleID(id)})
					}
					return withdrawn(r)
				})
				d.has(id, 2, number)
				return killed
			})
		})
	}
}
