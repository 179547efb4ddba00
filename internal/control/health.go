package control

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServeHealth answers GET /healthz on l until ctx ends: 200 while every lane is
// alive, 503 when one stands still. metrics answers GET /metrics; nil: nothing does.
func ServeHealth(ctx context.Context, l net.Listener, info func() Info, metrics http.Handler, log *slog.Logger) error {
	mux := http.NewServeMux()
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		i, status := info(), http.StatusOK
		if !i.Well(time.Now()) {
			status = http.StatusServiceUnavailable
		}
		reply(w, status, map[string]any{"ok": status == http.StatusOK, "version": i.Version, "beat": i.Beat})
	})
	if err := serve(ctx, l, mux, log); err != nil {
		return fmt.Errorf("serve health page: %w", err)
	}
	return nil
}
