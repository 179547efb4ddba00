package degrade

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"herald/article"
	"herald/platforms"
)

// places are the findings in short: "rule line" or "rule field".
func places(found []Finding) []string {
	short := []string{}
	for _, f := range found {
		at := f.Field + f.Target
		if f.Line > 0 {
			at = fmt.Sprint(f.Line)
		}
		short = append(short, strings.TrimSpace(f.Rule+" "+at))
	}
	return short
}

func TestTheBasicCheckFindsWhatIsWrongAndNothingElse(t *testing.T) {
	const fence = "```"
	tests := []struct {
		name, body string
		want       []string // the body begins on line 4
	}{
		{"a sound text", "Text with a [link](https://example.com/a?b=c#d), <https://example.com>, `[[code]]`, [one](../b.md), [two](#c), [mail](mailto:a@example.com).\n\n## A\n\n### B\n\n## C\n\n" + fence + "go\n// TODO: x\nm[[1]]\n" + fence + "\n", nil},
		{"a sound Chinese text", "你好，世界！第 3.5 节：看 https://a.example/x,y 。用 `a,b`，或 Go,Rust。“引文”（注）\n\n- [ ] 任务\n", nil},

		{"link without an address", "a [b]() c\n", []string{"link 4"}},
		{"link with a script", "[b](javascript:alert(1))\n", []string{"link 4"}},
		{"link to a file", "text\n\n[b](file:///etc/passwd)\n", []string{"link 6"}},
		{"link without a scheme", "[b](www.example.com)\n", []string{"link 4"}},
		{"link with one slash", "[b](http:/example.com)\n", []string{"link 4"}},
		{"link without a colon", "[b](https//example.com)\n", []string{"link 4"}},
		{"link with its scheme twice", "[b](https://http://example.com)\n", []string{"link 4"}},
		{"link with a full-width colon", "[b](http：//example.com)\n", []string{"link 4"}},
		{"link without a host", "[b](https:///path)\n", []string{"link 4"}},
		{"link with a faulty escape", "[b](https://example.com/%zz)\n", []string{"link 4"}},
		{"link with a user name", "[b](https://me@example.com/)\n", []string{"link 4"}},
		{"link to this machine", "[b](http://localhost:8080/x) [c](http://192.168.1.2/)\n", []string{"link 4", "link 4"}},
		{"link with full-width brackets", "见[文档]（https://example.com）。\n", []string{"link 4"}},
		{"link with a space", "see [b](https://example.com/a b) there\n", []string{"link 4"}},
		{"label that is not defined", "see [b][nowhere] and [c][d]\n\n[d]: https://example.com\n", []string{"link 4"}},
		{"indexes are no label", "x a[0][i] and [1][2]\n", nil},
		{"a page that begins with http", "[b](http-basics.md)\n", nil},

		{"heading levels left out", "## A\n\n#### B\n\n## C\n\n### D\n", []string{"heading 6"}},
		{"headings of level 1, told once", "# A\n\ntext\n\n# B\n", []string{"heading 4"}},
		{"heading without text", "## A\n\n##\n", []string{"heading 6"}},

		{"fence that is not closed", "a\n\n" + fence + "go\nx := 1\n", []string{"fence 6"}},
		{"fence of tildes, closed by backticks", "~~~\nx\n```\n", []string{"fence 4"}},
		{"empty fence at the end", "a\n\n" + fence + "\n", []string{"fence 6"}},
		{"fence in a quotation", "> " + fence + "\n> x\n> " + fence + "\n", nil},

		{"placeholders", "TODO: write\n\nLorem ipsum dolor\n\n这里待补充。\n\n[插入图片] and [insert link]\n", []string{"placeholder 4", "placeholder 6", "placeholder 8", "placeholder 10", "placeholder 10"}},
		{"a TODO list is none", "My TODO list, a TODO app, TODO清单, todo and `TODO`.\n", nil},

		{"a wiki link beside an embedded picture", "see [[Other note]] and ![[p.png]]\n", []string{"wiki 4"}},
		{"leftover wiki syntax", "see [[Other note|it]]\n\n%%a comment%% 100%%\n", []string{"wiki 4", "wiki 6"}},
		{"a bracketed link", "see [[1]](https://example.com)\n", nil},

		{"half-width marks in Chinese", "你好,世界!\n\n再见:好? 是\n\n好。\n", []string{"punctuation 4"}},
		{"full-width marks in English", "Hello，world。 This is an English text。\n", []string{"punctuation 4"}},
		{"brackets of two widths", "他说(很多）话，（很多)字。\n", []string{"punctuation 4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writePicture(t, filepath.Join(dir, "p.png"))
			a := loadIn(t, dir, "---\ntitle: T\n---\n"+tt.body)
			v := Check(a)
			if diff := cmp.Diff(tt.want, places(v.Findings), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s%v", diff, v.Findings)
			}
			if !v.Pass || v.By != ByBasic || v.Degraded {
				t.Errorf("verdict %+v", v)
			}
			for _, f := range v.Findings {
				if f.Severity != Warning || f.Message == "" || f.Suggestion == "" {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

func loadIn(t *testing.T, dir, text string) *article.Article {
	t.Helper()
	file := filepath.Join(dir, "a.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := article.Load(file, article.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func writePicture(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.Set(i%64, i/64, color.RGBA{uint8(i * 7), uint8(i * 13), uint8(i >> 3), 255})
	}
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
}

func TestSecretsAreFoundAndNeverRepeated(t *testing.T) {
	tests := map[string]string{
		"a private key":               "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA", 6) + "\n-----END RSA PRIVATE KEY-----",
		"an AWS access key":           "AKIAQ3EGRIBYTW5R7DMB",
		"an AWS secret key":           "aws_secret_access_key = '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'",
		"an API key":                  "sk-proj-abcDEF0987654321ghiJKLmno",
		"a GitHub token":              "ghp_abcdefghijklmnopqrstuvwxyzABCDEF0987",
		"a GitLab token":              "glpat-abcdefghij0987654321",
		"a Slack token":               "xoxb-2222222222-abcdefghij",
		"a Google API key":            "AIzaSyA-abcdefghijklmnopqrstuvwxyz98765",
		"an Alibaba Cloud access key": "LTAI5tAbCdEfGhIjKlMnOpQr",
		"a payment key":               "sk_live_abcdefghijklmnopqrst",
		"a Telegram bot token":        "987654321:AAabcdefghijklmnopqrstuvwxyzABCDEFG",
		"a signed token (JWT)":        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
		"a WeChat app secret":         "appid: wx0123456789abcdef\n\n密钥 d4624c36b6795d1d99dcf0547af5443d",
		"a password in an address":    "postgres://admin:hunter2@db.internal.net/x",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			found := Check(load(t, "---\ntitle: T\n---\n\ntext\n\n```\n"+text+"\n```\n")).Findings
			if len(found) != 1 || found[0].Rule != RuleSecret || found[0].Line < 8 || found[0].Message != name+" stands in the text" {
				t.Fatalf("findings %+v", found)
			}
			if got := redactSecrets(text); !strings.Contains(got, "[redacted]") || len(secretsIn(got)) != 0 {
				t.Errorf("redacted %q", got)
			}
		})
	}
	for name, text := range map[string]string{
		"documentation":  "AKIAIOSFODNN7EXAMPLE, sk-xxxxxxxxxxxxxxxxxxxxxxxx, sk-your-api-key-goes-here-now",
		"prose on keys":  "A file begins with -----BEGIN PRIVATE KEY----- and base64.",
		"a template":     "https://user:${PASSWORD}@example.com and https://user:password@example.com",
		"a commit":       "d4624c36b6795d1d99dcf0547af5443dfc2b9d3e",
		"an app id":      "wx0123456789abcdef",
		"a longer word":  "task-management-and-other-long-things",
		"a mail address": "mailto:someone@example.com",
	} {
		if found := secretsIn(text); len(found) != 0 {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

func TestTheFrontMatterIsCheckedToo(t *testing.T) {
	a := load(t, "---\ntitle: TODO title\nsummary: 坏词 here\ntags: [TBD]\nwx: { title: 'ghp_abcdefghijklmnopqrstuvwxyzABCDEF0987' }\n---\ntext\n")
	j := newJudge(t, Options{Words: []Word{{"坏词", true}}})
	want := []string{"word-refused summary", "placeholder title", "placeholder tags", "secret wx.title"}
	if diff := cmp.Diff(want, places(j.Check(a, Subject{}))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestOnlyWhatIsMissingHolds(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gone.png", "half.png", "whole.png", "cover.png"} {
		writePicture(t, filepath.Join(dir, name))
	}
	writeFile(t, filepath.Join(dir, "p.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
	a := loadIn(t, dir, "---\ntitle: T\nwx: { cover: cover.png }\n---\ntext ![a](whole.png) ![b](p.svg)\n\n![c](gone.png) ![c](gone.png)\n\n![d](half.png)\n")
	if v := Check(a); !v.Pass || len(v.Findings) != 0 {
		t.Fatalf("verdict %+v", v)
	}
	half := filepath.Join(dir, "half.png")
	content, err := os.ReadFile(half)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, half, string(content[:len(content)/2]))
	for _, name := range []string{"gone.png", "cover.png"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	v := Check(a)
	want := []string{"image-missing cover", "image-missing 7", "image-broken 9"}
	if diff := cmp.Diff(want, places(v.Findings)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if v.Pass || !strings.HasPrefix(v.Details, `cover: image "cover.png" cannot be read; put the picture back or correct its name. line 7: image "gone.png"`) {
		t.Errorf("details %q", v.Details)
	}

	empty := Check(&article.Article{Body: " \n"})
	if diff := cmp.Diff([]string{"title-missing title", "body-missing"}, places(empty.Findings)); diff != "" || empty.Pass {
		t.Errorf("-want +got\n%s", diff)
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatBreaksOneTargetHoldsOnlyThat(t *testing.T) {
	v := newJudge(t, Options{}).Judge(t.Context(), load(t, plainText), Subject{Renderings: []Rendering{
		{Target: "wechat", Err: platforms.Rejectf("wechat", "render", "the title has 70 characters, at most 64")},
		{Target: "blog", Warnings: []string{"a script was cut"}},
		{Target: "weibo", Err: os.ErrInvalid},
	}})
	want := []Finding{
		{Rule: RuleLimit, Severity: Error, Target: "wechat", Message: "the title has 70 characters, at most 64"},
		{Rule: RuleLimit, Severity: Error, Target: "weibo", Message: "invalid argument"},
		{Rule: RuleRendering, Severity: Warning, Target: "blog", Message: "a script was cut"},
	}
	if diff := cmp.Diff(want, v.Findings); diff != "" || !v.Pass {
		t.Errorf("pass %v, -want +got\n%s", v.Pass, diff)
	}
	if got := v.Findings[0].String(); got != "wechat: the title has 70 characters, at most 64" {
		t.Errorf("in words %q", got)
	}
}

func TestRulesThatWarnCanBeSwitchedOff(t *testing.T) {
	a := load(t, "---\ntitle: T\n---\n坏词 TODO: [[x]]\n")
	j := newJudge(t, Options{Words: []Word{{"坏词", true}}})
	off := []string{RulePlaceholder, RuleWiki, RuleRefused, "typo"}
	found := j.Check(a, Subject{Off: off})
	if diff := cmp.Diff([]string{"off quality", "off quality", "word-refused 4"}, places(found)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.Contains(found[1].Suggestion, RulePlaceholder) {
		t.Errorf("suggestion %q", found[1].Suggestion)
	}
	if all := places(j.Check(a, Subject{Off: Optional})); len(all) != 1 {
		t.Errorf("left are %v", all)
	}
}
