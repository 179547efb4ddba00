package degrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// What is taken from an answer: the longest texts, in characters, the longest
// list, and how many braces are looked at.
const (
	maxDetails = 1000
	maxField   = 300
	maxIssues  = 20
	maxBraces  = 200
)

// opinion is what a service says of a text.
type opinion struct {
	score   float64 // 0 to 1
	details string
	issues  []Issue
}

// unusable is why an answer is no verdict. Such an answer never counts against
// the article: the next rung of the ladder is asked.
type unusable string

func (u unusable) Error() string { return string(u) }

// read finds the verdict in the body of a reply. asked is the text that it is
// about.
func read(body []byte, asked string) (opinion, error) {
	var reply struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content string
				Refusal string
			}
		}
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return opinion{}, unusable("the reply is empty")
	}
	if json.Unmarshal(body, &reply) != nil || len(reply.Choices) == 0 {
		return opinion{}, unusable("the reply is no chat completion")
	}
	choice := reply.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return opinion{}, unusable("it declined: " + clean(choice.Message.Refusal, maxField))
	case choice.FinishReason == "length":
		return opinion{}, unusable("the answer was cut at max_tokens")
	case choice.FinishReason == "content_filter":
		return opinion{}, unusable("its content filter stopped the answer")
	}
	return readAnswer(choice.Message.Content, asked)
}

// readAnswer finds the one verdict in what a model wrote: JSON alone, fenced, or
// with prose around it. Two different ones are none, since one may be a
// quotation, and so is one that stands in the article: it was put there to be
// repeated.
func readAnswer(content, asked string) (opinion, error) {
	if _, answer, ok := strings.Cut(content, "</think>"); ok {
		content = answer
	}
	if strings.TrimSpace(content) == "" {
		return opinion{}, unusable("the answer is empty")
	}
	var found []opinion
	var problem error
	for _, object := range objects(content) {
		got, err := readObject(object)
		switch {
		case err != nil:
			problem = err
		case strings.Contains(squeeze(asked), squeeze(string(object))):
			problem = unusable("the answer repeats what the article tells it to say")
		default:
			found = append(found, got)
		}
	}
	switch {
	case len(found) == 0 && problem == nil:
		return opinion{}, unusable("the answer holds no JSON object with a score")
	case len(found) == 0:
		return opinion{}, problem
	}
	for _, other := range found[1:] {
		if other.score != found[0].score {
			return opinion{}, unusable("the answer holds different scores")
		}
	}
	return found[0], nil
}

// objects returns the outermost JSON objects in a text that have a score. It
// gives up on a text with too many braces that begin none.
func objects(text string) []json.RawMessage {
	var found []json.RawMessage
	for range maxBraces {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		var object json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text))
		if dec.Decode(&object) != nil {
			text = text[1:] // a brace in prose
			continue
		}
		if has := map[string]json.RawMessage{}; json.Unmarshal(object, &has) == nil && has["score"] != nil {
			found = append(found, object)
		}
		text = text[dec.InputOffset():]
	}
	return found
}

// readObject reads a verdict. Only the score must be right; what else cannot be
// read is left out.
func readObject(object json.RawMessage) (opinion, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(object, &in); err != nil {
		return opinion{}, unusable("the answer is not JSON")
	}
	var o opinion
	var err error
	if o.score, err = readScore(in["score"]); err != nil {
		return opinion{}, err
	}
	o.details = readText(in["details"], maxDetails)
	var issues []json.RawMessage
	_ = json.Unmarshal(in["issues"], &issues) // no list is no issues
	for _, raw := range issues[:min(len(issues), maxIssues)] {
		var fields map[string]json.RawMessage
		issue := Issue{Problem: readText(raw, maxField)}
		if json.Unmarshal(raw, &fields) == nil {
			issue = Issue{readText(fields["passage"], maxField), readText(fields["problem"], maxField), readText(fields["suggestion"], maxField)}
		}
		if issue.Problem != "" || issue.Suggestion != "" {
			o.issues = append(o.issues, issue)
		}
	}
	return o, nil
}

// readScore reads a number from 0 to 1, also as text, and as text the two forms
// that carry their scale: "8/10" and "82%". A bare 8 or 82 does not say of how
// many, and is no score.
func readScore(raw json.RawMessage) (float64, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	number, scale := strings.TrimSpace(text), "1"
	if a, b, ok := strings.Cut(number, "/"); ok {
		number, scale = strings.TrimSpace(a), strings.TrimSpace(b)
	} else if percent, ok := strings.CutSuffix(number, "%"); ok {
		number, scale = strings.TrimSpace(percent), "100"
	}
	n, err := decimal(number)
	of, err2 := decimal(scale)
	switch {
	case err != nil || err2 != nil || of <= 0:
		return 0, unusable(fmt.Sprintf("the score %q is not a number", clean(text, 40)))
	case n < 0 || n > of:
		return 0, unusable(fmt.Sprintf("the score %s is outside 0 to 1", clean(text, 40)))
	}
	return n/of + 0, nil // no negative zero
}

// decimal reads what JSON calls a number: no hexadecimal, NaN or infinity.
func decimal(s string) (float64, error) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

func readText(raw json.RawMessage, most int) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no text is left out
	return clean(s, most)
}

// clean makes one line of at most so many characters, without what a terminal
// would obey.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// squeeze drops white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// combine makes one opinion of those on the parts: the lowest score. A mean
// would let one section of nonsense pass among nine good ones.
func combine(all []opinion, parts int) opinion {
	worst := 0
	var issues []Issue
	for i, o := range all {
		if o.score < all[worst].score {
			worst = i
		}
		issues = append(issues, o.issues...)
	}
	o := all[worst]
	o.issues = issues[:min(len(issues), maxIssues)]
	if parts > 1 {
		o.details = strings.TrimSpace(fmt.Sprintf("Judged in %d parts, the lowest score counts (part %d). %s", len(all), worst+1, o.details))
	}
	if parts > len(all) {
		o.details += fmt.Sprintf(" Only the first %d of %d parts were judged.", len(all), parts)
	}
	return o
}
