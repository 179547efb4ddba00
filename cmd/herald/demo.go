package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/config"
	"herald/platforms/builtin"
	"herald/platforms/wechat/wechattest"
	"herald/platforms/weibo/weibotest"
	"herald/platforms/xiaohongshu/xiaohongshutest"
	"herald/state"
)

//go:embed demo/*.md demo/cover.png
var samples embed.FS

// sampleCount is the number of articles among them.
const sampleCount = 5

func (a *app) demoCommand() *cobra.Command {
	var sickFor time.Duration
	cmd := &cobra.Command{
		Use: "demo", Short: "watch partial success heal, on simulated platforms", Args: cobra.NoArgs,
		Long: "run herald in a temporary folder against simulators of WeChat, Xiaohongshu and Weibo and\n" +
			"a real local blog, with five sample articles. WeChat is down for a while: watch the others\n" +
			"go on, and WeChat catch up. Nothing leaves this machine.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "herald-demo-")
			if err != nil {
				return fmt.Errorf("make demo folder: %w", err)
			}
			d := demo{app: a, dir: dir, sickFor: sickFor}
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().DurationVar(&sickFor, "sick-for", 12*time.Second, "how long WeChat is down")
	return cmd
}

// demo is a herald among simulators.
type demo struct {
	*app
	dir     string
	sickFor time.Duration
}

// demoConfig has the short waits of a demonstration; its addresses are filled in.
const demoConfig = `data_dir: data
http: { listen: "" }
queue: { settle: 200ms }
defaults:
  pace: { every: 400ms }
  retry: { strategy: fixed, base: 3s, max: 3s, attempts: 50 }
  lookup: { absent_after: 1s, times: 1 }
  review: { every: 1s, max: 2s }
  breaker: { consecutive: 3, open_for: 3s }
targets:
  - { name: wechat, type: wechat, app_id: %s, app_secret: %s, mode: publish, base_url: %q, cover: cover.png }
  - { name: xiaohongshu, type: xiaohongshu, base_url: %q }
  - { name: weibo, type: weibo, access_token: %s, link_domain: %s, base_url: %q }
  - { name: blog, type: site, dir: site, title: herald demo }
`

// The account of the simulators, which their defaults name too.
const (
	demoAppID, demoSecret = "wx0123456789abcdef", "secret"
	demoToken, demoDomain = "2.00token", "example.com"
)

// run shows the table until every article is where it belongs.
func (d *demo) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	well := time.Now().Add(d.sickFor)
	weibo, wechat, notes := weibotest.New(weibotest.Options{}), wechattest.New(wechattest.Options{}), xiaohongshutest.New(xiaohongshutest.Options{})
	var servers sync.WaitGroup
	defer servers.Wait()
	defer stop()
	serve := func(h http.Handler) (string, error) { return serveDemo(ctx, h, &servers) }
	wechatURL, err1 := serve(sick(wechat, well))
	notesURL, err2 := serve(notes)
	weiboURL, err3 := serve(weibo)
	if err := errors.Join(err1, err2, err3, d.copy("cover.png", d.dir)); err != nil {
		return err
	}
	text := fmt.Sprintf(demoConfig, demoAppID, demoSecret, wechatURL, notesURL, demoToken, demoDomain, weiboURL)
	file := filepath.Join(d.dir, "herald.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write demo configuration: %w", err)
	}
	cfg, err := config.Load(file, builtin.Adapters())
	if err != nil {
		return err
	}
	daemon, err := d.start(ctx, cfg, &servers)
	if err != nil {
		return err
	}
	if err := d.drop(cfg.Queue.Dir); err != nil {
		return err
	}
	if err := d.show(ctx, cfg, daemon); err != nil {
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintf(d.out, "\nposts: wechat %d, xiaohongshu %d, weibo %d; the blog is %s\n",
			len(wechat.Publications()), len(notes.Notes()), len(weibo.Posts()), filepath.Join(d.dir, "site", "index.html"))
	}
	return nil
}

// serveDemo serves a simulator on a port of this machine until ctx ends.
func serveDemo(ctx context.Context, h http.Handler, running *sync.WaitGroup) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve simulator: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	running.Go(func() { _ = srv.Serve(l) }) // ends with Close
	running.Go(func() {
		<-ctx.Done()
		_ = srv.Close() // nobody needs an answer any more
	})
	return "http://" + l.Addr().String(), nil
}

// sick refuses everything until its time has come.
func sick(h http.Handler, until time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Now().Before(until) {
			http.Error(w, "the platform is down", http.StatusBadGateway)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// start runs the daemon in this process, with its log in a file.
func (d *demo) start(ctx context.Context, cfg *config.Config, running *sync.WaitGroup) (*daemon, error) {
	log, err := os.Create(filepath.Join(d.dir, "herald.log"))
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	daemon, err := assemble(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	running.Go(func() {
		if err := daemon.run(ctx, io.Discard); err != nil {
			fmt.Fprintf(d.err, "herald: %v\n", err)
		}
		_ = log.Close() // the demo is over
	})
	return daemon, nil
}

// drop puts the sample articles into the queue folder.
func (d *demo) drop(queue string) error {
	entries, err := samples.ReadDir("demo")
	if err != nil {
		return fmt.Errorf("read samples: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".md" {
			continue
		}
		if err := d.copy(e.Name(), queue); err != nil {
			return err
		}
	}
	return nil
}

// copy writes a sample into a folder.
func (d *demo) copy(name, dir string) error {
	content, err := samples.ReadFile("demo/" + name)
	if err != nil {
		return fmt.Errorf("read sample: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		return fmt.Errorf("copy sample: %w", err)
	}
	return nil
}

// show draws the table until nothing is under way any more.
func (d *demo) show(ctx context.Context, cfg *config.Config, daemon *daemon) error {
	seen, stop := context.WithCancel(ctx)
	defer stop()
	watching := make(chan error, 1)
	go func() { watching <- d.watch(seen, cfg, statusQuery{limit: sampleCount}) }()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-watching:
			return err
		case now := <-ticker.C:
			reports, err := daemon.driver.Reports(sampleCount, false, now)
			if err != nil {
				return err
			}
			if len(reports) < sampleCount || !allSettled(reports) {
				continue
			}
			<-ticker.C // let the last picture be drawn
			<-ticker.C
			<-ticker.C
			stop()
			return <-watching
		}
	}
}

func allSettled(reports []state.Report) bool {
	for _, r := range reports {
		if r.State != state.ArticleSuccess && r.State != state.ArticleFailed {
			return false
		}
	}
	return true
}
