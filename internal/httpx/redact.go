package httpx

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"herald/platforms"
)

const redacted = "[redacted]"

var (
	anyURL   = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*:(?://|\\/\\/)[^\s"'<>]+`)
	anyQuery = regexp.MustCompile(`\?[^\s"'<>?=]*=[^\s"'<>]*`)
	anyParam = regexp.MustCompile(`(?i)([\w-]*(?:token|secret|passwd|password|api_?key|signature)(?:["']?\s*:\s*["']|=|%3D))[^\s"'&,;<>)}]+`)
	anyAuth  = regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?)(?:[a-z]+\s+)?[^\s"',;<>]+`)
	anyToken = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{16,}`)
)

// Redact makes a text fit for people and logs: it takes out the secrets, as they
// are and as they look inside a URL, JSON or base64, and whatever looks like a
// credential, and cuts each URL to scheme, host and path.
func Redact(s string, secrets ...platforms.Secret) string {
	s = withoutSecrets(s, secrets)
	s = anyURL.ReplaceAllStringFunc(s, place)
	s = anyQuery.ReplaceAllString(s, "")
	s = anyAuth.ReplaceAllString(s, "${1}"+redacted)
	s = anyToken.ReplaceAllString(s, "${1} "+redacted)
	return anyParam.ReplaceAllString(s, "${1}"+redacted)
}

// Redact does what the function does, with the client's own secrets and more.
func (c *Client) Redact(s string, more ...platforms.Secret) string {
	return Redact(s, slices.Concat(c.o.Secrets, more)...)
}

func withoutSecrets(s string, secrets []platforms.Secret) string {
	var forms []string
	for _, secret := range secrets {
		plain := secret.Reveal()
		if plain == "" {
			continue
		}
		quoted, _ := json.Marshal(plain) // a string always has a JSON form
		forms = append(forms, plain, url.QueryEscape(plain), url.PathEscape(plain), strings.Trim(string(quoted), `"`),
			base64.StdEncoding.EncodeToString([]byte(plain)), base64.URLEncoding.EncodeToString([]byte(plain)))
	}
	// A secret may begin with another one: the longer goes first.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, form := range slices.Compact(forms) {
		s = strings.ReplaceAll(s, form, redacted)
	}
	return s
}

// place cuts an address to scheme, host and path.
func place(address string) string {
	u, err := url.Parse(strings.ReplaceAll(address, `\/`, "/"))
	if err != nil {
		scheme, _, _ := strings.Cut(address, ":")
		return scheme + "://" + redacted
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
