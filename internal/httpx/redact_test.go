package httpx

import (
	"strings"
	"testing"

	"herald/platforms"
)

func TestRedactLeavesOnlySchemeHostAndPathOfAnAddress(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text", "title is too long: 64 of 32 characters", "title is too long: 64 of 32 characters"},
		{"words about credentials", "invalid token; Basic authentication failed", "invalid token; Basic authentication failed"},
		{"query", `Get "https://api.example/token?appid=1&secret=2": EOF`, `Get "https://api.example/token": EOF`},
		{"userinfo", "https://me:pass@blog.example/xmlrpc", "https://blog.example/xmlrpc"},
		{"fragment", "https://blog.example/cb#access_token=1", "https://blog.example/cb"},
		{"no address after all", "http://a b:%zz/?x=1", "http://a b:%zz/"},
		{"broken host", "see http://[::1/?x=1", "see http://[redacted]"},
		{"slashes as PHP escapes them", `{"url":"https:\/\/api.example\/x?access_token=abc"}`, `{"url":"https://api.example/x"}`},
		{"relative address", "cannot parse /cb?code=abc&state=d", "cannot parse /cb"},
		{"path with escapes", "https://a.example/%E4%BD%A0?b=c", "https://a.example/%E4%BD%A0"},
		{"bearer", "Authorization: Bearer abc.def-ghi, retry", "Authorization: [redacted], retry"},
		{"bearer alone", "sent Bearer 0123456789abcdef0123", "sent Bearer [redacted]"},
		{"basic", "header Basic aGVyYWxkOnNlY3JldHNlY3JldA==", "header Basic [redacted]"},
		{"parameter", "access_token=abc&x=1 is invalid", "access_token=[redacted]&x=1 is invalid"},
		{"parameter, escaped", "to=https%3A%2F%2Fa%3Faccess_token%3Dabc&x", "to=https%3A%2F%2Fa%3Faccess_token%3D[redacted]&x"},
		{"JSON", `{"appsecret": "abc", "title": "t"}`, `{"appsecret": "[redacted]", "title": "t"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Redact(tt.in); got != tt.want {
				t.Errorf("Redact(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestRedactTakesOutASecretInEveryForm(t *testing.T) {
	secrets := []platforms.Secret{"", `p&s"w/rd ü`, "123:bot", "123:bot-longer"}
	in := `plain p&s"w/rd ü, query p%26s%22w%2Frd+%C3%BC, path p&s%22w%2Frd%20%C3%BC, json p\u0026s\"w/rd ü, base64 cCZzIncvcmQgw7w=, ` +
		`https://api.telegram.org/bot123:bot/sendMessage, 123:bot-longer`
	got := Redact(in, secrets...)
	want := "plain [redacted], query [redacted], path [redacted], json [redacted], base64 [redacted], " +
		"https://api.telegram.org/bot[redacted]/sendMessage, [redacted]"
	if got != want {
		t.Errorf("Redact\n got %q\nwant %q", got, want)
	}
	if strings.Contains(got, "longer") {
		t.Error("the longer secret was only cut at its beginning")
	}
}
