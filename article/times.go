package article

import (
	"errors"
	"fmt"
	"time"
)

// zonedLayouts are RFC 3339 with a space for the "T", which parseTime puts
// there, without seconds, and with the zone as Hugo and Jekyll write it.
var zonedLayouts = []string{
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00",
	"2006-01-02 15:04:05-0700", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04Z07:00", "2006-01-02 15:04 Z07:00",
	"2006-01-02 15:04-0700", "2006-01-02 15:04 -0700",
}

const dateLayout = "2006-01-02"

var localLayouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", dateLayout}

var errNoTime = errors.New("is not a time")

// parseTime reads a time; one without a zone is local in loc, a date alone is
// its first moment there. The error reads on behind the value.
func parseTime(s string, loc *time.Location) (time.Time, error) {
	if len(s) > len(dateLayout) && s[len(dateLayout)] == 'T' {
		s = s[:len(dateLayout)] + " " + s[len(dateLayout)+1:]
	}
	for _, layout := range zonedLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.In(loc), nil
		}
	}
	for _, layout := range localLayouts {
		if clock, err := time.Parse(layout, s); err == nil {
			return onClock(clock, loc, layout == dateLayout)
		}
	}
	return time.Time{}, errNoTime
}

// onClock returns the moment when clocks in loc show what clock shows. Where
// they are put forward past it there is no such moment; a day then begins an
// hour later.
func onClock(clock time.Time, loc *time.Location, day bool) (time.Time, error) {
	year, month, date := clock.Date()
	hour, minute, second := clock.Clock()
	t := time.Date(year, month, date, hour, minute, second, clock.Nanosecond(), loc)
	if t.Hour() == hour && t.Minute() == minute {
		return t, nil
	}
	if day {
		return time.Date(year, month, date, 1, 0, 0, 0, loc), nil
	}
	return time.Time{}, fmt.Errorf("does not exist in %s, where clocks are put forward past it", loc)
}
