package httpx

import (
	"net/http"
	"time"

	"herald/platforms"
)

// statusKinds are the statuses that mean the same for every call. Cloudflare's
// 521 to 530 say that the origin was not reached.
var statusKinds = map[int]platforms.Kind{
	400: platforms.Invalid,
	401: platforms.Unauthorized,
	402: platforms.Unauthorized,
	403: platforms.Unauthorized,
	406: platforms.Invalid,
	407: platforms.Unauthorized,
	408: platforms.Unavailable,
	409: platforms.Exists,
	411: platforms.Invalid,
	412: platforms.Exists,
	413: platforms.Rejected,
	414: platforms.Invalid,
	415: platforms.Invalid,
	417: platforms.Invalid,
	421: platforms.Unavailable,
	422: platforms.Rejected,
	423: platforms.Unavailable,
	424: platforms.Unavailable,
	425: platforms.Unavailable,
	426: platforms.Unauthorized,
	428: platforms.Invalid,
	429: platforms.RateLimited,
	431: platforms.Invalid,
	451: platforms.Rejected,
	501: platforms.Unauthorized,
	505: platforms.Unauthorized,
	507: platforms.Unauthorized,
	521: platforms.Unavailable,
	523: platforms.Unavailable,
	525: platforms.Unavailable,
	526: platforms.Unavailable,
	530: platforms.Unavailable,
}

// StatusKind says what an HTTP status means where the platform gives no code of
// its own; it is empty for a 2xx. A redirect needs a person, since it was not
// followed. A 5xx leaves open whether a write was done, unless it is known to
// come from in front of the server or asks to come back later.
func StatusKind(call Call, status int, h http.Header) platforms.Kind {
	if kind, ok := statusKinds[status]; ok {
		return kind
	}
	switch {
	case status >= 200 && status < 300:
		return ""
	case status >= 300 && status < 400:
		return platforms.Unauthorized
	case status == 404, status == 405, status == 410:
		if call == Write {
			return platforms.Unauthorized // what creates is not there: base_url is wrong
		}
		return platforms.Rejected
	case status == 503 && retryAfter(h, serverTime(h, time.Time{})) > 0:
		return platforms.RateLimited
	case status >= 500:
		return lost(call)
	default:
		return platforms.Unknown
	}
}
