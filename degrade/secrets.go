package degrade

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// secretKinds are keys, tokens and passwords by their looks. hint is in each of
// them and saves the search; group 1 is the secret, if it is not the whole.
var secretKinds = []struct {
	name, hint string
	pattern    *regexp.Regexp
}{
	{"a private key", "PRIVATE KEY", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=\s:,.-]{64,}`)},
	{"an AWS access key", "A", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"an AWS secret key", "ecret", regexp.MustCompile(`(?i:aws_?secret_?(?:access_?)?key)["']?\s*[:=]\s*["']?([A-Za-z0-9/+]{40})\b`)},
	{"an API key", "sk-", regexp.MustCompile(`\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}`)},
	{"a GitHub token", "gh", regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}\b`)},
	{"a GitHub token", "github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{60,}\b`)},
	{"a GitLab token", "glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"a Slack token", "xox", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`)},
	{"a Google API key", "AIza", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"an Alibaba Cloud access key", "LTAI", regexp.MustCompile(`\bLTAI[A-Za-z0-9]{12,24}\b`)},
	{"a Tencent Cloud secret id", "AKID", regexp.MustCompile(`\bAKID[A-Za-z0-9]{32}\b`)},
	{"a payment key", "k_live_", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{20,}\b`)},
	{"a Telegram bot token", ":AA", regexp.MustCompile(`\b\d{8,10}:AA[0-9A-Za-z_-]{33}`)},
	{"a signed token (JWT)", "eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}`)},
	{"a WeChat app secret", "wx", regexp.MustCompile(`(?s)\bwx[0-9a-f]{16}\b.{0,200}?\b([0-9a-f]{32})\b`)},
	{"a WeChat app secret", "ecret", regexp.MustCompile(`(?i:app_?secret)\W{1,10}([0-9a-f]{32})\b`)},
	{"a password in an address", "@", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"'<>]+:([^\s/@"'<>]{3,})@`)},
}

// sample matches what documentation writes in the place of a secret.
var sample = regexp.MustCompile(`(?i)example|sample|dummy|placeholder|your|x{6}|0{8}|1234567890|password|redacted|\*{3}|[<>{}$…]`)

// secret is one found in a text.
type secret struct {
	name       string
	start, end int
}

// secretsIn finds secrets, in order and without overlaps.
func secretsIn(text string) []secret {
	var all []secret
	for _, kind := range secretKinds {
		if !strings.Contains(text, kind.hint) {
			continue
		}
		for _, m := range kind.pattern.FindAllStringSubmatchIndex(text, -1) {
			if len(m) > 2 {
				m = m[2:]
			}
			if !sample.MatchString(text[m[0]:m[1]]) {
				all = append(all, secret{kind.name, m[0], m[1]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b secret) int { return cmp.Compare(a.start, b.start) })
	end := 0
	return slices.DeleteFunc(all, func(s secret) bool {
		if s.start < end {
			return true
		}
		end = s.end
		return false
	})
}

// redactSecrets replaces the secrets of a text.
func redactSecrets(text string) string {
	var b strings.Builder
	at := 0
	for _, s := range secretsIn(text) {
		b.WriteString(text[at:s.start] + "[redacted]")
		at = s.end
	}
	return b.String() + text[at:]
}

// secrets finds secrets anywhere, code included, and never says what they are.
func (s *source) secrets() []Finding {
	const what, fix = "%s stands in the text", "take it out and have it replaced"
	var found []Finding
	for _, x := range secretsIn(s.article.Body) {
		found = append(found, s.warn(RuleSecret, x.start, fmt.Sprintf(what, x.name), fix))
	}
	for _, f := range s.fields() {
		for _, x := range secretsIn(f.text) {
			found = append(found, Finding{
				Rule: RuleSecret, Severity: Warning, Field: f.name, Message: fmt.Sprintf(what, x.name), Suggestion: fix,
			})
		}
	}
	return found
}
