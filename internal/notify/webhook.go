package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-resty/resty/v2"

	"herald/internal/httpx"
	"herald/platforms"
	"herald/state"
)

// Webhook posts notices as JSON to an address. With a secret each is signed:
//
//	X-Herald-Id:        the notice's number; the same again is the same notice
//	X-Herald-Timestamp: seconds since 1970
//	X-Herald-Signature: sha256=hex(HMAC-SHA256(secret, timestamp + "." + body))
type Webhook struct {
	http   *httpx.Client
	url    string
	secret platforms.Secret
}

var _ Channel = (*Webhook)(nil)

// NewWebhook makes a webhook. transport replaces the network in tests.
func NewWebhook(url string, secret platforms.Secret, log *slog.Logger, transport http.RoundTripper) *Webhook {
	return &Webhook{
		url: url, secret: secret,
		http: httpx.New(httpx.Options{Platform: "webhook", Secrets: []platforms.Secret{secret}, Log: log, Transport: transport}),
	}
}

// Notify posts one notice; any 2xx is taken as told.
func (w *Webhook) Notify(ctx context.Context, n state.Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode notice: %w", err)
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	reply, err := w.http.Do(ctx, httpx.Idempotent, "notify", http.MethodPost, w.url, func(r *resty.Request) {
		r.SetHeader("Content-Type", "application/json").SetBody(body).
			SetHeader("X-Herald-Id", strconv.FormatUint(n.ID, 10)).
			SetHeader("X-Herald-Timestamp", timestamp)
		if w.secret != "" {
			r.SetHeader("X-Herald-Signature", "sha256="+Sign(w.secret, timestamp, body))
		}
	})
	if err != nil {
		return err
	}
	return reply.Err()
}

// Sign returns the signature of a webhook's body in hex.
func Sign(secret platforms.Secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
