package main

import (
	"fmt"
	"time"
)

// when tells a time in the configured zone and how far away it is:
// "09:20 (in 8 min)"; on a narrow terminal only the latter.
func (s screen) when(t time.Time) string {
	if s.narrow() {
		return s.relative(t)
	}
	return s.clock(t) + " (" + s.relative(t) + ")"
}

// next is when for what is still to come: "next 09:20 (in 8 min)".
func (s screen) next(t time.Time) string {
	switch {
	case !t.After(s.now):
		return "now"
	case s.narrow():
		return s.relative(t)
	}
	return "next " + s.when(t)
}

// clock tells a time in the configured zone, with as much of its date as is
// needed.
func (s screen) clock(t time.Time) string {
	t = t.In(s.zone)
	now := s.now.In(s.zone)
	layout := "15:04"
	switch {
	case t.Year() != now.Year():
		layout = "2006-01-02 15:04"
	case t.YearDay() != now.YearDay():
		layout = "01-02 15:04"
	}
	return t.Format(layout)
}

// relative tells how far away a time is: "in 8 min", "3 h ago", "now".
func (s screen) relative(t time.Time) string {
	d := t.Sub(s.now)
	text := span(max(d, -d))
	switch {
	case text == "":
		return "now"
	case d > 0:
		return "in " + text
	}
	return text + " ago"
}

// span tells a duration in its largest unit that still says enough; nothing for
// less than a second.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return ""
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Round(24*time.Hour).Hours()/24))
}
