package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/platforms/platformtest"
	"herald/state"
)

// toxic is one way in which the network itself is ill. What it does is described
// in the documentation of toxiproxy.
type toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"` // upstream: to the platform; downstream: its answers
	Toxicity   float64        `json:"toxicity"`
	Attributes map[string]int `json:"attributes"`
}

// link is the network between herald and one platform.
type link struct {
	name string
	ill  []toxic
	// harmless says that a call succeeds all the same.
	harmless bool

	server *platformtest.LoopbackServer
	listen string
}

func up(kind string, attributes map[string]int) toxic {
	return toxic{kind, "upstream", 1, attributes}
}

func down(kind string, attributes map[string]int) toxic {
	return toxic{kind, "downstream", 1, attributes}
}

func links() []*link {
	return []*link{
		{name: "latency", harmless: true, ill: []toxic{down("latency", map[string]int{"latency": 30, "jitter": 20})}},
		{name: "latency-beyond-the-deadline", ill: []toxic{down("latency", map[string]int{"latency": 1200})}},
		{name: "request-late", ill: []toxic{up("latency", map[string]int{"latency": 1200})}},
		{name: "reset-at-once", ill: []toxic{down("reset_peer", map[string]int{"timeout": 0})}},
		{name: "reset-during-the-answer", ill: []toxic{down("reset_peer", map[string]int{"timeout": 30})}},
		{name: "sliced", harmless: true, ill: []toxic{
			down("slicer", map[string]int{"average_size": 16, "size_variation": 8, "delay": 500}),
			up("slicer", map[string]int{"average_size": 64, "size_variation": 32, "delay": 500}),
		}},
		{name: "thin", harmless: true, ill: []toxic{down("bandwidth", map[string]int{"rate": 10}), up("bandwidth", map[string]int{"rate": 10})}},
		{name: "too-thin", ill: []toxic{up("bandwidth", map[string]int{"rate": 0})}},
		{name: "half-open-answers-vanish", ill: []toxic{down("timeout", map[string]int{"timeout": 0})}},
		{name: "half-open-requests-vanish", ill: []toxic{up("timeout", map[string]int{"timeout": 0})}},
		{name: "closed-after-a-while", ill: []toxic{down("timeout", map[string]int{"timeout": 100})}},
		{name: "half-an-answer", ill: []toxic{down("limit_data", map[string]int{"bytes": 60})}},
	}
}

// toxiproxy is a proxy process between herald and the platforms.
type toxiproxy struct {
	t   *testing.T
	api string
}

// newToxiproxy builds and starts the proxy. It is a tool of a module of its own.
func newToxiproxy(t *testing.T) *toxiproxy {
	program := filepath.Join(bin, "toxiproxy")
	cmd := exec.Command("go", "build", "-o", program, "github.com/Shopify/toxiproxy/v2/cmd/server")
	cmd.Dir = "toxi"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("toxiproxy cannot be built: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.9:0") // an address that nobody else uses
	if err != nil {
		t.Skipf("a loopback address is needed: %v", err)
	}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	proxy := &process{place: &place{t: t, dir: t.TempDir()}, log: &log{}, ended: make(chan struct{})}
	proxy.run(exec.Command(program, "-host", host, "-port", port), "LOG_LEVEL=error")
	x := &toxiproxy{t, "http://" + net.JoinHostPort(host, port)}
	err = proxy.poll(func(ctx context.Context) (bool, error) {
		return x.try(ctx, http.MethodGet, "/version", nil, nil) == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *toxiproxy) try(ctx context.Context, method, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, x.api+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("toxiproxy: %s: %s", resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (x *toxiproxy) do(method, path string, body, answer any) {
	x.t.Helper()
	if err := x.try(x.t.Context(), method, path, body, answer); err != nil {
		x.t.Fatal(err)
	}
}

// connect makes the proxy of a link, with its illness.
func (x *toxiproxy) connect(l *link) {
	x.t.Helper()
	l.server = platformtest.NewLoopbackServer()
	l.server.Token = l.name + "-token" // an account of its own
	h := httptest.NewServer(l.server)
	x.t.Cleanup(h.CloseClientConnections) // a half-open one would be waited for
	x.do(http.MethodPost, "/proxies", map[string]any{
		"name": l.name, "listen": "127.0.0.9:0", "upstream": strings.TrimPrefix(h.URL, "http://"), "enabled": true,
	}, &struct{ Listen *string }{&l.listen})
	for _, ill := range l.ill {
		x.do(http.MethodPost, "/proxies/"+l.name+"/toxics", ill, nil)
	}
}

// B04: over a network that is ill in every way there is, and heals, each article
// is on each platform once.
func TestOverAnIllNetworkEachPostIsThereOnce(t *testing.T) {
	t.Parallel()
	x := newToxiproxy(t)
	all := links()
	p := newPlace(t)
	config := strings.NewReplacer(
		"timeout: 10s", "timeout: 500ms", "absent_after: 20ms, times: 1", "absent_after: 2s, times: 2",
		"base: 50ms, max: 50ms", "base: 200ms, max: 200ms, attempts: 0",
	).Replace(settings)
	for _, l := range all {
		x.connect(l)
		config += fmt.Sprintf("  - { name: %s, type: loopback, base_url: \"http://%s\", token: %s }\n", l.name, l.listen, l.server.Token)
	}
	p.write("herald.yaml", []byte(config))

	// Without pictures the first call that the network breaks is the post's own.
	ids := []string{"a", "b", "c"}
	p.drop("a", title(1))
	for _, id := range ids[1:] {
		p.write("data/queue/"+id+"/index.md", text(id, title(1)))
	}
	d := p.start()
	for _, id := range ids {
		d.await(id, func(r state.Report) bool {
			for i, l := range all {
				of := r.Deliveries[i]
				if of.State != state.Published && (l.harmless || of.Error == nil) {
					return false
				}
			}
			return true
		})
	}
	for _, l := range all {
		// Where only answers suffer, posts have arrived that herald cannot know of.
		if l.ill[0].Stream == "downstream" && len(l.server.Posts()) == 0 {
			t.Errorf("%s: no post has arrived, and so no answer was lost", l.name)
		}
	}
	x.do(http.MethodPost, "/reset", nil, nil) // all toxics of all proxies
	for _, id := range ids {
		d.await(id, published(1))
	}
	d.stop()
	for _, l := range all {
		copies := map[string]int{}
		for _, post := range l.server.Posts() {
			copies[post.Slug]++
		}
		for _, id := range ids {
			if copies[id] != 1 {
				t.Errorf("%s: %d copies of %s", l.name, copies[id], id)
			}
		}
	}
}
