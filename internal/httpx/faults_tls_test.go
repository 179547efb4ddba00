package httpx

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

func handshakes() []fault {
	// behind serves TLS with one flaw; the client trusts the authority.
	behind := func(flaw func(t *testing.T, a *authority, client *tls.Config) *tls.Config) func(*testing.T) scene {
		return func(t *testing.T) scene {
			a := newAuthority(t)
			client := &tls.Config{RootCAs: a.roots}
			s := at(t, "https", overTLS(flaw(t, a, client), answers("HTTP/1.1 201 Created\r\n\r\n")))
			s.opts.TLS = client
			return s
		}
	}
	soon := time.Now().Add(time.Hour)
	wantsCertificate := func(version uint16) func(*testing.T) scene {
		return behind(func(t *testing.T, a *authority, _ *tls.Config) *tls.Config {
			config := a.server(t, "127.0.0.1", soon)
			config.MaxVersion, config.ClientAuth = version, tls.RequireAndVerifyClientCert
			return config
		})
	}
	raw := func(reply string) func(*testing.T) scene {
		return func(t *testing.T) scene {
			return at(t, "https", func(_ *peer, conn net.Conn) {
				_, _ = io.ReadFull(conn, make([]byte, 64)) // some of the ClientHello
				_, _ = io.WriteString(conn, reply)
				drain(conn)
			})
		}
	}
	return []fault{
		{"6 the handshake is never answered", unavailable, unavailable, 0, func(t *testing.T) scene {
			s := at(t, "https", func(_ *peer, conn net.Conn) { drain(conn) })
			s.opts.HandshakeTimeout = 20 * time.Millisecond
			return s
		}},
		{"6 the connection ends in the handshake", unavailable, unavailable, 0, func(t *testing.T) scene {
			return at(t, "https", func(_ *peer, conn net.Conn) { reset(conn) })
		}},
		{"7 the certificate has expired", unauthorized, unauthorized, 0, behind(func(t *testing.T, a *authority, _ *tls.Config) *tls.Config {
			return a.server(t, "127.0.0.1", time.Now().Add(-time.Hour))
		})},
		{"7 the authority is unknown", unauthorized, unauthorized, 0, behind(func(t *testing.T, a *authority, client *tls.Config) *tls.Config {
			client.RootCAs = newAuthority(t).roots
			return a.server(t, "127.0.0.1", soon)
		})},
		{"7 the certificate is another host's", unauthorized, unauthorized, 0, behind(func(t *testing.T, a *authority, _ *tls.Config) *tls.Config {
			return a.server(t, "127.0.0.2", soon)
		})},
		{"8 the server speaks plain HTTP", unauthorized, unauthorized, 0, raw("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{"8 the server speaks something else", unauthorized, unauthorized, 0, raw("220 mail.example ESMTP\r\n")},
		{"9 no common TLS version", unauthorized, unauthorized, 0, behind(func(t *testing.T, a *authority, client *tls.Config) *tls.Config {
			client.MaxVersion = tls.VersionTLS12
			config := a.server(t, "127.0.0.1", soon)
			config.MinVersion = tls.VersionTLS13
			return config
		})},
		{"9 a client certificate is missing in TLS 1.2", unauthorized, unauthorized, 0, wantsCertificate(tls.VersionTLS12)},
		{"9b a client certificate is missing in TLS 1.3", unauthorized, chance, 0, wantsCertificate(tls.VersionTLS13)},
		{"10 the handshake is not one we accept", unauthorized, unauthorized, 0, raw("\x15\x03\x03\x00\x01\x00")},
	}
}

func proxies() []fault {
	through := func(scheme string, proxy func(*peer, net.Conn), s func(*testing.T) scene) func(*testing.T) scene {
		return func(t *testing.T) scene {
			target, p := s(t), newPeer(t, proxy)
			target.opts.Proxy = http.ProxyURL(&url.URL{Scheme: scheme, Host: p.addr})
			return target
		}
	}
	plain := func(t *testing.T) scene { return at(t, "http", answers("HTTP/1.1 201 Created\r\n\r\n")) }
	secure := func(handle func(*peer, net.Conn)) func(t *testing.T) scene {
		return func(t *testing.T) scene {
			a := newAuthority(t)
			s := at(t, "https", overTLS(a.server(t, "127.0.0.1", time.Now().Add(time.Hour)), handle))
			s.opts.TLS = &tls.Config{RootCAs: a.roots}
			return s
		}
	}
	created := secure(answers("HTTP/1.1 201 Created\r\n\r\n"))
	return []fault{
		{"4 the proxy refuses the connection", unavailable, unavailable, 0, func(t *testing.T) scene {
			p := newPeer(t, answers(""))
			p.stop()
			s := plain(t)
			s.opts.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.addr})
			return s
		}},
		{"4 the SOCKS proxy cannot reach the host", unavailable, unavailable, 0, through("socks5", func(_ *peer, conn net.Conn) {
			_, _ = io.ReadFull(conn, make([]byte, 3))
			_, _ = io.WriteString(conn, "\x05\x00")
			_, _ = io.ReadFull(conn, make([]byte, 10))
			_, _ = io.WriteString(conn, "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
		}, plain)},
		{"5 the proxy wants a password", unauthorized, unauthorized, 0, through("http", tunnel("407 Proxy Authentication Required"), created)},
		{"5 the proxy cannot make the tunnel", unavailable, unavailable, 0, through("http", tunnel("502 Bad Gateway"), created)},
		{"5 the proxy hangs up on CONNECT", unavailable, unavailable, 0, through("http", func(_ *peer, conn net.Conn) { reset(conn) }, created)},
		{"5 through a tunnel all is well", "", "", 1, through("http", tunnel("200 OK"), created)},
		{"14 through a tunnel the answer is lost", uncertain, unavailable, 1, through("http", tunnel("200 OK"), secure(answers("")))},
		{"502 a proxy answers itself", uncertain, unavailable, 0, through("http", func(_ *peer, conn net.Conn) {
			answers("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")(new(peer), conn)
		}, plain)},
	}
}
