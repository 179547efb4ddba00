package httpx

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxWait caps what a header may ask for.
const maxWait = 24 * time.Hour

// resetHeaders say when a quota is full again. A twin with "Remaining" for
// "Reset" that is above zero says that this quota is not what was hit.
var resetHeaders = []string{
	"RateLimit-Reset",
	"X-RateLimit-Reset",
	"X-RateLimit-Reset-After",
	"X-RateLimit-Reset-Requests",
	"X-RateLimit-Reset-Tokens",
	"X-Rate-Limit-Reset",
	"X-App-Limit-24hour-Reset",
	"X-User-Limit-24hour-Reset",
}

// RetryAfter returns when the headers of a reply say to come back: the latest
// time among Retry-After (seconds or a date), Retry-After-Ms, the reset headers
// and RateLimit. Times of day are taken against the reply's Date, not the local
// clock. What is no time, not positive or past is ignored; nothing is later
// than now plus 24 hours.
func RetryAfter(h http.Header, now time.Time) (time.Time, bool) {
	server := serverTime(h, now)
	wait := retryAfter(h, server)
	for _, name := range resetHeaders {
		if !hasRemaining(h, name) {
			wait = max(wait, resetWait(h.Get(name), server))
		}
	}
	wait = max(wait, rateLimitWait(h.Values("RateLimit")))
	if wait == 0 {
		return time.Time{}, false
	}
	return now.Add(wait), true
}

// serverTime is the reply's Date, or fallback.
func serverTime(h http.Header, fallback time.Time) time.Time {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		return t
	}
	return fallback
}

// retryAfter is the wait of Retry-After and Retry-After-Ms; 0 if there is none.
func retryAfter(h http.Header, server time.Time) time.Duration {
	wait := scaled(h.Get("Retry-After-Ms"), time.Millisecond)
	value := h.Get("Retry-After")
	if t, err := http.ParseTime(value); err == nil {
		return max(wait, until(t, server))
	}
	return max(wait, scaled(value, time.Second))
}

// resetWait reads a reset header, which services write as seconds, as seconds or
// milliseconds since 1970, as RFC 3339, or as a duration ("6m0s").
func resetWait(value string, server time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		switch {
		case n >= 1e15:
			return 0
		case n > 1e12:
			return until(time.UnixMilli(int64(n)), server)
		case n > 1e9:
			return until(time.UnixMilli(int64(n*1000)), server)
		}
		return scaled(value, time.Second)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return clamp(d)
	}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return until(t, server)
	}
	return 0
}

// rateLimitParam finds remaining and time in an item such as `"burst";r=0;t=30`.
var rateLimitParam = regexp.MustCompile(`;\s*([rt])\s*=\s*(\d+)`)

func rateLimitWait(values []string) time.Duration {
	var wait time.Duration
	for item := range strings.SplitSeq(strings.Join(values, ","), ",") {
		param := map[string]string{}
		for _, m := range rateLimitParam.FindAllStringSubmatch(item, -1) {
			param[m[1]] = m[2]
		}
		if scaled(param["r"], time.Second) == 0 {
			wait = max(wait, scaled(param["t"], time.Second))
		}
	}
	return wait
}

func hasRemaining(h http.Header, reset string) bool {
	name := strings.TrimSuffix(strings.Replace(reset, "Reset", "Remaining", 1), "-After")
	n, err := strconv.ParseFloat(h.Get(name), 64)
	return err == nil && n > 0
}

// scaled reads a number of units; 0 if it is none or not positive.
func scaled(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	most := float64(maxWait) / float64(unit)
	return time.Duration(math.Round(min(max(n, 0), most) * float64(unit)))
}

func until(t, server time.Time) time.Duration { return clamp(t.Sub(server)) }

func clamp(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }
