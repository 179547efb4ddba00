package article

import (
	"testing"
	"time"
)

func TestTimesWithoutZoneAreLocal(t *testing.T) { // B73
	for _, tc := range []struct{ zone, value, want string }{
		{"Asia/Shanghai", "2024-04-18 18:50:16", "2024-04-18T18:50:16+08:00"},
		{"Asia/Shanghai", "2024-04-18 18:50", "2024-04-18T18:50:00+08:00"},
		{"Asia/Shanghai", "2024-04-18T18:50", "2024-04-18T18:50:00+08:00"},
		{"Asia/Shanghai", "2024-04-18T18:50:16", "2024-04-18T18:50:16+08:00"},
		{"Asia/Shanghai", "2024-04-18", "2024-04-18T00:00:00+08:00"},
		{"Asia/Kolkata", "2024-04-18 09:00", "2024-04-18T09:00:00+05:30"},
		{"Asia/Shanghai", "2024-04-18T10:00:00Z", "2024-04-18T18:00:00+08:00"},
		{"Asia/Shanghai", "2024-04-18T10:00:00+01:00", "2024-04-18T17:00:00+08:00"},
		{"Asia/Shanghai", "2024-04-18 10:00:00 +0100", "2024-04-18T17:00:00+08:00"},
		{"Asia/Shanghai", "2024-04-18 10:00 +01:00", "2024-04-18T17:00:00+08:00"},
		{"", "2024-04-18 09:00", "2024-04-18T09:00:00Z"},
	} {
		var o Options
		if tc.zone != "" {
			o.Location = zone(t, tc.zone)
		}
		for _, quoted := range []string{tc.value, `"` + tc.value + `"`} {
			a := mustLoadText(t, "---\ntitle: T\ndate: "+quoted+"\npublish_at: "+quoted+"\n---\nx\n", o)
			wantEqual(t, "date "+quoted, a.Date.Format(time.RFC3339), tc.want)
			wantEqual(t, "publish_at "+quoted, a.PublishAt.Format(time.RFC3339), tc.want)
		}
	}
}

func TestNineStaysNineAcrossTheChangeOfClocks(t *testing.T) { // B74
	berlin := zone(t, "Europe/Berlin")
	for value, want := range map[string]string{
		"2026-03-28 09:00": "2026-03-28T09:00:00+01:00",
		"2026-03-29 09:00": "2026-03-29T09:00:00+02:00",
		"2026-10-24 09:00": "2026-10-24T09:00:00+02:00",
		"2026-10-25 09:00": "2026-10-25T09:00:00+01:00",
	} {
		got, err := parseTime(value, berlin)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("parseTime(%s) = %v, %v, want %s", value, got, err, want)
		}
	}
}

func TestTimeThatClocksSkipIsRefused(t *testing.T) {
	_, err := loadText(t, "---\ntitle: T\npublish_at: 2026-03-29 02:30\n---\nx\n", Options{Location: zone(t, "Europe/Berlin")})
	wantProblem(t, err, "date-invalid", 3, "does not exist in Europe/Berlin", "put forward")
}

func TestDayWithoutMidnightBeginsAnHourLater(t *testing.T) {
	got, err := parseTime("2018-11-04", zone(t, "America/Sao_Paulo"))
	if want := "2018-11-04T01:00:00-02:00"; err != nil || got.Format(time.RFC3339) != want {
		t.Errorf("parseTime = %v, %v, want %s", got, err, want)
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
