package degrade

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzVerdict(f *testing.F) {
	for _, content := range []string{
		"", "{}", `{"score":0.8}`, "```json\n{\"score\":\"8/10\"}\n```", `{"score":"82%","details":"d","issues":[{"passage":"p","problem":"q"}]}`,
		`{"score":NaN}`, `{"score":1e999}`, `{"score":"0x1p-2"}`, `{"score":"1_0/2_0"}`, `{"score":"-1/-2"}`, `{"score":"0/0"}`, "{{{{", `{"score":0.1}{"score":0.2}`,
		"<think>{</think>{\"score\":1}", "{\"score\":1,\"details\":\"\x1b[2J\u202e\"}",
	} {
		f.Add(content, true, "")
		f.Add(content, false, content)
	}
	f.Add(completion(`{"score":0.8}`, "stop"), false, "text")
	f.Fuzz(func(t *testing.T, content string, wrap bool, asked string) {
		body := content
		if wrap {
			body = completion(content, "stop")
		}
		got, err := read([]byte(body), asked)
		if err != nil {
			if !errors.As(err, new(unusable)) || err.Error() == "" {
				t.Errorf("error %#v", err)
			}
			return
		}
		if !(got.score >= 0 && got.score <= 1) || math.Signbit(got.score) {
			t.Errorf("score %v", got.score)
		}
		if len(got.issues) > maxIssues {
			t.Errorf("%d issues", len(got.issues))
		}
		for _, text := range append([]string{got.details}, texts(got.issues)...) {
			if utf8.RuneCountInString(text) > maxDetails || strings.ContainsAny(text, "\x1b\n\u202e") {
				t.Errorf("text %q", text)
			}
		}
	})
}

func texts(issues []Issue) (all []string) {
	for _, i := range issues {
		all = append(all, i.Passage, i.Problem, i.Suggestion)
	}
	return all
}

func TestAnAnswerFullOfBracesIsReadInNoTime(t *testing.T) {
	for name, content := range map[string]string{
		"braces":  strings.Repeat("{", maxReply/2),
		"objects": strings.Repeat(`{"a":`, maxReply/10),
		"many":    strings.Repeat(`{"score":2} `, maxReply/20),
	} {
		began := time.Now()
		if _, err := readAnswer(content, ""); err == nil {
			t.Errorf("%s: it is a verdict", name)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

func TestLongTextsOfAnAnswerAreCut(t *testing.T) {
	long := strings.Repeat("长", 2000)
	issues := strings.TrimSuffix(strings.Repeat(`{"passage":"`+long+`","problem":"x"},`, 50), ",")
	got, err := readAnswer(`{"score":0.5,"details":"`+long+`","issues":[`+issues+`]}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(got.details); n != maxDetails || !strings.HasSuffix(got.details, "长…") {
		t.Errorf("details of %d characters", n)
	}
	if n := utf8.RuneCountInString(got.issues[0].Passage); len(got.issues) != maxIssues || n != maxField {
		t.Errorf("%d issues, the first of %d characters", len(got.issues), n)
	}
}
