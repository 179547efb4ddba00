package httpx

import (
	"net/http"
	"testing"

	"herald/platforms"
)

func TestAStatusMeansWhatTheTableSaysForEachCall(t *testing.T) {
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	tests := []struct {
		statuses          []int
		header            http.Header
		write, repeatable platforms.Kind
	}{
		{[]int{200, 201, 202, 204}, nil, "", ""},
		{[]int{301, 302, 303, 304, 307, 308}, nil, platforms.Unauthorized, platforms.Unauthorized},
		{[]int{400, 406, 411, 414, 415, 417, 428, 431}, nil, platforms.Invalid, platforms.Invalid},
		{[]int{413, 422, 451}, nil, platforms.Rejected, platforms.Rejected},
		{[]int{404, 405, 410}, nil, platforms.Unauthorized, platforms.Rejected},
		{[]int{401, 402, 403, 407, 426, 501, 505, 507}, nil, platforms.Unauthorized, platforms.Unauthorized},
		{[]int{408, 421, 423, 424, 425}, nil, platforms.Unavailable, platforms.Unavailable},
		{[]int{409, 412}, nil, platforms.Exists, platforms.Exists},
		{[]int{429}, nil, platforms.RateLimited, platforms.RateLimited},
		{[]int{418, 444, 499}, nil, platforms.Unknown, platforms.Unknown},
		{[]int{500, 502, 503, 504, 520, 522, 524, 529, 598, 599}, nil, platforms.Uncertain, platforms.Unavailable},
		{[]int{521, 523, 525, 526, 530}, nil, platforms.Unavailable, platforms.Unavailable},
		{[]int{503}, header("Retry-After", "30"), platforms.RateLimited, platforms.RateLimited},
		{[]int{503}, header("Retry-After", "Wed, 17 Jun 2026 09:00:00 GMT"), platforms.RateLimited, platforms.RateLimited},
		{[]int{503}, header("Retry-After", "soon"), platforms.Uncertain, platforms.Unavailable},
		{[]int{500, 502, 504}, header("Retry-After", "30"), platforms.Uncertain, platforms.Unavailable},
	}
	for _, tt := range tests {
		for _, status := range tt.statuses {
			for call, want := range map[Call]platforms.Kind{Write: tt.write, Idempotent: tt.repeatable, Read: tt.repeatable} {
				if got := StatusKind(call, status, tt.header); got != want {
					t.Errorf("StatusKind(%d, %d, %v) = %q, want %q", call, status, tt.header, got, want)
				}
			}
		}
	}
}
