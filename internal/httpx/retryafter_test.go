package httpx

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfterReadsEveryFormAndIgnoresTheRest(t *testing.T) {
	now := time.Date(2026, 6, 17, 9, 0, 0, 0, time.UTC)
	const none = time.Duration(0)
	tests := []struct {
		name   string
		header string // lines "Name: value"
		want   time.Duration
	}{
		{"nothing", "", none},
		{"seconds", "Retry-After: 120", 2 * time.Minute},
		{"seconds with spaces", "Retry-After:  7 ", 7 * time.Second},
		{"decimals", "Retry-After: 1.5", 1500 * time.Millisecond},
		{"zero says nothing, or the hold would end at once for ever", "Retry-After: 0", none},
		{"negative", "Retry-After: -5", none},
		{"hugely negative", "Retry-After: -1e300", none},
		{"words", "Retry-After: soon", none},
		{"not a number", "Retry-After: NaN", none},
		{"infinite", "Retry-After: Inf", none},
		{"more than a day", "Retry-After: 1000000", 24 * time.Hour},
		{"more than a duration holds", "Retry-After: 1e300", 24 * time.Hour},
		{"IMF date", "Retry-After: Wed, 17 Jun 2026 09:05:00 GMT", 5 * time.Minute},
		{"RFC 850 date", "Retry-After: Wednesday, 17-Jun-26 09:05:00 GMT", 5 * time.Minute},
		{"asctime date", "Retry-After: Wed Jun 17 09:05:00 2026", 5 * time.Minute},
		{"date in the past", "Retry-After: Wed, 17 Jun 2026 08:00:00 GMT", none},
		{"date in a year", "Retry-After: Thu, 17 Jun 2027 09:00:00 GMT", 24 * time.Hour},
		{
			"date by a server whose clock is an hour behind",
			"Date: Wed, 17 Jun 2026 08:00:00 GMT\nRetry-After: Wed, 17 Jun 2026 08:01:00 GMT", time.Minute,
		},
		{"milliseconds", "Retry-After-Ms: 2500", 2500 * time.Millisecond},
		{"milliseconds and seconds: the later", "Retry-After-Ms: 2500\nRetry-After: 3", 3 * time.Second},
		{"reset in seconds", "RateLimit-Reset: 30", 30 * time.Second},
		{"reset in seconds since 1970", "X-RateLimit-Reset: 1781686860", time.Minute},
		{"reset in seconds since 1970, with decimals", "X-RateLimit-Reset: 1781686800.25", 250 * time.Millisecond},
		{"reset in milliseconds since 1970", "X-RateLimit-Reset: 1781686860000", time.Minute},
		{"reset in microseconds since 1970", "X-RateLimit-Reset: 1781686860000000", none},
		{"reset since 1970 in the past", "X-RateLimit-Reset: 1781680000", none},
		{"reset since 1970 by a slow server", "Date: Wed, 17 Jun 2026 08:00:00 GMT\nX-RateLimit-Reset: 1781683230", 30 * time.Second},
		{"reset as a timestamp", "X-RateLimit-Reset: 2026-06-17T09:10:00.000Z", 10 * time.Minute},
		{"reset as a duration", "X-RateLimit-Reset-Requests: 6m0s", 6 * time.Minute},
		{"reset as milliseconds", "X-RateLimit-Reset-Tokens: 20ms", 20 * time.Millisecond},
		{"reset of X for the day", "X-User-Limit-24hour-Reset: 1781690400", time.Hour},
		{"reset after", "X-RateLimit-Reset-After: 64.57", 64570 * time.Millisecond},
		{"reset of a quota that is left", "X-RateLimit-Remaining: 3\nX-RateLimit-Reset: 3600", none},
		{"reset after of a quota that is left", "X-RateLimit-Remaining: 3\nX-RateLimit-Reset-After: 3600", none},
		{"reset of a quota that is used up", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 3600", time.Hour},
		{"two quotas, one used up", "X-RateLimit-Remaining-Requests: 9\nX-RateLimit-Reset-Requests: 1h\n" +
			"X-RateLimit-Remaining-Tokens: 0\nX-RateLimit-Reset-Tokens: 2s", 2 * time.Second},
		{"reset garbage", "X-RateLimit-Reset: never", none},
		{"both, reset is later", "Retry-After: 10\nRateLimit-Reset: 60", time.Minute},
		{"both, Retry-After is later", "Retry-After: 90\nRateLimit-Reset: 60", 90 * time.Second},
		{"both, one is garbage", "Retry-After: -1\nRateLimit-Reset: 60", time.Minute},
		{"RateLimit", `RateLimit: "burst";r=0;t=30`, 30 * time.Second},
		{"RateLimit without remaining", `RateLimit: "burst"; t=30`, 30 * time.Second},
		{"RateLimit, the item that is used up", `RateLimit: "burst";r=0;t=30, "daily";r=100;t=3600`, 30 * time.Second},
		{"RateLimit, nothing used up", `RateLimit: "burst";r=1;t=30`, none},
		{"RateLimit on two lines", "RateLimit: \"a\";r=0;t=30\nRateLimit: \"b\";r=0;t=40", 40 * time.Second},
		{"RateLimit garbage", "RateLimit: r=0;;;t=x", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for line := range strings.Lines(tt.header) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				h.Add(name, value)
			}
			got, ok := RetryAfter(h, now)
			if ok != (tt.want != none) {
				t.Fatalf("RetryAfter = %v, %v; want wait %v", got, ok, tt.want)
			}
			if wait := got.Sub(now); ok && wait != tt.want {
				t.Errorf("wait = %v, want %v", wait, tt.want)
			}
		})
	}
}
