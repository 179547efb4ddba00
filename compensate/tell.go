package compensate

import (
	"time"

	"herald/platforms"
	"herald/publisher"
	"herald/state"
)

// What a person is told is written down in the transaction that gives the
// reason, so that it is told once, also over a restart; sending it is somebody
// else's, and holds nothing up.

// tell writes down that a delivery needs a person, or that one that did is well
// again. It marks the delivery, which is saved afterwards.
func (dr *Driver) tell(tx state.Tx, title string, d *state.Delivery, now time.Time) error {
	needs := needsPerson(*d)
	settled := d.State == state.Published || d.State == state.Withdrawn
	if !dr.notify || needs == d.Told || (d.Told && !settled) {
		return nil
	}
	d.Told = needs
	n := state.Notice{
		At: now, Event: state.Recovered, Article: d.Article, Title: title, Target: d.Target, State: d.State,
		Message: "it is " + string(d.State) + " now",
	}
	if needs {
		n.Event, n.Message = state.NeedsPerson, "its outcome is not known"
		n.Hint = state.Summarize(state.Article{ID: d.Article, Title: title}, []state.Delivery{*d}, func(string) state.Outlook { return state.Outlook{} }, dr.local(now)).Deliveries[0].Hint
		if f := d.Error; f != nil {
			n.Kind, n.Code, n.Message = string(f.Kind), f.Code, f.Message
		}
	}
	return tx.PutNotice(n)
}

// tellHeld writes down that an article is held.
func (dr *Driver) tellHeld(tx state.Tx, a state.Article, h state.ArticleHold) error {
	if !dr.notify {
		return nil
	}
	return tx.PutNotice(state.Notice{
		At: h.At, Event: state.NeedsPerson, Article: a.ID, Title: a.Title, Message: h.Message,
		Hint: "`herald approve " + string(a.ID) + "` releases it, or drop an edited file",
	})
}

// needsPerson reports whether nothing will happen unless somebody acts.
func needsPerson(d state.Delivery) bool {
	switch d.State {
	case state.Rejected, state.Failed, state.Stuck:
		return true
	case state.Uncertain:
		return d.Due.IsZero()
	case state.Published:
		return d.Error != nil
	}
	return false
}

// tellHold writes down that a target is held for a person or that what it
// depends on is broken, and that either is over.
func (dr *Driver) tellHold(tx state.Tx, t *publisher.Target, before, after state.Hold, now time.Time) error {
	was, is := before.ForPerson || before.Broken, after.ForPerson || after.Broken
	if !dr.notify || was == is {
		return nil
	}
	n := state.Notice{At: now, Event: state.Recovered, Target: t.Name, Message: t.Name + " is usable again"}
	switch {
	case after.ForPerson:
		n.Event, n.Kind, n.Code, n.Message = state.TargetHeld, string(after.Kind), after.Code, after.Message
		n.Hint = "mend its credential or permission, then `herald retry --target " + t.Name + "`"
	case after.Broken:
		n.Event, n.Kind = state.TargetHeld, string(platforms.Dependency)
		n.Message = "what " + t.Name + " is reached through is broken; it is tried again by itself"
	}
	return tx.PutNotice(n)
}
