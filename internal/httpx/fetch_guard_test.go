package httpx

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"herald/platforms"
)

// forbidden serves on an address that is not allowed, and fails the test if it
// is connected to. It returns its port.
func forbidden(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip(err)
	}
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = s.Listener.Close()
	s.Listener = l
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(func() {
		s.Close()
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections were made to %s", n, l.Addr())
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// refusal is an address that no article may have read, and what is said of it.
// P is a port on which something listens.
type refusal struct{ address, text string }

const (
	private = "not public"
	number  = "as a number"
	scheme  = "never read"
	port    = "port that is not for pictures"
)

var refusals = []refusal{ // B72
	{"http://127.0.0.1:P/", private},
	{"http://127.0.0.2/", private},
	{"http://localhost:P/", private},
	{"https://127.0.0.1:P/", private},
	{"http://0.0.0.0:P/", private},
	{"http://10.0.0.1/", private},
	{"http://172.16.0.1/", private},
	{"http://192.168.1.1/", private},
	{"http://169.254.169.254/latest/meta-data/", private},
	{"http://168.63.129.16/", private},
	{"http://100.100.100.200/", private},
	{"http://192.0.0.192/", private},
	{"http://198.18.0.1/", private},
	{"http://224.0.0.1/", private},
	{"http://240.0.0.1/", private},
	{"http://255.255.255.255/", private},
	{"http://192.88.99.1/", private},
	// The same, written otherwise.
	{"http://2130706433:P/", number},
	{"http://017700000001:P/", number},
	{"http://0x7f000001:P/", number},
	{"http://127.1:P/", number},
	{"http://0177.0.0.1:P/", number},
	{"http://0x7f.0.0.1:P/", number},
	{"http://127.0.0.0x1:P/", number},
	{"http://１２７.0.0.1:P/", number},
	{"http://%31%32%37.0.0.1:P/", "not a valid address"},
	{"http://[::ffff:127.0.0.1]:P/", private},
	// Not to be read at all.
	{"file:///etc/passwd", scheme},
	{"ftp://a.example/a.png", scheme},
	{"gopher://127.0.0.1:P/", scheme},
	{"data:image/png;base64,AAAA", scheme},
	{"//a.example/a.png", scheme},
	{"a.png", scheme},
	{"http:///a.png", "names no host"},
	{"http://user:secret@a.example/", "user name"},
	{"http://secret@a.example/", "user name"},
	{"http://a.example:22/", port},
	{"http://a.example:0/", port},
	{"http://a.example:65536/", port},
	{"http://a.example:x/?secret", "not a valid address"},
}

var refusalsIPv6 = []string{
	"http://[::1]:P/", "http://[::]:P/", "http://[::127.0.0.1]:P/", "http://[fe80::1%25lo]/", "http://[fd00:ec2::254]/",
	"http://[ff02::1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::7f00:1]/", "http://[2002:7f00:1::]/", "http://[2001::1]/", "http://[2001:db8::1]/",
}

func allRefusals(t *testing.T) []refusal {
	t.Helper()
	listens := forbidden(t, "127.0.0.1:0")
	all := slices.Clone(refusals)
	if conn, err := net.ListenPacket("udp6", "[::1]:0"); err == nil {
		_ = conn.Close()
		for _, address := range refusalsIPv6 {
			all = append(all, refusal{address, private})
		}
	}
	for i := range all {
		all[i].address = strings.ReplaceAll(all[i].address, ":P/", ":"+listens+"/")
	}
	return all
}

func TestNoAddressIsReadThatIsNotPublic(t *testing.T) {
	for _, r := range allRefusals(t) {
		_, _, _, err := Fetch(t.Context(), r.address, FetchOptions{})
		if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), r.text) {
			t.Errorf("%s: %v, want it rejected: %s", r.address, err, r.text)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v shows a secret", r.address, err)
		}
	}
}

func TestNoRedirectLeadsToAnAddressThatIsNotPublic(t *testing.T) {
	var location string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	_ = s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp", "127.0.0.3:0"); err != nil {
		t.Skip(err)
	}
	s.Start()
	defer s.Close()
	allowed := []netip.Prefix{netip.MustParsePrefix("127.0.0.3/32")}

	for _, r := range allRefusals(t) {
		location = r.address
		if !strings.Contains(location, "://") || strings.HasPrefix(location, "http:///") {
			continue // relative to the allowed address
		}
		_, _, _, err := Fetch(t.Context(), s.URL+"/a.png", FetchOptions{AllowPrivate: allowed})
		// An address that cannot be parsed does not even get as far as our check.
		if err == nil || !strings.Contains(err.Error(), r.text) && !strings.Contains(err.Error(), "parse Location") {
			t.Errorf("%s: %v, want %s", location, err, r.text)
		}
		if err != nil && (!strings.Contains(err.Error(), s.URL+"/a.png") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: want the image named, without a secret", err)
		}
	}
}

func TestNoNameLeadsToAnAddressThatIsNotPublic(t *testing.T) {
	listens := forbidden(t, "127.0.0.2:0")
	resolver := names(t, func(name string, _ int) []string {
		if name == "both.test." {
			return []string{"10.0.0.1", "127.0.0.2"}
		}
		return []string{"127.0.0.2"}
	})
	for _, host := range []string{"metadata.google.internal", "a.test", "both.test", "localhost.test"} {
		_, _, _, err := Fetch(t.Context(), "http://"+host+":"+listens+"/a.png", FetchOptions{AllowPrivate: loopback, resolver: resolver})
		if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), "not public (1") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// The name leads to an allowed address for the first request, and elsewhere for
// the one after it.
func TestANameThatChangesItsAddressLeadsNowhere(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got := forbidden(t, "127.0.0.2:"+port); got != port {
		t.Fatalf("port %s, want %s", got, port)
	}
	resolver := names(t, func(_ string, nth int) []string { return []string{fmt.Sprintf("127.0.0.%d", min(nth, 2))} })

	_, _, _, err = Fetch(t.Context(), "http://rebind.test:"+port+"/a.png", FetchOptions{AllowPrivate: loopback, resolver: resolver})
	if platforms.KindOf(err) != platforms.Rejected || !strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("error = %v", err)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("the allowed address was asked %d times, want once", got)
	}
}

func TestAnAllowedBlockOpensNoOther(t *testing.T) {
	for allow, tt := range map[string]struct {
		address string
		reached bool
	}{
		"127.0.0.1/32":   {"127.0.0.1", true},
		"127.0.0.0/31":   {"127.0.0.1", true},
		"127.0.0.2/32":   {"127.0.0.1", false},
		"10.0.0.0/8":     {"127.0.0.1", false},
		"::/0":           {"127.0.0.1", false},
		"::1/128":        {"127.0.0.1", false},
		"192.168.0.0/16": {"127.0.0.1", false},
	} {
		at := pictures(t, http.NotFound)
		_, _, _, err := Fetch(t.Context(), at, FetchOptions{AllowPrivate: []netip.Prefix{netip.MustParsePrefix(allow)}})
		if got := strings.Contains(err.Error(), "answered 404"); got != tt.reached {
			t.Errorf("%s allows %s: %v, want %v (%v)", allow, tt.address, got, tt.reached, err)
		}
	}
}
