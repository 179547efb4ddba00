package wechat

import (
	"os"
	"strings"
	"testing"
	"time"

	"herald/internal/httpx"
	"herald/platforms"
)

// byClass says what the classes of testdata/errcodes.tsv mean on a call that
// creates nothing.
var byClass = map[string]platforms.Kind{
	"transient":        platforms.Unavailable,
	"rate_limited":     platforms.RateLimited,
	"content_rejected": platforms.Rejected,
	"config_auth":      platforms.Unauthorized,
	"token_refresh":    platforms.Unauthorized, // once another token is refused too
	"dependency":       platforms.Dependency,
	"request_bug":      platforms.Invalid,
	"not_applicable":   platforms.Unknown,
}

// byCode says what the codes of the class "state" mean, which only the code tells.
var byCode = map[string]platforms.Kind{
	"40007": platforms.Exists,       // look it up: published, or gone
	"40204": platforms.Rejected,     // cannot be deleted: a person is stuck with it
	"45034": platforms.Unauthorized, // a person has to make room
	"45074": platforms.Unauthorized,
	"46001": platforms.Exists,
	"48005": platforms.Rejected,
	"48010": platforms.Rejected,
	"48021": platforms.Rejected,
	"53502": platforms.Uncertain, // look up whether the article is there
	"53600": platforms.Exists,
	"76001": platforms.Rejected, // of calls that only a person makes
	"76004": platforms.Rejected,
	"88001": platforms.Rejected,
}

func TestEveryCodeOfTheTableIsClassified(t *testing.T) {
	table, err := os.ReadFile("testdata/errcodes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(table)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		code, class := fields[0], fields[2]
		if code == "code" || code == "0" {
			continue
		}
		seen++
		want, ok := byClass[class]
		if class == "state" {
			want, ok = byCode[code]
		}
		if !ok {
			t.Errorf("code %s has class %q, for which the test has no rule", code, class)
		}
		if got, listed := codes[code]; !listed || got != want {
			t.Errorf("code %s is %q (listed: %v), want %q for class %s", code, got, listed, want, class)
		}
		create := want
		if class == "transient" {
			create = platforms.Uncertain // it may have been done
		}
		if got := kindOf(opSubmit, httpx.Write, code); got != create {
			t.Errorf("code %s is %q as the answer to a create, want %q", code, got, create)
		}
	}
	if seen != len(codes) || seen < 150 {
		t.Errorf("%d codes in testdata, %d in the table", seen, len(codes))
	}
}

func TestTheCallDecidesWhatACodeMeans(t *testing.T) {
	tests := []struct {
		op, code string
		call     httpx.Call
		want     platforms.Kind
	}{
		{opAddDraft, "40007", httpx.Write, platforms.Unavailable},
		{opUpdateDraft, "40007", httpx.Idempotent, platforms.Unavailable},
		{opSubmit, "40007", httpx.Write, platforms.Exists},
		{opAddDraft, "-1", httpx.Write, platforms.Uncertain},
		{opUpdateDraft, "-1", httpx.Idempotent, platforms.Unavailable},
		{opToken, "40001", httpx.Read, platforms.Unauthorized},
		{opAddDraft, "12345", httpx.Write, platforms.Unknown},
	}
	for _, tt := range tests {
		if got := kindOf(tt.op, tt.call, tt.code); got != tt.want {
			t.Errorf("%s answering %s: %q, want %q", tt.op, tt.code, got, tt.want)
		}
	}
}

func TestACodeSaysWhenToComeBack(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := []struct{ code, now, want string }{
		{"45009", "2026-06-17T15:59:00+08:00", "2026-06-18T00:01:00+08:00"},
		{"45009", "2026-06-17T15:59:00Z", "2026-06-18T00:01:00+08:00"},
		{"45009", "2026-06-17T16:00:00Z", "2026-06-19T00:01:00+08:00"},
		{"45101", "2026-12-31T23:59:59+08:00", "2027-01-01T00:01:00+08:00"},
		{"45040", "2026-12-05T10:00:00+08:00", "2027-01-01T00:01:00+08:00"},
		{"45011", "2026-06-17T10:00:00+08:00", "2026-06-17T10:01:00+08:00"},
		{"53501", "2026-06-17T10:00:00+08:00", "2026-06-17T10:10:00+08:00"},
		{"89506", "2026-06-17T10:00:00+08:00", "2026-06-18T10:00:00+08:00"},
	}
	for _, tt := range tests {
		if got := retryAt(tt.code, at(tt.now), 0); !got.Equal(at(tt.want)) {
			t.Errorf("%s at %s: %s, want %s", tt.code, tt.now, got, tt.want)
		}
	}
	if got := retryAt("45003", time.Now(), 0); !got.IsZero() {
		t.Errorf("a title that is too long has the time %s, want none", got)
	}
	if a, b := jitterOf("wx1"), jitterOf("wx2"); a == b || a >= 9*time.Minute || b >= 9*time.Minute {
		t.Errorf("jitter %s and %s, want two different times below nine minutes", a, b)
	}
}
